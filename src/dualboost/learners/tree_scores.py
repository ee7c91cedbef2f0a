"""A finished ensemble of trees: flat arrays that score raw values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dualboost import kernels
from dualboost.data import Bins
from dualboost.learners.base import Predictor

__all__ = ["Tree", "TreeScores", "as_arrays"]

Tree = tuple[tuple[int, int, int], ...]  # nodes in preorder, see learners.trees


def as_arrays(trees: Sequence[Tree]) -> tuple[np.ndarray, np.ndarray]:
    """All nodes, one a row, and where each tree begins and the last one ends."""
    nodes = np.array([node for tree in trees for node in tree], dtype=np.int32).reshape(-1, 3)
    return nodes, np.cumsum([0, *map(len, trees)], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class TreeScores(Predictor):
    """A tree ensemble as flat arrays. A block of rows is coded by the cuts once; then every split is a mask of bytes.

    Tree t is the rows start[t]:start[t + 1] of `nodes`. A split names its feature by the place in `features` and its
    cut by the place among the used cuts of that feature, cuts[cut_start[u]:cut_start[u + 1]]. A tree abstains where
    its path meets a missing value in a feature that had none in training (`met_missing`).
    """

    nodes: np.ndarray
    start: np.ndarray
    weights: np.ndarray
    features: np.ndarray
    cut_start: np.ndarray
    cuts: np.ndarray
    met_missing: np.ndarray
    share: np.ndarray
    """The absolute weight on each used feature: that of a tree is divided equally among its splits."""

    @classmethod
    def collect(cls, bins: Bins, hypotheses: Sequence[Tree], w: np.ndarray) -> TreeScores:
        nodes, start = as_arrays(hypotheses)
        w = np.ascontiguousarray(w, dtype=np.float64)
        splits = np.flatnonzero(nodes[:, 0] >= 0)
        features, place = np.unique(nodes[splits, 0], return_inverse=True)
        used = [_used_cuts(bins, feature, nodes[splits[place == u], 1]) for u, feature in enumerate(features)]
        nodes[splits, 0] = place
        for u, (numbers, _) in enumerate(used):
            here = splits[place == u]
            nodes[here, 1] = np.searchsorted(numbers, nodes[here, 1])
        cut_start = np.cumsum([0, *(len(values) for _, values in used)], dtype=np.int64)
        cuts = np.concatenate([np.empty(0), *(values for _, values in used)])
        share = np.bincount(place, weights=_split_weights(splits, start, w), minlength=len(features))
        met_missing = np.ascontiguousarray(bins.has_missing[features], dtype=np.uint8)
        return cls(nodes, start, w, features.astype(np.int32), cut_start, cuts, met_missing, share)

    def scores(self, X, threads: int = 1) -> np.ndarray:
        out = np.empty(X.shape[0])
        model = (self.nodes, self.start, self.weights, self.features, self.cut_start, self.cuts, self.met_missing)
        if sp.issparse(X):
            X = sp.csr_array(X)
            X.sum_duplicates()
            kernels.predict_trees_sparse(X.shape[1], X.indptr, X.indices, X.data, *model, out, threads)
        else:
            kernels.predict_trees_dense(X, *model, out, threads)
        return out

    def importances(self, n_features: int) -> np.ndarray:
        share = np.zeros(n_features)
        share[self.features] = self.share
        return share / max(share.sum(), np.finfo(np.float64).tiny)


def _used_cuts(bins: Bins, feature: int, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(numbers, values) of the cuts that occur; a split of missing from present values has none."""
    values = bins.cuts[bins.cut_start[feature] : bins.cut_start[feature + 1]]
    used = np.unique(numbers[numbers < len(values)])
    return used, values[used]


def _split_weights(splits: np.ndarray, start: np.ndarray, w: np.ndarray) -> np.ndarray:
    """|w| of each split's tree over the number of its splits."""
    tree = np.searchsorted(start, splits, side="right") - 1
    return np.abs(w)[tree] / np.bincount(tree, minlength=len(w))[tree]
