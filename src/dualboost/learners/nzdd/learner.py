"""The paths of a diagram as hypotheses: far more than could be listed, averaged by two passes over the edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dualboost.cutting import check_cut
from dualboost.learners.averaging import Averaging, Mixture
from dualboost.learners.base import Answer, Hypothesis, Learner, Predictor
from dualboost.learners.nzdd.diagram import Diagram
from dualboost.learners.nzdd.rules import BoundRules, Rules
from dualboost.learners.nzdd.weighting import edge_sums, extreme_sums, first_path, label_flows, push
from dualboost.products import times
from dualboost.rows import Rows

__all__ = ["NZDD", "NZDDOracle"]

_TIE = 1e-12
_ROUNDING = np.finfo(np.float64).eps


@dataclass(frozen=True)
class NZDD(Learner):
    """Rules, represented by a diagram over the training rows: each path is a hypothesis, +1 on the rows it captures.

    Parameters
    ----------
    rules : Rules or Diagram
        `Conjunctions(k)`, `Intervals()`, `Thresholds()` or `Paths(edges)`; or a diagram whose labels are the numbers of
        the training rows, which can be boosted but cannot score new rows.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.learners import NZDD
    >>> from dualboost.learners.nzdd import Conjunctions
    >>> from dualboost.rows import Rows
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> y = np.array([-1, -1, -1, 1], dtype=np.int8)  # x_0 and x_1
    >>> oracle = NZDD(Conjunctions(2)).bind(X, y, Rows.of(4))
    >>> float(abs(oracle.best(np.full(4, 0.25)).edges[0]))
    1.0
    """

    rules: Rules | Diagram

    def __post_init__(self):
        if not isinstance(self.rules, (Rules, Diagram)):
            raise ValueError(f"NZDD takes rules such as Conjunctions(2), or a Diagram, not {self.rules!r}.")

    def bind(self, X, y: np.ndarray | None, rows: Rows) -> NZDDOracle:
        if y is None:
            raise ValueError("NZDD needs labels: bind(X, y, rows) with a y of +1 and -1.")
        rules = self.rules if isinstance(self.rules, Diagram) else self.rules.bind(X)
        diagram = rules if isinstance(rules, Diagram) else rules.diagram
        if diagram.n_labels != len(rows):
            raise ValueError(f"The diagram has {diagram.n_labels} labels, but there are {len(rows)} rows.")
        return NZDDOracle(rules, np.asarray(y, dtype=np.int8), rows)


class NZDDOracle(Averaging):
    """A diagram with labels. A hypothesis is a path, or the net flow of a mixture; an ensemble is a flow."""

    def __init__(self, rules: BoundRules | Diagram, y: np.ndarray, rows: Rows):
        self.rules, self.y, self.rows = rules, y, rows
        self.diagram = rules if isinstance(rules, Diagram) else rules.diagram
        everything = push(self.diagram, np.zeros(self.diagram.n_edges), 0.0)
        self.log_size = float(everything.total[0] + np.log(2))

    def best(self, d: np.ndarray, k: int = 1) -> Answer:
        """The best path through each of the k best first edges."""
        if not self.diagram.n_edges:
            return self._answer([()], d, abs(float(d @ self.y)))
        sums, all_rows = self._sums(d)
        extremes = extreme_sums(self.diagram, sums)
        first = np.arange(self.diagram.start[1])
        head = self.diagram.head[first]
        low, high = (sums[first] + extreme.take(head) for extreme in extremes)
        peaks = np.maximum(np.abs(2 * low - all_rows), np.abs(2 * high - all_rows))
        top, paths = float(peaks.max()), []
        for _ in range(min(k, len(first))):
            floor = peaks.max() - _TIE
            e = int(np.argmax(peaks >= floor))
            peaks[e] = -np.inf
            check_cut()
            paths.append(first_path(self.diagram, sums, extremes, e, ((all_rows - floor) / 2, (all_rows + floor) / 2)))
        return self._answer(paths, d, top)

    def _answer(self, paths: list, d: np.ndarray, top: float) -> Answer:
        columns = []
        for path in paths:
            check_cut()
            columns.append(self.column(path))
        return Answer(paths, columns, np.array([float(column @ d) for column in columns]), self._bound(top, d))

    def average(self, d: np.ndarray, eta: float) -> tuple[Answer, float]:
        sums, all_rows = self._sums(d)
        J, values = self._softmax(sums, all_rows, eta)
        mixture = Mixture(values)
        column = self.column(mixture)
        low, high = (extreme[0] for extreme in extreme_sums(self.diagram, sums))
        top = max(abs(2 * low - all_rows), abs(2 * high - all_rows))
        return Answer([mixture], [column], np.array([column @ d]), self._bound(top, d)), J

    def slope(self, d: np.ndarray, ahead: np.ndarray, behind: np.ndarray, eta: float) -> Callable[[float], float]:
        """Four passes over the edges a trial; no row is visited."""
        (at, t), (front, f), (back, b) = (self._sums(weights) for weights in (d, ahead, behind))
        change, shift = front - back, f - b

        def slope(step: float) -> float:
            _, values = self._softmax(at + step * change, t + step * shift, eta)
            return float(2 * values[:-1] @ change - values[-1] * shift)

        return slope

    def level(self, d: np.ndarray, ahead: np.ndarray, behind: np.ndarray, eta: float) -> Callable[[float], float]:
        (at, t), (front, f), (back, b) = (self._sums(weights) for weights in (d, ahead, behind))
        return lambda step: self._softmax(at + step * (front - back), t + step * (f - b), eta)[0]

    def _softmax(self, sums: np.ndarray, all_rows: float, eta: float) -> tuple[float, np.ndarray]:
        """J, and the net flow on each edge, its total last: a diagram of one node has a path and no edges."""
        right, wrong = (push(self.diagram, sums, sign * 2 * eta) for sign in (1, -1))
        logs = np.array([right.total[0] - eta * all_rows, wrong.total[0] + eta * all_rows])
        shares = np.exp(logs - logs.max())
        J = float(logs.max() + np.log(shares.sum())) / eta
        shares /= shares.sum()
        return J, np.append(shares[0] * right.flow - shares[1] * wrong.flow, shares[0] - shares[1])

    def _sums(self, d: np.ndarray) -> tuple[np.ndarray, float]:
        """The sum of y d over the rows of each edge, and over all rows."""
        signed = times(self.y, d)
        return edge_sums(self.diagram, signed), float(signed.sum())

    def _bound(self, top: float, d: np.ndarray) -> float:
        # A path's sum is made of at most m products and as many sums of edges.
        return float(top + 4 * len(d) * _ROUNDING * float(d.sum()))

    def column(self, hypothesis: Hypothesis) -> np.ndarray:
        """y_i h(x_i): int8 of a path, float of a mixture."""
        if isinstance(hypothesis, Mixture):
            return self._margins(hypothesis.values)
        out = -self.y
        for edge in hypothesis:
            captured = self.diagram.labels_of(edge).astype(np.intp)
            out[captured] = self.y[captured]
        return out

    def _margins(self, values: np.ndarray) -> np.ndarray:
        return times(self.y, 2 * label_flows(self.diagram, values[:-1]) - values[-1])

    def _spread(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> np.ndarray:
        """The ensemble as one flow on the edges, its total last."""
        values = np.zeros(self.diagram.n_edges + 1)
        for hypothesis, weight in zip(hypotheses, w, strict=True):
            if isinstance(hypothesis, Mixture):
                values += weight * hypothesis.values
            else:
                values[[*hypothesis, -1]] += weight
        return values

    def margins(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> np.ndarray:
        return self._margins(self._spread(hypotheses, w))

    def predictor(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> Predictor:
        if isinstance(self.rules, Diagram):
            raise ValueError("A diagram over training rows cannot score new ones: use rules, such as Conjunctions(2).")
        values = self._spread(hypotheses, w)
        return self.rules.predictor(values[:-1], float(values[-1]))

    def forget(self) -> None:
        """Nothing is kept."""
