"""What a set of row weights must say, in terms of margins z: small margins attract weight.

A set D with a price f(d) relaxes the hard margin (Shalev-Shwartz & Singer, Theorem 7): the relaxed margin of z is
min over d in D of <d, z> + f(d). On the simplex that is the smallest margin, on the capped simplex the average of
the smallest ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import numpy as np

from dualboost.rows import Rows
from dualboost.sets.covariance import covariance

__all__ = ["BoundSet", "WeightSet"]


class WeightSet(ABC):
    """The description of a set: a frozen record of parameters, without rows."""

    is_bound: ClassVar[Literal[False]] = False

    @abstractmethod
    def bind(self, rows: Rows) -> BoundSet:
        """The set over these rows. Raises one sentence when it would be empty."""


class BoundSet(ABC):
    """A set D of row weights with its price f, over known rows."""

    is_bound: ClassVar[Literal[True]] = True
    rows: Rows
    radius: float
    """The largest `divergence` on D; 0 means that D is one point."""

    @abstractmethod
    def relaxed_margin(self, z: np.ndarray) -> float:
        """min over d in D of <d, z> + f(d), exactly."""

    @abstractmethod
    def vertex(self, z: np.ndarray) -> np.ndarray:
        """A d that attains the relaxed margin; ties go to the lowest index."""

    @abstractmethod
    def entropic(self, z: np.ndarray, eta: float) -> np.ndarray:
        """argmin over d in D of <d, z> + f(d) + divergence(d) / eta."""

    @abstractmethod
    def euclidean(self, v: np.ndarray) -> np.ndarray:
        """The point of D nearest to v, k copies counting k times: least sum of (d - v)^2 / (2 k) plus f(d)."""

    @abstractmethod
    def price(self, d: np.ndarray) -> float:
        """f(d) for a d known to be inside: 0 for a plain set."""

    @abstractmethod
    def contains(self, d: np.ndarray, atol: float = 1e-9) -> bool:
        """Whether d lies in D, up to `atol` in the sum and relative to each cap."""

    @abstractmethod
    def divergence(self, d: np.ndarray) -> float:
        """The distance of d from the prior that `entropic` weighs against the margins: >= 0, 0 at the prior."""

    @abstractmethod
    def responsive(self, d: np.ndarray) -> np.ndarray:
        """Which rows of d = entropic(z, eta) change with their own margin: not those held at a cap.

        Where nothing better is known, `d > 0` is safe.
        """

    def hessian(self, d: np.ndarray, columns: np.ndarray, eta: float) -> np.ndarray:
        """How d = entropic(z, eta) falls as z rises, along the n rows of `columns`: (n, n), or a bound from above.

        As it stands, for weights that move freely but for their total; exact on capped simplices.
        """
        return eta * covariance(d, columns, self.responsive(d), self.rows)

    @abstractmethod
    def forget(self) -> None:
        """Drop warm starts: they change the time of an answer and its last bit, never more."""

    def cost(self, d: np.ndarray) -> float:
        """f(d) inside D, infinite outside."""
        return self.price(d) if self.contains(d) else np.inf
