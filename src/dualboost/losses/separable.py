"""Losses that add up over the rows, F(z) = sum of p_i g(-z_i), and the family for which boosting converges.

Telgarsky, Definitions 1 and 19 (with the constant that the print lost): g is convex with g'' > 0 and g(-inf) = 0;
g'' <= eta g everywhere and g <= beta g' on the level set of the start. Its A has the opposite sign: x = -z.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from dualboost import kernels
from dualboost.losses.base import Loss
from dualboost.rows import Rows

__all__ = ["Separable", "check_family"]


@dataclass(frozen=True, eq=False)
class Separable(Loss):
    """F(z) = sum of p_i g(-z_i), p the prior of the rows. A member says what g is, one row at a time."""

    rows: Rows | None = None

    @abstractmethod
    def g(self, x: np.ndarray) -> np.ndarray:
        """g(x); infinite rather than an error where it overflows."""

    @abstractmethod
    def slope(self, x: np.ndarray) -> np.ndarray:
        """g'(x) > 0."""

    @abstractmethod
    def bend(self, s: np.ndarray) -> np.ndarray:
        """g'' at the point where the slope is s."""

    @abstractmethod
    def dual(self, s: np.ndarray) -> np.ndarray:
        """g*(s) = max over x of s x - g(x); infinite outside its domain."""

    @abstractmethod
    def beta(self, level: float) -> float:
        """The smallest number with g <= beta g' wherever g <= level."""

    @property
    @abstractmethod
    def eta(self) -> float:
        """The smallest number with g'' <= eta g."""

    @property
    @abstractmethod
    def steepest(self) -> float:
        """The largest g''; may be infinite."""

    @property
    @abstractmethod
    def self_concordant(self) -> bool:
        """Whether ``|g'''| <= g''``: then the curvature along a line grows no faster than e^step."""

    @property
    def concave_bend(self) -> bool:
        """Whether `bend` is concave: then it is smallest at an end of an interval, as the rates along a run need."""
        return False

    # ---- what follows from it

    def bind(self, rows: Rows) -> Self:
        return replace(self, rows=rows)

    @property
    def bound_rows(self) -> Rows:
        """The rows, which must have been given by `bind`."""
        if self.rows is None:
            raise ValueError(f"Bind the loss to rows first: {type(self).__name__}().bind(Rows.of(m)).")
        return self.rows

    def where_slope(self, s: np.ndarray) -> np.ndarray:
        """The x with g'(x) = s, for slopes that g has: by bisection, as g' rises."""
        low, high = np.full(np.shape(s), -800.0), np.full(np.shape(s), 800.0)
        for _ in range(70):
            middle = (low + high) / 2
            beyond = self.slope(middle) >= s
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return high

    def value(self, z: np.ndarray) -> float:
        return self._mean(self.g(-z))

    def _mean(self, values: np.ndarray) -> float:
        rows = self.bound_rows
        if rows.uniform:  # pairwise sums: a product with one repeated number would add up one by one
            return rows.add(float(values.sum()) * float(rows.prior[0]))
        return rows.add(float(rows.prior @ values))

    def weights(self, z: np.ndarray) -> np.ndarray:
        rows = self.bound_rows
        return rows.prior * self.slope(-z)

    def conjugate(self, d: np.ndarray) -> float:
        rows = self.bound_rows
        share = d / rows.prior
        if not np.all(share >= 0):
            return np.inf
        return self._mean(self.dual(share))

    def curvature(self, z: np.ndarray, column: np.ndarray, scale: float) -> float:
        rows = self.bound_rows
        # F'' = sum of p g'' u^2 <= eta F |u|_max^2, and the convex F is largest at an end of the segment.
        largest = max(self.value(z), self.value(scale * column))
        bound = self.eta * largest * kernels.spread(z, column, scale, rows.threads) ** 2
        if self.steepest == np.inf:
            return bound
        return min(bound, self.steepest * self._mean((scale * column - z) ** 2))

    def hessian(self, d: np.ndarray, columns: np.ndarray) -> np.ndarray:
        rows = self.bound_rows
        return rows.add((columns * (rows.prior * self.bend(d / rows.prior))) @ columns.T)

    def smoothed(self, tol: float) -> Self:
        return self

    def forget(self) -> None:
        """Nothing is kept warm."""


def check_family(loss: Separable, rows: int = 100, points: int = 400) -> None:
    """Raise one sentence unless g, g', g'' and the constants of a loss agree and put it in the family.

    Looks at many points up to the level set of `rows` equal rows: a slip in one of the formulas shows, a subtle one may
    not.

    Examples
    --------
    >>> from dualboost.losses import Logistic
    >>> from dualboost.losses.separable import check_family
    >>> check_family(Logistic())
    """
    level = rows * float(loss.g(np.zeros(1))[0])
    x = np.linspace(-40.0, _reach(loss, level), points)
    g, slope = loss.g(x), loss.slope(x)
    bend, h = loss.bend(slope), 1e-5
    difference = (loss.g(x + h) - loss.g(x - h)) / (2 * h)
    second = (loss.slope(x + h) - loss.slope(x - h)) / (2 * h)
    third = np.abs(loss.bend(loss.slope(x + h)) - loss.bend(loss.slope(x - h)))[1:-1] / (2 * h)
    room = 1e-6 * slope + 1e-9 * g
    name = type(loss).__name__
    for fine, sentence in (
        (np.all(np.abs(difference - slope) <= room), "slope(x) is not the derivative of g"),
        (np.all(np.abs(second - bend) <= room), "bend(s) is not the second derivative of g where the slope is s"),
        (np.all(bend[x <= 15] > 0), "g'' must be above 0"),  # further right it may be lost to rounding
        (not loss.self_concordant or np.all(third <= bend[1:-1] * (1 + 1e-2) + 1e-9), "|g'''| exceeds g''"),
        (not loss.concave_bend or _concave(loss, slope), "bend(s) is not concave"),
        (g[0] <= 1e-3 * g[-1] and np.all(g > 0), "g must be above 0 and go to 0 at minus infinity"),
        (np.all(bend <= loss.eta * g * (1 + 1e-9)), f"g'' exceeds eta g for eta = {loss.eta:g}"),
        (np.all(g <= loss.beta(level) * slope * (1 + 1e-9)), "g exceeds beta g' on the level set of the start"),
    ):
        if not fine:
            raise ValueError(
                f"{name} is not a loss that coordinate descent is proved for: {sentence}; correct the class."
            )


def _concave(loss: Separable, slopes: np.ndarray) -> bool:
    """At the middle of any two slopes, as far as these can show."""
    pairs = slopes[:, None], slopes[None, ::7]
    ends = (loss.bend(pairs[0]) + loss.bend(pairs[1])) / 2
    return bool(np.all(loss.bend((pairs[0] + pairs[1]) / 2) >= ends - 1e-9 * np.abs(ends) - 1e-12))


def _reach(loss: Separable, level: float) -> float:
    """The point where g is `level`, by bisection."""
    low, high = 0.0, 1.0
    while float(loss.g(np.array([high]))[0]) < level and high < 1e6:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float(loss.g(np.array([middle]))[0]) < level else (low, middle)
    return low
