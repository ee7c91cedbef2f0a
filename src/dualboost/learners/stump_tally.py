"""All stumps of binned columns in a list, and the weight that each gets right: for steps on many stumps at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dualboost.data import MISSING, Bins

__all__ = ["Stump", "code_sums", "listed_stumps", "stored_columns", "tally_stumps"]

Stump = tuple[int, int, int]


def listed_stumps(bins: Bins) -> list[Stump]:
    """The constant, then each feature's stumps by cut; missing values left, then right."""
    stumps = [(-1, 0, 0)]
    for feature, _ in stored_columns(bins):
        cuts, missing = int(bins.cut_counts[feature]), bool(bins.has_missing[feature])
        for cut in range(cuts):
            stumps += [(feature, cut, 0), (feature, cut, 1)] if missing else [(feature, cut, 0)]
        if missing:
            stumps.append((feature, cuts, 1))
    return stumps


def tally_stumps(bins: Bins, y: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(right, wrong) of each stump of `listed_stumps`: one pass over the codes of each feature."""
    positive, negative = np.where(y > 0, d, 0.0), np.where(y > 0, 0.0, d)
    parts = [np.array([positive.sum()])]
    for feature, where in stored_columns(bins):
        sums = [code_sums(bins, where, part) for part in (positive, negative)]
        parts.append(_right(sums, int(bins.cut_counts[feature]), bool(bins.has_missing[feature])))
    right = np.concatenate(parts)
    return right, d.sum() - right


def stored_columns(bins: Bins) -> Iterator[tuple[int, tuple[str, int]]]:
    """(feature, where its codes are), by feature."""
    dense = [(int(f), ("dense", k)) for k, f in enumerate(bins.dense_features)]
    sparse = [(int(f), ("sparse", s)) for s, f in enumerate(bins.sparse_features)]
    yield from sorted(dense + sparse)


def code_sums(bins: Bins, where: tuple[str, int], d: np.ndarray) -> np.ndarray:
    """The weight on each code of one column."""
    kind, k = where
    if kind == "dense":
        return np.bincount(bins.dense_codes[k], d, minlength=MISSING + 1)
    span = slice(bins.sparse_start[k], bins.sparse_start[k + 1])
    sums = np.bincount(bins.sparse_codes[span], d.take(bins.sparse_rows[span]), minlength=MISSING + 1)
    sums[bins.sparse_default[k]] += d.sum() - sums.sum()
    return sums


def _right(sums: list[np.ndarray], cuts: int, missing: bool) -> np.ndarray:
    """The weight each stump of a feature gets right: positive rows above the cut, negative ones at or below it."""
    positive, negative = sums
    below = slice(0, cuts + 1)
    right = positive[below].sum() - np.cumsum(positive[below]) + np.cumsum(negative[below])
    if not missing:
        return right[:cuts]
    both = np.column_stack([right + negative[MISSING], right + positive[MISSING]])
    return np.concatenate([both[:cuts].ravel(), both[cuts:, 1]])
