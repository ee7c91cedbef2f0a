"""The simplex with the binary entropy as its distance: Shalev-Shwartz & Singer, discussion of future work.

h(d) = sum of d log d + (1 - d) log(1 - d) instead of sum of d log d. It is at least as strongly convex, its range on
the simplex exceeds log m by less than 1, and the row weights become sigmoids of the margins: the weights of logistic
regression, shifted until they sum to 1. A row of sample weight k is k copies of weight d / k each.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from scipy.special import expit, log_expit, rel_entr

from dualboost.rows import Rows
from dualboost.sets.base import BoundSet, WeightSet
from dualboost.sets.capped import CappedSimplex
from dualboost.sets.covariance import covariance
from dualboost.sets.norms import frozen, increasing_root, offsets

__all__ = ["BinaryEntropy", "BinaryEntropySimplex"]


@dataclass(frozen=True)
class BinaryEntropy(WeightSet):
    """All distributions, smoothed by the binary entropy.

    Sample weights count copies here and must be at least 1: no copy can have more than the whole weight.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.rows import Rows
    >>> from dualboost.sets import BinaryEntropy
    >>> BinaryEntropy().bind(Rows.of(2)).entropic(np.array([0.0, 1.0]), eta=2.0).round(3)
    array([0.731, 0.269])
    """

    def bind(self, rows: Rows) -> BinaryEntropySimplex:
        return BinaryEntropySimplex(rows)


class BinaryEntropySimplex(BoundSet):
    """The simplex over known rows with the divergence h(d) - h(prior), h summed over copies."""

    def __init__(self, rows: Rows):
        self.rows, self._simplex = rows, CappedSimplex(rows, np.ones(1))
        self._copies = rows.prior * rows.total
        fewest = -rows.max(-float(self._copies.min()))
        if not (np.isfinite(rows.total) and fewest >= 1 - 1e-9):
            raise ValueError(f"BinaryEntropy counts copies: sample weights must be finite, at least 1, not {fewest:g}.")
        self._copies = np.maximum(self._copies, 1.0)
        # h is convex, so the largest divergence is at a unit vector; it falls with the number of copies.
        self.radius = self._largest(max(fewest, 1.0), max(rows.total, 1.0)) if len(rows) > 1 else 0.0
        self.forget()

    @staticmethod
    def _largest(copies: float, total: float) -> float:
        inside = (copies - 1) * log((copies - 1) / copies) if copies > 1 else 0.0
        return log(total / copies) + inside + (total - 1) * log(total / (total - 1))

    def forget(self) -> None:
        self._level_margin = np.nan
        self._simplex.forget()

    def relaxed_margin(self, z: np.ndarray) -> float:
        return self._simplex.relaxed_margin(z)

    def vertex(self, z: np.ndarray) -> np.ndarray:
        return self._simplex.vertex(z)

    def euclidean(self, v: np.ndarray) -> np.ndarray:
        return self._simplex.euclidean(v)

    def entropic(self, z: np.ndarray, eta: float) -> np.ndarray:
        """d = copies * sigmoid(-(eta z + level)), the level by Newton in logarithms.

        One copy of the row with the least margin is set against all others: log(sum of the others) - log(1 - that copy)
        has a slope between 1 and 2 whatever the spread, while the sum is flat where that copy has nearly everything.
        """
        if len(self.rows) == 1:
            return frozen(np.ones(1))
        least, y = offsets(z, self.rows)
        y = eta * y
        others = self._copies.copy()
        others[np.argmin(y)] -= 1.0

        def surplus(level: float) -> tuple[float, float]:
            log_share = log_expit(level - y)
            top = float(log_share[others > 0].max())
            mass = others * np.exp(np.minimum(log_share - top, 0.0))
            total = float(mass.sum())
            free = float(mass @ expit(y - level)) / total
            return top + log(total) - float(log_expit(-level)), free + float(expit(level))

        # The least copies have a share between 1/total and 1/2, or the least copy stands alone against the next.
        low, high = -log(max(self.rows.total, 1.0)) - 1.0, float(y.max()) + 1.0
        start = (self._level_margin - least) * eta
        level = increasing_root(surplus, low, high, start if start == start else 0.0)
        self._level_margin = level / eta + least
        d = self._copies * expit(level - y)
        return frozen(d / d.sum())

    def price(self, d: np.ndarray) -> float:
        return 0.0

    def contains(self, d: np.ndarray, atol: float = 1e-9) -> bool:
        return self._simplex.contains(d, atol)

    def divergence(self, d: np.ndarray) -> float:
        rest = np.maximum(self._copies - d, 0.0)
        both = rel_entr(d, self.rows.prior).sum() + rel_entr(rest, self._copies - self.rows.prior).sum()
        return self.rows.add(float(both))

    def responsive(self, d: np.ndarray) -> np.ndarray:
        return d > 0

    def hessian(self, d: np.ndarray, columns: np.ndarray, eta: float) -> np.ndarray:
        v = d * np.maximum(1.0 - d / self._copies, 0.0)
        return eta * covariance(v, columns, v > 0, self.rows)
