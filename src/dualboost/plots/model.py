"""Pictures of a fitted model: margins, certificate round by round, step functions.

Every function takes a fitted classifier, draws on the axes it is given (or new ones), returns them, shows no window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dualboost.learners.stumps import StumpScores
from dualboost.plots.style import (
    BOUND,
    CLASSES,
    INK,
    PALE,
    REACHED,
    axes_or_new,
    dress,
    label,
    new_figure,
    percent,
    plain_numbers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["convergence_plot", "margin_plot", "shape_figure", "shape_plot", "summary_figure"]

_POINTS = 2000  # more do not show in print
_FEW = 10  # rounds that do not fill a decade of the axis
_AGREEMENT = 1e-6  # margins and certificate come from the same weights: they differ by rounding only


@dataclass(frozen=True, eq=False)
class _Distribution:
    """Margins in rising order, each with the share of the rows (by weight) up to and including it."""

    z: np.ndarray
    share: np.ndarray

    @classmethod
    def of(cls, z: np.ndarray, weights: np.ndarray) -> _Distribution:
        order = np.argsort(z, kind="stable")
        total = np.cumsum(weights[order])
        return cls(z[order], total / total[-1])

    def quantile(self, share: float) -> float:
        """The smallest margin that has at least this share at or below it."""
        return float(self.z[min(int(np.searchsorted(self.share, share - 1e-12)), len(self.z) - 1)])

    def lowest_average(self, share: float) -> float:
        """The average over the rows of lowest margin that make up this share, the last one counted in part."""
        filled = np.minimum(self.share / share, 1.0)
        return float(np.diff(filled, prepend=0.0) @ self.z)

    def steps(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners of the cumulative curve, thinned to what a picture can show."""
        kept = np.unique(np.linspace(0, len(self.z) - 1, min(len(self.z), _POINTS)).astype(int))
        return np.concatenate([self.z[:1], self.z[kept]]), np.concatenate([[0.0], self.share[kept]])


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
    check_is_fitted(model)
    weights = _row_weights(model, sample_weight)
    labels = None if y is None else _labels(model, y)
    whole = _Distribution.of(model.margins_[weights > 0], weights[weights > 0])
    _check_same_rows(model, whole)
    ax = axes_or_new(ax)
    _draw_curve(ax, whole, color=INK, linewidth=2)
    _limit_margins(ax, whole, model.certificate_)
    _shade_lowest(ax, whole, model.nu_)
    if labels is not None:
        _draw_classes(ax, model, labels, weights)
    _mark_interval(ax, model.certificate_, model.nu_)
    median = whole.quantile(0.5)
    ax.plot([median], [0.5], "o", color=INK, markersize=6)
    title = "Half of the rows have" if sample_weight is None else "Half of the row weight has"
    title += f" a margin of at least {_rounded_down(median)}"
    dress(ax, title, "margin of a training row", "share of the rows up to it")
    percent(ax.yaxis)
    return ax


def _row_weights(model, sample_weight) -> np.ndarray:
    """What each training row counts; rows that were absent from the fit count nothing."""
    present = ~np.isnan(model.margins_)
    if sample_weight is None:
        return present.astype(np.float64)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != present.shape or not np.array_equal(weights > 0, present):
        raise ValueError(f"sample_weight must be that of the fit: {len(present)} numbers, 0 for the rows left out.")
    return weights


def _labels(model, y) -> np.ndarray:
    labels = np.asarray(y)
    if labels.shape != model.margins_.shape:
        raise ValueError(
            f"y must hold the labels of the {len(model.margins_)} training rows, not shape {labels.shape}."
        )
    return labels


def _check_same_rows(model, whole: _Distribution) -> None:
    """Refuse to shade the wrong rows: the lowest margins must average to the certified soft margin."""
    if abs(whole.lowest_average(model.nu_) - model.certificate_.objective) > _AGREEMENT:
        raise ValueError("These row weights do not give the certified soft margin: pass the sample_weight of the fit.")


def _draw_curve(ax: Axes, distribution: _Distribution, **style) -> None:
    ax.step(*distribution.steps(), where="post", **style)


def _limit_margins(ax: Axes, whole: _Distribution, certificate) -> None:
    """Room for all margins, the interval, and a label on either side of the interval."""
    low, high = min(whole.z[0], certificate.objective), max(whole.z[-1], certificate.bound)
    width = max(high - low, 1e-3)
    right = max(high + 0.04 * width, certificate.bound + 0.35 * width)
    left = min(low - 0.04 * width, certificate.objective - 0.45 * (right - certificate.objective))
    ax.set_xlim(left, right)
    ax.set_ylim(0, 1.02)


def _shade_lowest(ax: Axes, whole: _Distribution, nu: float) -> None:
    """All margins up to the nu quantile. Their curve alone would hardly show where nu is small."""
    ax.axvspan(ax.get_xlim()[0], whole.quantile(nu), color=REACHED, alpha=0.12, linewidth=0, zorder=0)


