"""What keeps the row weights of a mirror ascent near the prior: Naghibi & Pfister, section 3.

R is 1-strongly convex in a norm, and the squared dual norm of a column, its `size`, is at most 1 where entries lie in
[-1, 1]. Then the sum of edge^2 / (2 size) cannot exceed the R-distance from the first row weights to any point of the
set on which the ensemble is not right: that is the whole training-error theorem. The paper's closed form of it holds
for the two regularisers here, not for every strongly convex R: hence `error_bound` is the regulariser's to say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import exp, log

import numpy as np

from dualboost.rows import Rows
from dualboost.sets import BoundSet
from dualboost.sets.binary_entropy import BinaryEntropySimplex
from dualboost.sets.capped import CappedSimplex

__all__ = ["Entropic", "Euclidean", "Regularizer", "regularizer_of"]

_VANISHED = 1e-290  # below, a weight has lost its digits


class Regularizer(ABC):
    """R(d), least (and 0) at the prior. Derive from it to ascend in a geometry of your own; see `Euclidean`."""

    @property
    @abstractmethod
    def exact(self) -> bool:
        """Whether `nearest` is the exact projection; the lazy update needs that."""

    @abstractmethod
    def check(self, bound_set: BoundSet) -> None:
        """Raise one sentence when the set does not fit."""

    @abstractmethod
    def nearest(self, bound_set: BoundSet, z: np.ndarray, eta: float) -> np.ndarray:
        """argmin over d in D of <d, z> + f(d) + R(d) / eta."""

    @abstractmethod
    def gradient(self, bound_set: BoundSet, d: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """R'(d), up to a constant, at the d that minimises R(d) - <theta, d> over D."""

    @abstractmethod
    def distance(self, bound_set: BoundSet, d: np.ndarray) -> float:
        """R(d)."""

    @abstractmethod
    def size(self, rows: Rows, column: np.ndarray) -> float:
        """The squared dual norm of a column; at most 1 for entries in [-1, 1]."""

    @abstractmethod
    def radius(self, bound_set: BoundSet) -> float:
        """The largest R on D, or a bound on it."""

    @abstractmethod
    def error_bound(self, gain: float) -> float:
        """The largest share of the prior that can be wrong when every wrong distribution has R >= gain."""

    @abstractmethod
    def forgets_its_path(self, bound_set: BoundSet) -> bool:
        """Whether the active update always agrees with the lazy one, which is cheaper."""


@dataclass(frozen=True)
class Entropic(Regularizer):
    """R = KL(d | prior): weights are multiplied. On the simplex it is AdaBoost with the step `edge`, not its atanh.

    Examples
    --------
    >>> from dualboost.boosters.regularizers import Entropic
    >>> round(Entropic().error_bound(2.0), 4)
    0.1353
    """

    @property
    def exact(self) -> bool:
        return True

    def check(self, bound_set: BoundSet) -> None:
        if isinstance(bound_set, BinaryEntropySimplex):
            raise ValueError("The entropic mirror ascent has its own divergence: use Simplex() for BinaryEntropy().")

    def nearest(self, bound_set: BoundSet, z: np.ndarray, eta: float) -> np.ndarray:
        return bound_set.entropic(z, eta)

    def gradient(self, bound_set: BoundSet, d: np.ndarray, theta: np.ndarray) -> np.ndarray:
        seen = d > _VANISHED
        log_ratio = np.log(np.where(seen, d, 1.0) / bound_set.rows.prior)
        if seen.all():
            return log_ratio
        # Vanished rows are far from any cap: theta and a level say what they had, where d no longer can.
        level = bound_set.rows.max(float((log_ratio - theta)[seen].max()))
        return np.where(seen, log_ratio, np.minimum(theta + level, log(_VANISHED)))

    def distance(self, bound_set: BoundSet, d: np.ndarray) -> float:
        return bound_set.divergence(d)

    def size(self, rows: Rows, column: np.ndarray) -> float:
        return rows.max(float(np.abs(column).max())) ** 2

    def radius(self, bound_set: BoundSet) -> float:
        return bound_set.radius

    def error_bound(self, gain: float) -> float:
        return min(1.0, exp(-gain))

    def forgets_its_path(self, bound_set: BoundSet) -> bool:
        return isinstance(bound_set, CappedSimplex) and bool(bound_set.caps.min() >= 1)


@dataclass(frozen=True)
class Euclidean(Regularizer):
    """R = sum of (d - prior)^2 / (2 prior): weights are shifted, and some become exactly zero.

    In this scale, half the chi-square distance, a row of weight k is k copies and nothing depends on their number: the
    paper's L = N is 1, its step edge / N is the edge.

    Parameters
    ----------
    double : bool
        Project to the weights that are not negative first, then to the set: an approximation that keeps every bound of
        the active update (Lemma 4), not those of the lazy one.

    Examples
    --------
    >>> from dualboost.boosters.regularizers import Euclidean
    >>> Euclidean().error_bound(2.0)
    0.2
    """

    double: bool = False

    @property
    def exact(self) -> bool:
        return not self.double

    def check(self, bound_set: BoundSet) -> None:
        if bound_set.price(np.array(bound_set.rows.prior)) != 0:
            raise ValueError("The Euclidean mirror ascent needs a set without a price: use a Ball, not a Penalty.")

    def nearest(self, bound_set: BoundSet, z: np.ndarray, eta: float) -> np.ndarray:
        v = bound_set.rows.prior * (1.0 - eta * z)
        return bound_set.euclidean(np.maximum(v, 0.0) if self.double else v)

    def gradient(self, bound_set: BoundSet, d: np.ndarray, theta: np.ndarray) -> np.ndarray:
        return d / bound_set.rows.prior - 1.0

    def distance(self, bound_set: BoundSet, d: np.ndarray) -> float:
        rows = bound_set.rows
        # Not a square: where one row has nearly all the prior, that of the others would overflow.
        return rows.add(float((d - rows.prior) @ (d / rows.prior - 1.0))) / 2

    def size(self, rows: Rows, column: np.ndarray) -> float:
        if column.dtype == np.int8 and rows.uniform:  # +-1, or 0 where a hypothesis abstains
            return rows.add(np.count_nonzero(column) / len(rows))
        return rows.add(float(rows.prior @ np.square(column, dtype=np.float64)))

    def radius(self, bound_set: BoundSet) -> float:
        rows = bound_set.rows
        caps = bound_set.caps if isinstance(bound_set, CappedSimplex) else np.ones(1)
        # A convex function is largest at a vertex; there sum of d^2 / prior <= the largest cap / prior.
        return max(0.0, rows.max(float((caps / rows.prior).max())) - 1.0) / 2

    def error_bound(self, gain: float) -> float:
        return min(1.0, 1.0 / (1.0 + 2.0 * max(gain, 0.0)))

    def forgets_its_path(self, bound_set: BoundSet) -> bool:
        return False


def regularizer_of(choice: str | Regularizer) -> Regularizer:
    """The regulariser meant by its name, or the object itself."""
    named = {"entropic": Entropic(), "euclidean": Euclidean()}
    found = named.get(choice) if isinstance(choice, str) else choice
    if not isinstance(found, Regularizer):
        raise ValueError(f"regularizer must be 'entropic', 'euclidean' or a Regularizer, not {choice!r}.")
    return found
