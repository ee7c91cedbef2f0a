"""Subsets of categories: +1 where the category of a row is in the subset, -1 elsewhere; the best of all, exactly.

Under row weights d the edge of a subset is a sum over categories of +s_c or -s_c, with s_c the sum of y_i d_i over the
rows of category c. So the best of the 2^K subsets is {c : s_c > 0}, found by one histogram of the column. A missing
value is a category of its own where there are any in training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dualboost import kernels
from dualboost.data import MISSING, Bins
from dualboost.learners.base import Answer, Learner, Oracle
from dualboost.learners.categories import Categories, category_bins, checked_columns
from dualboost.learners.stumps import StumpScores
from dualboost.rows import Rows

__all__ = ["Subset", "SubsetOracle", "Subsets"]

Subset = tuple[int, int]  # feature, and a number whose bit c tells whether code c is in the subset; (-1, 0) is constant
_BYTES = (MISSING + 1) // 8


@dataclass(frozen=True)
class Subsets(Learner):
    """Subsets of the categories of single columns. Categories are whole numbers from 0 on, NaN is a missing value.

    Of more than 255 categories in a column the 254 heaviest are told apart, and all others count as one. A category
    that was never met in training counts as missing; where nothing was missing in training, it gets no vote.

    Parameters
    ----------
    columns : tuple of int, optional
        The columns to look at; None for all.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.learners import Subsets
    >>> from dualboost.rows import Rows
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1, 1, -1, 1])
    >>> answer = Subsets().bind(X, y, Rows.of(4)).best(np.full(4, 0.25))
    >>> (feature, subset), = answer.hypotheses
    >>> feature, bin(subset), answer.edges  # the categories 1 and 3
    (0, '0b1010', array([1.]))
    """

    columns: tuple[int, ...] | None = None

    def __post_init__(self):
        if self.columns is not None:
            object.__setattr__(self, "columns", checked_columns(self.columns, "columns"))

    def bind(self, X, y: np.ndarray | None, rows: Rows) -> SubsetOracle:
        if y is None:
            raise ValueError("Subsets need labels: bind(X, y, rows) with a y of +1 and -1.")
        X = X.tocsc() if hasattr(X, "tocsc") else np.asarray(X)
        columns = tuple(range(X.shape[1])) if self.columns is None else self.columns
        bins, categories = category_bins(X, columns, rows)
        return SubsetOracle(bins, categories, y, rows)


class SubsetOracle(Oracle):
    """Coded columns with their labels."""

    def __init__(self, bins: Bins, categories: Mapping[int, Categories], y: np.ndarray, rows: Rows):
        self.bins, self.categories, self.rows = bins, categories, rows
        stored = np.zeros(bins.n_features, dtype=np.uint8)
        stored[bins.dense_features] = stored[bins.sparse_features] = 1
        self._stored = stored > 0
        self.search = kernels.SubsetSearch(
            bins.n_rows, np.ascontiguousarray(y, dtype=np.int8), bins.cut_counts, bins.has_missing & stored,
            bins.dense_codes, bins.dense_features,
            bins.sparse_start, bins.sparse_rows, bins.sparse_codes, bins.sparse_features, bins.sparse_default,
        )  # fmt: skip

    @property
    def looked(self) -> int:
        """How many columns the last answer had to look at; the others were ruled out by their edge bounds."""
        return self.search.looked

    def best(self, d: np.ndarray, k: int = 1) -> Answer:
        found, bound = self.search.best(np.ascontiguousarray(d), k, self.rows.threads)
        subsets = [(feature, int.from_bytes(mask, "little")) for feature, mask, _ in found]
        edges = np.array([edge for _, _, edge in found])
        return Answer(subsets, [self.column(subset) for subset in subsets], edges, bound)

    def column(self, subset: Subset) -> np.ndarray:
        """y_i h(x_i) as int8."""
        feature, mask = subset
        out = np.empty(self.bins.n_rows, dtype=np.int8)
        self.search.column(feature, _as_bytes(mask), out, self.rows.threads)
        return out

    def margins(self, hypotheses: Sequence[Subset], w: np.ndarray) -> np.ndarray:
        base, features, tables = _tables(hypotheses, w)
        out = np.empty(self.bins.n_rows)
        self.search.margins(base, features, tables, out, self.rows.threads)
        return out

    def predictor(self, hypotheses: Sequence[Subset], w: np.ndarray) -> StumpScores:
        base, features, tables = _tables(hypotheses, w)
        missing = np.where(self.bins.has_missing[features] > 0, tables[:, MISSING], 0.0)
        parts = [
            self.categories[int(f)].steps(table, score)
            for f, table, score in zip(features, tables, missing, strict=True)
        ]
        used = np.array([feature for feature, _ in hypotheses], dtype=np.int32)
        return StumpScores(
            base,
            features,
            np.cumsum([0, *(len(cuts) for cuts, _ in parts)], dtype=np.int64),
            np.concatenate([np.empty(0), *(cuts for cuts, _ in parts)]),
            np.concatenate([np.empty(0), *(table for _, table in parts)]),
            missing,
            np.array([np.abs(w[used == f]).sum() for f in features], dtype=np.float64),
        )

    def forget(self) -> None:
        self.search.forget()


def _as_bytes(mask: int) -> np.ndarray:
    return np.frombuffer(mask.to_bytes(_BYTES, "little"), dtype=np.uint8)


def _tables(subsets: Sequence[Subset], w: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """(score of the constants, features that are used, the score of each of their codes)."""
    w = np.asarray(w, dtype=np.float64)
    chosen = [j for j, (feature, _) in enumerate(subsets) if feature >= 0]
    base = float(sum(w[j] for j, (feature, _) in enumerate(subsets) if feature < 0))
    features, place = np.unique(np.array([subsets[j][0] for j in chosen], dtype=np.int32), return_inverse=True)
    tables = np.zeros((len(features), MISSING + 1))
    for j, u in zip(chosen, place.ravel().tolist(), strict=True):
        inside = np.unpackbits(_as_bytes(subsets[j][1]), bitorder="little")
        tables[u] += np.where(inside, w[j], -w[j])
    return base, features, tables
