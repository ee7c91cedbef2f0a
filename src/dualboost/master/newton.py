"""The restricted master of totally corrective boosting: a smooth loss over the l1 ball of the collected columns.

Newton with the exact Hessian of the loss: each step minimises its quadratic model over the ball, then searches along
the line. The Hessian costs one pass over (rows that respond) x (columns)^2, little beside a generic solver's work.
"""

from __future__ import annotations

import numpy as np

from dualboost.losses import Loss
from dualboost.master.line_search import newton_ascent
from dualboost.master.quadratic import L1Ball, l1_quadratic
from dualboost.one_thread import one_thread

__all__ = ["damped", "descend"]

_STEPS = 50


@one_thread()
def descend(
    loss: Loss, columns: np.ndarray, w: np.ndarray, ball: L1Ball, tol: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(w, z, d): minimise loss(columns' w) over w in the ball to an accuracy of `tol`, from a feasible w.

    `columns` holds one hypothesis a row. The value never rises. Stops when the duality gap of the restricted problem,
    budget * (largest edge of a column) - <d, z>, is within `tol`.
    """
    z, budget = w @ columns, ball.budget
    d = loss.weights(z)
    for _ in range(_STEPS):
        edges = columns @ d
        if budget * max(ball.gains(edges).max(), 0.0) - edges @ w <= tol:
            break
        # Where the loss is linear, a ridge whose minimum is far outside of the ball.
        H = damped(loss.hessian(d, columns), 1e-9 * float(np.abs(edges).max()) / budget)
        move = l1_quadratic(H, edges + H @ w, ball, w) - w
        u = move @ columns
        step = _step(loss, z, u, float(d @ u))
        w = _inside(w + step * move, budget)
        z = w @ columns
        d = loss.weights(z)
        if step * np.abs(move).sum() <= 1e-14 * budget:
            break
    return w, z, d


def damped(H: np.ndarray, least: float) -> np.ndarray:
    """H with a small ridge: few rows may respond, and then many directions look flat that are not a step away."""
    H = H.copy()
    H.flat[:: len(H) + 1] += max(1e-6 * H.diagonal().mean(), least, np.finfo(np.float64).tiny)
    return H


def _step(loss: Loss, z: np.ndarray, u: np.ndarray, first: float) -> float:
    """All of the move where the loss still falls at its end; else the part after which it hardly does."""
    return newton_ascent(lambda x: float(loss.weights(z + x * u) @ u), first) if first > 0 else 0.0


def _inside(w: np.ndarray, budget: float) -> np.ndarray:
    mass = np.abs(w).sum()
    return w * (budget / mass) if mass > budget else w
