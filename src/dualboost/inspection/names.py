"""Whether a model can be looked at, and what to call its features."""

from __future__ import annotations

from sklearn.utils.validation import check_is_fitted

from dualboost.estimators.base import BoostedClassifier
from dualboost.estimators.inside import way_in

__all__ = ["check_model", "column_labels", "feature_names"]


def check_model(model) -> None:
    """Refuse what is no fitted classifier of dualboost."""
    if not isinstance(model, BoostedClassifier):
        raise ValueError(f"This needs a fitted classifier of dualboost, not {type(model).__name__}{way_in(model)}.")
    check_is_fitted(model)


def feature_names(model) -> tuple[str, ...]:
    """Their names in the training data frame, or their numbers."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:  # or names that are not strings, such as those of a pandas MultiIndex
        names = getattr(model, "column_names_", None) or [f"feature {j}" for j in range(model.n_features_in_)]
    return tuple(map(str, names))


def column_labels(model) -> tuple[tuple, ...]:
    """Of each column, the labels that stand at 0, 1, ... if it holds categories of a frame; else none."""
    known = getattr(model, "categories_", {})
    return tuple(tuple(known.get(name, ())) for name in feature_names(model))
