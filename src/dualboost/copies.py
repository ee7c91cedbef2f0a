"""Equal rows of one class, found by their content: together they are one row of their weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualboost.fingerprints import contents, count_distinct

__all__ = ["Copies"]


@dataclass(frozen=True, eq=False)
class Copies:
    """Which rows are left when copies are merged, and what becomes of the others."""

    first: np.ndarray
    """The first row of each kind, in the order of the rows."""
    weights: np.ndarray
    """What all rows of each kind weigh together."""
    of: np.ndarray
    """The kind of each row."""
    shares: np.ndarray
    """Each row's part of the weight of its kind."""

    @classmethod
    def among(cls, X, codes: np.ndarray, weights: np.ndarray | None) -> Copies | None:
        """The copies among these rows; None where all rows differ.

        Examples
        --------
        >>> import numpy as np
        >>> from dualboost.copies import Copies
        >>> copies = Copies.among(np.array([[3.0], [5.0], [3.0]]), np.array([0, 1, 0]), np.array([1.0, 1.0, 3.0]))
        >>> copies.first.tolist(), copies.weights.tolist(), copies.shares.tolist()
        ([0, 1], [4.0, 1.0], [0.25, 1.0, 0.75])
        """
        copy_of = _first_equals(X, codes)
        if copy_of is None:
            return None
        first, of = np.unique(copy_of, return_inverse=True)
        given = np.ones(len(codes)) if weights is None else weights
        together = np.bincount(of, given).astype(np.float64)
        return cls(first, together, of, given / together[of])

    def only(self, kept: np.ndarray) -> Copies:
        """Only the kinds of this mask, and their rows."""
        rows, number = kept[self.of], np.cumsum(kept) - 1
        return Copies(self.first[kept], self.weights[kept], number[self.of[rows]], self.shares[rows])


def _first_equals(X, codes: np.ndarray) -> np.ndarray | None:
    """The first row that is equal to each; None where none is equal to another."""
    prints = contents(X, 0)
    prints += codes.astype(np.uint64)
    if count_distinct(prints) == len(prints):
        return None
    _, first, of = np.unique(prints, return_index=True, return_inverse=True)
    copy_of = first[of]
    # Two rows may share a number of 64 bits by chance, but not two of them.
    others = contents(X, 1)
    differ = (others != others[copy_of]) | (codes != codes[copy_of])
    np.copyto(copy_of, np.arange(len(copy_of)), where=differ)
    return copy_of if np.any(copy_of != np.arange(len(copy_of))) else None
