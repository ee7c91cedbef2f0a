"""A smooth loss minimised over a space of margins in which its minimum is attained (Telgarsky, section 5).

Damped Newton in orthonormal coordinates of the space until it is close, then full steps down to rounding: a test of
the decrease cannot see the last eight digits of the weights.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve

from dualboost.losses import Loss
from dualboost.one_thread import one_thread

__all__ = ["minimise_attained"]

_DAMPED, _FULL = 200, 20
_CLOSE, _BALANCED = 1e-8, 1e-15


@one_thread()
def minimise_attained(loss: Loss, U: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """The x that minimises loss(offset + U x), for U with orthonormal columns."""
    x = np.zeros(U.shape[1])
    if not len(x):
        return x
    for _ in range(_DAMPED):
        move, gain = _newton(loss, U, offset + U @ x)
        if gain <= _CLOSE * loss.value(offset + U @ x):
            break
        x = x + _step(loss, U, offset + U @ x, move, gain) * move
    return _polished(loss, U, offset, x)


def _newton(loss: Loss, U: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, float]:
    d = loss.weights(z)
    slope = U.T @ d
    H = loss.hessian(d, U.T)
    H[np.diag_indices(len(H))] += 1e-15 * max(float(H.diagonal().max()), 1e-300)
    move = solve(H, slope, assume_a="sym", check_finite=False)
    return move, float(slope @ move)


def _step(loss: Loss, U: np.ndarray, z: np.ndarray, move: np.ndarray, gain: float) -> float:
    value, step, u = loss.value(z), 1.0, U @ move
    while step > 1e-12 and loss.value(z + step * u) > value - 1e-4 * step * gain:
        step /= 2
    return step


def _polished(loss: Loss, U: np.ndarray, offset: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Full steps while they balance the weights better."""
    left = _unbalance(loss, U, offset + U @ x)
    for _ in range(_FULL):
        if left <= _BALANCED:
            break
        trial = x + _newton(loss, U, offset + U @ x)[0]
        now = _unbalance(loss, U, offset + U @ trial)
        if not now < left:
            break
        x, left = trial, now
    return x


def _unbalance(loss: Loss, U: np.ndarray, z: np.ndarray) -> float:
    d = loss.weights(z)
    return float(np.abs(U.T @ d).max() / d.sum())
