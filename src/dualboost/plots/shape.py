"""How the vote depends on one feature: the step function that all splits on it alone add up to."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from dualboost.frames import as_frame, in_words
from dualboost.inspection import Shape, shapes
from dualboost.inspection.names import check_model, feature_names
from dualboost.plots.style import BOUND, INK, PALE, REACHED, axes_or_new, dress

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ShapeDisplay"]

_LABELS = 12  # categories named along the axis
_NAMED = 20  # features in a sentence
_COUNTS = 0.12  # of the height, for the most frequent piece


@dataclass(eq=False)
class ShapeDisplay:
    """The step function of one feature; in the manner of scikit-learn's displays.

    Attributes
    ----------
    shape : Shape
        What `dualboost.shapes` says of the feature; its counts, if it has any, stand at the foot of the picture.
    share : float
        The feature's share of the vote, of which the curve is only a part where trees look at others besides.
    label : object
        The class that a positive vote speaks for.
    ax_, figure_
        After `plot`: where it was drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import MarginBoostClassifier
    >>> from dualboost.plots import ShapeDisplay
    >>> data = load_breast_cancer()
    >>> model = MarginBoostClassifier(nu=0.2, max_iter=200).fit(data.data, data.target)
    >>> top = int(model.feature_importances_.argmax())
    >>> display = ShapeDisplay.from_estimator(model, top, X=data.data, name=data.feature_names[top])
    >>> len(display.shape.values) == len(display.shape.edges) + 1
    True
    """

    shape: Shape
    share: float
    label: object

    ax_: Axes = field(init=False, repr=False)
    figure_: Figure = field(init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, model, *given, feature: int | str | None = None, X=None, name: str | None = None, ax: Axes | None = None
    ) -> ShapeDisplay:
        """Draw the step function of one feature of a vote on two classes: of any that `dualboost.shapes` has.

        Parameters
        ----------
        model : fitted classifier of dualboost
        *given
            `feature`, or `feature` and `X` in either order: `(model, feature)`, or as scikit-learn has it
            `(model, X, feature)`.
        feature : int or str
            The column of X, by its number or its name in the training data frame; one that has a curve.
        X : table, optional
            Rows to count in the pieces, such as the training data.
        name : str, optional
            What to call it; by default its name in the training data frame, or its number.
        ax : matplotlib Axes, optional
            Where to draw; new ones by default.
        """
        check_model(model)
        feature, X = _told_apart(given, feature, X)
        found = {shape.name if isinstance(feature, str) else shape.feature: shape for shape in shapes(model, X)}
        if feature not in found:
            raise ValueError(_without_curve(model, feature, list(found)))
        shape = found[feature]
        display = cls(shape, float(model.feature_importances_[shape.feature]), model.classes_[1])
        return display.plot(ax, name=name)

    def plot(self, ax: Axes | None = None, *, name: str | None = None) -> ShapeDisplay:
        """Draw on the axes given, or on new ones."""
        self.ax_ = ax = axes_or_new(ax)
        self.figure_ = ax.figure  # type: ignore[assignment]
        x, score = self._corners()
        for sign, color in zip((1, -1), (BOUND, REACHED), strict=True):
            ax.fill_between(x, np.where(sign * score > 0, score, 0.0), step="post", color=color, alpha=0.3, linewidth=0)
        ax.step(x, score, where="post", color=INK, linewidth=1.5)
        ax.axhline(0, color=PALE, linewidth=0.8, zorder=0)
        ax.set_xlim(x[0], x[-1])
        self._name_ticks(ax)
        if self.shape.counts is not None and self.shape.counts.any():
            heights = _COUNTS * np.append(self.shape.counts, self.shape.counts[-1]) / self.shape.counts.max()
            foot = ax.get_xaxis_transform()
            ax.fill_between(x, heights, step="post", color=PALE, alpha=0.7, linewidth=0, transform=foot, zorder=0)
        share = f"{'' if self.shape.whole else 'part of '}{self.share:.1%} of the vote"
        dress(ax, share, name or self.shape.name, f"vote for {self.label}")
        return self

    def _name_ticks(self, ax: Axes) -> None:
        """The labels of categories, where there is room for them."""
        labels = self.shape.categories
        if not labels:
            ax.locator_params(axis="x", nbins=5)
            return
        shown = np.unique(np.linspace(0, len(labels) - 1, min(len(labels), _LABELS)).round().astype(int))
        ax.set_xticks(shown, [str(labels[k]) for k in shown])

    def _corners(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the step function starts, jumps and ends (a little beyond its outer cuts), and its value from there."""
        cuts, table = self.shape.edges, self.shape.values
        if not len(cuts):  # only "missing or not" was asked
            return np.array([0.0, 1.0]), np.repeat(table, 2)
        beyond = 0.12 * (cuts[-1] - cuts[0]) or 0.12 * abs(cuts[0]) or 1.0
        return np.concatenate([[cuts[0] - beyond], cuts, [cuts[-1] + beyond]]), np.append(table, table[-1])


def _told_apart(given: tuple, feature, X) -> tuple[Any, Any]:
    """(the feature, the table or None) of what was given by place and by name."""
    for value in given:
        if X is None and _is_table(value):
            X = value
        elif feature is None and not _is_table(value):
            feature = value
        else:
            raise ValueError("Give one feature, and besides it at most one table X, whose rows are counted.")
    if feature is None and X is not None:
        raise ValueError(
            "Say which feature to draw, by its number or name, such as feature=0: of X the rows are only counted."
        )
    if not isinstance(feature, (Integral, str)) or isinstance(feature, bool):
        raise ValueError(f"feature must be the number or name of one column of X, such as 0, not {in_words(feature)}.")
    return feature, X


def _is_table(value) -> bool:
    """Whether it has rows and columns."""
    try:
        return as_frame(value) is not None or np.ndim(value) == 2
    except ValueError:  # lists of different lengths
        return False


def _without_curve(model, feature: int | str, found: list) -> str:
    """Why this feature has none."""
    names = feature_names(model) if isinstance(feature, str) else range(model.n_features_in_)
    used = [names[j] for j in np.flatnonzero(model.feature_importances_)]
    if feature not in used:
        return f"The model does not use feature {in_words(feature)}; its features are {_some(used)}."
    return (
        f"The model looks at feature {feature!r} only together with others, which is no curve: ask pairs or explain"
        + (f", or draw one of {_some(found)}." if found else ".")
    )


def _some(features: list) -> str:
    """As a list, of which a sentence can hold so many."""
    return repr(features) if len(features) <= _NAMED else f"{repr(features[:_NAMED])[:-1]}, ...]"
