"""X turned round: operators on whole arrays are fastest where the values of a feature stand side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualboost.export.graph import Graph

__all__ = ["Columns", "add_columns"]

_CHEAPER = 8  # turning a number round, compared with choosing one


@dataclass(frozen=True, eq=False)
class Columns:
    """A table in the graph with one column of X a row."""

    name: str
    features: np.ndarray
    """Of its rows, ascending."""

    def take(self, graph: Graph, features: np.ndarray) -> str:
        """The rows of these features."""
        if np.array_equal(features, self.features):
            return self.name
        places = np.searchsorted(self.features, features)
        return graph.add("Gather", [self.name, graph.constant(places)], {"axis": 0})


def add_columns(graph: Graph, used: np.ndarray, n_features: int, X: str = "X") -> Columns:
    """The columns of X, or only the used ones where they are few."""
    few = len(used) * _CHEAPER < n_features
    if few:
        X = graph.add("Gather", [X, graph.constant(used.astype(np.int64))], {"axis": 1})
    return Columns(graph.add("Transpose", [X], {"perm": [1, 0]}), used if few else np.arange(n_features))
