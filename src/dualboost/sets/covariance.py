"""How the nearest weights of a set follow the margins: covariances of the columns, which are second derivatives.

Weights that share a fixed total move like the distributions of an exponential family. Under a curved price or limit
the covariance has one more term, along the price's slope g.
"""

from __future__ import annotations

import numpy as np

from dualboost import kernels
from dualboost.rows import Rows

__all__ = ["along", "covariance"]

_NEGLIGIBLE = 1e-9


def covariance(v: np.ndarray, columns: np.ndarray, moving: np.ndarray, rows: Rows) -> np.ndarray:
    """Sum of v_i (x_i - mean)(x_i - mean)' over the moving rows; x_i is what `columns` holds for row i."""
    # What weighs next to nothing would cost as much as the rest, and changes no digit that a Newton step needs. By
    # copy, so that weight k stays k copies.
    by_copy = v / rows.prior
    largest = rows.max(float(by_copy.max(initial=0.0, where=moving)))
    moving = moving & (by_copy > _NEGLIGIBLE * largest)
    v, centred = v[moving], np.compress(moving, columns, axis=1)
    mass = rows.add(float(v.sum()))
    # Centred first, or rounding makes it indefinite where v sits on a few equal rows. In place: new memory would cost
    # more than the arithmetic.
    kernels.centre(centred, rows.add(centred @ v) / max(mass, 1e-300), np.sqrt(v))
    return rows.add(centred @ centred.T)  # of itself: half the work


def along(v: np.ndarray, columns: np.ndarray, g: np.ndarray, rows: Rows) -> tuple[np.ndarray, np.ndarray, float]:
    """(covariance of the columns, their covariances with g, the variance of g)."""
    K = covariance(v, np.vstack([columns, g]), v > 0, rows)
    return K[:-1, :-1], K[:-1, -1], float(K[-1, -1])
