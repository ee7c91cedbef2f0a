"""A convex quadratic over the l1 ball or over x >= 0, by an active set (in the manner of Lawson and Hanson)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dposv

__all__ = ["l1_quadratic", "nonnegative_quadratic"]

_AT_ONCE = 3


def l1_quadratic(H: np.ndarray, c: np.ndarray, budget: float, start: np.ndarray) -> np.ndarray:
    """argmin of x'Hx/2 - c'x over |x|_1 <= budget, from a feasible start.

    The coordinates in use keep their signs; the minimiser over them is a linear system. A coordinate whose sign would
    turn leaves; one whose slope beats the price of the budget enters. Each visit to a new face lowers the value, which
    makes it end.
    """
    return _over_faces(H, c, budget, start, np.abs)


def nonnegative_quadratic(H: np.ndarray, c: np.ndarray, start: np.ndarray) -> np.ndarray:
    """argmin of x'Hx/2 - c'x over x >= 0, from a feasible start."""
    return _over_faces(H, c, np.inf, start, lambda slope: slope)


def _over_faces(H, c, budget, start, gain: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """From face to face; `gain` says of a slope at 0 how much entering promises."""
    x = start.copy()
    sign = np.sign(x)
    H = H.copy()
    H.flat[:: len(c) + 1] += 1e-13 * max(1.0, H.diagonal().max(initial=0.0))
    tolerance = 1e-12 * max(1.0, np.abs(c).max(initial=0.0))
    for visit in range(20 * len(c) + 20):
        price = _minimise_on_face(H, c, budget, x, sign)
        slope = c - H @ x
        outside = np.where(sign == 0, gain(slope), -np.inf)
        wanted = np.flatnonzero(outside > price + tolerance)
        if not len(wanted):
            break
        # All at once finds most of the face; one by one is what is sure to end.
        enters = wanted if visit < _AT_ONCE else wanted[[np.argmax(outside[wanted])]]
        sign[enters] = np.sign(slope[enters])
    return x


def _minimise_on_face(H, c, budget, x, sign) -> float:
    """Move x to the minimiser over the coordinates of these signs, dropping those that turn.

    Returns the price of the budget.
    """
    while True:
        used = np.flatnonzero(sign)
        if not len(used):
            return 0.0
        target, price = _on_plane(H[used[:, None], used], c[used], budget, sign[used])
        turned = target * sign[used] < 0
        if not turned.any():
            x[used] = target
            return price
        now = x[used]
        share = np.where(turned, now / np.where(turned, now - target, 1.0), 1.0)
        x[used] = now + share.min() * (target - now)
        leaves = used[share == share.min()]
        x[leaves] = sign[leaves] = 0.0


def _on_plane(H, c, budget, sign) -> tuple[np.ndarray, float]:
    """The minimiser with sum(sign * x) <= budget, and the multiplier of that constraint."""
    _, solved, failed = dposv(H, np.array([c, sign]).T)
    if failed:
        raise np.linalg.LinAlgError("The quadratic is not convex: its matrix is not positive definite.")
    free, pull = solved.T
    price = max(0.0, (sign @ free - budget) / (sign @ pull))
    return free - price * pull, price
