"""Subsets of categories: +1 where the category of a row is in the subset, -1 elsewhere; the best of all, exactly.

Under row weights d the edge of a subset is a sum over categories of +s_c or -s_c, with s_c the sum of y_i d_i over the
rows of category c. So the best of the 2^K subsets is {c : s_c > 0}, found by one histogram of the column. A missing
value is a category of its own where there are any in training.

The same sums average the class without listing it: over all subsets of a column and both signs, the sum of
exp(eta * edge) is the product of 2 cosh(eta s_c), and the softmax average of h is tanh(eta s_c) on category c.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array

from dualboost import kernels
from dualboost.data import MASK_BYTES, MISSING, Bins
from dualboost.learners.averaging import Averaging, Mixture, parted, softmax
from dualboost.learners.base import Answer, Hypothesis, Predictor, TakesCategories
from dualboost.learners.categories import Categories, category_bins, checked_columns
from dualboost.learners.step_functions import step_scores
from dualboost.learners.stumps import StumpScores
from dualboost.products import times
from dualboost.rows import Rows

__all__ = ["Subset", "SubsetOracle", "Subsets"]

Subset = tuple[int, int]  # feature, and a number whose bit c tells whether code c is in the subset; (-1, 0) is constant
_AT_ONCE = 4096  # subsets that are added to their tables


@dataclass(frozen=True)
class Subsets(TakesCategories):
    """Subsets of the categories of single columns. Categories are whole numbers from 0 on, NaN is a missing value.

    Of more than 255 categories in a column the 254 heaviest are told apart, and all others count as one. A category
    that was never met in training counts as missing; where nothing was missing in training, it gets no vote.

    Parameters
    ----------
    columns : tuple of int, optional
        The columns to look at; None for all, or in a frame for those that hold categories.

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

    def with_categories(self, columns: tuple[int, ...]) -> Subsets:
        return Subsets(columns) if columns and self.columns is None else self

    def bind(self, X, y: np.ndarray | None, rows: Rows) -> SubsetOracle:
        if y is None:
            raise ValueError("Subsets need labels: bind(X, y, rows) with a y of +1 and -1.")
        X = X.tocsc() if hasattr(X, "tocsc") else np.asarray(X)
        columns = tuple(range(X.shape[1])) if self.columns is None else self.columns
        bins, categories = category_bins(X, columns, rows)
        return SubsetOracle(bins, categories, y, rows)


