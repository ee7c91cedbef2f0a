"""Trees whose leaves vote with a strength of their own: the mean pull of a leaf's rows, as in gradient boosting.

A leaf holds the sum of y_i d_i over its rows over their share of the prior; the tree is grown leaf by leaf, the best
split first. Among all values for its leaves these make the descent of Krause & Singer's difference of losses steepest.

A split is worth G^2 / H of its left side and of its right one, G the sum of y_i d_i and H that of the prior. This is
convex in the sums of the left side, so of all subsets of a column's categories the best is a corner of their convex
hull: the first categories in the order of G / H. One sort finds it (Fisher, "On grouping for maximum homogeneity").
Where both sides must hold a least share, that is still the best subset if it does; if it does not, finding the best of
those that do is a knapsack problem, and the best of the first ones is taken.

The more categories, the more a subset gains by chance. Let y_i d_i over row i's share of the prior have the variance V
in a node. If K categories mean nothing, the sum of their G^2 / H exceeds that of the node by (K - 1) V times the share
of a row on average, and no subset gains more than this sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp

from dualboost import kernels
from dualboost.cutting import check_cut
from dualboost.data import MISSING, Bins
from dualboost.learners.base import Answer, Oracle, TakesCategories
from dualboost.learners.categories import Categories, binned, checked_columns
from dualboost.learners.leaf_scores import LeafScores, LeafTree
from dualboost.learners.named_columns import NamedColumns, flattened
from dualboost.rows import Rows

__all__ = ["LeafScores", "LeafTree", "LeafTrees"]


@dataclass(frozen=True)
class LeafTrees(TakesCategories):
    """Trees of real values in [-1, 1]; NaN is a missing value, categories are split by subsets. Dense tables only.

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
    categorical : tuple of int, default ()
        The columns that hold categories, whole numbers from 0 on. A split takes the best subset of all, up to rounding;
        under a `min_share` that this subset does not keep, the best of those that one sort of the categories offers.
        Missing values are one more category. What a node has not met, missing or a category, goes with its larger part.
        Data frames say themselves which columns these are.
    row_share : float in [0, 1], default 0
        The share of the prior that one independent row holds, such as one over their number. K categories that mean
        nothing gain by chance up to about K - 1 times what a fixed cut would. With a share given, what K - 2 of these
        come to is taken off before columns are compared: two categories stay as good as two numbers.

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
    categorical: tuple[int, ...] = ()
    row_share: float = 0.0

    def __post_init__(self):
        object.__setattr__(self, "categorical", checked_columns(self.categorical, "categorical"))
        for name, low, high in (("max_leaves", 1, 1 << 16), ("max_bins", 2, 255), ("random_state", 0, 1 << 62)):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or not low <= value <= high:
                raise ValueError(f"{name} must be a whole number from {low} to {high}, not {value!r}.")
        shares = (("min_share", "[0, 0.5]", 0.5), ("features", "(0, 1]", 1), ("row_share", "[0, 1]", 1))
        for name, fine, most in shares:
            value = getattr(self, name)
            if not (isinstance(value, Real) and 0 <= value <= most) or (name == "features" and value == 0):
                raise ValueError(f"{name} must be a number in {fine}, not {value!r}.")

    def bind(self, X, y: np.ndarray | None, rows: Rows) -> LeafOracle:
        if y is None:
            raise ValueError("LeafTrees need labels: bind(X, y, rows) with a y of +1 and -1.")
        if sp.issparse(X):
            raise ValueError("LeafTrees read dense tables: pass X.toarray(), or take Stumps() for sparse X.")
        bins, categories = binned(X, self.categorical, self.max_bins, rows)
        return LeafOracle(self, bins, y, rows, categories)

    def with_categories(self, columns: tuple[int, ...]) -> LeafTrees:
        return replace(self, categorical=tuple({*self.categorical, *columns}))


class LeafOracle(Oracle):
    """Binned rows with their labels."""

    def __init__(self, learner: LeafTrees, bins: Bins, y: np.ndarray, rows: Rows, categories: Mapping[int, Categories]):
        self.learner, self.bins, self.rows, self.categories = learner, bins, rows, categories
        self.y = np.asarray(y, dtype=np.float64)
        self._prior = np.ascontiguousarray(rows.prior)
        self.codes = row_codes(bins)
        named = np.isin(np.arange(bins.n_features), list(self.categories)).astype(np.uint8)
        self.search = kernels.LeafSearch(self.codes, bins.cut_counts, named)

    def grown_as(self, learner: LeafTrees) -> LeafOracle:
        """The same binned rows for trees of another size."""
        if (learner.max_bins, learner.categorical) != (self.learner.max_bins, self.learner.categorical):
            raise ValueError("Other bins or categories need another bind.")
        other = copy(self)
        other.learner = learner
        return other

    def best(self, d: np.ndarray, k: int = 1) -> Answer:
        learner = self.learner
        pull, mass = self.y * d, float(d.sum())
        arrays = self.search.grow(
            pull, self._prior, learner.max_leaves, learner.min_share, 0.0,
            learner.features, learner.random_state, learner.row_share,
        )  # fmt: skip
        value, masks = arrays[-2:]
        largest = float(np.abs(value).max())
        tree = LeafTree.of([*arrays[:-2], value / largest if largest > 0 else value, masks])
        column = self.column(tree)
        # Nothing is known about the best tree: no column of entries up to 1 has an edge above the weight of the rows.
        return Answer([tree], [column], np.array([float(d @ column)]), mass * (1 + 1e-12))

    def column(self, tree: LeafTree) -> np.ndarray:
        out = np.empty(len(self.y))
        feature, cut, missing_right, left, right, value, masks = tree.arrays()
        self.search.values(feature, cut, missing_right, left, right, value, masks, out)
        return self.y * out

    def margins(self, hypotheses: Sequence[LeafTree], w: np.ndarray) -> np.ndarray:
        z = np.zeros(len(self.y))
        for tree, weight in zip(hypotheses, w, strict=True):
            check_cut()
            z += weight * self.column(tree)
        return z

    def predictor(self, hypotheses: Sequence[LeafTree], w: np.ndarray) -> LeafScores:
        return LeafScores.of(self.bins, hypotheses, w, self._names)

    @cached_property
    def _names(self) -> NamedColumns | None:
        """What the codes mean; the same arrays in all votes of a fit."""
        return flattened(self.categories, self.categories) if self.categories else None

    def forget(self) -> None:
        """Nothing is kept."""


def row_codes(bins: Bins) -> np.ndarray:
    """The codes of all columns, a row of the table in a row."""
    codes = np.zeros((bins.n_rows, bins.n_features), dtype=np.uint8)
    codes[:, bins.dense_features.astype(np.intp)] = bins.dense_codes.T
    for s, feature in enumerate(bins.sparse_features):
        span = slice(bins.sparse_start[s], bins.sparse_start[s + 1])
        codes[:, feature] = bins.sparse_default[s]
        codes[bins.sparse_rows[span].astype(np.intp), feature] = bins.sparse_codes[span]
    codes[:, (bins.stored == 0) & (bins.has_missing > 0)] = MISSING
    return codes
