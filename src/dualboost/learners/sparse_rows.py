"""Sparse tables for those that read dense rows: only the columns that are asked about, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

__all__ = ["written_out"]

_CELLS = 1 << 23  # written out at once


def written_out(X, columns: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """(rows, their values in these columns), for all rows of a sparse table in turn."""
    X = sp.csr_array(X)
    if len(columns) < X.shape[1]:
        X = X[:, columns]
    step = max(1, _CELLS // max(len(columns), 1))
    for first in range(0, X.shape[0], step):
        rows = slice(first, first + step)
        yield rows, X[rows].toarray()
