"""Norms as a price, nu * ‖d‖ on the simplex: Shalev-Shwartz & Singer, Theorem 7 and Example 2.

The relaxed margin is the largest g with |[g - z]_+|_q <= nu: the level rises until the shortfalls below it cost nu.
p = 1 is the hard margin plus nu; with p = inf the shortfalls sum to nu.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log
from numbers import Real

import numpy as np
from scipy.special import rel_entr

from dualboost.rows import Rows
from dualboost.sets.any_norm import NormRelaxation
from dualboost.sets.base import BoundSet, WeightSet
from dualboost.sets.capped import CappedSimplex
from dualboost.sets.covariance import along, covariance
from dualboost.sets.lp_curve import Curve, Entropic, Euclidean
from dualboost.sets.norms import (
    Lp,
    Norm,
    conjugate_exponent,
    frozen,
    increasing_root,
    log_rarest,
    norm_of,
    offsets,
    shortfalls,
    unit_scale,
)  # fmt: skip

__all__ = ["ConstantPrice", "LpPenalty", "Penalty"]


@dataclass(frozen=True, eq=False)
class Penalty(WeightSet):
    """Every distribution, at the price nu * ‖d‖: weight that is spread thinly is cheaper.

    Parameters
    ----------
    p : 1, a float >= 1.01, or inf
        Which l_p norm. A row of sample weight k counts as k entries.
    nu : float > 0
        The price of one unit of the norm.
    norm : Norm
        Another absolute norm instead of p.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.rows import Rows
    >>> from dualboost.sets import Penalty
    >>> round(Penalty(np.inf, nu=2.0).bind(Rows.of(4)).relaxed_margin(np.array([1.0, 0.0, -1.0, 0.5])), 6)
    0.5
    """

    p: float | None = None
    nu: float | None = None
    norm: Norm | None = None

    def __post_init__(self):
        norm_of(self.p, self.norm, "Penalty")
        if not (isinstance(self.nu, Real) and 0 < self.nu < inf):
            raise ValueError(f"nu, the price of the norm, must be positive and finite, not {self.nu!r}: 0 is Simplex.")

    def bind(self, rows: Rows) -> BoundSet:
        norm, nu = norm_of(self.p, self.norm, "Penalty").bind(rows), float(self.nu or 0.0)
        if not isinstance(norm, Lp):
            return NormRelaxation(rows, norm, nu=nu)
        return ConstantPrice(rows, nu) if norm.p == 1 else LpPenalty(rows, norm, nu)


class ConstantPrice(BoundSet):
    """The simplex at a price that is the same everywhere, nu * |d|_1 = nu."""

    def __init__(self, rows: Rows, nu: float):
        self.rows, self.nu, self._simplex = rows, nu, CappedSimplex(rows, np.ones(1))
        self.radius = self._simplex.radius

    def relaxed_margin(self, z: np.ndarray) -> float:
        return self._simplex.relaxed_margin(z) + self.nu

    def vertex(self, z: np.ndarray) -> np.ndarray:
        return self._simplex.vertex(z)

    def entropic(self, z: np.ndarray, eta: float) -> np.ndarray:
        return self._simplex.entropic(z, eta)

    def euclidean(self, v: np.ndarray) -> np.ndarray:
        return self._simplex.euclidean(v)

    def price(self, d: np.ndarray) -> float:
        return self.nu

    def contains(self, d: np.ndarray, atol: float = 1e-9) -> bool:
        return self._simplex.contains(d, atol)

    def divergence(self, d: np.ndarray) -> float:
        return self._simplex.divergence(d)

    def responsive(self, d: np.ndarray) -> np.ndarray:
        return self._simplex.responsive(d)

    def forget(self) -> None:
        self._simplex.forget()


class LpPenalty(BoundSet):
    """The price nu * |d|_p over known rows, 1 < p <= inf."""

    def __init__(self, rows: Rows, norm: Lp, nu: float):
        self.rows, self.norm, self.nu = rows, norm, nu
        self.p, self.q = float(norm.p), conjugate_exponent(norm.p)
        self._unit = nu * unit_scale(rows, self.p)  # the price of the prior
        self.radius = log_rarest(rows)
        self.forget()

    def forget(self) -> None:
        self._warm = (np.nan, np.nan)  # multipliers of the last entropic projection, in units of margins
        self._near = (np.nan, np.nan)  # and of the last Euclidean one
        self._height = np.nan  # of the last level above the least margin

    def relaxed_margin(self, z: np.ndarray) -> float:
        least, y = offsets(z, self.rows)
        return least + self._rise(y)

    def _rise(self, y: np.ndarray) -> float:
        """The t > 0 with |[t - y]_+|_q = nu; the norm is convex and increasing in t, so Newton cannot miss."""

        def excess(t: float) -> tuple[float, float]:
            _, one, two = shortfalls(y, t, self.rows, self.q)
            root = two ** (1 / self.q)
            return t * root / self._unit - 1, one / root ** (self.q - 1) / self._unit

        least_mass = self.rows.add(float(self.rows.prior[y == 0].sum()))
        high = self._unit * least_mass ** (-1 / self.q)
        start = high if np.isnan(self._height) else self._height
        self._height = increasing_root(excess, self._unit, high * (1 + 1e-15), start)
        return self._height

    def vertex(self, z: np.ndarray) -> np.ndarray:
        _, y = offsets(z, self.rows)
        power, total, _ = shortfalls(y, self._rise(y), self.rows, self.q)
        return self.rows.prior * power / total

    def entropic(self, z: np.ndarray, eta: float) -> np.ndarray:
        least, y = offsets(z, self.rows)
        if self.p == inf:
            # Rows at the maximum share one multiplier: their margins are lifted to the level of the relaxed margin.
            mass = self.rows.prior * np.exp(-eta * np.maximum(y - self._rise(y), 0.0))
            return frozen(mass / self.rows.add(float(mass.sum())))
        curve = Curve(self.rows, self.p, Entropic(y, eta, self.p))
        curve.level = (self._warm[1] + least) * eta
        d = curve.to_weight(log(self._unit * eta), self._warm[0] + log(eta))
        self._warm = curve.log_s - log(eta), curve.level / eta - least
        return frozen(d)

    def euclidean(self, v: np.ndarray) -> np.ndarray:
        """argmin of sum of (d - v)^2 / (2 copies) + nu |d|_p."""
        if self.p == inf:
            return _nearest_at_price_of_maximum(v, self.rows, self._unit)
        curve = Curve(self.rows, self.p, Euclidean(v, self.rows, self.p))
        curve.level = self._near[1]
        d = curve.to_weight(log(self._unit), self._near[0])
        self._near = curve.log_s, curve.level
        return d

    def price(self, d: np.ndarray) -> float:
        return self.nu * self.norm.value(d)

    def contains(self, d: np.ndarray, atol: float = 1e-9) -> bool:
        return bool(np.all(d >= 0)) and abs(self.rows.add(float(d.sum())) - 1) <= atol

    def divergence(self, d: np.ndarray) -> float:
        return self.rows.add(float(rel_entr(d, self.rows.prior).sum()))

    def responsive(self, d: np.ndarray) -> np.ndarray:
        return d > 0

    def hessian(self, d: np.ndarray, columns: np.ndarray, eta: float) -> np.ndarray:
        """The inverse, on vectors of sum 0, of the second derivative of divergence / eta + price at d."""
        density = d / self.rows.prior
        top = self.rows.max(float(density.max()))
        if self.p == inf:
            return eta * covariance(d, self._tied(columns, density >= top * (1 - 1e-12)), d > 0, self.rows)
        a, g = self.p - 1, (density / top) ** (self.p - 1)
        power = self.rows.add(float(self.rows.prior @ (density / top) ** self.p))
        steep = self._unit * a * power ** (1 / self.p - 1)
        C, b, variance = along(eta * d / (1 + eta * steep * g), columns, g, self.rows)
        factor = steep / (power * top)
        return C + np.outer(b, b) * (factor / max(1 - factor * variance, 1e-9))

    def _tied(self, columns: np.ndarray, together: np.ndarray) -> np.ndarray:
        """The rows at the maximum have one weight a copy: they move like one row, with the mean of their columns."""
        share = np.where(together, self.rows.prior, 0.0)
        mean = self.rows.add(columns @ share) / self.rows.add(float(share.sum()))
        return np.where(together, mean[:, None], columns)


def _nearest_at_price_of_maximum(v: np.ndarray, rows: Rows, unit: float) -> np.ndarray:
    """argmin of sum of (d - v)^2 / (2 copies) + unit * max(d / prior), in densities x = d / prior and u = v / prior.

    One cap c for all densities, where what it cuts off weighs `unit` a copy.
    """
    prior, u = rows.prior, v / rows.prior
    low, high = -rows.max(-float((u - 1.0).min())), rows.max(float(u.max()))
    last, x = np.nan, np.ones(len(rows))

    def mass(chosen: np.ndarray) -> float:
        return rows.add(float(prior[chosen].sum()))

    def too_much(c: float) -> tuple[float, float]:
        def missing(tau: float) -> tuple[float, float]:
            x = np.clip(u - tau, 0.0, c)
            return 1.0 - rows.add(float(prior @ x)), mass((x > 0) & (x < c))

        nonlocal last, x
        last = increasing_root(missing, -rows.max(-float((u - c).min())), high, last)
        x = np.clip(u - last, 0.0, c)
        cut = np.maximum(u - last - c, 0.0)
        capped = mass(cut > 0)
        free = max(mass((x > 0) & (cut <= 0)), 1e-300)
        return unit * rows.total - rows.add(float(prior @ cut)), capped * (1.0 + capped / free)

    if rows.add(float(prior @ (u - 1.0))) - low <= unit * rows.total:
        return np.array(prior)  # even caps that leave only the prior are worth their price
    tallest = 1.0 / -rows.max(-float(prior.min()))
    increasing_root(too_much, 1.0, tallest, (1.0 + tallest) / 2)
    return prior * x / rows.add(float(prior @ x))
