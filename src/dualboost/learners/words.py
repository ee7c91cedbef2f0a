"""Words of texts: a hypothesis speaks where its word occurs, or where it does not, and abstains elsewhere.

h(x) = 1 where the count of the word is above a level, else 0; the weight in the ensemble carries the sign. The edges of
all words are one product with a sparse matrix, so a round costs as many steps as there are entries. A constant goes
with them: without it a text with none of the words would have no vote at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real

import numpy as np
import scipy.sparse as sp

from dualboost.learners.averaging import Mixture
from dualboost.learners.base import Hypothesis, Predictor, SkipsColumns
from dualboost.learners.categories import checked_columns
from dualboost.learners.columns import ColumnOracle
from dualboost.learners.matrix import MatrixOracle
from dualboost.rows import Rows
from dualboost.sparse_tables import summed_up

__all__ = ["WordScores", "Words"]

_FEW = 16  # rows that are looked through sooner than they are compressed


@dataclass(frozen=True)
class Words(SkipsColumns):
    """The presence of each word, and where asked for its frequency; for counts such as those of CountVectorizer.

    Exact: the bound is the largest edge. `Stumps` on the same counts vote on every text, present or absent; words vote
    only where they occur, which is what a long tail of rare words needs. Missing counts (NaN) count as absent.

    Parameters
    ----------
    levels : sequence of numbers, default (0,)
        A word speaks where its count is above the level; with several levels there is a hypothesis for each.
    without : sequence of column numbers, default ()
        Columns that hold no counts, and are never looked at.
    absence : bool, default False
        For each word and level one hypothesis more, which speaks where the other does not.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from dualboost import MarginBoostClassifier
    >>> from dualboost.learners import Words
    >>> texts = ["good film", "a good plot", "bad film", "such a bad plot", "good", "bad"]
    >>> model = make_pipeline(CountVectorizer(), MarginBoostClassifier(nu=0.2, learner=Words(), calibrate=False))
    >>> model.fit(texts, [1, 1, 0, 0, 1, 0]).predict(["a bad film", "so good"]).tolist()
    [0, 1]
    """

    levels: tuple[float, ...] = (0,)
    without: tuple[int, ...] = ()
    absence: bool = False

    def __post_init__(self):
        if not isinstance(self.absence, bool):
            raise ValueError(f"absence must be True or False, not {self.absence!r}.")
        object.__setattr__(self, "without", checked_columns(self.without, "without"))
        levels = tuple(self.levels) if isinstance(self.levels, (list, tuple)) else ()
        fine = [isinstance(x, Real) and not isinstance(x, bool) and 0 <= x < np.inf for x in levels]
        if not levels or not all(fine) or len(set(levels)) < len(levels):
            raise ValueError(f"levels must be different numbers of at least 0, such as (0, 2), not {self.levels!r}.")
        object.__setattr__(self, "levels", tuple(sorted(levels)))

    def bind(self, X, y: np.ndarray | None, rows: Rows) -> ColumnOracle:
        """Column 0 is the constant; then come all words at the lowest level, at the next, ...; then their absences."""
        if y is None:
            raise ValueError("Words need labels: bind(X, y, rows) with a y of +1 and -1.")
        counts = summed_up(sp.csc_array(X))
        counts = _emptied(counts, self.without) if self.without else counts
        constant = sp.csc_array(np.ones((counts.shape[0], 1)))
        table = sp.csc_array(sp.hstack([constant, *(_above(counts, level) for level in self.levels)], format="csc"))
        table.data *= np.asarray(y, dtype=np.float64).take(table.indices)
        present = MatrixOracle(table, rows, partial(WordScores.of, np.array(self.levels, dtype=np.float64)))
        return AbsenceOracle(present) if self.absence else present

    def without_columns(self, columns: tuple[int, ...]) -> Words:
        return replace(self, without=tuple({*self.without, *columns}))


class AbsenceOracle(ColumnOracle):
    """The columns of another oracle, whose first is the constant, and for each further one the constant less it.

    None of these is written down: what is present in few rows is absent in all others.
    """

    n_sums = 2

    def __init__(self, present: MatrixOracle):
        self.rows, self.present, self.largest_entry = present.rows, present, 1.0
        self.n_columns = 2 * present.n_columns - 1

    def _edges(self, d: np.ndarray) -> np.ndarray:
        return _with_absences(self.present._edges(d))

    def _masses(self, d: np.ndarray) -> np.ndarray:
        return _with_absences(self.present._masses(d))

    def _combined(self, weights: np.ndarray) -> np.ndarray:
        return self.present._combined(self._as_present(weights))

    def _as_present(self, weights: np.ndarray) -> np.ndarray:
        """The same ensemble of the constant and of what is present."""
        own, absent = np.split(weights, [self.present.n_columns])
        return own + np.concatenate([[absent.sum()], -absent])

    @property
    def all_signs(self) -> bool:
        return False

    def scales(self) -> tuple[np.ndarray, np.ndarray]:
        largest, squares = self.present.scales()
        somewhere = self.present._masses(np.ones(len(self.rows)))
        lacking = (somewhere[0] - somewhere[1:] > 0.5).astype(np.float64)  # of how many rows, a whole number
        return np.concatenate([largest, lacking]), _with_absences(squares)

    def row_mass(self, chosen: np.ndarray) -> float:
        weights = np.zeros(self.n_columns)
        weights[chosen] = 1.0
        return self.rows.max(float((self.present._sizes @ self._as_present(weights)).max()))

    def column(self, j: Hypothesis) -> np.ndarray:
        if isinstance(j, Mixture):
            return self._combined(j.values)
        first = self.present.n_columns
        return self.present.column(j) if j < first else self.present.column(0) - self.present.column(j - first + 1)

    def predictor(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> Predictor:
        full = self._as_present(self.spread(hypotheses, w))
        return self.present.predictor(range(len(full)), full)


def _with_absences(values: np.ndarray) -> np.ndarray:
    """Sums over rows, of all columns, from those of the constant and of what is present."""
    return np.concatenate([values, values[0] - values[1:]])


def _emptied(counts, columns: tuple[int, ...]):
    """As if these columns had no counts at all."""
    if columns[-1] >= counts.shape[1]:
        raise ValueError(f"Words should go without column {columns[-1]}, but X has only {counts.shape[1]} columns.")
    kept = counts.copy()
    for j in columns:
        kept.data[kept.indptr[j] : kept.indptr[j + 1]] = 0
    return kept


def _above(counts, level: float):
    """1 where a count is above the level, nothing elsewhere."""
    present = counts.copy()
    present.data = (counts.data > level).astype(np.float64)
    present.eliminate_zeros()
    return present


def _spoken(present: np.ndarray, weights: np.ndarray) -> float:
    """The weights of the words that are there, added up in the order of a sparse product: the same bits."""
    return float(np.add.accumulate(weights[present])[-1]) if present.any() else 0.0


@dataclass(frozen=True, eq=False)
class WordScores(Predictor):
    """The weights of all words, one row a level."""

    base: float
    levels: np.ndarray
    weights: np.ndarray

    def __post_init__(self):
        if self.weights.ndim != 2 or self.levels.shape != self.weights.shape[:1] or not len(self.levels):
            raise ValueError("the weights of words need one row for each level")
        if not np.all(self.levels >= 0):  # of counts, of which only those above 0 are listed
            raise ValueError("the levels of words must not be negative")

    @classmethod
    def of(cls, levels: np.ndarray, full: np.ndarray) -> WordScores:
        """From one vector of weights, the constant first."""
        return cls(float(full[0]), levels, full[1:].reshape(len(levels), -1))

    def scores(self, X, threads: int = 1) -> np.ndarray:
        votes = list(zip(self.levels, self.weights, strict=True))
        if isinstance(X, np.ndarray) and len(X) <= _FEW:
            return self.base + np.sum([[_spoken(row > level, w) for row in X] for level, w in votes], axis=0)
        counts = summed_up(sp.csr_array(X))
        return self.base + np.sum([_above(counts, level) @ w for level, w in votes], axis=0)

    def importances(self, n_features: int) -> np.ndarray:
        share = np.abs(self.weights).sum(axis=0)
        return share / max(share.sum(), np.finfo(np.float64).tiny)
