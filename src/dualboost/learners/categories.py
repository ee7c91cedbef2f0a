"""Columns of categories: whole numbers that name things, coded by a byte each.

A category is a whole number from 0 on, NaN is a missing value. Training takes nothing else; at prediction a number
between two whole ones counts as the nearest, a half as the lower, as in the step functions with cuts at the halves.
Up to 255 categories of a column have a code each. Of more, the 254 heaviest keep their own and all others share one: by
the sample weights, so that a row of weight k counts as k copies, and among equals the lower number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from dualboost.data import MISSING, Bins, bin_columns, store_codes
from dualboost.learners.base import Learner, TakesCategories
from dualboost.rows import Rows

__all__ = ["Categories", "binned", "category_bins", "checked_columns", "joined", "with_categories", "without_features"]

_MOST = 1 << 31  # numbers from here on would not be told apart from their halves in every format
_TABLE = 1 << 20  # up to here a table by number takes the place of a sort
_SLACK = 2.0**40  # shares that agree to this many steps count as equal, whatever the rounding of the weights


@dataclass(frozen=True, eq=False)
class Categories:
    """What a column holds: its categories, ascending, and the code of each."""

    values: np.ndarray
    codes: np.ndarray

    @property
    def count(self) -> int:
        """How many codes there are."""
        return int(self.codes.max()) + 1 if len(self.codes) else 0

    @classmethod
    def of(cls, column: np.ndarray, rows: Rows) -> Categories:
        """Of the present values of a column, by their weights."""
        known = ~np.isnan(column)
        weights = None if rows.uniform else rows.prior[known]
        values, mass = _masses(column[known], weights)
        if len(values) <= MISSING:
            return cls(values, np.arange(len(values), dtype=np.uint8))
        shares = np.rint(mass / mass.sum() * _SLACK)
        own = np.sort(np.argsort(-shares, kind="stable")[: MISSING - 1])
        codes = np.full(len(values), MISSING - 1, dtype=np.uint8)
        codes[own] = np.arange(len(own), dtype=np.uint8)
        return cls(values, codes)

    def coded(self, column: np.ndarray) -> np.ndarray:
        """The code of each entry, by the nearest whole number; what is missing or was never met is MISSING."""
        if not len(self.values):
            return np.full(len(column), MISSING, dtype=np.uint8)
        inside = (column > -0.5) & (column <= self.values[-1] + 0.5)
        numbers = _nearest(np.where(inside, column, self.values[-1] + 1))  # beyond the last one: never met
        if self.values[-1] < _TABLE:
            table = np.full(int(self.values[-1]) + 2, MISSING, dtype=np.uint8)
            table[self.values.astype(np.int64)] = self.codes
            return table[numbers.astype(np.int64)]
        place = np.minimum(np.searchsorted(self.values, numbers), len(self.values) - 1)
        return np.where(self.values[place] == numbers, self.codes[place], MISSING).astype(np.uint8)

    def pieces(self) -> tuple[np.ndarray, np.ndarray]:
        """(cuts, codes) of the step functions of this column: the code of each piece, -1 where no category lies."""
        cuts = np.column_stack([self.values - 0.5, self.values + 0.5]).ravel()
        codes = np.column_stack([self.codes.astype(np.int64), np.full(len(self.codes), -1)]).ravel()
        apart = np.append(np.diff(cuts) > 0, np.ones(min(len(cuts), 1), dtype=bool))  # else the next one begins here
        return cuts[apart], np.append(-1, codes[apart])

    def steps(self, scores: np.ndarray, otherwise: float) -> tuple[np.ndarray, np.ndarray]:
        """(cuts, table) of the step function that is scores[code] at each category and `otherwise` between them."""
        cuts, codes = self.pieces()
        return cuts, np.append(scores, otherwise)[codes]


def _nearest(column: np.ndarray) -> np.ndarray:
    """The whole number k with k - 0.5 < x <= k + 0.5, for x above -0.5."""
    return np.maximum(np.ceil(column - 0.5), 0.0)  # just above -0.5 the difference is rounded to -1


def _masses(values: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values, ascending, with the weight of each."""
    if not len(values):
        return np.empty(0), np.empty(0)
    if values.max() < _TABLE:
        numbers = values.astype(np.int64)
        mass = np.bincount(numbers, weights)
        present = np.flatnonzero(mass > 0)
        return present.astype(np.float64), mass[present]
    distinct, place = np.unique(values, return_inverse=True)
    return distinct, np.bincount(place, weights)


def checked_columns(columns: Sequence[int], name: str) -> tuple[int, ...]:
    """Column numbers as a tuple, each once, ascending."""
    if type(columns) is tuple and not columns:  # the usual case
        return ()
    message = f"{name} must be the numbers of columns, such as (0, 3), each once and not negative; it is {columns!r}."
    try:
        held = [int(c) for c in columns if isinstance(c, (int, np.integer)) and not isinstance(c, bool) and c >= 0]
    except TypeError as error:
        raise ValueError(message) from error
    if len(set(held)) != len(list(columns)):
        raise ValueError(message)
    return tuple(sorted(held))


