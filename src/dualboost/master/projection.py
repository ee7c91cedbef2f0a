"""Entropy projection under edge constraints: the row weights nearest to the prior with no edge above a limit.

Newton on the dual: one multiplier a column, each at least 0; given those, d is the set's own entropic point, and the
second derivative is the covariance of the columns over the rows that are not held at a cap. Only columns with a
multiplier or with too large an edge take part.
"""

from __future__ import annotations

import numpy as np

from dualboost.losses import SoftMargin
from dualboost.master.line_search import newton_ascent
from dualboost.master.newton import damped
from dualboost.master.quadratic import nonnegative_quadratic
from dualboost.one_thread import one_thread
from dualboost.sets import BoundSet

__all__ = ["entropy_projection"]

_STEPS = 60
_EXACT = 1e-9


@one_thread()
def entropy_projection(
    weight_set: BoundSet, columns: np.ndarray, limit: float, start: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """(d, multipliers): argmin of the divergence over d in the set with columns @ d <= limit.

    Some such d must exist, or the multipliers grow without end: ask a linear program first. `start` are multipliers to
    begin with, at least 0. When the limit leaves no room to speak of, the edges may exceed it: look at them.
    """
    loss = SoftMargin(weight_set, eta=1.0)
    multipliers = np.zeros(len(columns)) if start is None else start.copy()
    d = weight_set.entropic(multipliers @ columns, 1.0)
    for _ in range(_STEPS):
        excess = columns @ d - limit
        if excess.max() <= _EXACT and multipliers @ np.abs(excess) <= _EXACT:
            break
        used = np.flatnonzero((multipliers > 0) | (excess > 0))
        part, now = columns[used], multipliers[used]
        H = damped(loss.hessian(d, part), 1e-12)
        move = nonnegative_quadratic(H, excess[used] + H @ now, now) - now
        z, u = now @ part, move @ part
        first = float(excess[used] @ move)
        step = newton_ascent(_rise(weight_set, z, u, limit * float(move.sum())), first) if first > 0 else 0.0
        multipliers[used] = np.maximum(now + step * move, 0.0)
        d = weight_set.entropic(multipliers @ columns, 1.0)
    return d, multipliers


def _rise(weight_set: BoundSet, z: np.ndarray, u: np.ndarray, paid: float):
    """The slope of the dual along a move of the multipliers that moves the margins by u."""
    return lambda x: float(weight_set.entropic(z + x * u, 1.0) @ u) - paid
