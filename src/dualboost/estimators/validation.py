"""scikit-learn's rules for input, in one place: what a fit may assume is checked here, before any computing."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

__all__ = ["TrainingData", "check_whole_number", "predict_input", "thread_count", "training_data"]

_INPUT = {"accept_sparse": ("csr", "csc"), "dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan"}


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Checked training data without the rows of weight zero."""

    X: object
    signs: np.ndarray
    """+1 for the second class, -1 for the first."""
    weights: np.ndarray | None
    classes: np.ndarray
    present: np.ndarray | None
    """Which of the caller's rows are here; None for all."""
    n_given: int

    def for_all_rows(self, values: np.ndarray, absent: float) -> np.ndarray:
        """One value for each of the caller's rows; `absent` for those of weight zero."""
        if self.present is None:
            return values
        full = np.full(self.n_given, absent)
        full[self.present] = values
        return full


def training_data(estimator, X, y, sample_weight) -> TrainingData:
    """Validate, encode two classes as +-1, drop what has no weight."""
    X, y = _numbers(estimator, X, y=y)
    check_classification_targets(y)
    weights = None if sample_weight is None else _weights(sample_weight, X)
    present: np.ndarray | None = None
    if weights is not None and weights.min() <= 0:
        present = weights > 0
        X, y, weights = X[present], y[present], weights[present]
    classes, codes = np.unique(y, return_inverse=True)
    _check_two(classes, type(estimator).__name__)
    signs = np.where(codes == 1, 1, -1).astype(np.int8)
    return TrainingData(X, signs, weights, classes, present, len(y) if present is None else len(present))


def _numbers(estimator, X, **options):
    try:
        return validate_data(estimator, X, **options, **_INPUT)
    except (ValueError, TypeError) as error:
        text = text_columns(X)
        if not text:
            raise
        names = ", ".join(repr(name) for name in text[:5]) + (", ..." if len(text) > 5 else "")
        raise ValueError(
            f"Columns {names} do not hold numbers: drop them, or encode them first, for example with OrdinalEncoder."
        ) from error


def text_columns(X) -> list[str]:
    """The columns of a data frame that hold neither numbers nor truth values."""
    if hasattr(X, "select_dtypes"):
        return [str(name) for name in X.select_dtypes(exclude=["number", "bool", "boolean"]).columns]
    if hasattr(X, "schema") and hasattr(X.schema, "items"):
        return [str(name) for name, kind in X.schema.items() if not (kind.is_numeric() or str(kind) == "Boolean")]
    return []


def _weights(sample_weight, X) -> np.ndarray:
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weights.max() > 0:
        raise ValueError("All sample weights are zero: give at least one row of each class a positive weight.")
    return weights


def _check_two(classes: np.ndarray, name: str) -> None:
    if len(classes) == 1:
        raise ValueError(
            f"{name} needs rows of two classes, but all rows with weight are of one class, {classes[0]!r}."
        )
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. "
            f"The type of the target is multiclass: y has {len(classes)} classes; "
            "wrap the estimator in sklearn.multiclass.OneVsRestClassifier."
        )


def predict_input(estimator, X):
    """X checked against what the estimator was fitted on."""
    return _numbers(estimator, X, reset=False)


def thread_count(n_jobs) -> int:
    """scikit-learn's n_jobs as a number of threads."""
    return int(effective_n_jobs(n_jobs))


def check_whole_number(name: str, value, low: int, high: float = np.inf) -> None:
    """Refuse a parameter that is not a whole number in [low, high]."""
    if not isinstance(value, Integral) or isinstance(value, bool) or not low <= int(value) <= high:
        limit = f"of at least {low}" if high == np.inf else f"from {low} to {high}"
        raise ValueError(f"{name} must be a whole number {limit}, not {value!r}.")
