"""Trees whose leaves vote with a strength of their own: one as a key, and a finished vote of them on raw values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from dualboost import kernels
from dualboost.data import MASK_BYTES, Bins
from dualboost.learners.base import Predictor
from dualboost.learners.named_columns import HoldsCategories, NamedColumns
from dualboost.learners.raw_trees import RawTree, places_among
from dualboost.sparse_tables import written_out

__all__ = ["BY_MASK", "LeafScores", "LeafTree"]

BY_MASK = -1
"""In the place of a cut: a split of categories."""

_DTYPES = (np.int32, np.int32, np.uint8, np.int32, np.int32, np.float64, np.uint8)
_NO_TREE = RawTree.of([], [], [], ([], []), [])


class LeafTree(NamedTuple):
    """A tree as the bytes of its arrays, one entry a node: a key that is small, equal by value, and can be pickled."""

    feature: bytes
    cut: bytes
    missing_right: bytes
    left: bytes
    right: bytes
    value: bytes
    mask: bytes = b""
    """32 bytes a node, where some split has the cut BY_MASK: a bit for each code that goes right; else nothing."""

    @classmethod
    def of(cls, arrays: Sequence[np.ndarray]) -> LeafTree:
        feature, cut, missing_right, left, right, value = (array.tobytes() for array in arrays[:-1])
        mask = arrays[-1].tobytes() if np.any(arrays[1] == BY_MASK) else b""
        return cls(feature, cut, missing_right, left, right, value, mask)

    def arrays(self) -> list[np.ndarray]:
        """feature (-1 in a leaf), cut, missing_right, left, right, value, masks."""
        *plain, mask = (np.frombuffer(part, dtype) for part, dtype in zip(self, _DTYPES, strict=True))
        return [*plain, mask.reshape(-1, MASK_BYTES)]


@dataclass(frozen=True, eq=False)
class LeafScores(HoldsCategories, Predictor):
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
    mask: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    """The number of a node's mask, -1 for a threshold; nothing at all where no tree splits categories."""
    masks: np.ndarray = field(default_factory=lambda: np.empty((0, MASK_BYTES), dtype=np.uint8))
    """A bit for each code that goes right."""
    named: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    """The columns of X that hold categories..."""
    name_start: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    names: np.ndarray = field(default_factory=lambda: np.empty(0))
    """...those of column named[c] are names[name_start[c]:name_start[c + 1]], ascending..."""
    name_codes: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.uint8))
    """...and these are their codes. Any other value counts as missing."""

    @classmethod
    def of(
        cls, bins: Bins, trees: Sequence[LeafTree], w: np.ndarray, columns: NamedColumns | None = None
    ) -> LeafScores:
        raw, by_mask, masks = [], [np.empty(0, dtype=bool)], [np.empty((0, MASK_BYTES), dtype=np.uint8)]
        for tree in trees:
            feature, cut, missing_right, left, right, value, own = tree.arrays()
            masked = (feature >= 0) & (cut == BY_MASK)
            thresholds = _thresholds(bins, np.where(masked, -1, feature), cut)
            raw.append(RawTree.of(feature, thresholds, missing_right, (left, right), value))
            by_mask.append(masked)
            masks.append(own[masked] if len(own) else own)
        plain, masked = cls.of_raw(raw, w), np.concatenate(by_mask)
        if columns is None or not masked.any():
            return plain
        numbers = np.where(masked, np.cumsum(masked) - 1, -1).astype(np.int32)
        named, name_start, names, name_codes = columns
        return replace(
            plain, mask=numbers, masks=np.concatenate(masks), named=named, name_start=name_start, names=names,
            name_codes=name_codes,
        )  # fmt: skip

    @classmethod
    def of_raw(cls, trees: Sequence[RawTree], w: np.ndarray) -> LeafScores:
        """Of trees that others have grown."""
        sizes = np.array([len(tree.feature) for tree in trees], dtype=np.int64)
        roots = np.cumsum(sizes) - sizes

        def joined(name: str) -> np.ndarray:
            return np.concatenate([getattr(_NO_TREE, name), *(getattr(tree, name) for tree in trees)])

        weights, shift = np.asarray(w, dtype=np.float64), np.repeat(roots, sizes).astype(np.int32)
        return cls(
            joined("feature"), joined("threshold"), joined("missing_right"), joined("left") + shift,
            joined("right") + shift, joined("value") * np.repeat(weights, sizes), roots, np.abs(weights),
        )  # fmt: skip

    def scores(self, X, threads: int = 1) -> np.ndarray:
        out = np.empty(X.shape[0])
        if not sp.issparse(X):
            self._prepared.scores(X, out, threads)
            return out
        columns, narrow = self._narrow
        for rows, part in written_out(X, columns):
            narrow.scores(part, out[rows], threads)
        return out

    def __len__(self) -> int:
        """How many trees ask anything."""
        return int(np.count_nonzero(self.feature[self.roots] >= 0))

    @cached_property
    def _narrow(self) -> tuple[np.ndarray, kernels.LeafPredictor]:
        """The columns that are asked about, and the same trees for a table of these alone."""
        columns = np.union1d(self.feature[self.feature >= 0], self.named)
        place = places_among(columns)
        feature = np.where(self.feature < 0, -1, place[self.feature]).astype(np.int32)
        return columns, replace(self, feature=feature, named=place[self.named])._prepared

    @cached_property
    def _prepared(self) -> kernels.LeafPredictor:
        ready = kernels.LeafPredictor(
            self.feature, self.threshold, self.missing_right, self.left, self.right, self.value, self.roots
        )
        if len(self.mask):
            ready.add_categories(self.mask, self.masks, *self.named_columns)
        return ready

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
    f, c = feature[inner].astype(np.intp), cut[inner].astype(np.intp)
    beyond = c >= bins.cut_counts[f]
    out[inner[beyond]] = np.inf
    out[inner[~beyond]] = bins.cuts[bins.cut_start[f[~beyond]] + c[~beyond]]
    return out
