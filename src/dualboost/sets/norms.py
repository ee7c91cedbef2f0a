"""Absolute norms of row weights, and the curve of distributions that l_p balls and penalties share.

Shalev-Shwartz & Singer, Theorem 7, Examples 1 and 2. The norm must be absolute, i.e. blind to signs (which is the same as monotone):
for any other the dual printed there is too small, see `require_absolute`.

Everything about l_p is said in densities x = d / prior, because in them sample weights need no further mention:
|d|_p = total^(1/p - 1) * (sum of prior * x^p)^(1/p), and the second factor is at least 1, with equality at the prior.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, log, log1p

import numpy as np
from scipy.special import wrightomega

from dualboost.rows import Rows

__all__ = ["Curve", "Entropic", "Euclidean", "Lp", "Norm", "conjugate_exponent", "increasing_root", "inner", "norm_of",
           "offsets", "require_absolute", "shortfalls", "unit_scale"]


# ---- norms --------------------------------------------------------------------------------------------------------


class Norm(ABC):
    """An absolute norm of the row weights, with its dual norm. Derive from it to relax the margin by a norm of your own.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.rows import Rows
    >>> from dualboost.sets import Ball, Norm
    >>> class Blend(Norm):
    ...     "max(|d|_1 / 2, |d|_inf); its dual: the best split of x into a part priced at 2 max and a part priced at the sum."
    ...     def value(self, d):
    ...         return max(np.abs(d).sum() / 2, np.abs(d).max())
    ...     def dual(self, x):
    ...         return np.sort(np.abs(x))[-2:].sum()
    >>> Ball(norm=Blend(), radius=0.5).bind(Rows.of(3)).relaxed_margin(np.array([3.0, 1.0, 2.0]))
    1.5
    """

    size: int | None = None
    """How many rows the norm is made for; None means any number."""

    @abstractmethod
    def value(self, d: np.ndarray) -> float:
        """The norm of d."""

    @abstractmethod
    def dual(self, x: np.ndarray) -> float:
        """max of <d, x> over the d of norm at most 1."""

    def bind(self, rows: Rows) -> Norm:
        """The norm in which a row of sample weight k stands for k copies; a norm that knows how says so here."""
        if not rows.uniform or abs(rows.total - len(rows)) > 1e-9 * len(rows):
            raise ValueError("This norm does not say what sample weights mean for it: give its class a bind(rows), or repeat the rows.")
        return self


@dataclass(frozen=True, eq=False)
class Lp(Norm):
    """The l_p norm; a row that stands for k copies counts as k entries of d / k.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.sets import Lp
    >>> Lp(2).value(np.array([0.6, 0.8])), Lp(2, copies=np.array([2.0, 1.0])).value(np.array([1.0, 0.0]))**2
    (1.0, 0.5000000000000001)
    """

    p: float
    copies: np.ndarray | float = 1.0

    def __post_init__(self):
        if not (isinstance(self.p, (int, float, np.number)) and self.p >= 1):
            raise ValueError(f"p must be a number of at least 1, or infinity, not {self.p!r}: below 1 there is no norm.")

    def bind(self, rows: Rows) -> Lp:
        if not np.isfinite(rows.total):
            raise ValueError("The sample weights sum to more than 1e308: l_p norms count copies, so rescale the weights.")
        return Lp(self.p, rows.prior * rows.total)

    def value(self, d: np.ndarray) -> float:
        return _power_mean(np.abs(d) / self.copies, self.copies, self.p)

    def dual(self, x: np.ndarray) -> float:
        return _power_mean(np.abs(x), self.copies, conjugate_exponent(self.p))


def _power_mean(x: np.ndarray, weights: np.ndarray | float, p: float) -> float:
    """(sum of weights * x^p)^(1/p), scaled by the largest x so that no power over- or underflows."""
    top = float(x.max())
    if top == 0 or p == inf:
        return top
    return top * float((weights * (x / top) ** p).sum()) ** (1 / p)


def conjugate_exponent(p: float) -> float:
    """q with 1/p + 1/q = 1."""
    if p == inf:
        return 1.0
    return inf if p == 1 else p / (p - 1)


def norm_of(p: float | None, norm: Norm | None, what: str) -> Norm:
    """The norm meant by `p` or by `norm`, refused at once if it is none."""
    if (p is None) == (norm is None):
        raise ValueError(f"{what} takes either p or norm: {what}(2, ...), or {what}(norm=a Norm, ...).")
    if norm is None:
        return Lp(p)
    if not isinstance(norm, Norm):
        raise ValueError(f"norm must be an instance of dualboost.sets.Norm, not {norm!r}.")
    if not isinstance(norm, Lp):
        require_absolute(norm, norm.size or 3)
    return norm


def unit_scale(rows: Rows, p: float) -> float:
    """|prior|_p = total^(1/p - 1): the smallest l_p norm of a distribution."""
    return rows.total ** (-1 / conjugate_exponent(p))


def require_absolute(norm: Norm, size: int) -> None:
    """Refuse a norm that looks at signs, grows when an entry shrinks, or has a dual that breaks Hoelder's inequality.

    The printed dual of Theorem 7 puts [g - z]_+ into the dual norm. That is the least over all x >= g - z only when shrinking an
    entry never increases the norm; otherwise it leaves a gap and would certify nonsense.
    """
    if norm.size is not None and norm.size != size:
        raise ValueError(f"This norm is made for {norm.size} rows, not {size}.")
    rng = np.random.default_rng(20080709)
    for _ in range(16):
        d, x = rng.normal(size=size), rng.normal(size=size)
        for name, function, v in (("norm", norm.value, d), ("dual norm", norm.dual, x)):
            length = float(function(v))
            turned = float(function(v * rng.choice([-1.0, 1.0], size)))
            shrunk = float(function(v * rng.uniform(0, 1, size)))
            if not (length > 0 and abs(function(2.5 * v) - 2.5 * length) <= 1e-9 * length):
                raise ValueError(f"The {name} must be positive and homogeneous: f(2.5 v) = 2.5 f(v) > 0 for v != 0.")
            if abs(turned - length) > 1e-9 * length or shrunk > length * (1 + 1e-9):
                raise ValueError(
                    f"The {name} is not absolute (it changes with the signs of the entries, or grows when one shrinks): "
                    "Theorem 7 of Shalev-Shwartz & Singer does not hold for it, its dual would be too small."
                )
        if d @ x > norm.value(d) * norm.dual(x) * (1 + 1e-9):
            raise ValueError("dual(x) is not the dual norm: <d, x> exceeds value(d) * dual(x).")


# ---- roots --------------------------------------------------------------------------------------------------------


def increasing_root(
    f: Callable[[float], tuple[float, float]], low: float, high: float, start: float, stride: float = inf, atol: float = 1e-14
) -> float:
    """Where the increasing function f = (value, derivative) is 0 between low and high: Newton, kept inside the bracket.

    It bisects when Newton leaves the bracket or fails to halve the value, and never moves further than `stride` at once, because
    a function that is flat at both ends sends Newton far away. Returns the point at which f was evaluated last.
    """
    x = min(max(start, low), high) if start == start else (low + high) / 2
    before = inf
    for _ in range(200):
        value, derivative = f(x)
        if abs(value) <= atol:
            break
        low, high = (low, x) if value > 0 else (x, high)
        step, slow = value / derivative if derivative > 0 else inf, abs(value) > before / 2
        if abs(step) <= (1e-11 if slow else 4e-16) * max(1.0, abs(x)):  # all that is left is rounding
            break
        new = (low + high) / 2 if slow or not low < x - step < high else x - step
        new = min(max(new, x - stride), x + stride)
        if new == x:
            break
        x, before = new, abs(value)
    return x


# ---- the level of the relaxed margin ------------------------------------------------------------------------------


def shortfalls(y: np.ndarray, t: float, rows: Rows, q: float) -> tuple[np.ndarray, float, float]:
    """With u = [1 - y / t]_+: the row weights u^(q-1), and the prior's sums of u^(q-1) and u^q."""
    u = np.maximum(1.0 - y / t, 0.0)
    power = (u > 0).astype(float) if q == 1 else u ** (q - 1)
    return power, rows.add(float(rows.prior @ power)), rows.add(float(rows.prior @ (power * u)))


