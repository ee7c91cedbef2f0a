"""What a loss must say: F of the margins z, its row weights -F'(z), and its conjugate F*(-d).

These three make the certificate: F(z) + F*(-d) + budget * (largest edge under d) >= 0 bounds how far the ensemble with
margins z is from the best one of that budget, whatever z and d.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from dualboost.rows import Rows

__all__ = ["Loss"]


class Loss(ABC):
    """A convex loss of the margins. `bind` it to rows before use."""

    @abstractmethod
    def bind(self, rows: Rows) -> Loss:
        """The loss over these rows, whose prior weighs them."""

    @abstractmethod
    def value(self, z: np.ndarray) -> float:
        """F(z)."""

    @abstractmethod
    def weights(self, z: np.ndarray) -> np.ndarray:
        """d = -F'(z) >= 0; a subgradient at a corner."""

    @abstractmethod
    def conjugate(self, d: np.ndarray) -> float:
        """F*(-d) = max over z of -<d, z> - F(z); infinite where that is unbounded."""

    @abstractmethod
    def curvature(self, z: np.ndarray, column: np.ndarray, scale: float) -> float:
        """A bound on the second derivative of F along u = scale * column - z, anywhere between z and z + u."""

    @abstractmethod
    def hessian(self, d: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """(n, n): the second derivative of F along the n rows of `columns`, at weights d; or a bound from above."""

    @abstractmethod
    def smoothed(self, tol: float) -> Loss:
        """A smooth loss within tol/2 of this one: what a booster descends to reach accuracy `tol`."""

    @abstractmethod
    def forget(self) -> None:
        """Drop warm starts."""
