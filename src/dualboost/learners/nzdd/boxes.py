"""Rules whose edges test boxes, and the paths of a graph that the user draws as such rules."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from dualboost.learners.base import Predictor
from dualboost.learners.nzdd.diagram import Diagram
from dualboost.learners.nzdd.rules import BoundRules, Rules, as_dense

__all__ = ["Box", "BoxRules", "BoxScores", "Paths"]

Box = tuple[tuple[int, float, float], ...]  # (feature, low, high): low < x <= high, for every entry
_NEGLIGIBLE = 1e-18  # a flow that no score of a million boxes would show


@dataclass(frozen=True)
class Paths(Rules):
    """The paths of a graph that you draw: each edge captures the rows in a box, or none.

    Parameters
    ----------
    edges : sequence of (from, to, box)
        A box is a sequence of (feature, low, high), all of which must hold: low < x <= high; or None, which captures no
        row. Along a path no row may be captured twice. One root, one leaf.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.learners.nzdd import Paths
    >>> warm, late = [(0, 20, np.inf)], [(0, -np.inf, 20), (1, 12, np.inf)]
    >>> rules = Paths([("in", "mid", warm), ("in", "mid", None), ("mid", "out", late), ("mid", "out", None)])
    >>> diagram = rules.bind(np.array([[25.0, 9.0], [10.0, 15.0], [10.0, 9.0]])).diagram
    >>> [sorted(diagram.set_of(path)) for path in diagram.paths()]
    [[0, 1], [0], [1], []]
    """

    edges: Sequence[tuple[Hashable, Hashable, Sequence | None]]

    def bind(self, X) -> BoxRules:
        X = as_dense(X)
        boxes = [None if box is None else _checked_box(box, X.shape[1]) for _, _, box in self.edges]
        captured = [np.empty(0, dtype=np.int64) if b is None else np.flatnonzero(_inside(X, b)) for b in boxes]
        drawn = [(tail, head, rows.tolist()) for (tail, head, _), rows in zip(self.edges, captured, strict=True)]
        diagram, order = Diagram.of_edges_ordered(drawn, len(X))
        return BoxRules(diagram, tuple(boxes[e] for e in order))


def _checked_box(box: Sequence, n_features: int) -> Box:
    try:
        held = tuple((int(f), float(low), float(high)) for f, low, high in box)
    except (TypeError, ValueError) as error:
        raise ValueError(f"A box is a sequence of (feature, low, high), not {box!r}.") from error
    for f, _, _ in held:
        if not 0 <= f < n_features:
            raise ValueError(f"A box tests feature {f}, but X has the features 0 to {n_features - 1}.")
    return held


def _inside(X: np.ndarray, box: Box) -> np.ndarray:
    inside = np.ones(len(X), dtype=bool)
    for f, low, high in box:
        inside &= (X[:, f] > low) & (X[:, f] <= high)  # false for a missing value
    return inside


@dataclass(frozen=True, eq=False)
class BoxRules(BoundRules):
    """A diagram whose edges test boxes; None tests nothing."""

    boxes: tuple[Box | None, ...]

    def predictor(self, flow: np.ndarray, total: float) -> BoxScores:
        used = [e for e in np.flatnonzero(np.abs(flow) > _NEGLIGIBLE) if self.boxes[e] is not None]
        return BoxScores(-total, tuple(self.boxes[e] or () for e in used), 2 * flow[used])


@dataclass(frozen=True, eq=False)
class BoxScores(Predictor):
    """A sum of weighted boxes."""

    base: float
    boxes: tuple[Box, ...]
    weights: np.ndarray

    def scores(self, X, threads: int = 1) -> np.ndarray:
        X = as_dense(X)
        out = np.full(len(X), self.base)
        for box, weight in zip(self.boxes, self.weights, strict=True):
            out[_inside(X, box)] += weight
        return out

    def importances(self, n_features: int) -> np.ndarray:
        share = np.zeros(n_features)
        for box, weight in zip(self.boxes, self.weights, strict=True):
            for f, _, _ in box:
                share[f] += abs(weight) / len(box)
        return share / max(share.sum(), np.finfo(np.float64).tiny)
