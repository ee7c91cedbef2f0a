"""A search along a line for a concave function whose slope is cheap."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["longest_ascent"]


def longest_ascent(slope: Callable[[float], float], sure: float, limit: float = 1.0, trials: int = 6) -> float:
    """A step in [sure, limit] at which a concave function still rises, near its maximum.

    `slope` is the derivative, falling in the step; at `sure` it is known not to be negative. Bisects geometrically
    (arithmetic bisection stalls when the maximum is near 0) and returns the lower end, so the value is at least that of
    `sure`.
    """
    if sure >= limit or slope(limit) >= 0:
        return limit
    low, high = sure, limit
    for _ in range(trials):
        middle = (low * high) ** 0.5
        if slope(middle) >= 0:
            low = middle
        else:
            high = middle
    return low
