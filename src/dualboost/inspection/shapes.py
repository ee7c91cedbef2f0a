"""`shapes`: one curve per feature, as data, for votes whose parts look at one feature each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dualboost.estimators.base import BoostedClassifier
from dualboost.estimators.new_rows import predict_input
from dualboost.inspection.as_trees import plain_trees
from dualboost.inspection.categories import numbers_of
from dualboost.inspection.names import check_model, column_labels, feature_names
from dualboost.inspection.trees import PlainTrees

__all__ = ["Shape", "columns_of", "cuts_of", "grouped_leaves", "pieces_of", "representatives", "shapes"]


@dataclass(frozen=True, eq=False)
class Shape:
    """How the score depends on one feature: a step function.

    Attributes
    ----------
    feature : int
    name : str
    edges : ndarray of shape (n,)
        Where it jumps.
    values : ndarray of shape (n + 1,)
        values[k] counts for edges[k - 1] < x <= edges[k].
    missing : float
        What a missing value adds.
    counts : ndarray of shape (n + 1,) or None
        How many rows of the X given fall in each piece; `missing_count` how many are missing.
    categories : tuple
        The labels, if the column holds categories of a frame: label k stands at x = k.
    whole : bool
        Whether this is all that the model makes of the feature. Trees that look at others besides have more: `pairs`.

    Examples
    --------
    See `shapes`.

    >>> import numpy as np
    >>> from dualboost import Shape
    >>> Shape(0, "age", np.array([30.0]), np.array([-0.5, 0.5]), 0.0)(np.array([20.0, 30.0, 31.0, np.nan]))
    array([-0.5, -0.5,  0.5,  0. ])
    >>> town = Shape(1, "town", np.array([0.5]), np.array([-0.5, 0.5]), 0.0, categories=("Köln", "Oslo"))
    >>> town(["Oslo", None, "never met"]), town([1, np.nan])
    (array([0.5, 0. , 0. ]), array([0.5, 0. ]))
    """

    feature: int
    name: str
    edges: np.ndarray
    values: np.ndarray
    missing: float
    counts: np.ndarray | None = None
    missing_count: int | None = None
    categories: tuple = ()
    whole: bool = True

    def __call__(self, x) -> np.ndarray:
        """The value at x, which is what the column holds: numbers, or labels of its categories.

        A label that was never met counts as missing. Where no label is a number, x may be the places of labels too.
        """
        numbers = numbers_of(x, self.name, self.categories)
        return np.append(self.values, self.missing)[pieces_of(numbers, self.edges)]


def shapes(model: BoostedClassifier, X=None) -> list[Shape]:
    """The step function of every feature that the model uses; by feature.

    For votes of stumps their sum and the constant vote are the score. Of deeper trees only the leaves whose path looks
    at a single feature have a curve: `pairs` has the others. Of several classes ask for `shapes(model.estimators_[k])`.

    Parameters
    ----------
    model : a fitted classifier of dualboost for two classes
    X : table, optional
        Rows to count in the pieces, such as the training data.

    Returns
    -------
    list of Shape

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import MarginBoostClassifier, shapes
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MarginBoostClassifier(nu=0.2, max_iter=50).fit(X, y)
    >>> curves = shapes(model, X)
    >>> score = model.predictor_.base + sum(curve(X[:, curve.feature]) for curve in curves)
    >>> bool(abs(score - model.decision_function(X)).max() < 1e-12)
    True
    >>> all(curve.counts.sum() == len(X) for curve in curves)
    True
    """
    groups, columns = grouped_leaves(model, X)
    names, labels = feature_names(model), column_labels(model)
    shared = {feature for key in groups if len(key) > 1 for feature in key}
    single = [(key[0], trees) for key, trees in sorted(groups.items()) if len(key) == 1]
    curves = [_shape(trees, feature, names[feature], columns) for feature, trees in single]
    return [replace(curve, categories=labels[curve.feature], whole=curve.feature not in shared) for curve in curves]


def grouped_leaves(model, X) -> tuple[dict[tuple[int, ...], PlainTrees], Any]:
    """(the vote in parts, by the features that the path to a leaf looks at; the checked table to count or None)."""
    check_model(model)
    if hasattr(model, "estimators_"):
        raise ValueError("A model of several classes has curves for each: ask for those of model.estimators_[k].")
    groups = plain_trees(model.predictor_).by_paths()
    return groups, None if X is None else predict_input(model, X)


def _shape(trees: PlainTrees, feature: int, name: str, X) -> Shape:
    edges = cuts_of(trees, feature)
    points = np.zeros((len(edges) + 2, trees.feature.max() + 1))
    points[:, feature] = representatives(edges)
    values = trees.scores(points)
    if X is None:
        return Shape(feature, name, edges, values[:-1], float(values[-1]))
    counts = np.bincount(pieces_of(columns_of(X, [feature])[:, 0], edges), minlength=len(values))
    return Shape(feature, name, edges, values[:-1], float(values[-1]), counts[:-1], int(counts[-1]))


def cuts_of(trees: PlainTrees, feature: int) -> np.ndarray:
    """Where these trees split the feature, in order; a split of missing from present values has no place."""
    here = trees.feature == feature
    rules = np.unique(trees.rule[here & (trees.rule >= 0)])
    found = np.unique(np.concatenate([trees.threshold[here & (trees.rule < 0)], *(trees.rules[r].cuts for r in rules)]))
    return found[np.isfinite(found)]


def representatives(edges: np.ndarray) -> np.ndarray:
    """A value in each piece, and at last a missing one."""
    return np.concatenate([edges, [np.finfo(np.float64).max, np.nan]])


def pieces_of(x: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The piece that each value falls in; a missing one in the last of all."""
    return np.where(np.isnan(x), len(edges) + 1, np.searchsorted(edges, x))


def columns_of(X, features: list[int]) -> np.ndarray:
    """These columns of a dense or sparse table, dense."""
    part = X[:, features]
    return part.toarray() if hasattr(part, "toarray") else part
