"""The distribution of a model's training margins, with the soft margin reached and its bound."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor
from typing import TYPE_CHECKING

import numpy as np

from dualboost.frames import check_row_numbers
from dualboost.game import Certificate
from dualboost.inspection.names import check_model
from dualboost.plots.distribution import Distribution
from dualboost.plots.style import BOUND, CLASSES, INK, REACHED, axes_or_new, dress, label, percent, refuse_more

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["MarginDisplay"]

_AGREEMENT = 1e-6  # margins and certificate come from the same weights: they differ by rounding only


@dataclass(eq=False)
class MarginDisplay:
    """Which share of the training rows has at most which margin; in the manner of scikit-learn's displays.

    Where the model maximises a soft margin, the rows of lowest margin, a fraction nu of all, are shaded: their average
    is the soft margin. It is marked, and so is the bound that no vote exceeds.

    Attributes
    ----------
    margins, weights : ndarray of shape (n_samples,)
        Margins and what each row counts; rows that were absent from the fit count nothing.
    certificate : Certificate or None
        The interval to mark, with `nu`; None for models that have no soft margin.
    nu : float or None
    labels, classes : ndarray or None
        To draw each class as well.
    ax_, figure_
        After `plot`: where it was drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import MarginBoostClassifier
    >>> from dualboost.plots import MarginDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MarginBoostClassifier(nu=0.2, max_iter=200).fit(X, y)
    >>> display = MarginDisplay.from_estimator(model, y=y)
    >>> display.ax_.get_xlabel()
    'margin of a training row'
    """

    margins: np.ndarray
    weights: np.ndarray
    certificate: Certificate | None = None
    nu: float | None = None
    labels: np.ndarray | None = None
    classes: np.ndarray | None = None

    ax_: Axes = field(init=False, repr=False)
    figure_: Figure = field(init=False, repr=False)

    @classmethod
    def from_estimator(cls, model, *given, y=None, sample_weight=None, ax: Axes | None = None) -> MarginDisplay:
        """Draw the margins of a fitted classifier of two classes.

        Parameters
        ----------
        model : fitted classifier of dualboost
        y : array of shape (n_samples,), optional
            The training labels, to draw each class as well.
        sample_weight : array of shape (n_samples,), optional
            The weights of the fit, if it had any.
        ax : matplotlib Axes, optional
            Where to draw; new ones by default.
        """
        check_model(model)
        refuse_more(given, "the margins of the rows that the model was fitted to: give no X, and the labels as y=y")
        if model.margins_.ndim > 1:
            raise ValueError("A model of several classes has margins for each: draw those of model.estimators_[k].")
        if model.certificate_ == model.widest:
            raise ValueError(f"Not all margins are known, for it was {model.status_}: fit it again, with more time.")
        # One vote for several classes has a certificate of pairs of classes, and margins of rows: not the same average.
        several = len(model.classes_) > 2
        nu = None if several else getattr(model, "nu_", None)
        if several and y is not None:
            raise ValueError(
                f"y is to draw each of two classes, and the model has {len(model.classes_)}: leave it out."
            )
        display = cls(
            model.margins_,
            _row_weights(model, sample_weight),
            None if nu is None else model.certificate_,
            nu,
            None if y is None else _labels(model, y),
            model.classes_,
        )
        display._check_same_rows()
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> MarginDisplay:
        """Draw on the axes given, or on new ones."""
        whole = self._whole()
        self.ax_ = ax = axes_or_new(ax)
        self.figure_ = ax.figure  # type: ignore[assignment]
        _draw_curve(ax, whole, color=INK, linewidth=2)
        _limit_margins(ax, whole, self.certificate)
        if self.nu is not None:
            # All margins up to the nu quantile. Their curve alone would hardly show where nu is small.
            ax.axvspan(ax.get_xlim()[0], whole.quantile(self.nu), color=REACHED, alpha=0.12, linewidth=0, zorder=0)
        if self.labels is not None:
            self._draw_classes(ax)
        if self.certificate is not None:
            _mark_interval(ax, self.certificate, self.nu or 0.0)
        median = whole.quantile(0.5)
        ax.plot([median], [0.5], "o", color=INK, markersize=6)
        even = np.ptp(self.weights[self.weights > 0]) == 0
        title = "Half of the rows have" if even else "Half of the row weight has"
        title += f" a margin of at least {_rounded_down(median)}"
        dress(ax, title, "margin of a training row", "share of the rows up to it")
        percent(ax.yaxis)
        return self

    def _whole(self) -> Distribution:
        present = self.weights > 0
        return Distribution.of(self.margins[present], self.weights[present])

    def _check_same_rows(self) -> None:
        """Refuse to shade the wrong rows: the lowest margins must average to the certified soft margin."""
        if self.certificate is None or self.nu is None:
            return
        if abs(self._whole().lowest_average(self.nu) - self.certificate.objective) > _AGREEMENT:
            raise ValueError(
                "These row weights do not give the certified soft margin: pass the sample_weight of the fit."
            )

    def _draw_classes(self, ax: Axes) -> None:
        """One thin curve per class, named where there is room: the left curve on its left, the other on its right."""
        assert self.classes is not None
        parts = [(self.weights > 0) & (self.labels == label) for label in self.classes]
        if not all(part.any() for part in parts):
            raise ValueError(f"y must hold the training labels, both of {self.classes.tolist()}.")
        curves = [Distribution.of(self.margins[part], self.weights[part]) for part in parts]
        places = [curve.quantile(0.62) for curve in curves]
        gap = 0.015 * np.subtract(*ax.get_xlim()[::-1])
        for k, curve in enumerate(curves):
            color, dashes = CLASSES[k]
            _draw_curve(ax, curve, color=color, linestyle=dashes, linewidth=1.5)
            is_left = places[k] < places[1 - k] or (k == 0 and places[0] == places[1])
            shift, side = (-gap, "right") if is_left else (gap, "left")
            label(ax.text(places[k] + shift, 0.62, str(self.classes[k]), color=color, ha=side, va="center"))


def _row_weights(model, sample_weight) -> np.ndarray:
    """What each training row counts; rows that were absent from the fit count nothing."""
    present = ~np.isnan(model.margins_)
    if sample_weight is None:
        return present.astype(np.float64)
    check_row_numbers("sample_weight", sample_weight)
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


def _draw_curve(ax: Axes, distribution: Distribution, **style) -> None:
    ax.step(*distribution.steps(), where="post", **style)


def _limit_margins(ax: Axes, whole: Distribution, certificate: Certificate | None) -> None:
    """Room for all margins, the interval, and a label on either side of the interval."""
    reached, bound = (whole.z[0], whole.z[-1]) if certificate is None else (certificate.objective, certificate.bound)
    low, high = min(whole.z[0], reached), max(whole.z[-1], bound)
    width = max(high - low, 1e-3)
    left, right = low - 0.04 * width, high + 0.04 * width
    if certificate is not None:
        right = max(right, bound + 0.35 * width)
        left = min(left, reached - 0.45 * (right - reached))
    ax.set_xlim(left, right)
    ax.set_ylim(0, 1.02)


def _mark_interval(ax: Axes, certificate: Certificate, nu: float) -> None:
    """The soft margin reached and its bound, each named on its outer side."""
    gap = 0.015 * np.subtract(*ax.get_xlim()[::-1])
    ax.axvline(certificate.objective, color=REACHED, linewidth=1.5, label="soft margin reached")
    ax.axvline(certificate.bound, color=BOUND, linewidth=1.5, linestyle="--", label="bound")
    reached = f"soft margin {certificate.objective:.4f}:\naverage of the\nlowest {100 * nu:.3g}% (shaded)"
    bound = f"no vote\nexceeds {certificate.bound:.4f}"
    label(ax.text(certificate.objective - gap, 0.99, reached, color=REACHED, ha="right", va="top"))
    label(ax.text(certificate.bound + gap, 0.99, bound, color=BOUND, ha="left", va="top"))


def _rounded_down(value: float) -> str:
    """Two decimals, so that "at least" stays true."""
    return f"{floor(100 * value) / 100:.2f}"
