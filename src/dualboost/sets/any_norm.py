"""Balls and penalties of any absolute norm, known by its values alone: Shalev-Shwartz & Singer, Theorem 7."""

from __future__ import annotations

from math import exp, inf, log

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import logsumexp, rel_entr

from dualboost.rows import Rows
from dualboost.sets.base import BoundSet
from dualboost.sets.capped import CappedSimplex
from dualboost.sets.norms import Norm, frozen, inner, log_rarest, numeric_gradient, offsets, require_absolute

__all__ = ["NormRelaxation"]

_GAP = 1e-6  # what a projection may miss


class NormRelaxation(BoundSet):
    """Any absolute norm as a ball (`limit`) or as a price (`nu`), for norms that offer only `value` and `dual`.

    The relaxed margin is a search in one variable, exact whatever the norm. Minimisers need a norm that is smooth where
    weights are positive; they are checked against the dual problem, and refused when they fail. Meant for hundreds of
    rows: l_p norms have their own, faster sets.
    """

    def __init__(self, rows: Rows, norm: Norm, nu: float = inf, limit: float = inf):
        require_absolute(norm, len(rows))
        self.rows, self.norm, self.nu, self.limit = rows, norm, nu, limit
        self.radius = log_rarest(rows)
        self._simplex = CappedSimplex(rows, np.ones(1))
        self._center = np.array(rows.prior)
        if limit < inf:
            self._center = self._most_inside()

    def _most_inside(self) -> np.ndarray:
        """The distribution of least norm as far as it can be told: the prior, or where the dual norm grows."""
        ones = np.ones(len(self.rows))
        least = 1 / self.norm.dual(ones)  # Theorem 7 with z = 0
        if self.limit <= least * (1 + 1e-9):
            raise ValueError(f"The radius must exceed {least:g}, the least norm of a distribution, not {self.limit}.")
        steep = np.maximum(numeric_gradient(self.norm.dual, ones), 0.0)
        center = min(np.array(self.rows.prior), steep / steep.sum(), key=self.norm.value)
        if self.norm.value(center) > self.limit:
            raise ValueError(f"No distribution of norm {self.limit:g} was found, though {least:g} is possible.")
        return center

    def forget(self) -> None:
        self._simplex.forget()

    def relaxed_margin(self, z: np.ndarray) -> float:
        least, y = offsets(z, self.rows)
        t = self._level(y)
        return least + (t if self.limit == inf else max(self._height(y, t), 0.0))

    def _shortfall(self, y: np.ndarray, t: float) -> float:
        return float(self.norm.dual(np.maximum(t - y, 0.0)))

    def _height(self, y: np.ndarray, t: float) -> float:
        return t - self.limit * self._shortfall(y, t)

    def _level(self, y: np.ndarray) -> float:
        """Price: the largest t with |[t - y]_+| <= nu, by halving. Ball: the top of the height, by golden sections."""
        low, high = 0.0, float(y.max()) or 1.0
        if self.limit == inf:
            while self._shortfall(y, high) <= self.nu:
                high *= 2
            for _ in range(100):
                middle = (low + high) / 2
                low, high = (middle, high) if self._shortfall(y, middle) <= self.nu else (low, middle)
            return low
        while self._height(y, 2 * high) > self._height(y, high):
            high *= 2
        high, golden = 2 * high, (5**0.5 - 1) / 2
        for _ in range(90):
            left, right = high - golden * (high - low), low + golden * (high - low)
            low, high = (left, high) if self._height(y, left) < self._height(y, right) else (low, right)
        return low

    def vertex(self, z: np.ndarray) -> np.ndarray:
        _, y = offsets(z, self.rows)
        steep = np.maximum(numeric_gradient(self.norm.dual, np.maximum(self._level(y) - y, 0.0)), 0.0)
        d = self._inside(steep / steep.sum()) if steep.any() else self._simplex.vertex(z)
        if abs(inner(d, z, self.rows) + self.price(d) - self.relaxed_margin(z)) > 1e-6:
            raise ValueError("This norm has corners: which distribution attains the margin its values do not tell.")
        return d

    def euclidean(self, v: np.ndarray) -> np.ndarray:
        raise ValueError("Euclidean projections are offered for l_p norms only: use Ball(p, ...) or Penalty(p, ...).")

    def entropic(self, z: np.ndarray, eta: float) -> np.ndarray:
        """By L-BFGS in log densities; for a ball, the price at which the norm is the limit is found around it.

        Norms with corners can defeat it, so the answer is returned only if its duality gap is closed.
        """
        problem = _Tilt(self, z, eta)
        if self.limit == inf:
            d, toll = problem.at_price(self.nu), 0.0
        else:
            d, toll = problem.at_norm(self.limit), self.limit
        inside = self._inside(d)
        value = float(inside @ z) + self.divergence(inside) / eta + self.price(inside)
        bound = problem.bound(d) - problem.price * toll
        if not value - bound <= _GAP * (1 + abs(value)):
            raise ValueError(f"Known to {value - bound:.1e} only: the norm has corners or eta is large.")
        return frozen(inside)

    def _inside(self, d: np.ndarray) -> np.ndarray:
        """d, moved towards the centre until the ball holds it."""
        if self.limit == inf or self.norm.value(d) <= self.limit:
            return d
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            inside = self.norm.value(self._center + middle * (d - self._center)) <= self.limit
            low, high = (middle, high) if inside else (low, middle)
        return self._center + low * (d - self._center)

    def price(self, d: np.ndarray) -> float:
        return self.nu * float(self.norm.value(d)) if self.nu < inf else 0.0

    def contains(self, d: np.ndarray, atol: float = 1e-9) -> bool:
        if not np.all(d >= 0) or abs(self.rows.add(float(d.sum())) - 1) > atol:
            return False
        return self.limit == inf or float(self.norm.value(d)) <= self.limit * (1 + atol)

    def divergence(self, d: np.ndarray) -> float:
        return self.rows.add(float(rel_entr(d, self.rows.prior).sum()))

    def responsive(self, d: np.ndarray) -> np.ndarray:
        return d > 0


