"""What the theorems promise, drawn over what a run did: the loss above its infimum, round by round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dualboost.plots.style import BOUND, CLASSES, INK, REACHED, axes_or_new, dress

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["rate_plot"]

_LOOKS = ((BOUND, "--"), (CLASSES[0][0], ":"), (CLASSES[1][0], "-."), (INK, (0, (1, 3))))


def rate_plot(excess: np.ndarray, curves: Mapping[str, np.ndarray], ax: Axes | None = None) -> Axes:
    """The distance of each round's loss to the infimum, and the curves of theorems, on logarithmic axes.

    Parameters
    ----------
    excess : array of shape (T,)
        The loss after t = 0, 1, ... rounds, minus its infimum (`dual_optimum(A, loss).value`).
    curves : mapping of names to arrays of shape (T,)
        Such as `{"Theorem 27": theorem_27(constants, course, np.arange(T))}`; bounds from above or from below.
    ax : matplotlib Axes, optional
        Where to draw; new ones by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.diagnosis import Constants, theorem_21
    >>> from dualboost.plots import rate_plot
    >>> t = np.arange(20)
    >>> curves = {"Theorem 21": theorem_21(Constants(1.0, 1.0, 2.0), 1.0, 0.5, t)}
    >>> rate_plot(0.8**t, curves).get_xlabel()
    'rounds'
    """
    excess = np.asarray(excess, dtype=np.float64)
    if excess.ndim != 1 or any(np.shape(curve) != excess.shape for curve in curves.values()):
        raise ValueError(f"Every curve must have one value for each of the {excess.size} rounds, as the losses have.")
    ax = axes_or_new(ax)
    rounds = np.arange(len(excess)) + 1  # a logarithmic axis has no 0
    for (name, curve), (colour, dash) in zip(curves.items(), _LOOKS * len(curves), strict=False):
        ax.plot(rounds, _positive(curve), color=colour, linestyle=dash, linewidth=1.8, label=name)
    ax.plot(rounds, _positive(excess), color=REACHED, linewidth=2.2, label="this run")
    ax.set_xscale("log")
    ax.set_yscale("log")
    dress(ax, "Loss above its infimum", "rounds", "loss - infimum")
    ax.legend(frameon=False)
    return ax


def _positive(values: np.ndarray) -> np.ndarray:
    """Without what a logarithmic axis cannot show: a distance of 0 is the end of the line."""
    return np.where(np.asarray(values) > 0, values, np.nan)
