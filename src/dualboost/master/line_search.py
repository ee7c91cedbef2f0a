"""Searches along a line for a concave function whose slope is cheap."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["longest_ascent", "newton_ascent"]


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


def newton_ascent(slope: Callable[[float], float], first: float, trials: int = 30) -> float:
    """A step in [0, 1] at which a concave function still rises; all of it where its end does.

    For steps that are nearly right, as Newton's are: `first` > 0 is the slope at 0, and the zero of the slope is sought
    by secants between the two ends (the Illinois rule: an end that stays put counts half). Ends where the slope has
    fallen to a tenth. Returns the lower end, so the value never falls.
    """
    low, high, at_low, at_high = 0.0, 1.0, first, slope(1.0)
    if at_high >= 0:
        return 1.0
    for _ in range(trials):
        middle = low + (high - low) * at_low / (at_low - at_high)
        at = slope(middle)
        if 0 <= at <= 0.1 * first:
            return middle
        if at >= 0:
            low, at_low, at_high = middle, at, at_high / 2
        else:
            high, at_high, at_low = middle, at, at_low / 2
    return low
