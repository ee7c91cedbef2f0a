"""The logistic loss, mean of log(1 + e^-z) (Telgarsky, section 5; Shalev-Shwartz & Singer, section 7)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, xlogy

from dualboost.losses.base import Loss
from dualboost.rows import Rows

__all__ = ["Logistic"]


@dataclass(frozen=True, eq=False)
class Logistic(Loss):
    """F(z) = sum of p_i log(1 + e^(-z_i)), p the prior of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.losses import Logistic
    >>> from dualboost.rows import Rows
    >>> bool(np.isclose(Logistic().bind(Rows.of(2)).value(np.zeros(2)), np.log(2)))
    True
    """

    rows: Rows | None = None

    def bind(self, rows: Rows) -> Logistic:
        return replace(self, rows=rows)

    @property
    def bound_rows(self) -> Rows:
        """The rows, which must have been given by `bind`."""
        if self.rows is None:
            raise ValueError("Bind the loss to rows first: Logistic().bind(Rows.of(m)).")
        return self.rows

    def value(self, z: np.ndarray) -> float:
        return self.bound_rows.add(float(self.bound_rows.prior @ np.logaddexp(0, -z)))

    def weights(self, z: np.ndarray) -> np.ndarray:
        return self.bound_rows.prior * expit(-z)

    def conjugate(self, d: np.ndarray) -> float:
        rows = self.bound_rows
        share = d / rows.prior
        if not np.all((share >= 0) & (share <= 1 + 1e-12)):
            return np.inf
        share = np.minimum(share, 1.0)
        return rows.add(float(rows.prior @ (xlogy(share, share) + xlogy(1 - share, 1 - share))))

    def curvature(self, z: np.ndarray, column: np.ndarray, scale: float) -> float:
        # The second derivative of log(1 + e^-z) is at most 1/4.
        return self.bound_rows.add(float(self.bound_rows.prior @ (scale * column - z) ** 2)) / 4

    def hessian(self, d: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return self.bound_rows.add((columns * (d * (1 - d / self.bound_rows.prior))) @ columns.T)

    def smoothed(self, tol: float) -> Logistic:
        return self

    def forget(self) -> None:
        """Nothing is kept warm."""
