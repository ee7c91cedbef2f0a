"""The diagnosis of a learning problem as a record that explains itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from dualboost.diagnosis.rates import Promise
from dualboost.learners.base import Hypothesis

__all__ = ["Diagnosis"]

_REGIMES = {
    "weak learnable": "Weak learnable: some vote of the hypotheses puts every row on its side.",
    "attainable": "Attainable: no vote gains on any row without losing on another; the loss has a finite minimiser.",
    "mixed": "Mixed: some rows can be put on their side at no cost to the others, and the others cannot.",
    "undecided": "Undecided: the search ended before every row was proved separable or not.",
}


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """The answer of `diagnose`: can these hypotheses fit these labels, and which rows make it impossible?

    Attributes
    ----------
    regime : str
        "weak learnable" (no hard core), "attainable" (all rows are in it), "mixed", or "undecided".
    hard_core : bool ndarray of shape (m,)
        The rows proved to be in the maximal hard core: no ensemble without a wrong row has a positive margin on them.
    undecided : bool ndarray of shape (m,)
        Rows that neither certificate settles; all other rows are proved to be off the core.
    weighting : ndarray of shape (m,)
        The first certificate: positive exactly on the core, sum 1, and no hypothesis has an edge under it.
    direction : ndarray
        The second one: signed weights over `hypotheses`, of total 1 (or none, when there is nothing to separate).
    margins : ndarray of shape (m,)
        What `direction` does: positive off the core, zero on it.
    edge : float
        The largest edge that any hypothesis has under `weighting`: 0 up to rounding.
    gamma, gamma_bound : float
        The weak-learning rate (the largest margin that all rows can have) is at least the one and at most the other.
    contradictions : tuple of (ndarray, ndarray)
        Rows of one label and rows of the other of every instance that has both.
    promises : tuple of Promise
        How fast boosting converges on this problem, by Theorem 21, 23 or 27, and the constants used.
    hypotheses : sequence
        What `direction` refers to: column numbers of a matrix, or what the learner calls them.
    n_rounds : int
    status : str
        How the search ended.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost import diagnose
    >>> report = diagnose(np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]))
    >>> report.split
    (array([2]), array([0, 1]))
    >>> print(report.weighting, report.margins.round(9) + 0.0)
    [0.5 0.5 0. ] [0. 0. 1.]
    """

    regime: str
    hard_core: np.ndarray
    undecided: np.ndarray
    weighting: np.ndarray
    direction: np.ndarray
    margins: np.ndarray
    edge: float
    gamma: float
    gamma_bound: float
    contradictions: tuple[tuple[np.ndarray, np.ndarray], ...]
    promises: tuple[Promise, ...]
    hypotheses: Sequence[Hypothesis]
    n_rounds: int
    status: str

    @property
    def split(self) -> tuple[np.ndarray, np.ndarray]:
        """The row numbers of A_0 (separable) and of A_+ (the core): two problems that do not disturb each other."""
        separable = ~(self.hard_core | self.undecided | np.isnan(self.margins))  # NaN: a row of weight 0
        return np.flatnonzero(separable), np.flatnonzero(self.hard_core)

    def summary(self) -> str:
        """The diagnosis in plain language."""
        lines = [_REGIMES[self.regime], self._counts(), self._margin(), self._contradictions()]
        lines += [promise.sentence() for promise in self.promises]
        return "\n".join(line for line in [*lines, f"Search: {self.status}."] if line)

    def _counts(self) -> str:
        open_, (off, on) = int(self.undecided.sum()), (len(rows) for rows in self.split)
        counts = f"Of {off + on + open_} rows, {off} are separable and {on} are in the hard core"
        return counts + (f"; {open_} are undecided." if open_ else ".")

    def _margin(self) -> str:
        if self.hard_core.any():
            return (
                "Best margin of all rows at once: 0. "
                f"Certificate: under the weighting of the core no hypothesis has an edge above {self.edge:.1e}."
            )
        return f"Best margin of all rows at once: between {self.gamma:.4g} and {self.gamma_bound:.4g}."

    def _contradictions(self) -> str:
        if not self.contradictions:
            return ""
        rows = sum(len(one) + len(other) for one, other in self.contradictions)
        count = len(self.contradictions)
        return f"{count} {'instance has' if count == 1 else 'instances have'} both labels ({rows} rows)."

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.summary())}</pre>"