def offsets(z: np.ndarray, rows: Rows) -> tuple[float, np.ndarray]:
    """The least margin, and how far each margin lies above it."""
    least = -rows.max(-float(z.min()))
    return least, z - least


def inner(d: np.ndarray, z: np.ndarray, rows: Rows) -> float:
    """<d, z> without the rounding that a common offset of the margins would cost."""
    least, y = offsets(z, rows)
    return least + rows.add(float(d @ y))


# ---- the curve ----------------------------------------------------------------------------------------------------


class Element(ABC):
    """The optimality condition of one row on the curve, for all rows at once: psi(x) + s (x^a - 1) = theta, psi(1) = 0."""

    target: np.ndarray
    """theta at level 0: row i has theta = target_i - level."""

    @abstractmethod
    def solve(self, theta: np.ndarray, log_s: float) -> tuple[np.ndarray, np.ndarray]:
        """log x of each row, and the derivative of log d by theta there."""


class Curve:
    """The distributions d(s) that minimise a distance + (s / p) * sum of prior * x^p, followed in log s.

    All that balls and penalties need lies on it: the norm falls as s grows, at the s of a ball it equals the radius, and a penalty
    of weight c has its s where log |x|_p + (log s - log c) / a is 0, which grows with s. Here a = p - 1.

    The level is the multiplier of sum d = 1; since some x are above 1 and some below, it lies between the least and the largest
    target. Its start comes from the tangent of the curve at the last point.
    """

    def __init__(self, rows: Rows, p: float, element: Element):
        self.rows, self.a, self.p, self.element = rows, p - 1.0, p, element
        self.least, self.largest = -rows.max(-float(element.target.min())), rows.max(float(element.target.max()))
        self.log_s, self.level, self.level_slope = -inf, np.nan, 0.0
        self.evaluations = 0

    def at(self, log_s: float) -> tuple[float, float]:
        """log |x|_p and its derivative in log s, leaving the distribution in `d` and the multiplier in `level`."""
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
        return (a * top + log(weight)) / self.p, min(slope, 0.0)

    def _deficit(self, level: float) -> tuple[float, float]:
        self.evaluations += 1
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
        if self.at(-inf)[0] <= log_radius:
            return self.d
        self.level = warm if warm == warm else self.level

        def too_small(log_s: float) -> tuple[float, float]:
            log_norm, slope = self.at(log_s)
            return log_radius - log_norm, -slope

        # x^a is at least radius^p in some row, whose condition then bounds s; far below `low` the curve is where it began.
        power = self.p * log_radius
        high = log(self.largest - self.least) - power - log1p(-exp(-power))
        low = min(-60.0 - self.p * _log_rarest(self.rows), high - 1.0)
        increasing_root(too_small, low, high, start if start == start else high - 2.0, stride=4.0)
        return self.d

    def to_weight(self, log_weight: float, start: float) -> np.ndarray:
        """The distribution of a penalty of this weight; s lies between weight * (largest norm)^(-a) and weight."""

        def excess(log_s: float) -> tuple[float, float]:
            log_norm, slope = self.at(log_s)
            return log_norm + (log_s - log_weight) / self.a, max(slope + 1 / self.a, 0.0)

        low = log_weight - self.a**2 / self.p * _log_rarest(self.rows)
        increasing_root(excess, low, log_weight, start)
        return self.d


