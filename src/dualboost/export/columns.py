"""X turned round: operators on whole arrays are fastest where the values of a feature stand side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualboost.export.graph import Graph

__all__ = ["BEYOND", "Columns", "add_columns", "without_more"]

_CHEAPER = 3  # turning a number round, compared with choosing one
BEYOND = 8  # rows more than X has: turning takes ten times as long where columns lie a power of two apart


@dataclass(frozen=True, eq=False)
class Columns:
    """A table in the graph with one column of X a row, and more entries than X has rows."""

    name: str
    features: np.ndarray
    """Of its rows, ascending."""

    def take(self, graph: Graph, features: np.ndarray) -> str:
        """The rows of these features."""
        if np.array_equal(features, self.features):
            return self.name
        places = np.searchsorted(self.features, features)
        return graph.add("Gather", [self.name, graph.constant(places)], {"axis": 0})


def add_columns(graph: Graph, used: np.ndarray, n_features: int, X: str = "X", padding: str = "") -> Columns:
    """The columns of X, or only the used ones where they are few, longer by BEYOND or by a padding of X."""
    few = len(used) * _CHEAPER < n_features
    if few:
        X = graph.columns(X, used)
    longer = graph.add("Pad", [X, padding or graph.constant(np.array([0, 0, BEYOND, 0]))])
    return Columns(graph.add("Transpose", [longer], {"perm": [1, 0]}), used if few else np.arange(n_features))


def without_more(graph: Graph, name: str, axis: int) -> str:
    """A result without its last BEYOND entries."""
    return graph.add("Slice", [name, *(graph.constant(np.array([number])) for number in (0, -BEYOND, axis))])
