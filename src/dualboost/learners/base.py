"""What a learner must say: which hypothesis has the largest edge, and that none has a larger one.

The edge of a hypothesis h under row weights d is the sum of d_i y_i h(x_i): the margin of h, averaged by d. A class
counts with both signs: h and -h are one hypothesis whose weight in the ensemble carries the sign.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dualboost.rows import Rows

__all__ = [
    "Answer",
    "ChecksSparse",
    "Directed",
    "Hypothesis",
    "Learner",
    "Listed",
    "Oracle",
    "Predictor",
    "SkipsColumns",
    "TakesCategories",
    "ranked",
]

_TIE = 1e-12

Hypothesis = Any  # hashable; each learner has its own kind: a column number, a stump


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The best hypotheses under some row weights, best first.

    `bound` promises that no hypothesis of the class has an edge above it in size. An exact learner returns its best
    edge (plus rounding), one of quality c0 the edge over c0, one that cannot promise the sum of the weights. The
    certificate uses nothing else, so it can be loose and never wrong.
    """

    hypotheses: Sequence[Hypothesis]
    columns: Sequence[np.ndarray]
    """y_i h(x_i) of each, int8 where the values are +-1."""
    edges: np.ndarray
    """Signed."""
    bound: float


class Learner(ABC):
    """A class of hypotheses: a frozen record of parameters, without data."""

    @abstractmethod
    def bind(self, X, y: np.ndarray | None, rows: Rows) -> Oracle:
        """Get ready to answer for this data; `y` is +-1."""


class TakesCategories(Learner):
    """A learner that can read some columns as categories: whole numbers that name things and have no order."""

    @abstractmethod
    def with_categories(self, columns: tuple[int, ...]) -> Learner:
        """The same learner that reads these columns as categories, besides those that it knows already."""


class SkipsColumns(Learner):
    """A learner that can leave some columns alone: beside one that reads categories, it skips these."""

    @abstractmethod
    def without_columns(self, columns: tuple[int, ...]) -> Learner:
        """The same learner that does not look at these columns either."""


class ChecksSparse(Learner):
    """A learner to which a sparse table may mean something else than here, where what is not listed is 0."""

    @abstractmethod
    def check_sparse(self, X) -> None:
        """Refuse a sparse table that it would read otherwise, whether to fit to or to judge."""


class Oracle(ABC):
    """A learner with its data."""

    rows: Rows

    @abstractmethod
    def best(self, d: np.ndarray, k: int = 1) -> Answer:
        """The k best hypotheses under the weights d (d >= 0, sum at most 1); ties go to the lowest index."""

    def beating(self, d: np.ndarray, price: float, k: int) -> Answer:
        """The best hypothesis, and others worth adding with it to a master whose hypotheses have edges up to `price`.

        A learner whose best ones are near copies of each other answers with different ones.
        """
        return self.best(d, k)

    @property
    def cells(self) -> int | None:
        """How many numbers a search reads, by which a caller may tell how long it takes; None if that is not known."""
        return None

    @abstractmethod
    def column(self, hypothesis: Hypothesis) -> np.ndarray:
        """y_i h(x_i) of one hypothesis."""

    @abstractmethod
    def margins(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> np.ndarray:
        """z = A w: the margins of the ensemble with these signed weights."""

    @abstractmethod
    def predictor(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> Predictor:
        """What is left of the ensemble after training."""

    def predictors(self, hypotheses: Sequence[Hypothesis]) -> list[Predictor]:
        """What is left of each hypothesis on its own, with weight 1."""
        return [self.predictor([hypothesis], np.ones(1)) for hypothesis in hypotheses]

    @abstractmethod
    def forget(self) -> None:
        """Drop whatever was kept to answer faster."""


class Listed(Oracle):
    """An oracle whose class can be listed: every hypothesis judged at once, in index order."""

    @property
    @abstractmethod
    def all_signs(self) -> bool:
        """Whether every column is +-1; then the largest edge decides every comparison of two hypotheses."""

    @property
    @abstractmethod
    def everything(self) -> Sequence[Hypothesis]:
        """The whole class."""

    @abstractmethod
    def tally(self, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(right, wrong): sums of d_i |A[i, j]| where A[i, j] is positive and where it is negative; linear in any d."""

    @abstractmethod
    def scales(self) -> tuple[np.ndarray, np.ndarray]:
        """Of each column, the largest size of an entry and the mean square under the prior."""

    @abstractmethod
    def row_mass(self, chosen: np.ndarray) -> float:
        """The largest sum over the chosen columns of the sizes of one row's entries."""


class Directed(Oracle):
    """An oracle of which some hypotheses count with one sign only: in an ensemble their weight is never negative.

    An answer holds no such hypothesis with a negative edge, and its bound is over what may enter.
    """

    @abstractmethod
    def directed(self, hypotheses: Sequence[Hypothesis]) -> np.ndarray:
        """Which of these hypotheses, as a mask."""


class Predictor(ABC):
    """A finished ensemble: flat arrays, no training data."""

    def __getstate__(self) -> dict[str, Any]:
        """Without what was prepared from the arrays for fast calls, which a copy prepares again."""
        kind = type(self)
        return {
            name: value
            for name, value in vars(self).items()
            if not isinstance(getattr(kind, name, None), cached_property)
        }

    @abstractmethod
    def scores(self, X, threads: int = 1) -> np.ndarray:
        """sum of w_j h_j(x) for each row of X."""

    @abstractmethod
    def importances(self, n_features: int) -> np.ndarray:
        """The share of the ensemble's weight on each feature; sums to 1, or to 0 when no feature is used."""


def ranked(sizes: np.ndarray, k: int) -> list[int]:
    """The k largest, best first; among equals (up to rounding) the lowest index."""
    chosen, left = [], sizes.copy()
    for _ in range(min(k, len(sizes))):
        chosen.append(int(np.argmax(left >= left.max() - _TIE)))
        left[chosen[-1]] = -np.inf
    return chosen
