"""Rows that are equal, and rows that contradict each other: the same instance with opposite labels.

A pair of rows r and -r of the margin matrix balances every hypothesis by itself: both are in the hard core, whatever
the rest of the data.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dualboost.sparse_tables import without_zeros

__all__ = ["Duplicates"]


class Duplicates:
    """Rows numbered by instance, and by instance and label."""

    def __init__(self, instance: np.ndarray, side: np.ndarray):
        self._instance, self._side = instance, side
        self.copy_of = 2 * instance + (side > 0)
        """Rows of one number are copies: the same instance with the same label."""

    @classmethod
    def unknown(cls, m: int) -> Duplicates:
        """Rows of which nothing is known: all different."""
        return cls(np.arange(m), np.ones(m))

    @classmethod
    def in_data(cls, X, y: np.ndarray) -> Duplicates:
        return cls(_numbered(X), y)

    @classmethod
    def in_matrix(cls, A) -> Duplicates:
        """The label of a row is the sign of its first entry: what is left is the instance."""
        if sp.issparse(A):
            A = without_zeros(A)
            first = np.where(np.diff(A.indptr) > 0, np.append(A.data, 0.0)[A.indptr[:-1]], 0.0)
        else:
            first = np.take_along_axis(A, np.argmax(A != 0, axis=1)[:, None], axis=1)[:, 0]
        side = np.where(first >= 0, 1.0, -1.0)
        return cls(_numbered(A.multiply(side[:, None]) if sp.issparse(A) else A * side[:, None]), side)

    def contradictions(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """(rows with one label, rows with the other) of every instance that has both."""
        order = np.lexsort((self._side, self._instance))
        starts = np.flatnonzero(np.diff(self._instance[order], prepend=-1))
        groups = np.split(order, starts[1:])
        pairs = ((group[self._side[group] > 0], group[self._side[group] <= 0]) for group in groups if len(group) > 1)
        return tuple(pair for pair in pairs if len(pair[0]) and len(pair[1]))


def _numbered(X) -> np.ndarray:
    """Equal rows get equal numbers; NaN equals NaN."""
    if sp.issparse(X):
        X = without_zeros(X)
        keys = [_key(X, i) for i in range(X.shape[0])]
        numbers: dict[tuple[bytes, bytes], int] = {}
        return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)
    rows = np.ascontiguousarray(X, dtype=np.float64) + 0.0  # -0.0 becomes 0.0
    rows[np.isnan(rows)] = np.nan  # every NaN the same bits
    if not rows.shape[1]:
        return np.zeros(len(rows), dtype=np.intp)
    words = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    return np.unique(words, return_inverse=True)[1].ravel()


def _key(X: sp.csr_array, i: int) -> tuple[bytes, bytes]:
    inside = slice(X.indptr[i], X.indptr[i + 1])
    return X.indices[inside].tobytes(), X.data[inside].tobytes()
