"""A finished ensemble of trees: flat arrays that score raw values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from dualboost import kernels
from dualboost.data import MASK_BYTES, Bins
from dualboost.learners.base import Predictor
from dualboost.learners.categories import Categories
from dualboost.learners.named_columns import HoldsCategories, NamedColumns, flattened
from dualboost.sparse_tables import summed_up

__all__ = ["Tree", "TreeScores", "as_arrays", "as_trees"]

_APART = 1 << 10  # more than a feature has cuts
Tree = tuple[tuple[int, int, int], ...]  # nodes in preorder, see learners.trees


def as_arrays(trees: Sequence[Tree]) -> tuple[np.ndarray, np.ndarray]:
    """All nodes, one a row, and where each tree begins and the last one ends. Masks take eight more columns."""
    listed = list(chain.from_iterable(trees))
    start = np.cumsum([0, *map(len, trees)], dtype=np.int64)
    numbers = list(chain.from_iterable(listed))
    masked = [cut < 0 <= feature for feature, cut, _ in listed]
    if not any(masked):
        return np.array(numbers, dtype=np.int32).reshape(-1, 3), start
    none = bytes(MASK_BYTES)
    words = [
        node[2].to_bytes(MASK_BYTES, "little") if mask else none for node, mask in zip(listed, masked, strict=True)
    ]
    numbers[2::3] = [0 if mask else node[2] for node, mask in zip(listed, masked, strict=True)]
    plain = np.array(numbers, dtype=np.int32).reshape(-1, 3)
    masks = np.frombuffer(b"".join(words), dtype=np.int32).reshape(len(listed), -1)
    return np.concatenate([plain, masks], axis=1), start


def as_trees(nodes: np.ndarray, start: np.ndarray) -> list[Tree]:
    """The trees of these arrays again."""
    listed: list[tuple] = list(zip(*nodes[:, :3].T.tolist(), strict=True))
    words = nodes[:, 3:].tobytes()  # empty where no tree has a mask
    for j, (feature, cut, _) in enumerate(listed if words else ()):
        if cut < 0 <= feature:
            listed[j] = (feature, cut, int.from_bytes(words[MASK_BYTES * j : MASK_BYTES * (j + 1)], "little"))
    return [tuple(listed[first:last]) for first, last in pairwise(start.tolist())]


@dataclass(frozen=True, eq=False)
class TreeScores(HoldsCategories, Predictor):
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
    named: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    """The columns of X that hold categories: these are coded before the trees see them, and what no category has
    a code for counts as missing."""
    name_start: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    names: np.ndarray = field(default_factory=lambda: np.empty(0))
    """The categories of column named[c] are names[name_start[c]:name_start[c + 1]], ascending..."""
    name_codes: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.uint8))
    """...and these are their codes."""

    @classmethod
    def collect(
        cls, bins: Bins, hypotheses: Sequence[Tree], w: np.ndarray, categories: Mapping[int, Categories] | None = None
    ) -> TreeScores:
        nodes, start = as_arrays(hypotheses)
        w = np.ascontiguousarray(w, dtype=np.float64)
        splits = np.flatnonzero(nodes[:, 0] >= 0)
        features, place = np.unique(nodes[splits, 0], return_inverse=True)
        used = [_used_cuts(bins, feature, nodes[splits[place == u], 1]) for u, feature in enumerate(features)]
        nodes[splits, 0] = place.astype(np.int32)
        for u, (numbers, _) in enumerate(used):
            here = splits[(place == u) & (nodes[splits, 1] >= 0)]
            nodes[here, 1] = np.searchsorted(numbers, nodes[here, 1]).astype(np.int32)
        cut_start = np.cumsum([0, *(len(values) for _, values in used)], dtype=np.int64)
        cuts = np.concatenate([np.empty(0), *(values for _, values in used)])
        share = np.bincount(place, weights=_split_weights(splits, start, w), minlength=len(features))
        met_missing = np.ascontiguousarray(bins.has_missing.take(features), dtype=np.uint8)
        return cls(
            nodes, start, w, features.astype(np.int32), cut_start, cuts, met_missing, share,
            *flattened(categories or {}, features),
        )  # fmt: skip

    @classmethod
    def one_by_one(
        cls, bins: Bins, trees: Sequence[Tree], categories: Mapping[int, Categories] | None = None
    ) -> Iterator[TreeScores]:
        """Each tree collected on its own, with weight 1: parts of arrays that all of them share."""
        nodes, start = as_arrays(trees)
        tree = np.repeat(np.arange(len(trees)), np.diff(start))
        splits = np.flatnonzero(nodes[:, 0] >= 0)
        groups = _Groups.of(bins, tree[splits], nodes[splits, 0], nodes[splits, 1])  # the features of each tree
        first = np.searchsorted(groups.tree, np.arange(len(trees) + 1))
        nodes[splits, 0] = groups.number - first[tree[splits]]
        nodes[splits, 1] = groups.place
        plain, masked = np.ascontiguousarray(nodes[:, :3]), np.zeros(len(trees), dtype=bool)
        masked[tree[splits[groups.place < 0]]] = True

        sizes = np.diff(first) + 1  # a list of starts has one entry more than features
        ends = np.arange(sizes.sum()) - np.repeat(np.arange(len(trees)), sizes)
        cut_start = groups.cut_start[ends] - np.repeat(groups.cut_start[first[:-1]], sizes)
        share = np.bincount(groups.number, _split_weights(splits, start, np.ones(len(trees))), len(groups.tree))
        features, met_missing = groups.feature.astype(np.int32), bins.has_missing.take(groups.feature)
        spans = np.column_stack([np.zeros(len(trees), np.int64), np.diff(start)])
        weights, names = np.ones(len(trees)), _Names(categories or {})
        places = zip(pairwise(start.tolist()), pairwise(first.tolist()), masked.tolist(), strict=True)
        for t, ((begin, end), (low, high), wide) in enumerate(places):
            yield cls(
                (nodes if wide else plain)[begin:end], spans[t], weights[t : t + 1], features[low:high],
                cut_start[low + t : high + t + 1], groups.cuts[groups.cut_start[low] : groups.cut_start[high]],
                met_missing[low:high], share[low:high], *names.of(features[low:high]),
            )  # fmt: skip

    def scores(self, X, threads: int = 1) -> np.ndarray:
        out = np.empty(X.shape[0])
        if sp.issparse(X):
            X = summed_up(sp.csr_array(X))
            self._prepared.sparse(X.shape[1], X.indptr, X.indices, X.data, out, threads)
        else:
            self._prepared.dense(X, out, threads)
        return out

    @cached_property
    def _prepared(self) -> kernels.TreePredictor:
        ready = kernels.TreePredictor(
            self.nodes, self.start, self.weights, self.features, self.cut_start, self.cuts, self.met_missing
        )
        if len(self.named):
            ready.add_categories(*self.named_columns)
        return ready

    def importances(self, n_features: int) -> np.ndarray:
        share = np.zeros(n_features)
        share.put(self.features, self.share)
        return share / max(share.sum(), np.finfo(np.float64).tiny)


class _Groups(NamedTuple):
    """The features of many trees, tree by tree; of each, the cuts that occur."""

    tree: np.ndarray
    feature: np.ndarray
    cut_start: np.ndarray
    cuts: np.ndarray
    number: np.ndarray
    """The group of each split..."""
    place: np.ndarray
    """...and its cut among those of the group; -1 for a mask."""

    @classmethod
    def of(cls, bins: Bins, tree: np.ndarray, feature: np.ndarray, cut: np.ndarray) -> _Groups:
        """From the tree, the feature and the cut of each split."""
        groups, number = np.unique(tree * bins.n_features + feature, return_inverse=True)
        owner, features = np.divmod(groups, bins.n_features)
        counts = bins.cut_counts.take(features).astype(np.int64)
        by_mask = _distinct(number[cut < 0])  # these have all cuts
        every = np.repeat(by_mask * _APART, counts[by_mask]) + _counted(counts[by_mask])
        single = (cut >= 0) & (cut < counts[number])
        used = _distinct(np.concatenate([every, number[single] * _APART + cut[single]]))
        start = np.searchsorted(used, np.arange(len(groups) + 1) * _APART)
        place = np.where(cut < 0, cut, np.searchsorted(used, number * _APART + cut) - start[number])
        values = bins.cuts[np.repeat(bins.cut_start[features], np.diff(start)) + used % _APART]
        return cls(owner, features, start, values, number, place)


def _distinct(numbers: np.ndarray) -> np.ndarray:
    """Each once, ascending: by a sort, for NumPy's table of so many numbers is slower."""
    ordered = np.sort(numbers)
    return ordered[np.diff(ordered, prepend=-1) > 0]


def _counted(counts: np.ndarray) -> np.ndarray:
    """0, 1, ... up to each of these counts, in a row."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


class _Names:
    """The flattened categories of trees; those of equal columns are the same arrays."""

    def __init__(self, categories: Mapping[int, Categories]):
        self._categories = categories
        self._known: dict[tuple[int, ...], NamedColumns] = {}

    def of(self, features: np.ndarray) -> NamedColumns:
        key = tuple(features.tolist()) if self._categories else ()
        if key not in self._known:
            self._known[key] = flattened(self._categories, key)
        return self._known[key]


def _used_cuts(bins: Bins, feature: int, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(numbers, values) of the cuts that occur; a split of missing from present values has none, one by a mask all."""
    values = bins.cuts[bins.cut_start[feature] : bins.cut_start[feature + 1]]
    used = np.arange(len(values)) if np.any(numbers < 0) else np.unique(numbers[numbers < len(values)])
    return used, values.take(used)


def _split_weights(splits: np.ndarray, start: np.ndarray, w: np.ndarray) -> np.ndarray:
    """|w| of each split's tree over the number of its splits."""
    tree = np.searchsorted(start, splits, side="right") - 1
    return np.abs(w)[tree] / np.bincount(tree, minlength=len(w))[tree]
