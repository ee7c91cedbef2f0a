"""Trees that compare raw values, as arrays: any tree when it is finished, also one of another library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

__all__ = ["RawTree", "of_single_precision", "places_among", "scikit_tree"]

_TREES = ("DecisionTreeClassifier", "ExtraTreeClassifier", "DecisionTreeRegressor", "ExtraTreeRegressor")


@dataclass(frozen=True, eq=False)
class RawTree:
    """One entry a node; children come after their parent, and the root is first."""

    feature: np.ndarray
    """-1 in a leaf."""
    threshold: np.ndarray
    """The largest value that goes left; infinite where only the missing ones go right."""
    missing_right: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    """What a leaf says."""

    @classmethod
    def of(cls, feature, threshold, missing_right, children, value) -> RawTree:
        left, right = (np.asarray(side, dtype=np.int32) for side in children)
        return cls(
            np.asarray(feature, dtype=np.int32), np.asarray(threshold, dtype=np.float64),
            np.asarray(missing_right, dtype=np.uint8), left, right, np.asarray(value, dtype=np.float64),
        )  # fmt: skip

    @classmethod
    def constant(cls, value: float) -> RawTree:
        """A single leaf."""
        return cls.of([-1], [0.0], [0], ([0], [0]), [value])

    def saying(self, change: Callable[[np.ndarray], np.ndarray]) -> RawTree:
        """The same tree with other values."""
        return replace(self, value=np.where(self.feature < 0, change(self.value), 0.0))

    def on(self, columns: np.ndarray) -> RawTree:
        """A tree that was grown on these columns of a table, for the whole of it."""
        return replace(self, feature=np.where(self.feature < 0, -1, columns[self.feature]).astype(np.int32))


def places_among(columns: np.ndarray) -> np.ndarray:
    """For each column of a table its place among these, which ascend; what it says of the others is no matter."""
    place = np.zeros(int(columns.max(initial=0)) + 1, dtype=np.int32)
    place[columns] = np.arange(len(columns))
    return place


def scikit_tree(estimator: Any, value: Callable[[np.ndarray], np.ndarray]) -> RawTree | None:
    """A fitted tree of scikit-learn, which says value(shares or means of a leaf, a column each); None if it is none.

    It rounds values to single precision before it compares them. The threshold is moved to where that rounding turns.
    """
    kind = type(estimator)
    own = kind.__module__.startswith("sklearn.tree.") and kind.__name__ in _TREES  # whoever inherits may predict anew
    if not own or estimator.n_outputs_ > 1:
        return None
    tree = estimator.tree_
    inner = tree.children_left >= 0
    return RawTree.of(
        np.where(inner, tree.feature, -1),
        np.where(inner, of_single_precision(tree.threshold), 0.0),
        inner & (np.asarray(tree.missing_go_to_left) == 0),
        (np.where(inner, tree.children_left, 0), np.where(inner, tree.children_right, 0)),
        np.where(inner, 0.0, value(tree.value[:, 0, :])),
    )


def of_single_precision(threshold: np.ndarray) -> np.ndarray:
    """The largest double that is at most `threshold` once it is rounded to single precision."""
    with np.errstate(over="ignore"):  # to infinity, which is meant
        below = threshold.astype(np.float32)
        below = np.where(below > threshold, np.nextafter(below, np.float32(-np.inf)), below)
        above = np.nextafter(below, np.float32(np.inf)).astype(np.float64)
    middle = (below.astype(np.float64) + np.where(np.isinf(above), 2.0**128, above)) / 2
    even = below.view(np.int32) & 1 == 0  # where the middle itself is rounded to
    turn = np.where(even, middle, np.nextafter(middle, -np.inf))
    return np.where(np.isinf(threshold), threshold, turn)
