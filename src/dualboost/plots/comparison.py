"""Several ways to play one game, side by side: the certified gap against rounds and against seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dualboost.frames import in_words
from dualboost.plots.style import PALE, dress, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["comparison_figure"]

_LOOKS = [
    (colour, dash)
    for dash in ("-", "--", ":")
    for colour in ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#222222")
]


def comparison_figure(comparison) -> Figure:
    """The gap of every solver against rounds and against seconds.

    Parameters
    ----------
    comparison : Comparison
        What `dualboost.compare` returned.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import compare
    >>> from dualboost.boosters import LPBoost, TotallyCorrective
    >>> from dualboost.plots import comparison_figure
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> runs = compare(X, y, nu=0.2, boosters={"LP": LPBoost(), "entropy": TotallyCorrective()})
    >>> len(comparison_figure(runs).axes)
    2
    """
    if not hasattr(comparison, "traces"):
        raise ValueError(f"comparison must be what dualboost.compare returned, not {in_words(comparison)}.")
    figure = new_figure(10.0, 4.4)
    left, right = figure.subplots(1, 2, sharey=True)
    for trace, (colour, dash) in zip(comparison.traces, _LOOKS * len(comparison.traces), strict=False):
        look = {"color": colour, "linestyle": dash, "linewidth": 1.8}
        gap = np.maximum(trace.bounds - trace.objectives, 1e-16)
        left.step(np.maximum(trace.rounds, 1), gap, where="post", label=trace.name, **look)
        right.step(np.maximum(trace.seconds, 1e-4), gap, where="post", **look)
    for ax, unit in ((left, "rounds"), (right, "seconds")):
        _finish(ax, unit, comparison)
    left.set_ylabel("certified gap")
    figure.legend(loc="outside right upper", frameon=False)
    return figure


def _finish(ax: Axes, unit: str, comparison) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.axhline(comparison.tol, color=PALE, linewidth=1.0, zorder=0)
    ax.set_ylim(bottom=min(comparison.tol / 3, 1e-2))
    dress(ax, f"gap against {unit}", unit, "")
