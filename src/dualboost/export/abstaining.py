"""From which rows trees abstain: a value that was never missing before, a category that no tree knows.

Arrays know nothing of abstaining; such rows are found, and walked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dualboost.export.codes import add_codes
from dualboost.export.columns import add_columns
from dualboost.export.curves import Curve
from dualboost.export.graph import Graph
from dualboost.inspection.trees import ABSTAIN, PlainTrees

__all__ = ["Abstaining"]


@dataclass(frozen=True, eq=False)
class Abstaining:
    """What makes a tree of some votes abstain."""

    missing: np.ndarray
    """The columns where a missing value does."""
    unknown: list[Curve]
    """1 for the categories that do."""
    n_features: int

    @classmethod
    def of(cls, votes: Sequence[PlainTrees], n_features: int) -> Abstaining:
        missing = np.unique(np.concatenate([vote.feature[vote.abstains] for vote in votes])).astype(np.int64)
        return cls(missing, _unknown(votes), n_features)

    def anywhere(self, graph: Graph, many: str) -> str:
        """Whether a value is missing, or a category unknown and the rows many; no name where it cannot be."""
        found = []
        if len(self.missing):
            # NaN where one is; where infinities meet, too.
            total = graph.add("ReduceSum", [self._column_sums(graph)], {"keepdims": 0})
            found.append(graph.add("IsNaN", [total]))
        if self.unknown:
            looking = graph.branch()
            strangest = looking.add("ReduceMax", [self._codes(looking)], {"keepdims": 0})
            nothing = looking.constant(np.zeros(1, dtype=np.int32))
            found.append(graph.both(many, (looking, looking.add("Greater", [strangest, nothing]))))
        return graph.add("Or", found) if len(found) == 2 else "".join(found)

    def rows(self, graph: Graph) -> str:
        """Whether each row has a missing value or an unknown category."""
        found = []
        if len(self.missing):
            found.append(graph.add("IsNaN", [self._row_sums(graph)]))
        if self.unknown:
            strangest = graph.add("ReduceMax", [self._codes(graph), graph.constant(np.array([0]))], {"keepdims": 0})
            found.append(graph.add("Greater", [strangest, graph.constant(np.zeros(1, dtype=np.int32))]))
        return graph.add("Or", found) if len(found) == 2 else found[0]

    def _column_sums(self, graph: Graph) -> str:
        """NaN where a value of these columns is; if they are all, X itself says it."""
        if len(self.missing) == self.n_features:
            return "X"
        sums = graph.add("ReduceSum", ["X", graph.constant(np.array([0]))], {"keepdims": 0})
        return graph.add("Gather", [sums, graph.constant(self.missing)])

    def _row_sums(self, graph: Graph) -> str:
        X = "X"
        if len(self.missing) < self.n_features:
            X = graph.add("Gather", ["X", graph.constant(self.missing)], {"axis": 1})
        return graph.add("ReduceSum", [X, graph.constant(np.array([1]))], {"keepdims": 0})

    def _codes(self, graph: Graph) -> str:
        features = np.array([curve.feature for curve in self.unknown])
        return add_codes(graph, self.unknown, add_columns(graph, features, self.n_features))


def _unknown(votes: Sequence[PlainTrees]) -> list[Curve]:
    rules = [rule for vote in votes for rule in vote.rules if np.any(rule.sides == ABSTAIN)]
    curves = []
    for feature in sorted({rule.feature for rule in rules}):
        own = [rule for rule in rules if rule.feature == feature]
        cuts = np.unique(np.concatenate([rule.cuts for rule in own]))
        cuts = cuts[np.isfinite(cuts)]
        places = [*cuts, np.inf, np.nan]
        says = [rule.sides[np.searchsorted(rule.cuts, places)] == ABSTAIN for rule in own]
        values = np.any(says, axis=0).astype(np.int32)
        curves.append(Curve(feature, cuts, values[:-1], int(values[-1])))
    return curves
