"""The numbering of all stumps of a class: the constant, then by feature, cut and side of the missing values."""

from __future__ import annotations

import numpy as np

__all__ = ["StumpIndex"]


class StumpIndex:
    """Number <-> (feature, cut, missing_right), in the order in which ties are broken.

    A feature with C cuts has C stumps, or with missing values 2 C + 1: both sides at every cut, and at last
    (feature, C, 1), "missing or not".

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.learners.stump_index import StumpIndex
    >>> index = StumpIndex(np.array([2, 1]), np.array([0, 1]))
    >>> list(zip(*(part.tolist() for part in index.stumps(np.arange(len(index))))))
    [(-1, 0, 0), (0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 0, 1), (1, 1, 1)]
    """

    def __init__(self, cut_counts: np.ndarray, has_missing: np.ndarray):
        self._cuts, self._missing = cut_counts.astype(np.int64), has_missing.astype(np.int64)
        counts = self._cuts * (1 + self._missing) + self._missing
        self._start = 1 + np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def __len__(self) -> int:
        return int(self._start[-1])

    def numbers(self, features: np.ndarray, cuts: np.ndarray, sides: np.ndarray) -> np.ndarray:
        """The numbers of these stumps."""
        f = np.maximum(features, 0)
        if not len(f):
            return np.zeros(0, dtype=np.int64)
        place = self._start[f] + cuts * (1 + self._missing[f]) + sides - (cuts == self._cuts[f])
        return np.where(features < 0, 0, place)

    def stumps(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(features, cuts, sides) of these numbers."""
        features = np.searchsorted(self._start, numbers, side="right") - 1
        f = np.maximum(features, 0)
        if not len(self._cuts):
            nothing = np.zeros(len(numbers), dtype=np.int64)
            return nothing - 1, nothing, nothing
        place, per_cut = numbers - self._start[f], 1 + self._missing[f]
        last = (self._missing[f] > 0) & (place == 2 * self._cuts[f])
        cuts, sides = place // per_cut, np.where(last, 1, place % per_cut)
        constant = features < 0
        return features, np.where(constant, 0, cuts), np.where(constant, 0, sides)
