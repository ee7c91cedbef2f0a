"""Where a missing value makes trees abstain. Arrays know nothing of abstaining; such rows are found, and walked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dualboost.export.graph import Graph
from dualboost.inspection.trees import ABSTAIN, PlainTrees

__all__ = ["Abstaining", "add_no_number"]


@dataclass(frozen=True, eq=False)
class Abstaining:
    """The columns of X where some tree abstains from a missing value."""

    features: np.ndarray
    n_features: int

    @classmethod
    def of(cls, votes: Sequence[PlainTrees], n_features: int) -> Abstaining:
        thresholds = [vote.feature[vote.abstains] for vote in votes]
        rules = [rule.feature for vote in votes for rule in vote.rules if rule.sides[-1] == ABSTAIN]
        return cls(np.unique(np.concatenate([*thresholds, rules])).astype(np.int64), n_features)

    def anywhere(self, graph: Graph) -> str:
        """Whether a value of these columns is missing."""
        if len(self.features) == self.n_features:
            return add_no_number(graph, "X")
        sums = graph.add("ReduceSum", ["X", graph.constant(np.array([0]))], {"keepdims": 1})
        return add_no_number(graph, graph.columns(sums, self.features))

    def rows(self, graph: Graph) -> str:
        """Whether each row has one."""
        X = "X"
        if len(self.features) < self.n_features:
            X = graph.columns("X", self.features)
        return graph.add("IsNaN", [graph.add("ReduceSum", [X, graph.constant(np.array([1]))], {"keepdims": 0})])


def add_no_number(graph: Graph, values: str) -> str:
    """Whether one of these is NaN, or infinities meet."""
    return graph.add("IsNaN", [graph.add("ReduceSum", [values], {"keepdims": 0})])
