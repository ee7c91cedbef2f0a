"""Absolute norms of row weights, and the arithmetic that balls and penalties share.

Shalev-Shwartz & Singer, Theorem 7, Examples 1 and 2. The norm must be absolute, i.e. blind to signs (the same as
monotone): for any other the dual printed there is too small, see `require_absolute`.

Everything about l_p is said in densities x = d / prior, because in them sample weights need no further mention:
|d|_p = total^(1/p - 1) * (sum of prior * x^p)^(1/p), and the second factor is at least 1, with equality at the prior.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log
from numbers import Real

import numpy as np

from dualboost.rows import Rows

__all__ = [
    "Lp", "Norm", "conjugate_exponent", "frozen", "increasing_root", "inner", "log_rarest", "norm_of",
    "numeric_gradient", "offsets", "require_absolute", "shortfalls", "unit_scale",
]  # fmt: skip

_LEAST_P = 1.01  # nearer to 1 the exponent q - 1 = 1 / (p - 1) of the weights takes their digits


# ---- norms --------------------------------------------------------------------------------------------------------


class Norm(ABC):
    """An absolute norm of the row weights, with its dual. Derive from it to relax the margin by a norm of your own.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.rows import Rows
    >>> from dualboost.sets import Ball, Norm
    >>> class Blend(Norm):
    ...     "max(|d|_1 / 2, |d|_inf); its dual is the sum of the two largest entries."
    ...     def value(self, d):
    ...         return max(np.abs(d).sum() / 2, np.abs(d).max())
    ...     def dual(self, x):
    ...         return np.sort(np.abs(x))[-2:].sum()
    >>> round(Ball(norm=Blend(), radius=0.6).bind(Rows.of(3)).relaxed_margin(np.array([3.0, 1.0, 2.0])), 6)
    1.4
    """

    size: int | None = None
    """How many rows the norm is made for; None means any number."""

    @abstractmethod
    def value(self, d: np.ndarray) -> float:
        """The norm of d."""

    @abstractmethod
    def dual(self, x: np.ndarray) -> float:
        """max of <d, x> over the d of norm at most 1."""

    def gradient(self, d: np.ndarray) -> np.ndarray:
        """The derivative of `value` at a positive d; by differences unless the class knows better."""
        return numeric_gradient(self.value, d)

    def bind(self, rows: Rows) -> Norm:
        """The norm in which a row of sample weight k stands for k copies; a norm that knows how says so here."""
        if not rows.uniform or abs(rows.total - len(rows)) > 1e-9 * len(rows):
            raise ValueError("This norm does not say what sample weights mean: define bind(rows), or repeat rows.")
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
        if not (isinstance(self.p, Real) and self.p >= 1):
            raise ValueError(f"p must be a number of at least 1, or infinity, not {self.p!r}: other l_p are no norms.")

    def bind(self, rows: Rows) -> Lp:
        if not np.isfinite(rows.total):
            raise ValueError("The sample weights sum to more than 1e308: l_p norms count copies, so rescale them.")
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
    norm = Lp(p) if p is not None else norm
    if not isinstance(norm, Norm):
        raise ValueError(f"norm must be an instance of dualboost.sets.Norm, not {norm!r}.")
    if not isinstance(norm, Lp):
        require_absolute(norm, norm.size or 3)
    elif 1 < norm.p < _LEAST_P:
        raise ValueError(f"p must be 1, at least {_LEAST_P}, or inf, not {norm.p!r}: in between the digits are lost.")
    return norm


def unit_scale(rows: Rows, p: float) -> float:
    """|prior|_p = total^(1/p - 1): the smallest l_p norm of a distribution."""
    return rows.total ** (-1 / conjugate_exponent(p))


def require_absolute(norm: Norm, size: int) -> None:
    """Refuse a norm that looks at signs, grows when an entry shrinks, or has a dual that breaks Hoelder's inequality.

    The printed dual of Theorem 7 puts [g - z]_+ into the dual norm. That is the least over all x >= g - z only when
    shrinking an entry never increases the norm; otherwise it leaves a gap and would certify nonsense.
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
                    f"The {name} is not absolute (it depends on signs, or grows when an entry shrinks): "
                    "Theorem 7 of Shalev-Shwartz & Singer does not hold for it, its dual would be too small."
                )
        if d @ x > norm.value(d) * norm.dual(x) * (1 + 1e-9):
            raise ValueError("dual(x) is not the dual norm: <d, x> exceeds value(d) * dual(x).")


def numeric_gradient(f: Callable[[np.ndarray], float], x: np.ndarray) -> np.ndarray:
    """Central differences, one entry after the other."""
    step = 1e-6 * max(float(np.abs(x).max()), 1e-300)
    shifts = step * np.eye(len(x))
    return np.array([(f(x + shift) - f(x - shift)) / (2 * step) for shift in shifts])


# ---- roots --------------------------------------------------------------------------------------------------------


def increasing_root(
    f: Callable[[float], tuple[float, float]], low: float, high: float, start: float, stride: float = inf
) -> float:
    """Where the increasing function f = (value, derivative) is 0 between low and high: Newton, kept inside the bracket.

    It bisects when Newton leaves the bracket or fails to halve the value, and never moves further than `stride` at
    once: a function that is flat at both ends sends Newton far away. Returns the point at which f was evaluated last.
    """
    x = (low + high) / 2 if np.isnan(start) else min(max(start, low), high)
    before = inf
    for _ in range(200):
        value, derivative = f(x)
        if abs(value) <= 1e-14:
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


def log_rarest(rows: Rows) -> float:
    """log(1 / smallest prior): the largest KL divergence of a distribution from the prior."""
    return -log(-rows.max(-float(rows.prior.min())))


def offsets(z: np.ndarray, rows: Rows) -> tuple[float, np.ndarray]:
    """The least margin, and how far each margin lies above it."""
    least = -rows.max(-float(z.min()))
    return least, z - least


def frozen(d: np.ndarray) -> np.ndarray:
    """d, read-only: a set's answers may be kept by many."""
    d.flags.writeable = False
    return d


def inner(d: np.ndarray, z: np.ndarray, rows: Rows) -> float:
    """<d, z> without the rounding that a common offset of the margins would cost."""
    least, y = offsets(z, rows)
    return least + rows.add(float(d @ y))
