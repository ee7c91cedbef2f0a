"""What an audit found, row by row, and the lists that are made of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

__all__ = ["Audit"]

_CONTRADICTED = "in the hard core: the same row has another label elsewhere"
_IN_THE_HARD_CORE = "in the hard core"
_AT_THE_CAP = "at the cap"


@dataclass(frozen=True, eq=False)
class Audit:
    """The rows of a data set with what an audit found about their labels.

    Attributes
    ----------
    given, suggested : ndarray of shape (n,)
        The label of each row, and the one that the model would give.
    probability : ndarray of shape (n,)
        That the given label is wrong; NaN for rows of weight 0, which are never listed.
    margin : ndarray of shape (n,)
        How much the model speaks for the given label (negative: against it), against its strongest rival; NaN for
        rows of weight 0.
    noise_rate : float
        The estimated share of wrong labels.
    contradicted : ndarray of shape (n,), bool
        Whether the same row occurs with another label: it is in the hard core, whatever the hypotheses are.
    at_cap : ndarray of shape (n,), bool
        Whether the soft margin of these margins, with nu the noise rate, gives the row all the weight that it may have:
        it is one of the rows that a soft margin gives up.
    status : str
        "ok", or that the labels carry no signal.
    hard_core : ndarray of shape (n,), bool
        The rows proved to be in the hard core: those that are `contradicted`, and where `audit` was asked for it all
        that no vote of stumps can put on their side without a loss elsewhere.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import audit
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> report = audit(X, y)
    >>> len(report.records(5)), report.find_label_issues().shape
    (5, (569,))
    """

    given: np.ndarray
    suggested: np.ndarray
    probability: np.ndarray
    margin: np.ndarray
    noise_rate: float
    contradicted: np.ndarray
    at_cap: np.ndarray
    status: str
    reasons: dict[int, list[tuple[str, float]]] = field(repr=False)
    """The features that speak most against the label, and how much; of the most suspicious rows only."""
    hard_core: np.ndarray

    @property
    def ranking(self) -> np.ndarray:
        """Row numbers, the most suspicious first; rows of weight 0 are left out."""
        order = np.lexsort((np.arange(len(self.margin)), self.margin, -self.probability))
        return order[~np.isnan(self.margin[order])]

    def with_hard_core(self, core: np.ndarray) -> Audit:
        """With the rows that a `diagnose` has proved to be in the hard core."""
        return replace(self, hard_core=self.contradicted | core)

    def find_label_issues(self, count: int | None = None, *, return_indices_ranked: bool = False) -> np.ndarray:
        """A mask of the rows to check, or their numbers, most suspicious first.

        By default rows that the model would label otherwise, as many as the noise rate suggests and all whose label is
        more probably wrong than right; `count` asks for that many of the most suspicious ones.
        """
        ranked = self.ranking
        expected = int(np.ceil(self.noise_rate * len(ranked))) if count is None else int(count)
        chosen = ranked[:expected]
        if count is None:
            likely = (self.probability[ranked] > 0.5) | (np.arange(len(ranked)) < expected)
            chosen = ranked[likely & (self.given != self.suggested)[ranked]]
        if return_indices_ranked:
            return chosen
        mask = np.zeros(len(self.given), dtype=bool)
        mask[chosen] = True
        return mask

    def why(self, row: int) -> str:
        """What speaks against the label of this row, in words; the features of the most suspicious rows only.

        "in the hard core": no vote of stumps gets it right without a loss elsewhere. "at the cap": the soft margin
        gives it all the weight that a row may have.
        """
        words = [", ".join(name for name, _ in self.reasons.get(int(row), []))]
        words.append(_CONTRADICTED if self.contradicted[row] else _IN_THE_HARD_CORE * bool(self.hard_core[row]))
        words.append(_AT_THE_CAP * bool(self.at_cap[row]))
        return "; ".join(filter(None, words))

    def records(self, count: int = 20) -> list[dict[str, Any]]:
        """The most suspicious rows as plain records."""
        return [
            {
                "row": int(i),
                "given": _plain(self.given[i]),
                "suggested": _plain(self.suggested[i]),
                "probability": float(self.probability[i]),
                "margin": float(self.margin[i]),
                "contradicted": bool(self.contradicted[i]),
                "at_cap": bool(self.at_cap[i]),
                "hard_core": bool(self.hard_core[i]),
                "against": ", ".join(name for name, _ in self.reasons.get(int(i), [])),
            }
            for i in self.ranking[:count]
        ]

    def to_frame(self, count: int = 20):
        """`records` as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(self.records(count))


def _plain(value):
    return value.item() if hasattr(value, "item") else value
