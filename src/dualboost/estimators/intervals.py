"""How sure a number from few rows is: Wilson's interval for a share, DeLong's for the area under the ROC curve."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.stats import norm, rankdata

__all__ = ["Interval", "area_interval", "wilson"]

_Z = float(norm.ppf(0.975))


@dataclass(frozen=True)
class Interval:
    """An estimate and the interval that holds the truth in 95 of 100 such samples."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.1%} ({self.low:.1%} to {self.high:.1%})"


def wilson(right: float, total: float) -> Interval:
    """Of `total` rows, `right` were so.

    Examples
    --------
    >>> from dualboost.estimators.intervals import wilson
    >>> str(wilson(9, 10))
    '90.0% (59.6% to 98.2%)'
    """
    if total <= 0:
        return Interval(np.nan, 0.0, 1.0)
    share, spread = right / total, _Z * _Z / total
    middle = (share + spread / 2) / (1 + spread)
    half = _Z / (1 + spread) * sqrt(share * (1 - share) / total + spread / (4 * total))
    return Interval(share, min(max(middle - half, 0.0), share), max(min(middle + half, 1.0), share))


def area_interval(scores: np.ndarray, positive: np.ndarray, folds: np.ndarray) -> Interval:
    """The area under the ROC curve, averaged over folds: votes of different models are not compared with each other.

    E. DeLong, D. DeLong, D. Clarke-Pearson, "Comparing the areas under two or more correlated receiver operating
    characteristic curves", 1988: the variance of one area from the placements of its rows.
    """
    parts = [_area(scores[folds == fold], positive[folds == fold]) for fold in np.unique(folds)]
    parts = [part for part in parts if part is not None]
    if not parts:
        return Interval(np.nan, 0.0, 1.0)
    areas, variances = np.array(parts).T
    value, half = float(areas.mean()), _Z * sqrt(variances.sum()) / len(parts)
    return Interval(value, max(value - half, 0.0), min(value + half, 1.0))


def _area(scores: np.ndarray, positive: np.ndarray) -> tuple[float, float] | None:
    """The area and its variance; None where a class is absent."""
    ones, zeros = scores[positive], scores[~positive]
    if not len(ones) or not len(zeros):
        return None
    ranks = rankdata(np.concatenate([ones, zeros]))
    above = (ranks[: len(ones)] - rankdata(ones)) / len(zeros)
    below = 1 - (ranks[len(ones) :] - rankdata(zeros)) / len(ones)
    variance = sum(float(np.var(part, ddof=1)) / len(part) for part in (above, below) if len(part) > 1)
    return float(above.mean()), variance
