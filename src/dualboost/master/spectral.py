"""The largest singular value of a matrix that is known by its products: the longest safe step of a parallel update."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import LinearOperator, svds

__all__ = ["largest_singular_value"]

_Product = Callable[[np.ndarray], np.ndarray]
_SAFETY = 1 + 1e-9  # the iteration ends just below the true value
_SMALL = 64


def largest_singular_value(forward: _Product, backward: _Product, shape: tuple[int, int]) -> float:
    """‖B‖₂ of the matrix with the products forward(x) = B x and backward(u) = B'u; never below it."""
    m, n = shape
    if min(shape) <= _SMALL:
        product, size = (forward, n) if n <= m else (backward, m)
        return float(np.linalg.norm(np.array([product(unit) for unit in np.eye(size)]), 2)) * _SAFETY
    operator = LinearOperator(shape, matvec=forward, rmatvec=backward, dtype=np.float64)
    start = np.random.default_rng(0).random(min(shape))
    return float(svds(operator, k=1, tol=1e-12, v0=start, return_singular_vectors=False)[0]) * _SAFETY
