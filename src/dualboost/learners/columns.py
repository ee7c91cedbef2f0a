"""Classes whose hypotheses are the columns of a table, given by what can be asked of all of them at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from dualboost import kernels
from dualboost.learners.averaging import Averaging, Mixture, parted
from dualboost.learners.base import Answer, Hypothesis, Listed, ranked
from dualboost.rows import Rows

__all__ = ["ColumnOracle"]

_ROUNDING = np.finfo(np.float64).eps


class ColumnOracle(Averaging, Listed):
    """Hypotheses are column numbers and mixtures of columns. Abstract: a class says how its columns are multiplied."""

    rows: Rows
    largest_entry: float
    n_columns: int
    n_sums: int = 1
    """How many sums over the rows an edge is made of."""

    @abstractmethod
    def _edges(self, d: np.ndarray) -> np.ndarray:
        """Of all columns, for any d."""

    @abstractmethod
    def _masses(self, d: np.ndarray) -> np.ndarray:
        """The sum of d_i |A[i, j]| of each column, for any d."""

    @abstractmethod
    def _combined(self, weights: np.ndarray) -> np.ndarray:
        """The columns added up with these weights."""

    @property
    def log_size(self) -> float:  # type: ignore[override]
        return float(np.log(2 * self.n_columns))

    @property
    def everything(self) -> Sequence[int]:
        return range(self.n_columns)

    def best(self, d: np.ndarray, k: int = 1) -> Answer:
        edges = self._edges(d)
        sizes = np.abs(edges)
        chosen = ranked(sizes, k)
        return Answer(chosen, [self.column(j) for j in chosen], edges[chosen], self._bound(sizes.max(), d))

    def _bound(self, top: float, d: np.ndarray) -> float:
        # A sum of m products is off by at most m units of rounding, relative to the sum of sizes.
        return float(top + self.n_sums * len(d) * _ROUNDING * self.largest_entry * float(d.sum()))

    def average(self, d: np.ndarray, eta: float) -> tuple[Answer, float]:
        edges = self._edges(d)
        net = np.empty_like(edges)
        J = kernels.signed_softmax(edges, eta, net)
        mixture = Mixture(net)
        bound = self._bound(np.abs(edges).max(), d)
        return Answer([mixture], [self._combined(net)], np.array([edges @ net]), bound), J

    def slope(self, d: np.ndarray, ahead: np.ndarray, behind: np.ndarray, eta: float) -> Callable[[float], float]:
        edges, change = self._edges(d), self._edges(ahead - behind)
        return lambda step: kernels.signed_slope(edges, change, eta, step)

    def level(self, d: np.ndarray, ahead: np.ndarray, behind: np.ndarray, eta: float) -> Callable[[float], float]:
        edges, change = self._edges(d), self._edges(ahead - behind)
        return lambda step: kernels.signed_softmax(edges + step * change, eta, np.empty_like(edges))

    def tally(self, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        edges, masses = self._edges(d), self._masses(d)
        return (masses + edges) / 2, (masses - edges) / 2

    def margins(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> np.ndarray:
        return self._combined(self.spread(hypotheses, w))

    def spread(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> np.ndarray:
        """The weights as one vector over all columns."""
        full = np.zeros(self.n_columns)
        columns, weights, mixtures = parted(hypotheses, w)
        np.add.at(full, np.asarray(columns, dtype=np.intp), weights)
        for mixture, weight in mixtures:
            full += weight * mixture.values
        return full

    def forget(self) -> None:
        """Nothing is kept."""
