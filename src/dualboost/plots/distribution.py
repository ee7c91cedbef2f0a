"""The distribution of margins over weighted rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Distribution"]

_POINTS = 2000  # more do not show in print


@dataclass(frozen=True, eq=False)
class Distribution:
    """Margins in rising order, each with the share of the rows (by weight) up to and including it."""

    z: np.ndarray
    share: np.ndarray

    @classmethod
    def of(cls, z: np.ndarray, weights: np.ndarray) -> Distribution:
        order = np.argsort(z, kind="stable")
        total = np.cumsum(weights[order])
        return cls(z[order], total / total[-1])

    def quantile(self, share: float) -> float:
        """The smallest margin that has at least this share at or below it."""
        return float(self.z[min(int(np.searchsorted(self.share, share - 1e-12)), len(self.z) - 1)])

    def lowest_average(self, share: float) -> float:
        """The average over the rows of lowest margin that make up this share, the last one counted in part."""
        filled = np.minimum(self.share / share, 1.0)
        return float(np.diff(filled, prepend=0.0) @ self.z)

    def steps(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners of the cumulative curve, thinned to what a picture can show."""
        kept = np.unique(np.linspace(0, len(self.z) - 1, min(len(self.z), _POINTS)).astype(int))
        return np.concatenate([self.z[:1], self.z[kept]]), np.concatenate([[0.0], self.share[kept]])