def _draw_classes(ax: Axes, model, labels: np.ndarray, weights: np.ndarray) -> None:
    """One thin curve per class, named where there is room: the left curve on its left, the other on its right."""
    parts = [(weights > 0) & (labels == label) for label in model.classes_]
    if not all(part.any() for part in parts):
        raise ValueError(f"y must hold the training labels, both of {model.classes_.tolist()}.")
    curves = [_Distribution.of(model.margins_[part], weights[part]) for part in parts]
    places = [curve.quantile(0.62) for curve in curves]
    gap = 0.015 * np.subtract(*ax.get_xlim()[::-1])
    for k, curve in enumerate(curves):
        color, dashes = CLASSES[k]
        _draw_curve(ax, curve, color=color, linestyle=dashes, linewidth=1.5)
        is_left = places[k] < places[1 - k] or (k == 0 and places[0] == places[1])
        shift, side = (-gap, "right") if is_left else (gap, "left")
        label(ax.text(places[k] + shift, 0.62, str(model.classes_[k]), color=color, ha=side, va="center"))


def _mark_interval(ax: Axes, certificate, nu: float) -> None:
    """The soft margin reached and its bound, each named on its outer side."""
    gap = 0.015 * np.subtract(*ax.get_xlim()[::-1])
    ax.axvline(certificate.objective, color=REACHED, linewidth=1.5, label="soft margin reached")
    ax.axvline(certificate.bound, color=BOUND, linewidth=1.5, linestyle="--", label="bound")
    reached = f"soft margin {certificate.objective:.4f}:\naverage of the\nlowest {100 * nu:.3g}% (shaded)"
    bound = f"no vote\nexceeds {certificate.bound:.4f}"
    label(ax.text(certificate.objective - gap, 0.99, reached, color=REACHED, ha="right", va="top"))
    label(ax.text(certificate.bound + gap, 0.99, bound, color=BOUND, ha="left", va="top"))


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
    check_is_fitted(model)
    ax = axes_or_new(ax)
    rounds, reached, bound = _thinned_history(model.history_)
    ax.fill_between(rounds, reached, bound, color=PALE, alpha=0.4, linewidth=0)
    ax.plot(rounds, bound, color=BOUND, linestyle="--", linewidth=1.8, label="bound")
    ax.plot(rounds, reached, color=REACHED, linewidth=1.8, label="soft margin reached")
    ax.set_xscale("log")
    plain_numbers(ax.xaxis)
    _limit_interval(ax, rounds[-1], min(reached[0], model.certificate_.objective), bound[0])
    _name_curves(ax, rounds, reached, bound)
    _annotate_gap(ax, rounds[-1], model.certificate_)
    dress(ax, _progress_in_words(model), "rounds", "soft margin")
    return ax


def _thinned_history(history) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rounds (from 1: a logarithmic axis has no place for the empty vote of round 0), values reached, bounds."""
    last = len(history["objective"]) - 1
    rounds = np.unique(np.geomspace(1, max(last, 1), _POINTS).round().astype(int))
    entries = np.minimum(rounds, last)
    return rounds, history["objective"][entries], history["bound"][entries]


def _limit_interval(ax: Axes, last: int, low: float, high: float) -> None:
    border = 0.12 * max(high - low, 0.02)
    ax.set_ylim(low - border, high + border)
    ax.set_xlim(1, max(1.15 * last, _FEW))
    if last < _FEW:
        ax.set_xticks(range(1, _FEW + 1))


def _name_curves(ax: Axes, rounds: np.ndarray, reached: np.ndarray, bound: np.ndarray) -> None:
    """Each curve's name outside the interval, a fifth of the way along."""
    k = int(np.searchsorted(rounds, rounds[-1] ** 0.2))
    near: dict[str, Any] = {"textcoords": "offset points", "ha": "left"}
    label(ax.annotate("no vote exceeds this", (rounds[k], bound[k]), (4, 5), va="bottom", color=BOUND, **near))
    label(ax.annotate("reached", (rounds[k], reached[k]), (4, -5), va="top", color=REACHED, **near))


def _annotate_gap(ax: Axes, last: int, certificate) -> None:
    """The interval that is left, from the certificate itself, its size above it, or below where it is high."""
    ax.plot([last, last], [certificate.objective, certificate.bound], color=INK, linewidth=2.5, solid_capstyle="butt")
    low, high = ax.get_ylim()
    above = certificate.bound < low + 0.6 * (high - low)
    end, shift = (certificate.bound, 0.15) if above else (certificate.objective, -0.15)
    gap = max(certificate.gap, 0.0)  # rounding may leave -1e-16
    relative = f"\n({gap / certificate.objective:.1%} of the margin)" if certificate.objective > 0 else ""
    # The leader leaves the corner of the text that is nearest to the interval.
    side, corner = ("right", (0.97, 1.0 - above)) if last >= _FEW else ("left", (0.03, 1.0 - above))
    arrow = {"arrowstyle": "-", "color": INK, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 3, "relpos": corner}
    place = (last, max(end + shift * (high - low), low + 0.25 * (high - low)))
    text = ax.annotate(f"gap {gap:.2g}{relative}", (last, end), place, color=INK, arrowprops=arrow)
    text.set(ha=side, va="bottom" if above else "top")
    label(text)


