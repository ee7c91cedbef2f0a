"""Steps along a line for a convex function that falls at first: Wolfe's conditions, and the minimum by its slope.

Telgarsky, Proposition 38: double until the decrease is too small, then bisect. A function is given as
`along(step) -> (value, slope)`; where it overflows its value is infinite, and that is too far.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["exact_step", "wolfe_step"]

Along = Callable[[float], tuple[float, float]]
_HALVINGS = 100


def wolfe_step(along: Along, limit: float, decrease: float = 1 / 3, flatten: float = 1 / 2) -> float | None:
    """A step with value <= value(0) + decrease * step * slope(0) and slope >= flatten * slope(0).

    `limit` where even that falls fast enough; None where rounding leaves no such step: the minimum is here.

    Examples
    --------
    >>> from dualboost.master.wolfe import wolfe_step
    >>> wolfe_step(lambda x: ((x - 5) ** 2, 2 * (x - 5)), limit=60)
    4.0
    """
    value, slope = along(0.0)

    def enough(step: float, now: float) -> bool:
        return now <= value + decrease * step * slope

    high = min(1.0, limit)
    while enough(high, along(high)[0]):
        if high >= limit:
            return limit
        high = min(2 * high, limit)
    low, step = 0.0, high / 2
    for _ in range(_HALVINGS):
        now, rise = along(step)
        if not enough(step, now):
            high = step
        elif rise < flatten * slope:
            low = step
        else:
            return step
        step = (low + high) / 2
    return None


def exact_step(along: Along, limit: float) -> float:
    """The step to the minimum, from below: the slope there is not positive. `limit` where it still falls.

    Examples
    --------
    >>> from dualboost.master.wolfe import exact_step
    >>> round(exact_step(lambda x: ((x - 3) ** 2, 2 * (x - 3)), limit=60), 12)
    3.0
    """
    low, high = 0.0, min(1.0, limit)
    while along(high)[1] < 0:
        if high >= limit:
            return limit
        low, high = high, min(2 * high, limit)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        rise = along(middle)[1]
        low, high = (middle, high) if rise < 0 or np.isnan(rise) else (low, middle)
    return low
