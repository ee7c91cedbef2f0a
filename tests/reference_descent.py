"""Boosting as the fifth paper prints it, and the hard core by one program a row: slow, and no code of the library.

The margin matrix has the library's sign, +y h(x), and a loss is a mean over the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog, minimize_scalar


@dataclass(frozen=True)
class Scalar:
    """g of -z: the loss of one row, its first and second derivative in -z."""

    value: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]
    curve: Callable[[np.ndarray], np.ndarray]


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.exp(-np.logaddexp(0, -x))


SCALARS = {
    "exponential": Scalar(np.exp, np.exp, np.exp),
    "logistic": Scalar(lambda x: np.logaddexp(0, x), _sigmoid, lambda x: _sigmoid(x) * _sigmoid(-x)),
}


def wolfe(h: Callable[[float], float], slope: Callable[[float], float]) -> float:
    """Bracket and bisect with c1 = 1/3, c2 = 1/2."""
    top = 1.0
    while top < 60 and h(top) <= h(0) + top * slope(0) / 3:
        top *= 2
    low, step = 0.0, top / 2
    for _ in range(100):
        if h(step) > h(0) + step * slope(0) / 3:
            top = step
        elif slope(step) < slope(0) / 2:
            low = step
        else:
            break
        step = (low + top) / 2
    return step


def exact(h: Callable[[float], float], slope: Callable[[float], float]) -> float:
    top = 1.0
    while top < 60 and slope(top) < 0:
        top *= 2
    return float(minimize_scalar(h, bounds=(0.0, top), method="bounded", options={"xatol": 1e-13}).x)


def descent(A: np.ndarray, loss: str, rounds: int, search: str = "closed", prior=None) -> np.ndarray:
    """The ensembles of a run, shape (rounds + 1, n): the steepest column each round, the lowest index among equals."""
    g, (m, n) = SCALARS[loss], A.shape
    prior = np.full(m, 1 / m) if prior is None else prior
    w = np.zeros(n)
    path = [w]
    for _ in range(rounds):
        z = A @ w
        edges = A.T @ (prior * g.slope(-z))
        j = int(np.argmax(np.abs(edges) >= np.abs(edges).max() * (1 - 1e-12)))
        u = np.sign(edges[j]) * A[:, j]

        def h(step: float, z=z, u=u) -> float:
            return float(prior @ g.value(-z - step * u))

        def slope(step: float, z=z, u=u) -> float:
            return float(-(prior * g.slope(-z - step * u)) @ u)

        if abs(edges[j]) <= 1e-9 * h(0):
            break
        rule = {"wolfe": wolfe, "exact": exact}.get(search)
        step = abs(edges[j]) / h(0) if rule is None else rule(h, slope)
        w = w.copy()
        w[j] += step * np.sign(edges[j])
        path.append(w)
    return np.array(path)


def hard_core_by_rows(A: np.ndarray) -> np.ndarray:
    """Row i is in the core when some psi >= 0 with A'psi = 0 has psi_i = 1: one program a row."""
    m, n = A.shape
    core = np.zeros(m, dtype=bool)
    for i in range(m):
        bounds = [(0, None)] * m
        bounds[i] = (1, 1)
        core[i] = linprog(np.zeros(m), A_eq=A.T, b_eq=np.zeros(n), bounds=bounds, method="highs").status == 0
    return core


def hard_margin(A: np.ndarray) -> float:
    """max over |w|_1 <= 1 of the smallest margin, from the primal side."""
    m, n = A.shape
    cost = np.zeros(2 * n + 1)
    cost[-1] = -1
    above = np.hstack([-A, A, np.ones((m, 1))])
    total = np.append(np.ones(2 * n), 0.0)[None, :]
    bounds = [(0, None)] * (2 * n) + [(None, None)]
    return -linprog(cost, np.vstack([above, total]), np.append(np.zeros(m), 1.0), bounds=bounds, method="highs").fun