def _progress_in_words(model) -> str:
    certificate, rounds = model.certificate_, f"{model.n_iter_} round" + "s" * (model.n_iter_ != 1)
    if certificate.objective > 0:
        share = floor(1000 * certificate.objective / certificate.bound) / 10
        return f"At least {share:g}% of the best margin after {rounds}"
    return f"No soft margin above {_rounded_up(certificate.bound)} exists ({rounds})"


def shape_plot(model, feature: int, ax: Axes | None = None, *, name: str | None = None) -> Axes:
    """How the vote depends on one feature: the step function that all stumps on it add up to.

    Parameters
    ----------
    model : fitted MarginBoostClassifier
    feature : int
        The column of X, one that the model uses.
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
    _check_curves(model)
    x, score = _corners(model.predictor_, feature)
    ax = axes_or_new(ax)
    colors = (BOUND, REACHED)
    for sign, color in zip((1, -1), colors, strict=True):
        ax.fill_between(x, np.where(sign * score > 0, score, 0.0), step="post", color=color, alpha=0.3, linewidth=0)
    ax.step(x, score, where="post", color=INK, linewidth=1.5)
    ax.axhline(0, color=PALE, linewidth=0.8, zorder=0)
    ax.set_xlim(x[0], x[-1])
    ax.locator_params(axis="x", nbins=5)
    name = _name_of(model, feature) if name is None else name
    dress(ax, f"{model.feature_importances_[feature]:.1%} of the vote", name, f"vote for {model.classes_[1]}")
    return ax


def _check_curves(model) -> None:
    """Only a vote of stumps on two classes is one curve per feature."""
    check_is_fitted(model)
    if hasattr(model, "estimators_"):
        raise ValueError("A model of several classes has curves for each: draw those of model.estimators_[k].")
    if not isinstance(getattr(model, "predictor_", None), StumpScores):
        raise ValueError("Curves exist for votes of stumps only: fit with learner=Stumps(), or without a learner.")


def _corners(predictor, feature: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the step function starts, jumps and ends (a little beyond its outer cuts), and its value from there on."""
    where = np.flatnonzero(predictor.features == feature)
    if not len(where):
        raise ValueError(f"The model does not use feature {feature!r}; its features are {predictor.features.tolist()}.")
    u = int(where[0])
    cuts = predictor.cuts[predictor.cut_start[u] : predictor.cut_start[u + 1]]
    # A table has one value more than cuts, so each earlier feature shifts it by one.
    table = predictor.tables[predictor.cut_start[u] + u : predictor.cut_start[u + 1] + u + 1]
    if not len(cuts):  # only "missing or not" was asked
        return np.array([0.0, 1.0]), np.repeat(table, 2)
    beyond = 0.12 * (cuts[-1] - cuts[0]) or 0.12 * abs(cuts[0]) or 1.0
    return np.concatenate([[cuts[0] - beyond], cuts, [cuts[-1] + beyond]]), np.append(table, table[-1])


def _name_of(model, feature: int) -> str:
    names = getattr(model, "feature_names_in_", None)
    return f"feature {feature}" if names is None else str(names[feature])


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
    """The step functions of the features with the largest shares of the vote, on one scale.

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
    _check_curves(model)
    top = np.argsort(-model.feature_importances_, kind="stable")[: min(count, len(model.predictor_.features))]
    if not len(top):
        raise ValueError("The model uses no feature, so there is nothing to draw.")
    across = min(len(top), 3)
    down = ceil(len(top) / across)
    figure = new_figure(3.6 * across, 2.7 * down + 0.4)
    panels = figure.subplots(down, across, sharey=True, squeeze=False).ravel()
    for feature, ax in zip(top, panels, strict=False):
        shape_plot(model, int(feature), ax, name=None if names is None else str(names[feature]))
    for k, ax in enumerate(panels):
        ax.set_visible(k < len(top))
        ax.set_ylabel(ax.get_ylabel() if k % across == 0 else "")
    carried = model.feature_importances_[top].sum()
    features = "1 feature carries" if len(top) == 1 else f"{len(top)} features carry"
    figure.suptitle(f"{features} {carried:.0%} of the vote", x=0.01, ha="left", fontsize="large", fontweight="bold")
    return figure


def _rounded_down(value: float) -> str:
    """Two decimals, so that "at least" stays true."""
    return f"{floor(100 * value) / 100:.2f}"


def _rounded_up(value: float) -> str:
    """Three decimals, so that "no ... above" stays true."""
    return f"{ceil(1000 * value) / 1000:.3f}"
