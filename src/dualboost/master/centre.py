"""Balanced row weights without small ones: towards the analytic centre, the maximum of the sum of log psi.

Weights that come from exponentials may be 1e-12 of each other, and then rounding hides what they prove. A Newton step
for the logarithms at most doubles a weight and keeps the columns balanced.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dualboost.master.normal_equations import gram, solve_ridged

__all__ = ["centred"]

_STEPS = 60


def centred(B, psi: np.ndarray, floor: float) -> np.ndarray:
    """Weights of sum 1 with B'psi = 0, from such weights, the smallest at least `floor` where that can be."""
    ones = np.ones((B.shape[0], 1))
    B = sp.csr_array(sp.hstack([B, ones], format="csr")) if sp.issparse(B) else np.hstack([B, ones])
    target = np.zeros(B.shape[1])
    target[-1] = 1.0
    for _ in range(_STEPS):
        if psi.min() >= floor:
            break
        move = psi - psi**2 * (B @ solve_ridged(gram(B, psi**2), 2 * (B.T @ psi) - target))
        step = min(1.0, 0.9 / max(float(np.max(-move / psi)), 1e-300))
        psi = psi + step * move
        if float(np.abs(move / psi).max()) < 1e-3:  # at the centre
            break
    return psi
