"""How all pictures look: colours, figures without windows, titles and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dualboost.frames import in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

__all__ = [
    "axes_or_new",
    "dress",
    "label",
    "new_figure",
    "percent",
    "plain_numbers",
    "refuse_more",
    "require_matplotlib",
]

# Okabe & Ito's colours: told apart by every kind of colour vision. Dashes repeat the difference for print in grey.
REACHED, BOUND = "#0072B2", "#D55E00"
CLASSES = (("#009E73", (0, (5, 1.5))), ("#CC79A7", (0, (1, 1))))
INK, PALE = "#222222", "#BBBBBB"


def new_figure(width: float, height: float) -> Figure:
    """A figure outside pyplot: nothing to close, no window."""
    require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def axes_or_new(ax: Axes | None) -> Axes:
    require_matplotlib()
    from matplotlib.axes import Axes

    if ax is not None and not isinstance(ax, Axes):
        raise ValueError(f"ax must be Axes of matplotlib, such as matplotlib.pyplot.subplots()[1], not {in_words(ax)}.")
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(5.5, 4.6), layout="constrained")[1]


def refuse_more(given: tuple, what: str) -> None:
    """Refuse a table or labels where scikit-learn's displays have them: `what` is drawn says that none is needed."""
    if given:
        raise ValueError(f"This draws {what}.")


def require_matplotlib() -> None:
    """Raise ImportError in one sentence where the plots cannot work."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError('The plots need matplotlib: pip install "dualboost[plots]".') from error


def dress(ax: Axes, title: str, xlabel: str, ylabel: str) -> None:
    ax.set_title(title, loc="left", fontsize="medium", fontweight="bold")
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.spines[["top", "right"]].set_visible(False)


def label(text: Text) -> None:
    """Small print with a halo, readable where it crosses a line."""
    from matplotlib.patheffects import withStroke

    text.set_fontsize("small")
    text.set_path_effects([withStroke(linewidth=3, foreground="white", alpha=0.85)])


def percent(axis) -> None:
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(1.0, decimals=0))


def plain_numbers(axis) -> None:
    from matplotlib.ticker import NullFormatter, StrMethodFormatter

    axis.set_major_formatter(StrMethodFormatter("{x:.0f}"))
    axis.set_minor_formatter(NullFormatter())
