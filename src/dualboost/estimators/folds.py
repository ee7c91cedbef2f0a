"""Rows dealt into folds by their content: copies of a row stay together.

So weight k is the same as k copies, in any order, and a duplicate never tests the model that has seen it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dualboost.fingerprints import count_distinct

__all__ = ["sampled", "splits"]


def sampled(prints: np.ndarray, folds: int, most: int) -> np.ndarray:
    """The rows that take part: all, or a sample of about `most` of the distinct ones by their fingerprint."""
    share = min(1.0, most / count_distinct(prints))
    return np.flatnonzero((prints // np.uint64(folds)).astype(np.float64) <= share * (2.0**64 / folds))


def splits(
    prints: np.ndarray, kept: np.ndarray, codes: np.ndarray, folds: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(rows to fit to, rows to judge by) of each fold of the kept rows that leaves all classes to fit to."""
    fold_of, classes = prints[kept] % np.uint64(folds), len(np.unique(codes))
    for fold in range(folds):
        train, test = kept[fold_of != fold], kept[fold_of == fold]
        if len(test) and len(np.unique(codes[train])) == classes:
            yield train, test
