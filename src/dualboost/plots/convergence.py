"""What a run reached and proved, round by round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, floor
from typing import TYPE_CHECKING, Any

import numpy as np

from dualboost.game import Certificate
from dualboost.inspection.names import check_model
from dualboost.plots.style import BOUND, INK, PALE, REACHED, axes_or_new, dress, label, plain_numbers, refuse_more

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ConvergenceDisplay"]

_POINTS = 2000  # more do not show in print
_FEW = 10  # rounds that do not fill a decade of the axis


@dataclass(eq=False)
class ConvergenceDisplay:
    """The margin reached and its bound after each round, and the gap that is left.

    A display in the manner of scikit-learn. For a model without a bound (AdaBoost, logistic and bounded losses) it is
    the loss after each round.

    Attributes
    ----------
    history : mapping of arrays
        "objective" and "bound", one entry a round; or "loss".
    certificate : Certificate
        What the finished run proved.
    n_rounds : int
    ax_, figure_
        After `plot`: where it was drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import MarginBoostClassifier
    >>> from dualboost.plots import ConvergenceDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> display = ConvergenceDisplay.from_estimator(MarginBoostClassifier(nu=0.2, max_iter=200).fit(X, y))
    >>> display.ax_.get_xscale()
    'log'
    """

    history: Mapping[str, np.ndarray]
    certificate: Certificate
    n_rounds: int

    ax_: Axes = field(init=False, repr=False)
    figure_: Figure = field(init=False, repr=False)

    @classmethod
    def from_estimator(cls, model, *given, ax: Axes | None = None) -> ConvergenceDisplay:
        """Draw the run of a fitted classifier of two classes, on the axes given or on new ones."""
        check_model(model)
        refuse_more(given, "the run of the fit: give no X and no y")
        if hasattr(model, "estimators_"):
            raise ValueError("A model of several classes has a run for each: draw those of model.estimators_[k].")
        return cls(model.history_, model.certificate_, model.n_iter_).plot(ax)

    def plot(self, ax: Axes | None = None) -> ConvergenceDisplay:
        """Draw on the axes given, or on new ones."""
        self.ax_ = ax = axes_or_new(ax)
        self.figure_ = ax.figure  # type: ignore[assignment]
        if self.certificate.bound < np.inf:
            self._plot_interval(ax)
        else:
            self._plot_loss(ax)
        return self

    def _plot_interval(self, ax: Axes) -> None:
        rounds, reached, bound = _thinned(self.history["objective"], self.history["bound"])
        ax.fill_between(rounds, reached, bound, color=PALE, alpha=0.4, linewidth=0)
        ax.plot(rounds, bound, color=BOUND, linestyle="--", linewidth=1.8, label="bound")
        ax.plot(rounds, reached, color=REACHED, linewidth=1.8, label="soft margin reached")
        _logarithmic(ax, rounds[-1])
        _limit_interval(ax, min(reached[0], self.certificate.objective), bound[0])
        _name_curves(ax, rounds, reached, bound)
        _annotate_gap(ax, rounds[-1], self.certificate)
        dress(ax, self._progress_in_words(), "rounds", "soft margin")

    def _plot_loss(self, ax: Axes) -> None:
        loss = self.history["loss"] if "loss" in self.history else -np.asarray(self.history["objective"])
        rounds, shown = _thinned(loss)
        ax.plot(rounds, shown, color=REACHED, linewidth=1.8, label="loss")
        _logarithmic(ax, rounds[-1])
        dress(ax, f"A loss of {shown[-1]:.3g} after {self._rounds()}", "rounds", "loss")

    def _rounds(self) -> str:
        return f"{self.n_rounds} round" + "s" * (self.n_rounds != 1)

    def _progress_in_words(self) -> str:
        certificate = self.certificate
        if certificate.objective > 0:
            share = floor(1000 * certificate.objective / certificate.bound) / 10
            return f"At least {share:g}% of the best margin after {self._rounds()}"
        return f"No soft margin above {_rounded_up(certificate.bound)} exists ({self._rounds()})"


def _thinned(*curves: np.ndarray) -> tuple[np.ndarray, ...]:
    """Rounds (from 1: a logarithmic axis has no place for the empty vote of round 0), and the curves there."""
    last = len(curves[0]) - 1
    rounds = np.unique(np.geomspace(1, max(last, 1), _POINTS).round().astype(int))
    entries = np.minimum(rounds, last)
    return rounds, *(np.asarray(curve)[entries] for curve in curves)


def _logarithmic(ax: Axes, last: int) -> None:
    ax.set_xscale("log")
    plain_numbers(ax.xaxis)
    ax.set_xlim(1, max(1.15 * last, _FEW))
    if last < _FEW:
        ax.set_xticks(range(1, _FEW + 1))


def _limit_interval(ax: Axes, low: float, high: float) -> None:
    border = 0.12 * max(high - low, 0.02)
    ax.set_ylim(low - border, high + border)


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
    # A short run leaves no room above it: there the names of the curves end.
    above = last >= _FEW and certificate.bound < low + 0.6 * (high - low)
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


def _rounded_up(value: float) -> str:
    """Three decimals, so that "no ... above" stays true."""
    return f"{ceil(1000 * value) / 1000:.3f}"
