"""The curve of distributions on which every projection to an l_p ball or penalty lies, for 1 < p < inf.

Written in densities x = d / prior, as in `norms`. One multiplier s prices the sum of prior * x^p, one level makes the
weights sum to 1; both are monotone roots, found by Newton with proved brackets, in logarithms: neither margins 1e5
apart nor p = 100 overflow.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import exp, inf, log, log1p

import numpy as np
from scipy.special import wrightomega

from dualboost.rows import Rows
from dualboost.sets.norms import increasing_root, log_rarest

__all__ = ["Curve", "Entropic", "Euclidean"]


class Element(ABC):
    """The optimality condition of each row on the curve: psi(x) + s (x^a - 1) = theta, with psi(1) = 0."""

    target: np.ndarray
    """theta at level 0: row i has theta = target_i - level."""

    @abstractmethod
    def solve(self, theta: np.ndarray, log_s: float) -> tuple[np.ndarray, np.ndarray]:
        """log x of each row, and the derivative of log d by theta there."""


class Curve:
    """The distributions d(s) that minimise a distance + (s / p) * sum of prior * x^p, followed in log s.

    All that balls and penalties need lies on it: the norm falls as s grows, at the s of a ball it equals the radius,
    and a penalty of weight c has its s where log s - log c + a log |x|_p is 0, which grows with s. Here a = p - 1.

    The level is the multiplier of sum d = 1; since some x are above 1 and some below, it lies between the least and the
    largest target. Its start comes from the tangent of the curve at the last point.
    """

    def __init__(self, rows: Rows, p: float, element: Element):
        self.rows, self.a, self.p, self.element = rows, p - 1.0, p, element
        self.least, self.largest = -rows.max(-float(element.target.min())), rows.max(float(element.target.max()))
        self.log_s, self.level, self.level_slope = -inf, np.nan, 0.0

    def at(self, log_s: float) -> tuple[float, float]:
        """The spread log(sum of d x^a) / a and its derivative in log s; leaves the distribution in `d`.

        The spread is q log |x|_p, but keeps its digits as p tends to 1, where it tends to the KL divergence.
        """
        ahead = self.level_slope * (log_s - self.log_s) if self.log_s > -inf else 0.0
        self.log_s = log_s
        self.level = increasing_root(self._deficit, self.least, self.largest, self.level + ahead)
        a, s = self.a, exp(log_s)
        top = self.rows.max(float(self._log_x.max()))
        power = np.exp(a * (self._log_x - top))  # x^a, scaled
        weight = self.rows.add(float(self.d @ power))
        pull = s * np.expm1(a * self._log_x) if a * top < 500 else np.exp(log_s + a * self._log_x) - s
        self.level_slope = -self.rows.add(float(self._speed @ pull)) / self._total_speed
        moved = self._speed * (-self.level_slope - pull)
        slope = self.rows.add(float(power @ moved)) / weight
        small = a * top < 1.0
        log_sum = log1p(self.rows.add(float(self.d @ np.expm1(a * self._log_x)))) if small else a * top + log(weight)
        return log_sum / a, min(slope * self.p / a, 0.0)

    def _deficit(self, level: float) -> tuple[float, float]:
        self._log_x, factor = self.element.solve(self.element.target - level, self.log_s)
        top = self.rows.max(float(self._log_x.max()))  # far from the level the masses would overflow
        mass = self.rows.prior * np.exp(self._log_x - top)
        total = self.rows.add(float(mass.sum()))
        self.d = mass / total
        self._speed = self.d * factor
        self._total_speed = self.rows.add(float(self._speed.sum()))
        return -top - log(total), self._total_speed

    def to_radius(self, log_radius: float, start: float) -> np.ndarray:
        """The distribution of norm at most the radius: s = 0 if that suffices, else where they are equal."""
        warm = self.level
        spread = log_radius * self.p / self.a
        if self.at(-inf)[0] <= spread:
            return self.d
        self.level = warm if warm == warm else self.level

        def too_small(log_s: float) -> tuple[float, float]:
            here, slope = self.at(log_s)
            return spread - here, -slope

        # x^a is at least radius^p in some row, whose condition bounds s; below `low` the curve is where it began.
        power = self.p * log_radius
        high = log(self.largest - self.least) - power - log1p(-exp(-power))
        low = min(-60.0 - self.p * log_rarest(self.rows), high - 1.0)
        increasing_root(too_small, low, high, start if start == start else high - 2.0, stride=4.0)
        return self.d

    def to_weight(self, log_weight: float, start: float) -> np.ndarray:
        """The distribution of a penalty of this weight; s lies between weight * (largest norm)^(-a) and weight."""

        def excess(log_s: float) -> tuple[float, float]:
            spread, slope = self.at(log_s)
            return log_s - log_weight + factor * spread, max(1.0 + factor * slope, 0.0)

        factor = self.a**2 / self.p
        low = log_weight - factor * log_rarest(self.rows)
        increasing_root(excess, low, log_weight, start)
        return self.d


class Entropic(Element):
    """Distance = KL(d | prior) + eta <d, z>: log x + s (x^a - 1) = theta, by Wright's omega, omega + log omega = u."""

    def __init__(self, z: np.ndarray, eta: float, p: float):
        self.target, self.a = -eta * z, p - 1.0

    def solve(self, theta: np.ndarray, log_s: float) -> tuple[np.ndarray, np.ndarray]:
        s, log_as = exp(log_s), log_s + log(self.a)
        omega = wrightomega(self.a * (theta + s) + log_as).real  # = a s x^a
        # Of the two ways back to log x each loses its digits where the other does not.
        small = np.minimum(omega, 1.0)
        log_x = np.where(omega > 1.0, (np.log(np.maximum(omega, 1.0)) - log_as) / self.a, theta + s - small / self.a)
        return log_x, 1.0 / (1.0 + omega)


class Euclidean(Element):
    """Distance = sum of (d - v)^2 / (2 copies): (x - 1) / total + s (x^a - 1) = theta, or x = 0 if no x > 0 does."""

    def __init__(self, v: np.ndarray, rows: Rows, p: float):
        self.share, self.a, self.target = 1.0 / rows.total, p - 1.0, (v / rows.prior - 1.0) / rows.total

    def solve(self, theta: np.ndarray, log_s: float) -> tuple[np.ndarray, np.ndarray]:
        s = exp(log_s)
        right = np.maximum(theta + self.share + s, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_x = np.log(right / (self.share + s)) if self.a == 1.0 else self._sum_of_powers(np.log(right), log_s)
            factor = 1.0 / (self.share * np.exp(log_x) + self.a * np.exp(log_s + self.a * log_x))
        return np.where(right > 0, log_x, -inf), np.where(right > 0, factor, 0.0)

    def _sum_of_powers(self, log_right: np.ndarray, log_s: float) -> np.ndarray:
        """log x with share x + s x^a = right, by Newton on the logarithm of both sides, convex and nearly linear."""
        log_share = log(self.share)
        log_x = np.minimum(log_right - log_share, (log_right - log_s) / self.a)
        for _ in range(30):
            first, second = log_share + log_x, log_s + self.a * log_x
            both = np.logaddexp(first, second)
            share = np.exp(first - both)
            step = (both - log_right) / (share + self.a * (1.0 - share))
            log_x = log_x - step
            if not np.nanmax(np.abs(step), initial=0.0) > 1e-15 * (1.0 + abs(log_s)):
                break
        return log_x
