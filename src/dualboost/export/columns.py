"""X turned round: operators on whole arrays are fastest where the values of a feature stand side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualboost.export.graph import Graph

__all__ = ["BEYOND", "Columns", "add_beyond", "add_columns"]

_CHEAPER = 3  # turning a number round, compared with choosing one
BEYOND = 8  # rows more than X has: turning takes ten times as long where columns lie a power of two apart


@dataclass(frozen=True, eq=False)
class Columns:
    """A table in the graph with one column of X a row."""

    name: str
    features: np.ndarray
    """Of its rows, ascending."""
    more: int = 0
    """Entries of each, after one for every row of X that counts."""

    def take(self, graph: Graph, features: np.ndarray) -> str:
        """The rows of these features."""
        if np.array_equal(features, self.features):
            return self.name
        places = np.searchsorted(self.features, features)
        return graph.add("Gather", [self.name, graph.constant(places)], {"axis": 0})

    def trimmed(self, graph: Graph) -> Columns:
        """The same without entries that are more."""
        return Columns(self.cut(graph, self.name), self.features)

    def cut(self, graph: Graph, name: str) -> str:
        """A result for each entry, without those that are more."""
        if not self.more:
            return name
        return graph.add("Slice", [name, *(graph.constant(np.array([number])) for number in (0, -self.more, 1))])


def add_columns(graph: Graph, used: np.ndarray, n_features: int, X: str = "X", padding: str = "") -> Columns:
    """The columns of X, or only the used ones where they are few; a padding has BEYOND rows that are more."""
    few = len(used) * _CHEAPER < n_features
    if few:
        X = graph.columns(X, used)
    if padding:
        X = graph.add("Pad", [X, padding])
    turned = graph.add("Transpose", [X], {"perm": [1, 0]})
    return Columns(turned, used if few else np.arange(n_features), BEYOND if padding else 0)


def add_beyond(graph: Graph) -> str:
    """A padding that keeps the columns of X from lying a power of two apart."""
    return graph.constant(np.array([0, 0, BEYOND, 0]))
