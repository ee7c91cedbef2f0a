"""The negative relaxed margin, hard or soft, and its entropy-smoothed form (Shalev-Shwartz & Singer, sections 4 and 6).

F(z) = max over d in D of -<d, z> - f(d) - divergence(d) / eta. With eta infinite -F(z) is the relaxed margin that is
posed and certified; with eta = 2 * radius / tol it is smooth and within tol/2, and that is what boosters descend.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dualboost import kernels
from dualboost.losses.base import Loss
from dualboost.rows import Rows
from dualboost.sets import BoundSet, WeightSet

__all__ = ["SoftMargin"]


@dataclass(frozen=True, eq=False)
class SoftMargin(Loss):
    """The margin relaxed by a set of row weights.

    Parameters
    ----------
    set : WeightSet
        `Simplex()` for the hard margin, `Capped(nu=...)` for the soft one.
    eta : float
        How closely the margin is followed; infinite (the default) is the margin itself.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.losses import SoftMargin
    >>> from dualboost.rows import Rows
    >>> from dualboost.sets import Capped
    >>> loss = SoftMargin(Capped(nu=0.5)).bind(Rows.of(4))
    >>> -loss.value(np.array([1.0, 0.0, -1.0, 0.5]))
    -0.5
    """

    set: WeightSet | BoundSet
    eta: float = np.inf

    def bind(self, rows: Rows) -> SoftMargin:
        if isinstance(self.set, WeightSet):
            return replace(self, set=self.set.bind(rows))
        if isinstance(self.set, BoundSet):
            return self
        raise ValueError(f"The set of a SoftMargin must be a WeightSet such as Capped(nu=0.1), not {self.set!r}.")

    @property
    def bound_set(self) -> BoundSet:
        """The set, which must have been bound to rows."""
        if self.set.is_bound:  # asked several times a round: isinstance on an abstract class takes longer
            return self.set
        raise ValueError("Bind the loss to rows first: SoftMargin(...).bind(Rows.of(m)).")

    def value(self, z: np.ndarray) -> float:
        if self.eta == np.inf:
            return -self.bound_set.relaxed_margin(z)
        d = self.weights(z)
        return -kernels.dot(d, z, self.bound_set.rows.threads) - self.conjugate(d)

    def weights(self, z: np.ndarray) -> np.ndarray:
        return self.bound_set.vertex(z) if self.eta == np.inf else self.bound_set.entropic(z, self.eta)

    def conjugate(self, d: np.ndarray) -> float:
        cost = self.bound_set.cost(d)
        return cost if np.inf in (self.eta, cost) else cost + self.bound_set.divergence(d) / self.eta

    def curvature(self, z: np.ndarray, column: np.ndarray, scale: float) -> float:
        if self.bound_set.radius == 0:
            return 0.0  # one feasible d: F is linear
        # The divergence is 1-strongly convex for the l1 norm, so F is eta-smooth for the largest coordinate.
        return self.eta * kernels.spread(z, column, scale, self.bound_set.rows.threads) ** 2

    def hessian(self, d: np.ndarray, columns: np.ndarray) -> np.ndarray:
        if self.bound_set.radius == 0:
            return np.zeros((len(columns), len(columns)))  # one feasible d: F is linear
        return self.bound_set.hessian(d, columns, self.eta)

    def smoothed(self, tol: float) -> SoftMargin:
        radius = self.bound_set.radius  # 0: one feasible d, and F is linear as it stands
        return replace(self, eta=2 * radius / tol if radius > 0 else np.inf)

    def forget(self) -> None:
        self.bound_set.forget()
