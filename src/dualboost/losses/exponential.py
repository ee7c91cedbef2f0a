"""The exponential loss, mean of e^-z: AdaBoost's (Telgarsky, section 5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from dualboost import kernels
from dualboost.losses.separable import Separable

__all__ = ["Exponential"]


@dataclass(frozen=True, eq=False)
class Exponential(Separable):
    """F(z) = sum of p_i e^(-z_i), p the prior of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.losses import Exponential
    >>> from dualboost.rows import Rows
    >>> Exponential().bind(Rows.of(2)).value(np.zeros(2))
    1.0
    """

    def g(self, x: np.ndarray) -> np.ndarray:
        return kernels.exponential(x)

    def slope(self, x: np.ndarray) -> np.ndarray:
        return kernels.exponential(x)

    def bend(self, s: np.ndarray) -> np.ndarray:
        return s

    def dual(self, s: np.ndarray) -> np.ndarray:
        return xlogy(s, s) - s

    def beta(self, level: float) -> float:
        return 1.0

    @property
    def eta(self) -> float:
        return 1.0

    @property
    def steepest(self) -> float:
        return np.inf

    @property
    def self_concordant(self) -> bool:
        return True

    @property
    def concave_bend(self) -> bool:
        return True
