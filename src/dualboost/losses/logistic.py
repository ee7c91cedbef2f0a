"""The logistic loss, mean of log(1 + e^-z) (Telgarsky, section 5; Shalev-Shwartz & Singer, section 7).

Its constants are the tight ones, eta = 1 and beta = v / (1 - e^-v) at level v, where the print has numbers that grow
like 2^m.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from dualboost import kernels
from dualboost.losses.separable import Separable

__all__ = ["Logistic"]


@dataclass(frozen=True, eq=False)
class Logistic(Separable):
    """F(z) = sum of p_i log(1 + e^(-z_i)), p the prior of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.losses import Logistic
    >>> from dualboost.rows import Rows
    >>> bool(np.isclose(Logistic().bind(Rows.of(2)).value(np.zeros(2)), np.log(2)))
    True
    """

    def g(self, x: np.ndarray) -> np.ndarray:
        return np.logaddexp(0.0, x)

    def slope(self, x: np.ndarray) -> np.ndarray:
        return kernels.sigmoid(x)

    def bend(self, s: np.ndarray) -> np.ndarray:
        return s * (1 - s)

    def dual(self, s: np.ndarray) -> np.ndarray:
        outside = s > 1 + 1e-12
        s = np.clip(s, 0.0, 1.0)
        return np.where(outside, np.inf, xlogy(s, s) + xlogy(1 - s, 1 - s))

    def beta(self, level: float) -> float:
        return float(level / -np.expm1(-level))

    @property
    def eta(self) -> float:
        return 1.0

    @property
    def steepest(self) -> float:
        return 0.25

    @property
    def self_concordant(self) -> bool:
        return True

    @property
    def concave_bend(self) -> bool:
        return True
