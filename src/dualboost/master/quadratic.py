"""A convex quadratic over the l1 ball or over x >= 0, by a compiled active set."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cython_lapack, lapack

from dualboost import kernels

__all__ = ["L1Ball", "l1_quadratic", "nonnegative_quadratic"]

_POTRF = cython_lapack.__pyx_capi__["dpotrf"]


def _reserve(size: int = 128) -> None:
    """Have the linear algebra of SciPy and NumPy take their buffers now.

    OpenBLAS asks for address space until it gets it: under a limit the first use in a fit would hang, not fail.
    """
    one = np.eye(size)
    lapack.dpotrf(one @ one)


_reserve()


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
    x = np.array(start, dtype=np.float64)
    directed = np.zeros(len(x), dtype=bool) if ball.directed is None else np.ascontiguousarray(ball.directed)
    if not kernels.minimise_quadratic(np.ascontiguousarray(H), c, ball.budget, directed, x, _POTRF):
        raise np.linalg.LinAlgError("The quadratic is not convex: its matrix is not positive definite.")
    return x


def nonnegative_quadratic(H: np.ndarray, c: np.ndarray, start: np.ndarray) -> np.ndarray:
    """argmin of x'Hx/2 - c'x over x >= 0, from a feasible start."""
    return l1_quadratic(H, c, L1Ball(np.inf, np.ones(len(c), dtype=bool)), start)