def _log_rarest(rows: Rows) -> float:
    """log(1 / smallest prior)."""
    return -log(-rows.max(-float(rows.prior.min())))


class Entropic(Element):
    """Distance = KL(d | prior) + eta <d, z>: log x + s (x^a - 1) = theta, by Wright's omega function (omega + log omega = u)."""

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
    """Distance = |d - v|^2 / 2: prior (x - 1) + s (x^a - 1) = theta, or x = 0 where that has no positive solution."""

    def __init__(self, v: np.ndarray, prior: np.ndarray, p: float):
        self.prior, self.a, self.target = prior, p - 1.0, v - prior

    def solve(self, theta: np.ndarray, log_s: float) -> tuple[np.ndarray, np.ndarray]:
        s = exp(log_s)
        right = np.maximum(theta + self.prior + s, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_x = np.log(right / (self.prior + s)) if self.a == 1.0 else self._sum_of_powers(np.log(right), log_s)
            factor = 1.0 / (self.prior * np.exp(log_x) + self.a * np.exp(log_s + self.a * log_x))
        return np.where(right > 0, log_x, -inf), np.where(right > 0, factor, 0.0)

    def _sum_of_powers(self, log_right: np.ndarray, log_s: float) -> np.ndarray:
        """log x with prior x + s x^a = right, by Newton on the logarithm of both sides: convex, and nearly linear at either end."""
        log_prior = np.log(self.prior)
        log_x = np.minimum(log_right - log_prior, (log_right - log_s) / self.a)
        for _ in range(30):
            first, second = log_prior + log_x, log_s + self.a * log_x
            both = np.logaddexp(first, second)
            share = np.exp(first - both)
            step = (both - log_right) / (share + self.a * (1.0 - share))
            log_x = log_x - step
            if not np.nanmax(np.abs(step), initial=0.0) > 1e-15 * (1.0 + abs(log_s)):
                break
        return log_x
