"""The likelihood of labels of which a part is flipped, -log((1 - eps) / (1 + e^-z) + eps / (1 + e^z)).

Krause & Singer, sections 2 and 5. With mu = log((1 - eps) / eps) it is the difference of logistic losses plus the
constant -log(1 - eps), and it is computed as that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from scipy.special import expit

from dualboost.losses.base import Loss
from dualboost.losses.logistic_difference import bounded_slope, bounded_value, normaliser
from dualboost.rows import Rows

__all__ = ["LogisticMixture", "error_bound"]


@dataclass(frozen=True, eq=False)
class LogisticMixture(Loss):
    """F(z) = sum of -p_i log((1 - eps) s(z_i) + eps s(-z_i)), s the sigmoid, eps the noise rate.

    The margin z says how sure the model is of the true label; the given one is flipped with probability eps.

    Parameters
    ----------
    noise_rate : float
        Between 0 and 1/2, both excluded.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.losses import LogisticMixture
    >>> from dualboost.rows import Rows
    >>> loss = LogisticMixture(noise_rate=0.2).bind(Rows.of(2))
    >>> round(loss.value(np.zeros(2)), 4) == round(float(np.log(2)), 4)
    True
    >>> loss.suspicion(np.array([-5.0, 0.0, 5.0])).round(3)
    array([0.974, 0.2  , 0.002])
    """

    noise_rate: float
    rows: Rows | None = None

    def __post_init__(self):
        if not (isinstance(self.noise_rate, Real) and 0 < self.noise_rate < 0.5):
            raise ValueError(
                "noise_rate is the share of flipped labels: a number between 0 and 0.5, both excluded, "
                f"not {self.noise_rate!r}; for 0 use Logistic()."
            )

    def bind(self, rows: Rows) -> LogisticMixture:
        return replace(self, rows=rows)

    @property
    def bound_rows(self) -> Rows:
        """The rows, which must have been given by `bind`."""
        if self.rows is None:
            raise ValueError("Bind the loss to rows first: LogisticMixture(noise_rate).bind(Rows.of(m)).")
        return self.rows

    @property
    def mu(self) -> float:
        """The shift of the difference that is this loss up to a constant: log((1 - eps) / eps)."""
        return float(np.log1p(-self.noise_rate) - np.log(self.noise_rate))

    @property
    def lipschitz(self) -> float:
        """The steepest slope of the normalised loss, at margin -mu/2."""
        eps = self.noise_rate
        return float((1 - 2 * eps) / (normaliser(self.mu) * (1 + 2 * np.sqrt(eps * (1 - eps)))))

    @property
    def ceiling(self) -> float:
        """What the normalised loss stays below."""
        return self.mu / normaliser(self.mu)

    def normalised(self, z: np.ndarray) -> np.ndarray:
        """Each row's loss, shifted and scaled to 1 at margin 0 and 0 far above: it bounds the 0-1 loss."""
        return bounded_value(np.asarray(z, dtype=np.float64), self.mu) / normaliser(self.mu)

    def suspicion(self, z: np.ndarray) -> np.ndarray:
        """The probability that each label was flipped, given its margin: the E-step, 1 / (1 + e^(z + mu))."""
        return expit(-(np.asarray(z, dtype=np.float64) + self.mu))

    def value(self, z: np.ndarray) -> float:
        rows = self.bound_rows
        return rows.add(float(rows.prior @ bounded_value(z, self.mu) - rows.prior.sum() * np.log1p(-self.noise_rate)))

    def weights(self, z: np.ndarray) -> np.ndarray:
        return self.bound_rows.prior * bounded_slope(z, self.mu)

    def conjugate(self, d: np.ndarray) -> float:
        # A bounded loss lies above no slanted line.
        heaviest = self.bound_rows.max(float(np.abs(d).max()))
        return float(np.log1p(-self.noise_rate)) if heaviest == 0 else np.inf

    def curvature(self, z: np.ndarray, column: np.ndarray, scale: float) -> float:
        # The second derivative of the logistic loss is at most 1/4, and what is taken off it is convex.
        return self.bound_rows.add(float(self.bound_rows.prior @ (scale * column - z) ** 2)) / 4

    def hessian(self, d: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return self.bound_rows.add((columns * self.bound_rows.prior) @ columns.T) / 4

    def smoothed(self, tol: float) -> LogisticMixture:
        return self

    def forget(self) -> None:
        """Nothing is kept warm."""


def error_bound(loss, margins: np.ndarray, norm: float, delta: float = 0.05) -> float:
    """What the probability of error stays below, with probability 1 - delta over the sample (Corollary 5.2).

    For a linear score of rows with ‖x‖₂ <= 1 and weights of at most this l2 norm; `loss` is a LogisticMixture or a
    LogisticDifference. The printed fraction bar is damage: it is the sum of three terms.
    """
    m = len(margins)
    chance = 8 * loss.ceiling * np.sqrt(np.log(4 / delta) / (2 * m))
    return float(loss.normalised(margins).mean() + chance + 4 * norm * loss.lipschitz / np.sqrt(m))