def with_categories(learner: Learner, columns: tuple[int, ...]) -> Learner:
    """The learner, told which columns hold categories; one sentence where it cannot read them."""
    if isinstance(learner, TakesCategories):
        return learner.with_categories(columns)
    if columns:
        raise ValueError(
            f"{type(learner).__name__} reads numbers only, and X has columns of categories: take Stumps(), "
            "Trees() or LeafTrees(), or encode these columns first, for example with OneHotEncoder."
        )
    return learner


def binned(X, columns: Sequence[int], max_bins: int, rows: Rows) -> tuple[Bins, dict[int, Categories]]:
    """All columns of X: these by their categories, and what the codes mean; the others by their numbers."""
    bins = bin_columns(X, None if rows.uniform else rows.prior, max_bins, rows.threads)
    if not columns:
        return bins, {}
    names, found = category_bins(X, columns, rows)
    return joined(without_features(bins, columns), names), found


def category_bins(X, columns: Sequence[int], rows: Rows) -> tuple[Bins, dict[int, Categories]]:
    """The codes of these columns of X, under their own numbers, and what the codes mean."""
    if columns and max(columns) >= X.shape[1]:
        raise ValueError(
            f"Column {max(columns)} should hold categories, but X has only the columns 0 to {X.shape[1] - 1}."
        )
    found, codes = {}, np.empty((len(columns), X.shape[0]), dtype=np.uint8)
    for k, j in enumerate(columns):
        column = _column(X, j)
        found[j] = Categories.of(column, rows)
        codes[k] = found[j].coded(column)
    counts = np.maximum([found[j].count - 1 for j in columns], 0)
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    cuts = np.concatenate([np.empty(0), *(np.arange(count) + 0.5 for count in counts)])
    return _spread(store_codes(codes, cuts, start, rows.threads), columns, X.shape[1]), found


def _column(X, j: int) -> np.ndarray:
    column = X[:, [j]].toarray().ravel() if sp.issparse(X) else X[:, j]
    column = np.asarray(column, dtype=np.float64)
    known = column[~np.isnan(column)]
    if len(known) and not (known.min() >= 0 and known.max() < _MOST and np.array_equal(known, np.floor(known))):
        raise ValueError(
            f"Column {j} should hold categories, that is whole numbers from 0 to 2^31 - 1, or NaN where missing: "
            "number them first, for example with OrdinalEncoder, or give a data frame with a column of categories."
        )
    return column


def _spread(bins: Bins, columns: Sequence[int], n_features: int) -> Bins:
    """The same columns under these numbers, among n_features."""
    where = np.asarray(columns, dtype=np.int32)
    counts, missing = np.zeros(n_features, dtype=np.int64), np.zeros(n_features, dtype=np.uint8)
    counts.put(where, bins.cut_counts)
    missing.put(where, bins.has_missing)
    return replace(
        bins,
        n_features=n_features,
        cut_start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        has_missing=missing,
        dense_features=where.take(bins.dense_features),
        sparse_features=where.take(bins.sparse_features),
    )


def without_features(bins: Bins, columns: Sequence[int]) -> Bins:
    """The bins as if these columns were constant."""
    gone = np.isin(np.arange(bins.n_features), columns)
    dense, sparse = ~gone.take(bins.dense_features), ~gone.take(bins.sparse_features)
    counts, entries = bins.cut_counts, np.repeat(sparse, np.diff(bins.sparse_start))
    return replace(
        bins,
        cuts=bins.cuts[np.repeat(~gone, counts)],
        cut_start=np.concatenate([[0], np.cumsum(np.where(gone, 0, counts))]).astype(np.int64),
        has_missing=np.where(gone, 0, bins.has_missing).astype(np.uint8),
        dense_codes=np.ascontiguousarray(bins.dense_codes[dense]),
        dense_features=bins.dense_features[dense],
        sparse_start=np.concatenate([[0], np.cumsum(np.diff(bins.sparse_start)[sparse])]).astype(np.int64),
        sparse_rows=bins.sparse_rows[entries],
        sparse_codes=bins.sparse_codes[entries],
        sparse_features=bins.sparse_features[sparse],
        sparse_default=bins.sparse_default[sparse],
    )


def joined(first: Bins, second: Bins) -> Bins:
    """The columns of both; no feature may be stored in both."""
    counts = first.cut_counts + second.cut_counts
    owner = np.concatenate([np.repeat(np.arange(first.n_features), bins.cut_counts) for bins in (first, second)])
    in_order = np.argsort(owner, kind="stable")
    return replace(
        first,
        cuts=np.concatenate([first.cuts, second.cuts])[in_order],
        cut_start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        has_missing=first.has_missing | second.has_missing,
        dense_codes=np.concatenate([first.dense_codes, second.dense_codes]),
        dense_features=np.concatenate([first.dense_features, second.dense_features]),
        sparse_start=np.concatenate([first.sparse_start, first.sparse_start[-1] + second.sparse_start[1:]]),
        sparse_rows=np.concatenate([first.sparse_rows, second.sparse_rows]),
        sparse_codes=np.concatenate([first.sparse_codes, second.sparse_codes]),
        sparse_features=np.concatenate([first.sparse_features, second.sparse_features]),
        sparse_default=np.concatenate([first.sparse_default, second.sparse_default]),
    )
