"""Normal equations of weighted least squares, for columns that may depend on each other."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve

__all__ = ["factor_ridged", "gram", "solve_ridged"]


def gram(B, d: np.ndarray) -> np.ndarray:
    """B' diag(d) B."""
    if sp.issparse(B):
        return (B.T @ B.multiply(d[:, None])).toarray()
    return (B.T * d) @ B


def solve_ridged(G: np.ndarray, right: np.ndarray) -> np.ndarray:
    """x with G x = right, for a right side in the range of G."""
    if not len(G):
        return np.zeros(0)
    factor, _ = factor_ridged(G, 1e-12)
    x = cho_solve(factor, right, check_finite=False)
    for _ in range(2):  # takes back what the ridge did
        x = x + cho_solve(factor, right - G @ x, check_finite=False)
    return x


def factor_ridged(G: np.ndarray, share: float) -> tuple[tuple, float]:
    """G with the smallest ridge, from this share of it upwards, that lets it be factored; and that ridge.

    Columns may depend on each other.
    """
    ridge = share * max(float(G.diagonal().max()), 1e-12)
    while True:
        try:
            damped = G.copy(order="F")
            damped[np.diag_indices(len(G))] += ridge
            return cho_factor(damped, lower=True, overwrite_a=True, check_finite=False), ridge
        except LinAlgError:
            ridge *= 100
