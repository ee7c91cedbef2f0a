"""The exponential loss, mean of e^-z: AdaBoost's (Telgarsky, section 5)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import rel_entr

from dualboost import kernels
from dualboost.losses.base import Loss
from dualboost.rows import Rows

__all__ = ["Exponential"]


@dataclass(frozen=True, eq=False)
class Exponential(Loss):
    """F(z) = sum of p_i e^(-z_i), p the prior of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.losses import Exponential
    >>> from dualboost.rows import Rows
    >>> Exponential().bind(Rows.of(2)).value(np.zeros(2))
    1.0
    """

    rows: Rows | None = None

    def bind(self, rows: Rows) -> Exponential:
        return replace(self, rows=rows)

    @property
    def bound_rows(self) -> Rows:
        """The rows, which must have been given by `bind`."""
        if self.rows is None:
            raise ValueError("Bind the loss to rows first: Exponential().bind(Rows.of(m)).")
        return self.rows

    def value(self, z: np.ndarray) -> float:
        return self.bound_rows.add(float(self.weights(z).sum()))

    def weights(self, z: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):  # an infinite loss is the truth there
            return self.bound_rows.prior * np.exp(-z)

    def conjugate(self, d: np.ndarray) -> float:
        if not np.all(d >= 0):
            return np.inf
        return self.bound_rows.add(float((rel_entr(d, self.bound_rows.prior) - d).sum()))

    def curvature(self, z: np.ndarray, column: np.ndarray, scale: float) -> float:
        # F'' = sum of p e^-z u^2 <= F |u|_max^2, and the convex F is largest at an end of the segment.
        largest = max(self.value(z), self.value(scale * column))
        return largest * kernels.spread(z, column, scale, 1) ** 2

    def hessian(self, d: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return self.bound_rows.add((columns * d) @ columns.T)

    def smoothed(self, tol: float) -> Exponential:
        return self

    def forget(self) -> None:
        """Nothing is kept warm."""
