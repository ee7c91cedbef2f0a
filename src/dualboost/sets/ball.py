"""Norm balls {d a distribution, |d| <= radius}: Shalev-Shwartz & Singer, Theorem 7 and Example 1.

The relaxed margin is max over g of g - radius * |[g - z]_+|_q. For p = 2 it is the mean of the smallest margins less a
multiple of their standard deviation: a margin that is paid for in variance. p = inf is the capped simplex, p = 1 the
simplex.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, inf, log
from numbers import Real

import numpy as np
from scipy.special import rel_entr

from dualboost.rows import Rows
from dualboost.sets.any_norm import NormRelaxation
from dualboost.sets.base import BoundSet, WeightSet
from dualboost.sets.capped import CappedSimplex
from dualboost.sets.covariance import along
from dualboost.sets.lp_curve import Curve, Entropic, Euclidean
from dualboost.sets.norms import (
    Lp,
    Norm,
    conjugate_exponent,
    frozen,
    increasing_root,
    inner,
    log_rarest,
    norm_of,
    offsets,
    shortfalls,
    unit_scale,
)  # fmt: skip

__all__ = ["Ball", "LpBall"]

_FULL = 1e-12  # a radius this close to the smallest leaves one point


@dataclass(frozen=True, eq=False)
class Ball(WeightSet):
    """Distributions of bounded norm.

    Parameters
    ----------
    p : 1, a float >= 1.01, or inf
        Which l_p norm. A row of sample weight k counts as k entries.
    radius : float
        From the norm of the prior, m^(1/p - 1), where only the prior is left, up to 1, where the ball has no effect.
    norm : Norm
        Another absolute norm instead of p.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.rows import Rows
    >>> from dualboost.sets import Ball
    >>> ball = Ball(2, radius=0.6).bind(Rows.of(4))
    >>> round(ball.relaxed_margin(np.array([1.0, 0.0, -1.0, 0.5])), 4)
    -0.3655
    >>> Ball(2, radius=0.5).bind(Rows.of(4)).vertex(np.array([1.0, 0.0, -1.0, 0.5]))
    array([0.25, 0.25, 0.25, 0.25])
    """

    p: float | None = None
    radius: float | None = None
    norm: Norm | None = None

    def __post_init__(self):
        norm_of(self.p, self.norm, "Ball")
        if not (isinstance(self.radius, Real) and 0 < self.radius < inf):
            raise ValueError(f"The radius of a ball must be a positive finite number, not {self.radius!r}.")

    def bind(self, rows: Rows) -> BoundSet:
        norm = norm_of(self.p, self.norm, "Ball").bind(rows)
        radius = float(self.radius or 0.0)
        if not isinstance(norm, Lp):
            return NormRelaxation(rows, norm, limit=radius)
        least = unit_scale(rows, norm.p)
        if radius < least * (1 - _FULL):
            raise ValueError(f"The smallest feasible radius for p = {norm.p:g} here is {least:.6g}, not {radius:g}.")
        if radius >= float(np.max(norm.copies ** (-1 / conjugate_exponent(norm.p)))):
            return CappedSimplex(rows, np.ones(1))  # every distribution is inside
        if norm.p == inf:
            return CappedSimplex(rows, np.minimum(radius * norm.copies, 1.0))
        return LpBall(rows, norm, radius)


class LpBall(BoundSet):
    """The l_p ball over known rows, 1 < p < inf, smaller than the simplex."""

    def __init__(self, rows: Rows, norm: Lp, radius: float):
        self.rows, self.norm, self.p, self.q = rows, norm, float(norm.p), conjugate_exponent(norm.p)
        self._bound = radius
        # In densities, where the prior has norm 1.
        self._log_radius = log(radius / unit_scale(rows, self.p))
        self._one_point = self._log_radius <= _FULL
        # KL = sum of d log x <= log(sum of d x^(p-1)) / (p - 1) by Jensen, and that sum is at most radius^p.
        self.radius = 0.0 if self._one_point else min(self.q * (self._log_radius + 1e-15), log_rarest(rows))
        self.forget()

    def forget(self) -> None:
        self._warm = (np.nan, np.nan)  # multipliers of the last entropic projection, in units of margins
        self._near = (np.nan, np.nan)  # and of the last Euclidean one
        self._height = np.nan  # of the last level above the least margin, in units of their spread
        self._last: tuple[np.ndarray | None, float] = None, -inf  # entropic projection, and its multiplier

    def relaxed_margin(self, z: np.ndarray) -> float:
        return inner(self.vertex(z), z, self.rows)

    def vertex(self, z: np.ndarray) -> np.ndarray:
        if self._one_point:
            return np.array(self.rows.prior)
        _, y = offsets(z, self.rows)
        spread = self.rows.max(float(y.max())) or 1.0
        y = np.where(y > 1e-20 * spread, y / spread, 0.0)  # no unit, and no ties that only squares would break
        tied = np.where(y == 0, self.rows.prior, 0.0)
        if self._log_radius + log(self.rows.add(float(tied.sum()))) / self.q >= 0:
            return self._shared(tied)
        self._height = self._scan(y) if self.p == 2 else self._search(y)
        return self._weights_at(y, self._height)

    def _shared(self, tied: np.ndarray) -> np.ndarray:
        """The least rows alone are enough: as few of them as the ball allows, from the lowest index."""
        mass = np.cumsum(tied)
        enough = int(np.argmax(self._log_radius + np.log(np.maximum(mass, 1e-300)) / self.q >= 0))
        d = np.where(np.arange(len(tied)) <= enough, tied, 0.0)
        return d / d.sum()

    def _scan(self, y: np.ndarray) -> float:
        """p = 2 in closed form: over the k least margins, level = mean + deviation / sqrt(radius^2 * mass - 1)."""
        order = np.argsort(y, kind="stable")
        y, prior = y[order], self.rows.prior[order]
        mass, first, second = np.cumsum(prior), np.cumsum(prior * y), np.cumsum(prior * y * y)
        sum1, sum2 = mass * y - first, (mass * y - 2 * first) * y + second  # of u = [y_k - y]_+ and its square
        above = exp(2 * self._log_radius) * sum1**2 >= sum2
        above[y == 0] = False
        k = int(np.argmax(above)) if above.any() else len(y)
        mass, y, prior = prior[:k].sum(), y[:k], prior[:k]
        mean = prior @ y / mass
        variance = prior @ (y - mean) ** 2 / mass
        return float(mean + np.sqrt(variance / max(exp(2 * self._log_radius) * mass - 1, 1e-300)))

    def _search(self, y: np.ndarray) -> float:
        """Any p: where the weights of `_weights_at` sum to 1, which they approach from below as the level rises."""

        def log_sum(log_t: float) -> tuple[float, float]:
            t = exp(log_t)
            power, one, two = shortfalls(y, t, self.rows, self.q)
            u = np.maximum(1.0 - y / t, 0.0)
            steep = self.rows.add(float(self.rows.prior[u > 0] @ (power[u > 0] / u[u > 0])))
            slope = (self.q - 1) * steep / one - (self.q / self.p) * one / two
            return self._log_radius + log(one) - log(two) / self.p, slope

        # Below the second least margin the ratio stands still; at `high` even the largest margin has its share.
        low = log(-self.rows.max(-float(y[y > 0].min())))
        high = log(1 / -expm1(-(self.p - 1) * self._log_radius))
        return exp(increasing_root(log_sum, low, high, log(self._height) if self._height == self._height else np.nan))

    def _weights_at(self, y: np.ndarray, t: float) -> np.ndarray:
        """The distribution of norm = radius along [t - y]_+^(q-1).

        For large p the sum jumps between neighbouring levels; a mixture of both sides sums to 1 and stays in the ball.
        """
        d, total = self._unscaled(y, t)
        if abs(total - 1) <= 1e-13:
            return d / total
        side = np.sign(total - 1)
        for width in 2.0 ** np.arange(-52, -9):
            other, its_total = self._unscaled(y, t * (1 - side * width))
            if (its_total - 1) * side <= 0:
                share = (1 - its_total) / (total - its_total)
                return share * d + (1 - share) * other
        return d / total

    def _unscaled(self, y: np.ndarray, t: float) -> tuple[np.ndarray, float]:
        power, one, two = shortfalls(y, t, self.rows, self.q)
        scale = exp(self._log_radius - log(two) / self.p)
        return self.rows.prior * power * scale, one * scale

    def entropic(self, z: np.ndarray, eta: float) -> np.ndarray:
        if self._one_point:
            return frozen(np.array(self.rows.prior))
        least, y = offsets(z, self.rows)
        curve = Curve(self.rows, self.p, Entropic(y, eta, self.p))
        curve.level = (self._warm[1] + least) * eta
        d = frozen(curve.to_radius(self._log_radius, self._warm[0] + log(eta)))
        self._warm = (curve.log_s - log(eta), curve.level / eta - least) if curve.log_s > -inf else self._warm
        self._last = d, curve.log_s
        return d

    def euclidean(self, v: np.ndarray) -> np.ndarray:
        if self._one_point:
            return np.array(self.rows.prior)
        curve = Curve(self.rows, self.p, Euclidean(v, self.rows, self.p))
        curve.level = self._near[1]
        d = curve.to_radius(self._log_radius, self._near[0])
        self._near = (curve.log_s, curve.level) if curve.log_s > -inf else self._near
        return d

    def price(self, d: np.ndarray) -> float:
        return 0.0

    def contains(self, d: np.ndarray, atol: float = 1e-9) -> bool:
        if not np.all(d >= 0) or abs(self.rows.add(float(d.sum())) - 1) > atol:
            return False
        return self.norm.value(d) <= self._bound * (1 + atol)

    def divergence(self, d: np.ndarray) -> float:
        return self.rows.add(float(rel_entr(d, self.rows.prior).sum()))

    def responsive(self, d: np.ndarray) -> np.ndarray:
        return d > 0

    def hessian(self, d: np.ndarray, columns: np.ndarray, eta: float) -> np.ndarray:
        """On the sphere the weights move along it, and the less the more it presses; inside it like on the simplex.

        How much it presses only the projection itself knows: for weights other than its last a bound from above.
        """
        last, log_s = self._last
        if d is not last or log_s == -inf:
            return super().hessian(d, columns, eta)
        density = d / self.rows.prior
        top = self.rows.max(float(density.max()))
        g = (density / top) ** (self.p - 1)
        pressed = (self.p - 1) * exp(min(log_s + (self.p - 1) * log(top), 700.0)) * g
        C, b, variance = along(eta * d / (1 + pressed), columns, g, self.rows)
        return C - np.outer(b, b) / max(variance, 1e-300)
