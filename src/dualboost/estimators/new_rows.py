"""Rows to be judged by a fitted model: checked against those it was fitted on, quickly where they are few."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_array

from dualboost.estimators.arrays import INPUT, validated
from dualboost.frames import (
    Frame,
    as_frame,
    check_different_names,
    check_infinity,
    encode_frame,
    refuse_array,
    unmet_labels,
)

__all__ = ["predict_input"]

_SMALL = 1_000_000  # cells


def predict_input(estimator, X):
    """X checked against what the estimator was fitted on."""
    categories = getattr(estimator, "categories_", {})
    if not categories and _is_plain(estimator, X):
        return X
    frame = as_frame(X)
    if frame is None and getattr(estimator, "_reads_codes", False):
        X = check_array(X, **INPUT)
        _check_n_features(estimator, X, reset=False)
        return X
    if categories and frame is None:
        refuse_array(X, categories)
    if frame is not None:
        if (cells := _plain_cells(estimator, frame)) is not None:
            return cells
        _check_odd_names(frame.odd_names, getattr(estimator, "column_names_", []))
        _check_names(estimator, frame)
        if categories or not frame.plain:
            return _encoded(estimator, frame, categories)
        check_infinity(frame)
    return validated(estimator, X, reset=False)


def _encoded(estimator, frame: Frame, categories) -> np.ndarray:
    """A frame as numbers. The names of training in their order need no more looking at."""
    if frame.odd_names or frame.names != _known_names(estimator):
        check_different_names(frame)
        _check_feature_names(estimator, frame.table, reset=False)
    table = encode_frame(frame, categories)
    for words in unmet_labels(frame, table, categories):
        warnings.warn(words, UserWarning, stacklevel=4)
    check_infinity(frame, table)
    _check_n_features(estimator, table, reset=False)
    return table if table.size else check_array(table, **INPUT)


def _known_names(estimator) -> list[str]:
    return np.asarray(getattr(estimator, "feature_names_in_", ()), dtype=object).tolist()


def _check_names(estimator, frame: Frame) -> None:
    """Refuse other columns, or another order, in scikit-learn's words, which its checks look for; add what to do."""
    known = _known_names(estimator)
    if not known or frame.odd_names or frame.names == known:
        return
    check_different_names(frame)
    chosen = frame.choice.format("list(model.feature_names_in_)")
    first = "Rename or add what is missing, then give" if set(known) - set(frame.names) else "Give"
    try:
        _check_feature_names(estimator, frame.table, reset=False)
    except ValueError as error:
        raise ValueError(f"{error}{first} {chosen}: the columns of the fit, in their order.") from error


def _check_odd_names(now: list[str], then: list[str]) -> None:
    """Names that are not strings; scikit-learn sees to the others, and to the number of columns."""
    if len(now) != len(then) or now == then:
        return
    place = next(j for j, (a, b) in enumerate(zip(now, then, strict=True)) if a != b)
    raise ValueError(
        f"Column {place} of X is named {now[place]}, and was {then[place]} when the model was fitted: give the same "
        "columns in the same order."
    )


def _is_plain(estimator, X) -> bool:
    """Whether every check would pass X as it is: that takes two microseconds to see, and the checks a hundred.

    In a large table those do not matter, and they look for infinity without a copy.
    """
    return (
        type(X) is np.ndarray
        and X.dtype == np.float64
        and X.ndim == 2
        and 0 < X.size <= _SMALL
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
        and not np.isinf(X).any()
    )


def _plain_cells(estimator, frame: Frame) -> np.ndarray | None:
    """The same of a frame that has the names of training."""
    if getattr(estimator, "categories_", {}) or not 0 < len(frame) * estimator.n_features_in_ <= _SMALL:
        return None
    cells = frame.floats(list(getattr(estimator, "feature_names_in_", ())))
    return None if cells is None or np.isinf(cells).any() else cells