class SubsetOracle(Averaging):
    """Coded columns with their labels. A mixture is the vote of the constant, then one for each code of each column."""

    def __init__(self, bins: Bins, categories: Mapping[int, Categories], y: np.ndarray, rows: Rows):
        self.bins, self.categories, self.rows = bins, categories, rows
        self.search = kernels.SubsetSearch(*bins.search_arrays(y))
        self._columns = np.flatnonzero(bins.stored).astype(np.int32)
        codes = (bins.cut_counts + 1 + bins.has_missing).take(self._columns)
        self._exists = np.zeros((len(self._columns), MISSING + 1), dtype=bool)
        for exists, cuts in zip(self._exists, bins.cut_counts.take(self._columns).tolist(), strict=True):
            exists[: cuts + 1] = True
        self._exists[:, MISSING] = bins.has_missing.take(self._columns) > 0
        self.log_size = float(np.logaddexp.reduce(np.log(2) * np.append(codes, 1.0)))

    @property
    def looked(self) -> int:
        """How many columns the last answer had to look at; the others were ruled out by their edge bounds."""
        return self.search.looked

    @property
    def cells(self) -> int:
        return self.bins.cells

    def best(self, d: np.ndarray, k: int = 1) -> Answer:
        found, bound = self.search.best(np.ascontiguousarray(d), k, self.rows.threads)
        subsets = [(feature, int.from_bytes(mask, "little")) for feature, mask, _ in found]
        edges = np.array([edge for _, _, edge in found])
        return Answer(subsets, [self.column(subset) for subset in subsets], edges, bound)

    def average(self, d: np.ndarray, eta: float) -> tuple[Answer, float]:
        sums, total, bound = self._sums(d)
        J, shares = self._shares(sums, total, eta)
        tables = shares[1:, None] * np.tanh(eta * sums)
        base = shares[0] * np.tanh(eta * total)
        mixture = Mixture(np.concatenate([[base], tables.ravel()]))
        return Answer([mixture], [self.column(mixture)], np.array([base * total + np.sum(tables * sums)]), bound), J

    def slope(self, d: np.ndarray, ahead: np.ndarray, behind: np.ndarray, eta: float) -> Callable[[float], float]:
        (at, here, _), (front, fore, _), (back, aft, _) = (self._sums(weights) for weights in (d, ahead, behind))
        change, drift = front - back, fore - aft

        def derivative(step: float) -> float:
            sums, total = at + step * change, here + step * drift
            _, shares = self._shares(sums, total, eta)
            inner = np.sum(np.tanh(eta * sums) * change, axis=1)
            return float(shares[0] * np.tanh(eta * total) * drift + shares[1:] @ inner)

        return derivative

    def level(self, d: np.ndarray, ahead: np.ndarray, behind: np.ndarray, eta: float) -> Callable[[float], float]:
        (at, here, _), (front, fore, _), (back, aft, _) = (self._sums(weights) for weights in (d, ahead, behind))
        return lambda step: self._shares(at + step * (front - back), here + step * (fore - aft), eta)[0]

    def code_table(self) -> tuple[np.ndarray, np.ndarray]:
        """(the columns that are looked at, which codes each of them has)."""
        return self._columns, self._exists

    def code_sums(self, d: np.ndarray) -> np.ndarray:
        """The sum of y_i d_i by code, a row for each column of `code_table`; 0 where there is no such code."""
        return np.where(self._exists, self._sums(d)[0], 0.0)

    def _sums(self, d: np.ndarray) -> tuple[np.ndarray, float, float]:
        """(s_c of every column by code, the sum of y_i d_i, a bound of the largest edge)."""
        sums = np.empty((len(self._columns), MISSING + 1))
        total, bound = self.search.sums(np.ascontiguousarray(d), sums, self.rows.threads)
        return sums, total, bound

    def _shares(self, sums: np.ndarray, total: float, eta: float) -> tuple[float, np.ndarray]:
        """J, and the softmax weight of the constant and of each column's subsets."""
        of_columns = np.where(self._exists, _log_two_cosh(eta * sums), 0.0).sum(axis=1)
        logs = np.append(_log_two_cosh(eta * total), of_columns)
        joint, shares = softmax(logs)
        return joint / eta, shares

    def column(self, hypothesis: Hypothesis) -> np.ndarray:
        """y_i h(x_i): int8 of a subset, float of a mixture."""
        if isinstance(hypothesis, Mixture):
            return self.margins([hypothesis], np.ones(1))
        feature, mask = hypothesis
        out = np.empty(self.bins.n_rows, dtype=np.int8)
        self.search.column(feature, np.frombuffer(_as_bytes(mask), dtype=np.uint8), out, self.rows.threads)
        return out

    def margins(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> np.ndarray:
        votes = self._votes(hypotheses, w)
        out = np.empty(self.bins.n_rows)
        self.search.margins(votes.base, votes.features, votes.tables, out, self.rows.threads)
        return out

    def _votes(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> _Votes:
        """The ensemble as one table for each column that it uses."""
        subsets, weights, mixtures = parted(hypotheses, np.asarray(w, dtype=np.float64))
        features = np.array([feature for feature, _ in subsets], dtype=np.int64)
        base = float(weights[features < 0].sum())
        tables, amounts = np.zeros((len(self._columns), MISSING + 1)), np.zeros(len(self._columns))
        for first in range(0, len(subsets), _AT_ONCE):
            own = first + np.flatnonzero(features[first : first + _AT_ONCE] >= 0)
            places = np.searchsorted(self._columns, features[own])
            masks = b"".join(_as_bytes(subsets[k][1]) for k in own.tolist())
            held = np.unpackbits(np.frombuffer(masks, dtype=np.uint8), bitorder="little").reshape(len(own), MISSING + 1)
            owned = csc_array((weights[own], places, np.arange(len(own) + 1)), (len(tables), len(own)))
            tables += owned.tocsr() @ (times(held, 2.0) - 1.0)  # in the order of the subsets, whatever the threads
            amounts += abs(owned).sum(axis=1)
        for mixture, weight in mixtures:
            own = mixture.values[1:].reshape(tables.shape)
            base += weight * float(mixture.values[0])
            tables += weight * own
            amounts += abs(weight) * np.abs(own).max(axis=1, initial=0.0)
        used = np.flatnonzero(amounts)
        return _Votes(base, self._columns[used], tables[used], amounts[used])

    def predictor(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> StumpScores:
        votes = self._votes(hypotheses, w)
        missing = np.where(self.bins.has_missing.take(votes.features) > 0, votes.tables[:, MISSING], 0.0)
        steps = [
            self.categories[feature].steps(table, unknown)
            for feature, table, unknown in zip(votes.features.tolist(), votes.tables, missing.tolist(), strict=True)
        ]
        return step_scores(votes.base, votes.features, steps, missing, votes.amounts)

    def predictors(self, hypotheses: Sequence[Hypothesis]) -> list[Predictor]:
        if any(isinstance(hypothesis, Mixture) for hypothesis in hypotheses):
            return super().predictors(hypotheses)
        pieces = {feature: found.pieces() for feature, found in self.categories.items()}
        return [self._single(subset, pieces) for subset in hypotheses]

    def _single(self, subset: Subset, pieces: Mapping[int, tuple[np.ndarray, np.ndarray]]) -> StumpScores:
        feature, mask = subset
        if feature < 0:
            return self.predictor([subset], np.ones(1))
        cuts, codes = pieces[feature]
        held = np.unpackbits(np.frombuffer(_as_bytes(mask), dtype=np.uint8), bitorder="little")
        votes = times(held, 2.0) - 1.0
        unknown = float(votes[MISSING]) if self.bins.has_missing[feature] else 0.0
        steps = cuts, np.append(votes, unknown)[codes]
        return step_scores(0.0, [feature], [steps], [unknown], [1.0])

    def forget(self) -> None:
        self.search.forget()


class _Votes(NamedTuple):
    """An ensemble by columns: what the constant adds, and the score of each code of each column that is used."""

    base: float
    features: np.ndarray
    tables: np.ndarray
    amounts: np.ndarray
    """The absolute weight on each column; of a mixture, its largest vote there."""


def _log_two_cosh(x):
    """log(exp(x) + exp(-x)), without overflow."""
    return np.abs(x) + np.log1p(np.exp(-2 * np.abs(x)))


def _as_bytes(mask: int) -> bytes:
    return mask.to_bytes(MASK_BYTES, "little")
