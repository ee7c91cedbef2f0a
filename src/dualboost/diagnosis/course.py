"""The constants of a finished run that Theorems 23 and 27 need: rigorous for that run, and far better than any bound.

The theorems use their constants only at the iterates and at the optimum, so the smallest box around these will do, and
the smallest ratio of an iterate's largest edge to its distance from the balanced weights (Telgarsky,
sections 4 and 6; each distance is one linear program).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualboost.diagnosis.dual import dual_optimum
from dualboost.losses import Separable
from dualboost.master import BalancedBox
from dualboost.rows import Rows

__all__ = ["Course"]

_AT_THE_OPTIMUM = 1e-6  # iterates nearer than this, relative to their weights, are beyond the solver's accuracy


@dataclass(frozen=True)
class Course:
    """A run as the theorems see it.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.diagnosis import Constants, Course, theorem_27
    >>> from dualboost.losses import Exponential
    >>> from dualboost.rows import Rows
    >>> A = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
    >>> W = np.array([[0.0, 0.0], [0.35, 0.0], [0.35, 0.65]])
    >>> course = Course.of(A, W @ A.T, Exponential(), np.array([True, True, False]))
    >>> bool(np.all(theorem_27(Constants.of(Exponential(), Rows.of(3)), course, np.arange(3)) >= 1 - 2 / 3))
    True
    """

    start: float
    """The first loss."""
    optimum: float
    """The infimum of the loss."""
    gamma: float
    """The smallest largest edge of an iterate, relative to its distance from the balanced weights."""
    curvature: float
    """c: the smallest second derivative on the core, over the box; 0 without a core."""
    width: float
    """The largest distance of an iterate's core weights from the balanced ones in the box."""

    @classmethod
    def of(
        cls, A: np.ndarray, margins: np.ndarray, loss: Separable, core: np.ndarray, rows: Rows | None = None
    ) -> Course:
        """Of the margins of each round, shape (T, m), the first row first, on a matrix with this hard core."""
        if not (isinstance(loss, Separable) and loss.concave_bend):
            raise ValueError(f"The rates along a run need a loss whose bend is concave, which {loss!r} does not claim.")
        rows = Rows.of(A.shape[0]) if rows is None else rows
        best = dual_optimum(A, loss, core, np.array(rows.prior))
        bound = loss.bind(rows)
        weights = np.array([bound.weights(z) for z in margins])
        on = weights[:, core]
        low, high = np.minimum(on.min(axis=0), best.psi[core]), np.maximum(on.max(axis=0), best.psi[core])
        box = BalancedBox(A[core], low, high)
        near = np.array([box.distance(d) for d in on])
        far = near + weights[:, ~core].sum(axis=1)
        counted = far > _AT_THE_OPTIMUM * weights.sum(axis=1)
        edges = np.abs(weights @ A).max(axis=1)
        gamma = float(np.min(edges[counted] / far[counted], initial=np.inf))
        curvature = _least_curvature(loss, np.concatenate([low, high]), np.tile(rows.prior[core], 2))
        return cls(bound.value(margins[0]), best.value, gamma, curvature, float(near.max(initial=0.0)))


def _least_curvature(loss: Separable, d: np.ndarray, prior: np.ndarray) -> float:
    """Of weights at the ends of the box: a concave second derivative is smallest at an end."""
    if not len(d):
        return 0.0
    return float((prior * loss.bend(d / prior)).min())
