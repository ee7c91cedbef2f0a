"""A convex quadratic over the l1 ball, by an active set (in the manner of Lawson and Hanson)."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

__all__ = ["l1_quadratic"]


def l1_quadratic(H: np.ndarray, c: np.ndarray, budget: float, start: np.ndarray) -> np.ndarray:
    """argmin of x'Hx/2 - c'x over |x|_1 <= budget, from a feasible start.

    The coordinates in use keep their signs; the minimiser over them is a linear system. A coordinate whose sign would
    turn leaves; one whose slope beats the price of the budget enters. Each visit to a new face lowers the value, which
    makes it end.
    """
    x = start.copy()
    sign = np.sign(x)
    H = H + (1e-13 * max(1.0, H.diagonal().max(initial=0.0))) * np.eye(len(c))
    tolerance = 1e-12 * max(1.0, np.abs(c).max(initial=0.0))
    for _ in range(20 * len(c) + 20):
        price = _minimise_on_face(H, c, budget, x, sign)
        slope = c - H @ x
        outside = np.where(sign == 0, np.abs(slope), -np.inf)
        enters = int(np.argmax(outside))
        if outside[enters] <= price + tolerance:
            break
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
        target, price = _on_plane(H[np.ix_(used, used)], c[used], budget, sign[used])
        turned = target * sign[used] < 0
        if not turned.any():
            x[used] = target
            return price
        now = x[used]
        share = np.where(turned, now / np.where(turned, now - target, 1.0), 1.0)
        x[used] = now + share.min() * (target - now)
        leaves = used[np.argmin(share)]
        x[leaves] = sign[leaves] = 0.0


def _on_plane(H, c, budget, sign) -> tuple[np.ndarray, float]:
    """The minimiser with sum(sign * x) <= budget, and the multiplier of that constraint."""
    factor = cho_factor(H)
    free, pull = cho_solve(factor, np.column_stack([c, sign])).T
    price = max(0.0, (sign @ free - budget) / (sign @ pull))
    return free - price * pull, price
