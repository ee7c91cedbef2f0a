"""Entropy projection under edge constraints: the row weights nearest to the prior with no edge above a limit."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from dualboost.sets import BoundSet

__all__ = ["entropy_projection"]

_FEASIBLE = 1e-6


def entropy_projection(weight_set: BoundSet, columns: np.ndarray, limit: float) -> np.ndarray | None:
    """argmin of the divergence over d in the set with columns @ d <= limit; None when no such d was found.

    By its dual: one multiplier a column, each at least 0; given those, d is the set's own entropic point. The dual
    grows without end when the constraints cannot be met, so its multipliers are bounded.
    """

    def negative_dual(w: np.ndarray) -> tuple[float, np.ndarray]:
        z = w @ columns
        d = weight_set.entropic(z, 1.0)
        excess = columns @ d - limit
        return -(weight_set.divergence(d) + float(w @ excess)), -excess

    found = minimize(
        negative_dual, np.zeros(len(columns)), jac=True, method="L-BFGS-B", bounds=[(0.0, 1e6)] * len(columns),
        options={"maxiter": 500, "ftol": 1e-15, "gtol": 1e-9},
    )  # fmt: skip
    d = weight_set.entropic(found.x @ columns, 1.0)
    return d if (columns @ d).max() <= limit + _FEASIBLE else None
