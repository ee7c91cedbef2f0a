"""A convex quadratic over the l1 ball or over x >= 0, by an active set (in the manner of Lawson and Hanson)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv

__all__ = ["L1Ball", "l1_quadratic", "nonnegative_quadratic"]

_AT_ONCE = 3


class L1Ball(NamedTuple):
    """|x|_1 <= budget, with x >= 0 where `directed`."""

    budget: float
    directed: np.ndarray | None = None

    def gains(self, slopes: np.ndarray) -> np.ndarray:
        """How fast each coordinate could rise the value from 0: by either sign, or by the allowed one."""
        return np.abs(slopes) if self.directed is None else np.where(self.directed, slopes, np.abs(slopes))


def l1_quadratic(H: np.ndarray, c: np.ndarray, ball: L1Ball, start: np.ndarray) -> np.ndarray:
    """argmin of x'Hx/2 - c'x over the ball, from a feasible start.

    The coordinates in use keep their signs; the minimiser over them is a linear system. A coordinate whose sign would
    turn leaves; one whose slope beats the price of the budget enters. Each visit to a new face lowers the value, which
    makes it end.
    """
    return _over_faces(_Quadratic(H, c, ball.budget), start, ball.gains)


def nonnegative_quadratic(H: np.ndarray, c: np.ndarray, start: np.ndarray) -> np.ndarray:
    """argmin of x'Hx/2 - c'x over x >= 0, from a feasible start."""
    return _over_faces(_Quadratic(H, c, np.inf), start, lambda slope: slope)


class _Quadratic(NamedTuple):
    """x'Hx/2 - c'x, and the budget of |x|_1."""

    H: np.ndarray
    c: np.ndarray
    budget: float

    def regular(self) -> _Quadratic:
        """With a diagonal that is large enough to solve."""
        H = self.H.copy()
        H.flat[:: len(H) + 1] += 1e-13 * max(1.0, H.diagonal().max(initial=0.0))
        return self._replace(H=H)

    def on_face(self, used: np.ndarray, sign: np.ndarray) -> tuple[np.ndarray, float]:
        """The minimiser over these coordinates with sum(sign * x) <= budget, and the multiplier of that constraint."""
        sign = sign[used]
        _, solved, failed = dposv(self.H[used[:, None], used], np.array([self.c[used], sign]).T)
        if failed:
            raise np.linalg.LinAlgError("The quadratic is not convex: its matrix is not positive definite.")
        free, pull = solved.T
        price = max(0.0, (sign @ free - self.budget) / (sign @ pull))
        return free - price * pull, price


def _over_faces(problem: _Quadratic, start: np.ndarray, gain: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """From face to face; `gain` says of a slope at 0 how much entering promises."""
    problem, x, sign = problem.regular(), start.copy(), np.sign(start)
    tolerance = 1e-12 * max(1.0, np.abs(problem.c).max(initial=0.0))
    for visit in range(20 * len(x) + 20):
        # All at once finds most of the face; one by one is what is sure to end.
        at_once = visit < _AT_ONCE
        price = _minimise_on_face(problem, x, sign, at_once)
        slope = problem.c - problem.H @ x
        outside = np.where(sign == 0, gain(slope), -np.inf)
        wanted = np.flatnonzero(outside > price + tolerance)
        if not len(wanted):
            break
        enters = wanted if at_once else wanted[[np.argmax(outside[wanted])]]
        sign[enters] = np.sign(slope[enters])
    return x


def _minimise_on_face(problem: _Quadratic, x: np.ndarray, sign: np.ndarray, at_once: bool) -> float:
    """Move x to the minimiser over the coordinates of these signs, dropping those that turn.

    Returns the price of the budget.
    """
    while True:
        used = np.flatnonzero(sign)
        if not len(used):
            return 0.0
        target, price = problem.on_face(used, sign)
        turned = target * sign[used] < 0
        if not turned.any():
            x[used] = target
            return price
        leaves = used[turned]
        if not at_once:
            now = x[used]
            share = np.where(turned, now / np.where(turned, now - target, 1.0), 1.0)
            x[used] = now + share.min() * (target - now)
            leaves = used[share == share.min()]
        x[leaves] = sign[leaves] = 0.0