class _Tilt:
    """The minimum over the simplex of <d, z> + KL / eta + price * |d|, for one price after another."""

    def __init__(self, bound_set: NormRelaxation, z: np.ndarray, eta: float):
        self.norm, self.z, self.eta = bound_set.norm, z, eta
        self.log_prior = np.log(bound_set.rows.prior)
        self.price = 0.0

    def _distribution(self, log_x: np.ndarray) -> np.ndarray:
        theta = self.log_prior + log_x
        return np.exp(theta - logsumexp(theta))

    def at_price(self, price: float) -> np.ndarray:
        def value(log_x: np.ndarray) -> tuple[float, np.ndarray]:
            d = self._distribution(log_x)
            log_ratio = log_x - logsumexp(self.log_prior + log_x)
            slope = self.z + log_ratio / self.eta + price * self.norm.gradient(d)
            height = float(d @ self.z) + float(d @ log_ratio) / self.eta + price * float(self.norm.value(d))
            return height, d * (slope - d @ slope)

        options = {"ftol": 1e-16, "gtol": 1e-12, "maxiter": 500, "maxcor": 30}
        # From the prior, where every weight can move; the answer is then a function of the price alone.
        start = np.zeros(len(self.z))
        self.price = price
        return self._distribution(minimize(value, start, jac=True, method="L-BFGS-B", options=options).x)

    def at_norm(self, limit: float) -> np.ndarray:
        """The distribution whose norm is the limit, or the one without a price if that is inside."""
        d = self._distribution(-self.eta * self.z)
        if self.norm.value(d) <= limit:
            return d

        def excess(log_price: float) -> float:
            return log(float(self.norm.value(self.at_price(exp(log_price)))) / limit)

        low, high = -2.0, 2.0
        while excess(high) > 0 and high < 30:
            low, high = high, high + 2.0
        while excess(low) <= 0 and low > -60:
            low, high = low - 2.0, low
        return self.at_price(exp(brentq(excess, low, high, xtol=1e-10))) if high < 30 and low > -60 else d

    def bound(self, d: np.ndarray) -> float:
        """A lower bound of the minimum at the last price: the gradient of the norm at d, made safe by the dual norm."""
        u = np.maximum(self.norm.gradient(d), 0.0)
        u *= self.price / max(1.0, float(self.norm.dual(u)))
        return -float(logsumexp(self.log_prior - self.eta * (self.z + u))) / self.eta
