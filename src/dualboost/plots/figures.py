"""Pictures of a fitted model on the axes given, and figures of several to save.

Every function takes a fitted classifier, draws on the axes it is given (or new ones), returns them, shows no window.
What they draw is in the displays.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from dualboost.frames import in_words
from dualboost.inspection import shapes
from dualboost.plots.convergence import ConvergenceDisplay
from dualboost.plots.margins import MarginDisplay
from dualboost.plots.shape import ShapeDisplay
from dualboost.plots.style import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["convergence_plot", "margin_plot", "shape_figure", "shape_plot", "summary_figure"]


def margin_plot(model, ax: Axes | None = None, *, y=None, sample_weight=None) -> Axes:
    """The distribution of the training margins, with the soft margin reached and its bound.

    The curve says which share of the rows has at most that margin. Shaded are the rows of lowest margin, a fraction nu
    of all: their average is the soft margin.

    Parameters
    ----------
    model : fitted MarginBoostClassifier
    ax : matplotlib Axes, optional
        Where to draw; new ones by default.
    y : array of shape (n_samples,), optional
        The training labels, to draw each class as well.
    sample_weight : array of shape (n_samples,), optional
        The weights of the fit, if it had any.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import MarginBoostClassifier
    >>> from dualboost.plots import margin_plot
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MarginBoostClassifier(nu=0.2, max_iter=200).fit(X, y)
    >>> margin_plot(model, y=y).get_xlabel()
    'margin of a training row'
    """
    return MarginDisplay.from_estimator(model, y=y, sample_weight=sample_weight, ax=ax).ax_


def convergence_plot(model, ax: Axes | None = None) -> Axes:
    """The soft margin reached and its bound after each round, the interval between them, and the gap that is left.

    Parameters
    ----------
    model : fitted MarginBoostClassifier
    ax : matplotlib Axes, optional
        Where to draw; new ones by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import MarginBoostClassifier
    >>> from dualboost.plots import convergence_plot
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ax = convergence_plot(MarginBoostClassifier(nu=0.2, max_iter=200).fit(X, y))
    >>> ax.get_xscale()
    'log'
    """
    return ConvergenceDisplay.from_estimator(model, ax=ax).ax_


def shape_plot(model, feature: int | str, ax: Axes | None = None, *, name: str | None = None) -> Axes:
    """How the vote depends on one feature: the step function that all splits on it alone add up to.

    Parameters
    ----------
    model : fitted classifier of dualboost
    feature : int or str
        The column of X, one that has a curve: see `dualboost.shapes`.
    ax : matplotlib Axes, optional
    name : str, optional
        What to call it; by default its name in the training data frame, or its number.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import MarginBoostClassifier
    >>> from dualboost.plots import shape_plot
    >>> data = load_breast_cancer()
    >>> model = MarginBoostClassifier(nu=0.2, max_iter=200).fit(data.data, data.target)
    >>> top = int(model.feature_importances_.argmax())
    >>> ax = shape_plot(model, top, name=data.feature_names[top])
    """
    return ShapeDisplay.from_estimator(model, feature, name=name, ax=ax).ax_


def summary_figure(model, *, y=None, sample_weight=None) -> Figure:
    """Margins and convergence side by side, as a figure of its own to save.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import MarginBoostClassifier
    >>> from dualboost.plots import summary_figure
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> figure = summary_figure(MarginBoostClassifier(nu=0.2, max_iter=200).fit(X, y), y=y)
    >>> len(figure.axes)
    2
    """
    figure = new_figure(11, 4.6)
    left, right = figure.subplots(1, 2)
    margin_plot(model, left, y=y, sample_weight=sample_weight)
    convergence_plot(model, right)
    return figure


def shape_figure(model, count: int = 6, *, names: Sequence[str] | np.ndarray | None = None) -> Figure:
    """The step functions of the features with the largest shares of the vote, on one scale; of those that have one.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import MarginBoostClassifier
    >>> from dualboost.plots import shape_figure
    >>> data = load_breast_cancer()
    >>> model = MarginBoostClassifier(nu=0.2, max_iter=200).fit(data.data, data.target)
    >>> len(shape_figure(model, 2, names=data.feature_names).axes)
    2
    """
    if not isinstance(count, Integral) or isinstance(count, bool) or count < 1:
        raise ValueError(f"count is a number of features and must be at least 1, not {in_words(count)}.")
    curves, shares = shapes(model), model.feature_importances_
    if names is not None and len(names) != model.n_features_in_:
        raise ValueError(f"names must have one for each of the {model.n_features_in_} features, not {len(names)}.")
    top = sorted(curves, key=lambda shape: -shares[shape.feature])[:count]
    if not top:
        why = "looks at features only together" if np.any(shares) else "uses no feature"
        raise ValueError(f"The model {why}, so there is no curve to draw: ask explain about rows.")
    across = min(len(top), 3)
    down = ceil(len(top) / across)
    figure = new_figure(3.6 * across, 2.7 * down + 0.4)
    panels = figure.subplots(down, across, sharey=True, squeeze=False).ravel()
    for shape, ax in zip(top, panels, strict=False):
        display = ShapeDisplay(shape, float(shares[shape.feature]), model.classes_[1])
        display.plot(ax, name=None if names is None else str(names[shape.feature]))
    for k, ax in enumerate(panels):
        ax.set_visible(k < len(top))
        ax.set_ylabel(ax.get_ylabel() if k % across == 0 else "")
    carried = sum(shares[shape.feature] for shape in top)
    features = "1 feature carries" if len(top) == 1 else f"{len(top)} features carry"
    figure.suptitle(f"{features} {carried:.0%} of the vote", x=0.01, ha="left", fontsize="large", fontweight="bold")
    return figure
