"""Trees whose leaves vote with a strength of their own: the mean pull of a leaf's rows, as in gradient boosting.

A leaf holds the sum of y_i d_i over its rows over their share of the prior; the tree is grown leaf by leaf, the best
split first. Among all values for its leaves these make the descent of Krause & Singer's difference of losses steepest.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from dualboost import kernels
from dualboost.data import MISSING, Bins, bin_columns
from dualboost.learners.base import Answer, Learner, Oracle, Predictor
from dualboost.rows import Rows

__all__ = ["LeafScores", "LeafTree", "LeafTrees"]

_DTYPES = (np.int32, np.int32, np.uint8, np.int32, np.int32, np.float64)


class LeafTree(NamedTuple):
    """A tree as the bytes of its arrays, one entry a node: a key that is small, equal by value, and can be pickled."""

    feature: bytes
    cut: bytes
    missing_right: bytes
    left: bytes
    right: bytes
    value: bytes

    @classmethod
    def of(cls, arrays: Sequence[np.ndarray]) -> LeafTree:
        return cls(*(array.tobytes() for array in arrays))

    def arrays(self) -> list[np.ndarray]:
        """feature (-1 in a leaf), cut, missing_right, left, right, value."""
        return [np.frombuffer(part, dtype) for part, dtype in zip(self, _DTYPES, strict=True)]


@dataclass(frozen=True)
class LeafTrees(Learner):
    """Trees of real values in [-1, 1]; NaN is a missing value. Dense tables only.

    Parameters
    ----------
    max_leaves : int
        The most leaves of a tree; 2 is a stump with two strengths.
    max_bins : int in [2, 255]
        The most bins a feature is cut into.
    min_share : float in [0, 0.5]
        The least share of the prior that a leaf must hold.
    features : float in (0, 1]
        The share of the features that a node may look at, drawn anew for each node.
    random_state : int
        Seeds that draw. The same row weights always get the same tree.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.learners import LeafTrees
    >>> from dualboost.rows import Rows
    >>> X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([-1, -1, 1, -1])
    >>> answer = LeafTrees(max_leaves=2).bind(X, y, Rows.of(4)).best(np.full(4, 0.25))
    >>> answer.edges  # sure of the first two rows, undecided about the others
    array([0.5])
    """

    max_leaves: int = 8
    max_bins: int = 64
    min_share: float = 0.0
    features: float = 1.0
    random_state: int = 0

    def __post_init__(self):
        for name, low, high in (("max_leaves", 1, 1 << 16), ("max_bins", 2, 255), ("random_state", 0, 1 << 62)):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or not low <= value <= high:
                raise ValueError(f"{name} must be a whole number from {low} to {high}, not {value!r}.")
        for name, fine in (("min_share", "[0, 0.5]"), ("features", "(0, 1]")):
            value = getattr(self, name)
            inside = isinstance(value, Real) and (0 <= value <= 0.5 if name == "min_share" else 0 < value <= 1)
            if not inside:
                raise ValueError(f"{name} must be a number in {fine}, not {value!r}.")

    def bind(self, X, y: np.ndarray | None, rows: Rows) -> LeafOracle:
        if y is None:
            raise ValueError("LeafTrees need labels: bind(X, y, rows) with a y of +1 and -1.")
        if sp.issparse(X):
            raise ValueError("LeafTrees read dense tables: pass X.toarray(), or take Stumps() for sparse X.")
        weights = None if rows.uniform else rows.prior
        return LeafOracle(self, bin_columns(X, weights, self.max_bins, rows.threads), y, rows)


class LeafOracle(Oracle):
    """Binned rows with their labels."""

    def __init__(self, learner: LeafTrees, bins: Bins, y: np.ndarray, rows: Rows):
        self.learner, self.bins, self.rows = learner, bins, rows
        self.y = np.asarray(y, dtype=np.float64)
        self._prior = np.ascontiguousarray(rows.prior)
        self.codes = row_codes(bins)
        self.search = kernels.LeafSearch(self.codes, bins.cut_counts)

    def grown_as(self, learner: LeafTrees) -> LeafOracle:
        """The same binned rows for trees of another size."""
        if learner.max_bins != self.learner.max_bins:
            raise ValueError("Other bins need another bind.")
        other = copy(self)
        other.learner = learner
        return other

    def best(self, d: np.ndarray, k: int = 1) -> Answer:
        learner = self.learner
        pull, mass = self.y * d, float(d.sum())
        arrays = self.search.grow(
            pull, self._prior, learner.max_leaves, learner.min_share, 0.0, learner.features, learner.random_state
        )
        value = arrays[-1]
        largest = float(np.abs(value).max())
        tree = LeafTree.of([*arrays[:-1], value / largest if largest > 0 else value])
        column = self.column(tree)
        # Nothing is known about the best tree: no column of entries up to 1 has an edge above the weight of the rows.
        return Answer([tree], [column], np.array([float(d @ column)]), mass * (1 + 1e-12))

    def column(self, tree: LeafTree) -> np.ndarray:
        out = np.empty(len(self.y))
        feature, cut, missing_right, left, right, value = tree.arrays()
        self.search.values(feature, cut, missing_right, left, right, value, out)
        return self.y * out

    def margins(self, hypotheses: Sequence[LeafTree], w: np.ndarray) -> np.ndarray:
        z = np.zeros(len(self.y))
        for tree, weight in zip(hypotheses, w, strict=True):
            z += weight * self.column(tree)
        return z

    def predictor(self, hypotheses: Sequence[LeafTree], w: np.ndarray) -> LeafScores:
        return LeafScores.of(self.bins, hypotheses, w)

    def forget(self) -> None:
        """Nothing is kept."""


def row_codes(bins: Bins) -> np.ndarray:
    """The codes of all columns, a row of the table in a row."""
    codes = np.zeros((bins.n_rows, bins.n_features), dtype=np.uint8)
    codes[:, bins.dense_features] = bins.dense_codes.T
    for s, feature in enumerate(bins.sparse_features):
        span = slice(bins.sparse_start[s], bins.sparse_start[s + 1])
        codes[:, feature] = bins.sparse_default[s]
        codes[bins.sparse_rows[span], feature] = bins.sparse_codes[span]
    stored = np.zeros(bins.n_features, dtype=bool)
    stored[bins.dense_features] = stored[bins.sparse_features] = True
    codes[:, ~stored & (bins.has_missing > 0)] = MISSING
    return codes


@dataclass(frozen=True, eq=False)
class LeafScores(Predictor):
    """A vote of trees as flat arrays, one entry a node; children come after their parent."""

    feature: np.ndarray
    threshold: np.ndarray
    missing_right: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    roots: np.ndarray
    weight: np.ndarray
    """The absolute weight of each tree."""

    @classmethod
    def of(cls, bins: Bins, trees: Sequence[LeafTree], w: np.ndarray) -> LeafScores:
        parts: list[list[np.ndarray]] = [[np.empty(0, dtype)] for dtype in (np.int32, float, np.uint8, int, int, float)]
        roots, start = [], 0
        for tree, weight in zip(trees, w, strict=True):
            feature, cut, missing_right, left, right, value = tree.arrays()
            columns = (feature, _thresholds(bins, feature, cut), missing_right, left + start, right + start)
            for part, column in zip(parts, (*columns, weight * value), strict=True):
                part.append(column)
            roots.append(start)
            start += len(feature)
        feature, threshold, missing_right, left, right, value = (np.concatenate(part) for part in parts)
        children = left.astype(np.int32), right.astype(np.int32)
        sizes = np.abs(np.asarray(w, dtype=np.float64))
        return cls(feature, threshold, missing_right, *children, value, np.array(roots, dtype=np.int64), sizes)

    def scores(self, X, threads: int = 1) -> np.ndarray:
        table = np.ascontiguousarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
        out = np.empty(len(table))
        self._prepared.scores(table, out, threads)
        return out

    @cached_property
    def _prepared(self) -> kernels.LeafPredictor:
        return kernels.LeafPredictor(
            self.feature, self.threshold, self.missing_right, self.left, self.right, self.value, self.roots
        )

    def importances(self, n_features: int) -> np.ndarray:
        """Each tree's weight, in equal parts to its splits."""
        tree = np.searchsorted(self.roots, np.arange(len(self.feature)), side="right") - 1
        splits = self.feature >= 0
        of_tree = np.bincount(tree[splits], minlength=len(self.roots))
        parts = (self.weight / np.maximum(of_tree, 1))[tree[splits]]
        share = np.bincount(self.feature[splits], parts, minlength=n_features)
        return share / max(share.sum(), np.finfo(np.float64).tiny)


def _thresholds(bins: Bins, feature: np.ndarray, cut: np.ndarray) -> np.ndarray:
    """The largest value that goes left; infinite where only the missing ones go right."""
    out, inner = np.zeros(len(feature)), np.flatnonzero(feature >= 0)
    f, c = feature[inner], cut[inner]
    beyond = c >= bins.cut_counts[f]
    out[inner[beyond]] = np.inf
    out[inner[~beyond]] = bins.cuts[bins.cut_start[f[~beyond]] + c[~beyond]]
    return out
