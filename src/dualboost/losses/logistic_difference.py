"""The difference of two logistic losses, log(1 + e^-z) - log(1 + e^-(z + mu)): bounded, so no row can count for much.

Krause & Singer, sections 3 and 5. The printed display has mu inside the label's bracket; it is added to the margin.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from scipy.special import expit

from dualboost.losses.base import Loss
from dualboost.rows import Rows

__all__ = ["LogisticDifference", "bounded_slope", "bounded_value", "normaliser"]


@dataclass(frozen=True, eq=False)
class LogisticDifference(Loss):
    """F(z) = sum of p_i [l(z_i) - l(z_i + mu)], l(z) = log(1 + e^-z), p the prior of the rows.

    It lies between 0 and mu. Up to a constant it is `LogisticMixture(noise_rate=1 / (1 + e^mu))`.

    Parameters
    ----------
    mu : float
        Above 0. The larger, the closer to the logistic loss.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.losses import LogisticDifference
    >>> from dualboost.rows import Rows
    >>> loss = LogisticDifference(mu=3.0).bind(Rows.of(2))
    >>> float(loss.value(np.array([-1e4, 1e4])))
    1.5
    >>> round(loss.noise_rate, 4)
    0.0474
    """

    mu: float
    rows: Rows | None = None

    def __post_init__(self):
        if not (isinstance(self.mu, Real) and 0 < self.mu < np.inf):
            raise ValueError(f"mu is added to the margin and must be a finite number above 0, not {self.mu!r}.")

    def bind(self, rows: Rows) -> LogisticDifference:
        return replace(self, rows=rows)

    @property
    def bound_rows(self) -> Rows:
        """The rows, which must have been given by `bind`."""
        if self.rows is None:
            raise ValueError("Bind the loss to rows first: LogisticDifference(mu).bind(Rows.of(m)).")
        return self.rows

    @property
    def noise_rate(self) -> float:
        """The noise rate of the mixture that is this loss up to a constant: 1 / (1 + e^mu)."""
        return float(expit(-self.mu))

    @property
    def lipschitz(self) -> float:
        """The steepest slope of the normalised loss, at margin -mu/2."""
        return float(np.tanh(self.mu / 4)) / normaliser(self.mu)

    @property
    def ceiling(self) -> float:
        """What the normalised loss stays below."""
        return self.mu / normaliser(self.mu)

    def normalised(self, z: np.ndarray) -> np.ndarray:
        """Each row's loss, scaled to 1 at margin 0 and 0 far above: it bounds the 0-1 loss."""
        return bounded_value(np.asarray(z, dtype=np.float64), self.mu) / normaliser(self.mu)

    def value(self, z: np.ndarray) -> float:
        return self.bound_rows.add(float(self.bound_rows.prior @ bounded_value(z, self.mu)))

    def weights(self, z: np.ndarray) -> np.ndarray:
        return self.bound_rows.prior * bounded_slope(z, self.mu)

    def conjugate(self, d: np.ndarray) -> float:
        # A bounded loss lies above no slanted line.
        heaviest = self.bound_rows.max(float(np.abs(d).max()))
        return 0.0 if heaviest == 0 else np.inf

    def curvature(self, z: np.ndarray, column: np.ndarray, scale: float) -> float:
        # The second derivative of the first term is at most 1/4, and the other term is concave.
        return self.bound_rows.add(float(self.bound_rows.prior @ (scale * column - z) ** 2)) / 4

    def hessian(self, d: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return self.bound_rows.add((columns * self.bound_rows.prior) @ columns.T) / 4

    def smoothed(self, tol: float) -> LogisticDifference:
        return self

    def forget(self) -> None:
        """Nothing is kept warm."""


def bounded_value(z: np.ndarray, mu: float) -> np.ndarray:
    """l(z) - l(z + mu) as log(1 + (e^mu - 1) / (1 + e^(z + mu))): nothing cancels, nothing overflows."""
    return np.logaddexp(0.0, mu + np.log(-np.expm1(-mu)) - np.logaddexp(0.0, z + mu))


def bounded_slope(z: np.ndarray, mu: float) -> np.ndarray:
    """Minus the derivative of `bounded_value`, as a product: 1/(1 + e^z) - 1/(1 + e^(z + mu)) would cancel."""
    return expit(-z) * expit(z + mu) * -np.expm1(-mu)


def normaliser(mu: float) -> float:
    """The loss at margin 0: log 2 + log(1 - noise rate)."""
    return float(np.log(2) - np.log1p(np.exp(-mu)))
