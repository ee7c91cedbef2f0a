"""Where the values of X lie among the cuts of step functions, exactly.

Most columns fit the grids of `lookup`; those that resist are searched, the same halving for all rows at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dualboost.export.columns import Columns
from dualboost.export.curves import Curve
from dualboost.export.graph import INT32, Graph
from dualboost.export.lookup import lookups

__all__ = ["Steps", "add_steps"]


class Steps(NamedTuple):
    """Of some step functions, where their values stand."""

    features: np.ndarray
    """Whose they are; -1 for functions of no interest."""
    at: str
    """The place of each row of X, a row a function: 32-bit numbers."""
    values: np.ndarray
    """By place, a row a function."""

    @property
    def own(self) -> list[tuple[int, int, np.ndarray]]:
        """Of each function of interest: its row, its feature, its values."""
        rows = np.flatnonzero(self.features >= 0).tolist()
        return [(row, int(self.features[row]), self.values[row]) for row in rows]

    def part(self, graph: Graph, rows: np.ndarray) -> Steps:
        """Only some of the functions, or some of them several times."""
        if np.array_equal(rows, np.arange(len(self.features))):
            return self
        at = graph.add("Gather", [self.at, graph.constant(rows)], {"axis": 0})
        return Steps(self.features[rows], at, self.values[rows])

    def add_found(self, graph: Graph, values: np.ndarray) -> str:
        """What stands in the places of these values."""
        return graph.add("GatherElements", [graph.constant(values), self.at], {"axis": 1})


def add_steps(graph: Graph, curves: Sequence[Curve], columns: Columns) -> list[Steps]:
    """All of these, in parts."""
    tables, resisting = lookups(curves)
    parts = [Steps(_once(table.features), table.add_steps(graph, columns), table.values) for table in tables]
    return [*parts, _searched(graph, resisting, columns)] if resisting else parts


def _once(features: np.ndarray) -> np.ndarray:
    """The features, each where it comes first, and -1 elsewhere."""
    once = np.full(len(features), -1)
    _, first = np.unique(features, return_index=True)
    once[first] = features[first]
    return once


def _searched(graph: Graph, curves: Sequence[Curve], columns: Columns) -> Steps:
    """A halving search among the cuts of each column, as many as a power of two less one."""
    half = 1 << (max(len(curve.cuts) for curve in curves).bit_length() - 1)
    cuts, values = _tables(curves, 2 * half)
    features = np.array([curve.feature for curve in curves])
    x = columns.take(graph, features)
    at = _above(graph, graph.constant(cuts[:, [half - 1]]), x, half)
    while half := half // 2:
        middle = graph.add("Add", [at, _number(graph, half - 1)])
        cut = graph.add("GatherElements", [graph.constant(cuts), middle], {"axis": 1})
        at = graph.add("Add", [at, _above(graph, cut, x, half)])
    at = graph.add("Where", [graph.add("IsNaN", [x]), _number(graph, values.shape[1] - 1), at])
    return Steps(features, at, values)


def _tables(curves: Sequence[Curve], size: int) -> tuple[np.ndarray, np.ndarray]:
    """The cuts of each curve, infinity after the last, and its values, the last one for NaN."""
    cuts = np.full((len(curves), size), np.inf)
    values = np.empty((len(curves), size + 1), dtype=np.int32)
    for u, curve in enumerate(curves):
        cuts[u, : len(curve.cuts)] = curve.cuts
        values[u] = curve.values[np.minimum(np.arange(size + 1), len(curve.cuts))]
        values[u, -1] = curve.missing
    return cuts, values


def _number(graph: Graph, value: int) -> str:
    return graph.constant(np.array(value, dtype=np.int32))


def _above(graph: Graph, cut: str, x: str, many: int) -> str:
    above = graph.add("Cast", [graph.add("Less", [cut, x])], {"to": INT32})
    return graph.add("Mul", [above, _number(graph, many)])
