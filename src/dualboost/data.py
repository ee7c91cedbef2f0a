"""Binning: real-valued columns become small codes, once, before boosting starts.

The code of x is the number of the column's cuts below x, so ``x <= cuts[k]`` is the same as ``code <= k``; 255 is a
missing value (NaN). A column with few distinct values keeps them all apart; otherwise the cuts are quantiles of the
cumulative weight over distinct values, so that a row of weight k counts exactly as k copies of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from dualboost import kernels
from dualboost.sparse_tables import summed_up

MISSING = 255
MOST_THREADS = 1 << 16
MASK_BYTES = (MISSING + 1) // 8  # of a set of codes, a bit each

# A column is stored as exceptions to its most frequent code when they are at most this part of the rows...
SPARSE_FRACTION = 0.2
# ...and the table of all codes is large enough for it to matter: this many rows or this many cells.
SPARSE_MIN_ROWS = 1_000
SPARSE_MIN_CELLS = 1 << 24

# Up to here a column is sorted with its row numbers, which gives cuts and codes at once.
SMALL_ROWS = 1 << 12


_Array = np.ndarray
SearchArrays = tuple[int, _Array, _Array, _Array, _Array, _Array, _Array, _Array, _Array, _Array, _Array]


@dataclass(frozen=True, eq=False)
class Bins:
    """The codes of all columns that vary, each stored in full or as the exceptions to its default code.

    Column j has the cuts ``cuts[cut_start[j]:cut_start[j + 1]]``, strictly increasing, at most 254. Row k of
    ``dense_codes`` holds column ``dense_features[k]``. Sparse column s is ``sparse_features[s]``: the rows
    ``sparse_rows[sparse_start[s]:sparse_start[s + 1]]``, ascending, have the ``sparse_codes`` beside them, all others
    ``sparse_default[s]``. A column with the same code everywhere is in neither list.
    """

    n_rows: int
    n_features: int
    cuts: np.ndarray
    cut_start: np.ndarray
    has_missing: np.ndarray
    dense_codes: np.ndarray
    dense_features: np.ndarray
    sparse_start: np.ndarray
    sparse_rows: np.ndarray
    sparse_codes: np.ndarray
    sparse_features: np.ndarray
    sparse_default: np.ndarray

    @property
    def cells(self) -> int:
        """How many numbers a pass over the rows and all their codes reads."""
        return self.n_rows + self.dense_codes.size + self.sparse_rows.size

    @property
    def cut_counts(self) -> np.ndarray:
        """The number of cuts of each column."""
        return np.subtract(self.cut_start[1:], self.cut_start[:-1], dtype=np.int32, casting="unsafe")

    @property
    def stored(self) -> np.ndarray:
        """Which columns are in one of the lists, as 0 and 1."""
        stored = np.zeros(self.n_features, dtype=np.uint8)
        stored.put(self.dense_features, 1)
        stored.put(self.sparse_features, 1)
        return stored

    def search_arrays(self, y: np.ndarray) -> SearchArrays:
        """What the compiled searches take, for labels of +1 and -1.

        A column that is missing everywhere is constant: it is not stored and has no hypotheses.
        """
        all_stored = len(self.dense_features) + len(self.sparse_features) == self.n_features
        missing = self.has_missing if all_stored else self.has_missing & self.stored
        return (
            self.n_rows, np.asarray(y, dtype=np.int8, order="C"), self.cut_counts, missing,
            self.dense_codes, self.dense_features,
            self.sparse_start, self.sparse_rows, self.sparse_codes, self.sparse_features, self.sparse_default,
        )  # fmt: skip


def bin_columns(X: Any, weights: Any = None, max_bins: int = 255, threads: int = 1) -> Bins:
    """Bin the columns of X, an array (any strides) or a scipy sparse matrix; NaN is missing, infinity is refused.

    Above 200,000 rows quantiles come from a fixed sample of 100,000 rows; columns with at most ``max_bins`` distinct
    values are exact all the same. Float arrays are never copied.
    """
    max_bins, threads = _integer(max_bins, "max_bins"), _integer(threads, "threads")
    once = _once.get()
    return _binned(X, weights, max_bins, threads) if once is None else once.binned(X, weights, max_bins, threads)


@contextmanager
def binned_once(X: Any) -> Iterator[None]:
    """In here this table is binned once, however often it is asked for: several classes have the same bins."""
    token = _once.set(_Once(X))
    try:
        yield
    finally:
        _once.reset(token)


class _Once:
    """The last bins of one table."""

    def __init__(self, X: Any):
        self._table = X
        self._made: tuple[tuple[int, Any], Bins] | None = None

    def binned(self, X: Any, weights: Any, max_bins: int, threads: int) -> Bins:
        if X is not self._table:
            return _binned(X, weights, max_bins, threads)
        if self._made is None or self._made[0][0] != max_bins or not _same(self._made[0][1], weights):
            self._made = (max_bins, weights), _binned(X, weights, max_bins, threads)
        return self._made[1]


_once: ContextVar[_Once | None] = ContextVar("once", default=None)


def _same(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))


def _binned(X: Any, weights: Any, max_bins: int, threads: int) -> Bins:
    if sp.issparse(X):
        columns = _compressed_columns(X)
        return _bin_sparse(columns, _row_weights(weights, columns.n_rows), max_bins, threads)
    X = _float_matrix(X)
    return _bin_dense(X, _row_weights(weights, X.shape[0]), max_bins, threads)


class _Storage(NamedTuple):
    """Which columns are stored in full, which as exceptions, and where the exceptions of each begin."""

    dense: np.ndarray
    sparse: np.ndarray
    start: np.ndarray
    default: np.ndarray


class _Columns(NamedTuple):
    n_rows: int
    start: np.ndarray
    rows: np.ndarray
    values: np.ndarray


def _bin_dense(X: np.ndarray, weights: np.ndarray | None, max_bins: int, threads: int) -> Bins:
    codes = np.empty((X.shape[1], X.shape[0]), dtype=np.uint8)
    if weights is None and X.shape[0] <= SMALL_ROWS:
        cuts, cut_start, mode, count, missing, varying = kernels.bin_small(X, max_bins, codes)
        if _matters(X.shape[0], codes.size):
            return _stored(codes, (cuts, cut_start, missing), (mode, count), threads)
        storage = _Storage(varying, *_NO_SPARSE)
        dense_codes = codes if varying.size == len(codes) else codes[varying]
        return _bins(X.shape, (cuts, cut_start, missing), dense_codes, storage, _NO_EXCEPTIONS)
    cuts, cut_start, few, known = kernels.cut_dense(X, weights, max_bins, threads, True)
    if not kernels.encode_dense(X, cuts, cut_start, codes, threads, few, known):  # a value that no sampled row has
        cuts, cut_start, few, known = kernels.cut_dense(X, weights, max_bins, threads)
        kernels.encode_dense(X, cuts, cut_start, codes, threads, few, known)
    return store_codes(codes, cuts, cut_start, threads)


def store_codes(codes: np.ndarray, cuts: np.ndarray, cut_start: np.ndarray, threads: int = 1) -> Bins:
    """Columns that are coded already, one a row of `codes`, stored as suits each."""
    mode, count, missing = kernels.modes_dense(codes, threads)
    return _stored(codes, (cuts, cut_start, missing), (mode, count), threads)


def _stored(codes: np.ndarray, columns: tuple, modes: tuple[np.ndarray, np.ndarray], threads: int) -> Bins:
    """The columns as suits their commonest codes and how often these occur."""
    storage = _choose_storage(codes.shape[1], *modes)
    rows, exceptions = _room_for(storage)
    if storage.sparse.size:
        kernels.pack_dense(codes, storage.sparse, storage.default, storage.start, rows, exceptions, threads)
    dense_codes = codes if storage.dense.size == len(codes) else codes.take(storage.dense, axis=0)
    return _bins(codes.shape[::-1], columns, dense_codes, storage, (rows, exceptions))


def _bin_sparse(X: _Columns, weights: np.ndarray | None, max_bins: int, threads: int) -> Bins:
    shape = X.n_rows, X.start.size - 1
    cuts, cut_start = kernels.cut_sparse(X.n_rows, X.start, X.rows, X.values, weights, max_bins, threads)
    entry_codes = np.empty(X.values.size, dtype=np.uint8)
    kernels.encode_sparse(X.start, X.values, cuts, cut_start, entry_codes, threads)
    zero_codes = _codes_of_zero(cuts, cut_start)
    mode, count, missing = kernels.modes_sparse(X.n_rows, X.start, entry_codes, zero_codes)
    storage = _choose_storage(X.n_rows, mode, count)
    rows, exceptions = _room_for(storage)
    coded = X.n_rows, X.start, X.rows, entry_codes, zero_codes
    kernels.pack_sparse(*coded, storage.sparse, storage.default, storage.start, rows, exceptions, threads)
    dense_codes = np.empty((storage.dense.size, X.n_rows), dtype=np.uint8)
    kernels.fill_sparse(*coded, storage.dense, dense_codes)
    return _bins(shape, (cuts, cut_start, missing), dense_codes, storage, (rows, exceptions))


def _bins(shape: tuple, columns: tuple, dense_codes: np.ndarray, storage: _Storage, exceptions: tuple) -> Bins:
    cuts, cut_start, missing = columns
    sparse_rows, sparse_codes = exceptions
    return Bins(
        n_rows=shape[0],
        n_features=shape[1],
        cuts=cuts,
        cut_start=cut_start,
        has_missing=missing,
        dense_codes=dense_codes,
        dense_features=storage.dense,
        sparse_start=storage.start,
        sparse_rows=sparse_rows,
        sparse_codes=sparse_codes,
        sparse_features=storage.sparse,
        sparse_default=storage.default,
    )


def _choose_storage(n_rows: int, mode: np.ndarray, count: np.ndarray) -> _Storage:
    exceptions = n_rows - count
    varies = exceptions > 0
    sparse = (
        varies & (exceptions <= SPARSE_FRACTION * n_rows) & _matters(n_rows, n_rows * int(np.count_nonzero(varies)))
    )
    dense_features = np.flatnonzero(varies & ~sparse).astype(np.int32)
    sparse_features = np.flatnonzero(sparse).astype(np.int32)
    start = np.concatenate(([0], np.cumsum(exceptions[sparse]))).astype(np.int64)
    return _Storage(dense_features, sparse_features, start, mode[sparse])


def _matters(n_rows: int, cells: int) -> bool:
    """Whether the table is large enough for columns to be stored as exceptions."""
    return n_rows >= SPARSE_MIN_ROWS or cells >= SPARSE_MIN_CELLS


_NO_SPARSE = np.empty(0, dtype=np.int32), np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.uint8)
_NO_EXCEPTIONS = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.uint8)


def _room_for(storage: _Storage) -> tuple[np.ndarray, np.ndarray]:
    return np.empty(storage.start[-1], dtype=np.int32), np.empty(storage.start[-1], dtype=np.uint8)


def _codes_of_zero(cuts: np.ndarray, cut_start: np.ndarray) -> np.ndarray:
    below = np.concatenate(([0], np.cumsum(cuts < 0)))
    return np.diff(below[cut_start]).astype(np.uint8)


def _integer(value: Any, name: str) -> int:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an integer, not {value!r}.")
    low, high = (2, 255) if name == "max_bins" else (1, MOST_THREADS)
    if not low <= value <= high:
        raise ValueError(f"{name} must lie between {low} and {high}, not {value}.")
    return int(value)


def _float_matrix(X: Any) -> np.ndarray:
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, rows and columns, not {X.ndim}.")
    _check_shape(X.shape)
    if X.dtype not in (np.float64, np.float32) or not X.dtype.isnative or not X.flags.aligned:
        X = _as_float64(X)
    return X


def _as_float64(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind not in "fiub":
        raise TypeError(f"X must contain real numbers, not {values.dtype}.")
    return np.ascontiguousarray(values, dtype=np.float64)


def _compressed_columns(X: Any) -> _Columns:
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, rows and columns, not {X.ndim}.")
    _check_shape(X.shape)
    columns = summed_up(X.tocsc())
    return _Columns(
        n_rows=X.shape[0],
        start=np.ascontiguousarray(columns.indptr, dtype=np.int64),
        rows=np.ascontiguousarray(columns.indices, dtype=np.int32)[: columns.nnz],
        values=_as_float64(columns.data)[: columns.nnz],
    )


def _check_shape(shape: tuple[int, ...]) -> None:
    if not 1 <= shape[0] < 1 << 31:
        raise ValueError(f"X must have between 1 and 2^31 - 1 rows, not {shape[0]}.")
    if shape[1] >= 1 << 31:
        raise ValueError(f"X must have fewer than 2^31 columns, not {shape[1]}.")


def _row_weights(weights: Any, n_rows: int) -> np.ndarray | None:
    if weights is None:
        return None
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(
            f"Weights must be one number for each of the {n_rows} rows of X, not of shape {weights.shape}."
        )
    return weights
