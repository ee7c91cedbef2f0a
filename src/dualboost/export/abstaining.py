"""From which rows trees abstain: a value that was never missing before, a category that no tree knows.

Arrays know nothing of abstaining; such rows are found, and walked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from dualboost.export.codes import add_values
from dualboost.export.columns import add_columns
from dualboost.export.curves import Curve, finite_cuts
from dualboost.export.graph import INT32, Graph
from dualboost.inspection.trees import ABSTAIN, PlainTrees

__all__ = ["Abstaining"]


@dataclass(frozen=True)
class Interval:
    """low < x <= high of a feature."""

    feature: int
    low: float
    high: float
    missing: bool
    """Whether a missing value counts as inside."""


@dataclass(frozen=True, eq=False)
class Abstaining:
    """What makes a tree of some votes abstain."""

    missing: np.ndarray
    """The columns where a missing value does."""
    outside: list[Interval]
    """Where the categories that do not have no gap..."""
    unknown: list[Curve]
    """...and elsewhere: 1 for the categories that do."""
    n_features: int

    @classmethod
    def of(cls, votes: Sequence[PlainTrees], n_features: int) -> Abstaining:
        missing = np.unique(np.concatenate([vote.feature[vote.abstains] for vote in votes])).astype(np.int64)
        curves = _unknown(votes)
        intervals = [_interval(curve) for curve in curves]
        unknown = [curve for curve, interval in zip(curves, intervals, strict=True) if not interval]
        return cls(missing, [interval for interval in intervals if interval], unknown, n_features)

    def anywhere(self, graph: Graph, many: Callable[[Graph], str]) -> str:
        """Whether some tree may abstain from some row: where rows are few only from a missing value.

        No name where it cannot be.
        """
        found = []
        if len(self.missing):
            # NaN where one is; where infinities meet, too.
            total = graph.add("ReduceSum", [self._column_sums(graph)], {"keepdims": 0})
            found.append(graph.add("IsNaN", [total]))
        if self.unknown or self.outside:
            looking = graph.branch()
            found.append(graph.both(many(graph), (looking, _any(looking, self._strange(looking)))))
        return _any(graph, found) if found else ""

    def rows(self, graph: Graph) -> str:
        """Whether each row has a missing value or an unknown category."""
        found = []
        if len(self.missing):
            found.append(graph.add("IsNaN", [self._row_sums(graph)]))
        if self.outside:
            found.append(self._beyond(graph))
        if self.unknown:
            strangest = graph.add("ReduceMax", [self._codes(graph), graph.constant(np.array([0]))], {"keepdims": 0})
            found.append(graph.add("Greater", [strangest, graph.constant(np.zeros(1, dtype=np.int32))]))
        return _any(graph, found)

    def _strange(self, graph: Graph) -> list[str]:
        """Whether a category is unknown; perhaps, where one is missing."""
        found = []
        if self.outside:
            low, high = (
                graph.constant(np.array([getattr(own, end) for own in self.outside])) for end in ("low", "high")
            )
            features = np.array([interval.feature for interval in self.outside])
            # A smallest number among missing values could be any: their sum tells whether there are some.
            least, most, total = (
                graph.add("Gather", [_over_rows(graph, operator), graph.constant(features)])
                for operator in ("ReduceMin", "ReduceMax", "ReduceSum")
            )
            inside = graph.add("And", [graph.add("Less", [low, least]), graph.add("LessOrEqual", [most, high])])
            strange = graph.add("Or", [graph.add("Not", [inside]), graph.add("IsNaN", [total])])
            found.append(_positive(graph, graph.add("Cast", [strange], {"to": INT32})))
        return [*found, _positive(graph, self._codes(graph))] if self.unknown else found

    def _beyond(self, graph: Graph) -> str:
        """The rows that are outside of an interval."""
        features = np.array([interval.feature for interval in self.outside])
        x = graph.add("Gather", ["X", graph.constant(features)], {"axis": 1})
        low, high = (graph.constant(np.array([getattr(own, end) for own in self.outside])) for end in ("low", "high"))
        inside = graph.add("And", [graph.add("Less", [low, x]), graph.add("LessOrEqual", [x, high])])
        allowed = graph.constant(np.array([interval.missing for interval in self.outside]))
        inside = graph.add("Or", [inside, graph.add("And", [graph.add("IsNaN", [x]), allowed])])
        least = graph.add(
            "ReduceMin", [graph.add("Cast", [inside], {"to": INT32}), graph.constant(np.array([1]))], {"keepdims": 0}
        )
        return graph.add("Less", [least, graph.constant(np.ones(1, dtype=np.int32))])

    def _column_sums(self, graph: Graph) -> str:
        """NaN where a value of these columns is; if they are all, X itself says it."""
        if len(self.missing) == self.n_features:
            return "X"
        return graph.add("Gather", [_over_rows(graph, "ReduceSum"), graph.constant(self.missing)])

    def _row_sums(self, graph: Graph) -> str:
        X = "X"
        if len(self.missing) < self.n_features:
            X = graph.add("Gather", ["X", graph.constant(self.missing)], {"axis": 1})
        return graph.add("ReduceSum", [X, graph.constant(np.array([1]))], {"keepdims": 0})

    def _codes(self, graph: Graph) -> str:
        features = np.array([curve.feature for curve in self.unknown])
        return add_values(graph, self.unknown, add_columns(graph, features, self.n_features))


def _any(graph: Graph, conditions: Sequence[str]) -> str:
    return reduce(lambda one, other: graph.add("Or", [one, other]), conditions)


def _over_rows(graph: Graph, operator: str) -> str:
    return graph.add(operator, ["X", graph.constant(np.array([0]))], {"keepdims": 0})


def _positive(graph: Graph, numbers: str) -> str:
    """Whether any of these is, as one truth value in a line."""
    largest = graph.add("ReduceMax", [numbers], {"keepdims": 0})
    return graph.add("Greater", [largest, graph.constant(np.zeros(1, dtype=np.int32))])


def _interval(curve: Curve) -> Interval | None:
    """Where a curve is 0, if that is one interval with two ends."""
    strange = curve.values > 0
    first, last = np.flatnonzero(~strange)[[0, -1]] if not strange.all() else (0, -1)
    if not 0 < first <= last < len(strange) - 1 or strange[first : last + 1].any():
        return None
    return Interval(curve.feature, float(curve.cuts[first - 1]), float(curve.cuts[last]), not curve.missing)


def _unknown(votes: Sequence[PlainTrees]) -> list[Curve]:
    rules = [rule for vote in votes for rule in vote.rules if np.any(rule.sides == ABSTAIN)]
    curves = []
    for feature in sorted({rule.feature for rule in rules}):
        own = [rule for rule in rules if rule.feature == feature]
        cuts = finite_cuts(rule.cuts for rule in own)
        places = [*cuts, np.inf, np.nan]
        says = [rule.of(places) == ABSTAIN for rule in own]
        values = np.any(says, axis=0).astype(np.int32)
        curves.append(Curve(feature, cuts, values[:-1], int(values[-1])))
    return curves
