"""Hashes of the rows of a table: equal rows have equal ones, dense or sparse, float32 or float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from dualboost.sparse_tables import summed_up

__all__ = ["contents", "count_distinct", "fingerprints"]

_CELLS = 1 << 14  # hashed at once: they stay in the cache


def count_distinct(prints: np.ndarray) -> int:
    """How many different numbers there are, by sorting: hashing a million is ten times as slow."""
    ordered = np.sort(prints)
    return 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1])) if len(ordered) else 0


def fingerprints(X, random: np.random.RandomState) -> np.ndarray:
    """A 64-bit hash of each row's values; equal rows have equal hashes, dense or sparse, float32 or float64.

    Good enough to deal rows by: of small whole numbers few bits count, and rows that differ may share a hash.
    """
    return _mixed(_summed(X, random, _bits))


def contents(X, seed: int) -> np.ndarray:
    """A 64-bit hash by which to find equal rows: rows that differ hardly ever share one, whatever their values."""
    return _mixed(_summed(X, np.random.RandomState(seed), lambda values: _mixed(_bits(values))))


def _summed(X, random: np.random.RandomState, code: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """For each row the sum of the codes of its values, each times its column's factor; the code of 0 is 0."""
    factors = random.randint(0, 2**63, size=X.shape[1], dtype=np.int64).astype(np.uint64) * np.uint64(2) + np.uint64(1)
    if sp.issparse(X):
        table = summed_up(sp.csr_array(X))
        # take, for an index of 32-bit numbers ends the process of numpy where memory runs out.
        terms = code(table.data) * factors.take(table.indices)
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
        return sums.take(table.indptr[1:]) - sums.take(table.indptr[:-1])  # exact: arithmetic modulo 2^64
    total, rows = np.empty(X.shape[0], dtype=np.uint64), max(1, _CELLS // max(1, X.shape[1]))
    for k in range(0, len(total), rows):
        np.matmul(code(X[k : k + rows]), factors, out=total[k : k + rows])
    return total


def _bits(values: np.ndarray) -> np.ndarray:
    numbers = values.astype(np.float64)
    numbers += 0.0  # one zero
    numbers[np.isnan(numbers)] = np.nan  # one NaN
    return numbers.view(np.uint64)


def _mixed(h: np.ndarray) -> np.ndarray:
    """In place: spread the high bits over the low ones (the finaliser of splitmix64)."""
    h ^= h >> np.uint64(30)
    h *= np.uint64(0xBF58476D1CE4E5B9)
    h ^= h >> np.uint64(27)
    h *= np.uint64(0x94D049BB133111EB)
    h ^= h >> np.uint64(31)
    return h
