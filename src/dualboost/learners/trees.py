"""Decision trees that vote +1 or -1, on binned columns: grown for the edge, or the best of all with two levels.

A tree is a tuple of nodes in preorder: a split (feature, cut, missing_right) is followed by its left and its right
part, a leaf is (-1, vote, 0). A row goes right where its value is above the cut; a missing value goes to the side that
was learned. A split of categories is (feature, -1, mask): a row goes right where the bit of its code is set in the
mask; bit 255 is a missing value, and code 0 goes left. The first leaf votes -1, the weight in the ensemble carries the
sign; the constant +1 is ((-1, 1, 0),).

The edge of a tree is the sum over its leaves of |P - N|, P and N the weights of the two labels. A split that ends a
path is the stump of largest edge among its rows. The edge is blind for the splits above (both sides often keep the
same majority), so those minimise the sum of sqrt(P N): Kearns & Mansour, "On the boosting ability of top-down decision
tree learning algorithms", prove that growing by this criterion boosts. With one level a tree is exactly the best stump,
and a greater depth never has a smaller edge: the last splits could repeat the split above them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from dualboost import kernels
from dualboost.data import Bins
from dualboost.learners.base import Answer, Oracle, Predictor, TakesCategories
from dualboost.learners.categories import Categories, binned, checked_columns
from dualboost.learners.tree_scores import Tree, TreeScores, as_arrays, as_trees
from dualboost.rows import Rows

__all__ = ["TreeOracle", "Trees"]

_MOST_LEAVES = 1024
_MOST_PAIRED = 4096  # features of an optimal search: eight million pairs


@dataclass(frozen=True)
class Trees(TakesCategories):
    """Decision trees of bounded depth or size; NaN is a missing value. Columns of categories are split by subsets.

    Greedy trees cannot promise to be the best: their `bound` is what contradictory rows leave of the sum of the
    weights, which is true and loose. With one level, or with search="optimal", the bound is exact.

    Asked for k hypotheses, the oracle returns trees of the k best features at the root, fewer where they coincide. The
    first is the answer to k = 1; the others follow by their edges.

    Parameters
    ----------
    max_depth : int in [1, 10] or None
        The most splits on a path; None: only the number of leaves is bounded.
    max_leaves : int in [2, 1024] or None
        The most leaves; the node that gains most is split first.
    max_bins : int in [2, 255]
        The most bins a feature is cut into. A feature with no more distinct values is represented exactly.
    search : {"greedy", "polished", "optimal"}
        Grown from the root; or grown and then improved, split by split, as long as another split in one place raises
        the edge; or the tree of largest edge among all trees of depth 2 (max_depth=2 only), at a cost of at most
        rows x features^2.
    categorical : tuple of int, default ()
        The columns that hold categories, whole numbers from 0 on. The last split of a path takes the subset of largest
        edge, those above it the subset that is best by their criterion: both are exact over all subsets. Data frames
        say themselves which columns these are. Not for the optimal search.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.learners import Trees
    >>> from dualboost.rows import Rows
    >>> X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([-1, 1, 1, -1])
    >>> answer = Trees(max_depth=2, search="optimal").bind(X, y, Rows.of(4)).best(np.full(4, 0.25))
    >>> answer.hypotheses[0]
    ((0, 0, 0), (1, 0, 0), (-1, -1, 0), (-1, 1, 0), (1, 0, 0), (-1, 1, 0), (-1, -1, 0))
    >>> float(answer.edges[0])
    1.0
    """

    max_depth: int | None = 3
    max_leaves: int | None = None
    max_bins: int = 255
    search: str = "greedy"
    categorical: tuple[int, ...] = ()

    def __post_init__(self):
        object.__setattr__(self, "categorical", checked_columns(self.categorical, "categorical"))
        _check_limit("max_depth", self.max_depth, 1, 10)
        _check_limit("max_leaves", self.max_leaves, 2, _MOST_LEAVES)
        if self.max_depth is None and self.max_leaves is None:
            raise ValueError("Trees need a bound: give max_depth or max_leaves.")
        if self.search not in ("greedy", "polished", "optimal"):
            raise ValueError(f"search must be 'greedy', 'polished' or 'optimal', not {self.search!r}.")
        if self.search == "optimal" and (self.max_depth != 2 or self.max_leaves is not None):
            raise ValueError("The optimal search is for trees of two levels: use max_depth=2 without max_leaves.")
        if self.search == "optimal" and self.categorical:
            raise ValueError("The optimal search compares thresholds: for categories use search='polished'.")

    @property
    def proves(self) -> bool:
        """Whether the bound is exact, so that small gaps can be certified."""
        return self.search == "optimal" or self.max_depth == 1 or self.max_leaves == 2

    def bind(self, X, y: np.ndarray | None, rows: Rows) -> TreeOracle:
        if y is None:
            raise ValueError("Trees need labels: bind(X, y, rows) with a y of +1 and -1.")
        if self.search == "optimal" and X.shape[1] > _MOST_PAIRED:
            raise ValueError(
                f"The optimal search looks at every pair of features and X has {X.shape[1]}: "
                f"select at most {_MOST_PAIRED} of them, or use search='polished'."
            )
        bins, categories = binned(X, self.categorical, self.max_bins, rows)
        return TreeOracle(self, bins, y, rows, categories)

    def with_categories(self, columns: tuple[int, ...]) -> Trees:
        return replace(self, categorical=tuple({*self.categorical, *columns}))


def _check_limit(name: str, value: Any, low: int, high: int) -> None:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if value is not None and not (whole and low <= value <= high):
        raise ValueError(f"{name} must be a whole number between {low} and {high}, or None, not {value!r}.")


class TreeOracle(Oracle):
    """Binned columns with their labels."""

    def __init__(
        self, learner: Trees, bins: Bins, y: np.ndarray, rows: Rows, categories: Mapping[int, Categories] | None = None
    ):
        self.learner, self.bins, self.rows, self.categories = learner, bins, rows, categories or {}
        named = np.isin(np.arange(bins.n_features), list(categories)).astype(np.uint8) if categories else None
        self.search = kernels.TreeSearch(*bins.search_arrays(y), categorical=named)

    def best(self, d: np.ndarray, k: int = 1) -> Answer:
        nodes, start, edges, bound = self._ask(np.ascontiguousarray(d), k)
        columns = [self._column(nodes[first:last]) for first, last in pairwise(start.tolist())]
        return Answer(as_trees(nodes, start), columns, edges, bound)

    def _ask(self, d: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        if self.learner.search == "optimal":
            return self.search.optimal(d, k, self.rows.threads)
        leaves = self.learner.max_leaves or _MOST_LEAVES
        depth = self.learner.max_depth or leaves - 1
        return self.search.greedy(d, (depth, leaves), self.learner.search == "polished", k, self.rows.threads)

    def column(self, tree: Tree) -> np.ndarray:
        """y_i h(x_i) as int8."""
        return self._column(as_arrays([tree])[0])

    def _column(self, nodes: np.ndarray) -> np.ndarray:
        out = np.empty(self.bins.n_rows, dtype=np.int8)
        self.search.column(nodes, out, self.rows.threads)
        return out

    def margins(self, hypotheses: Sequence[Tree], w: np.ndarray) -> np.ndarray:
        nodes, start = as_arrays(hypotheses)
        out = np.empty(self.bins.n_rows)
        self.search.margins(nodes, start, np.ascontiguousarray(w, dtype=np.float64), out, self.rows.threads)
        return out

    def predictor(self, hypotheses: Sequence[Tree], w: np.ndarray) -> TreeScores:
        return TreeScores.collect(self.bins, hypotheses, w, self.categories)

    def predictors(self, hypotheses: Sequence[Tree]) -> list[Predictor]:
        return list(TreeScores.one_by_one(self.bins, hypotheses, self.categories))

    def forget(self) -> None:
        """Nothing is kept."""
