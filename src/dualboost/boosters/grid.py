"""Steps of few bits: sums of them are exact, whatever the order, so a run may be cut anywhere and end in the same bits.

Compiled rounds round theirs in the same way (kernels/descent_run.hpp).
"""

from __future__ import annotations

from math import frexp

import numpy as np

__all__ = ["added", "on_grid"]

_STEP_BITS, _FINEST_STEP = 24, -40


def on_grid(step: float) -> float:
    """The step rounded to 24 bits and a multiple of 2^-40, unless it is smaller still.

    That costs 1e-15 of what the step gains. In return margins are exact, and the last bits of an edge do not matter.
    """
    unit = 2.0 ** max(frexp(step)[1] - _STEP_BITS, _FINEST_STEP)
    return float(np.rint(step / unit)) * unit or step


def added(w: np.ndarray, size: int, number: int, step: float) -> np.ndarray:
    """The weights over `size` hypotheses, with this one raised by the step."""
    out = np.zeros(size)
    out[: len(w)] = w
    out[number] += step
    return out
