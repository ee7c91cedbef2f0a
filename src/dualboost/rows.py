"""What all parts of a problem share about its rows: how much each counts, and how partial results are joined."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Rows", "refuse_masked", "with_absent"]


_SMALLEST = 1e-100  # share, of the largest


@dataclass(frozen=True, eq=False)
class Rows:
    """The prior over the rows, and the two reductions over them.

    A *row* is whatever has a margin. Its prior is its share of the total sample weight, so weight k is k copies.
    Reduce over rows only through `add` and `max`: in one process they are the identity, elsewhere they need not be.

    Attributes
    ----------
    prior : ndarray of shape (m,)
        Positive, sums to 1. Of equal weights it is a view of one number. No share is below 1e-100 of the largest: a
        sum does not tell the difference, and whatever is divided by a share stays finite.
    total : float
        The sum of the sample weights, i.e. the number of copies.
    uniform : bool
        Whether all rows count the same.
    threads : int
        How many threads a pass over the rows may use; the results do not depend on it.

    Examples
    --------
    >>> from dualboost.rows import Rows
    >>> Rows.of([1.0, 3.0]).prior
    array([0.25, 0.75])
    >>> Rows.of(4).uniform
    True
    """

    prior: np.ndarray
    total: float
    uniform: bool
    threads: int = 1

    @classmethod
    def of(cls, weights: int | np.ndarray, threads: int = 1) -> Rows:
        """Rows of these positive sample weights, or that many rows of weight one."""
        if isinstance(weights, (int, np.integer)):
            return cls._equal(int(weights), float(weights), threads)
        refuse_masked("The vector of row weights", weights)
        weights = np.asarray(weights, dtype=np.float64, order="C")
        if weights.ndim != 1 or not weights.size or not np.all(np.isfinite(weights)) or weights.min() <= 0:
            raise ValueError(
                "Row weights must be a non-empty vector of positive finite numbers; drop rows of weight 0."
            )
        scaled = weights / weights.max()  # so that neither 1e308 nor 1e-300 spoils the sum
        mass = scaled.sum()
        with np.errstate(over="ignore"):
            total = float(weights.max() * mass)
        if scaled.min() == 1.0:
            return cls._equal(len(weights), total, threads)
        return cls(np.maximum(scaled, _SMALLEST) / mass, total, False, threads)

    @classmethod
    def _equal(cls, count: int, total: float, threads: int) -> Rows:
        if count < 1:
            raise ValueError("There must be at least one row.")
        return cls(np.broadcast_to(np.float64(1.0 / count), (count,)), total, True, threads)

    def __len__(self) -> int:
        return len(self.prior)

    def add(self, value):
        """Join sums over the rows."""
        return value

    def max(self, value):
        """Join maxima over the rows."""
        return value


def refuse_masked(name: str, values) -> None:
    """Refuse a masked array of which anything is masked: a conversion would take what lies under the mask.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.rows import refuse_masked
    >>> refuse_masked("caps", np.ma.masked_array([0.5, 7.0], mask=[False, True]))
    Traceback (most recent call last):
    ValueError: caps is a masked array, and 1 of its values are missing: fill them in, or drop these rows.
    """
    lost = int(np.ma.count_masked(values)) if np.ma.isMaskedArray(values) else 0
    if lost:
        raise ValueError(
            f"{name} is a masked array, and {lost} of its values are missing: fill them in, or drop these rows."
        )


def with_absent(values: np.ndarray, present: np.ndarray, absent) -> np.ndarray:
    """Values of the rows that are present, under the numbers of all rows; the others have the value `absent`.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.rows import with_absent
    >>> with_absent(np.array([0.5, 0.1]), np.array([True, False, True]), np.nan)
    array([0.5, nan, 0.1])
    """
    full = np.full(len(present), absent, dtype=values.dtype)
    full[present] = values
    return full
