"""Sparse tables: each cell listed once; and written out for those that read dense rows, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

__all__ = ["summed_up", "without_zeros", "written_out"]

_CELLS = 1 << 23  # written out at once


def summed_up(X):
    """The table with each cell listed once, in order: a copy where it is not so. A dense one as it is.

    Sums in place would change the caller's table, and end the process where another one shares its places.
    """
    if not sp.issparse(X) or X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def without_zeros(X) -> sp.csr_array:
    """A copy by rows, with each cell that is not 0 listed once."""
    X = sp.csr_array(X, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    return X


def written_out(X, columns: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """(rows, their values in these columns), for all rows of a sparse table in turn."""
    X = sp.csr_array(X)
    if len(columns) < X.shape[1]:
        X = X[:, columns]
    step = max(1, _CELLS // max(len(columns), 1))
    for first in range(0, X.shape[0], step):
        rows = slice(first, first + step)
        yield rows, X[rows].toarray()
