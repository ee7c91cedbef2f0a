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

__all__ = ["Steps", "add_steps", "add_values"]

_IDLE = 4  # columns, of which one may be idle


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
    tables, resisting = lookups(_with_idle(curves, columns))
    parts = []
    for table in tables:
        features = _once(table.features, [curve.feature for curve in curves])
        if np.any(features >= 0):
            parts.append(Steps(features, table.add_steps(graph, columns), table.values))
    return [*parts, _searched(graph, resisting, columns)] if resisting else parts


def _with_idle(curves: Sequence[Curve], columns: Columns) -> list[Curve]:
    """Where few columns are idle, they get a curve too: working them out costs less than leaving them out."""
    idle = np.setdiff1d(columns.features, [curve.feature for curve in curves])
    if len(idle) * _IDLE > len(columns.features):
        return list(curves)
    nothing = [Curve(feature, np.empty(0), np.zeros(1, dtype=np.int32), 0, False) for feature in idle.tolist()]
    return sorted([*curves, *nothing], key=lambda curve: curve.feature)


def _once(features: np.ndarray, asked: Sequence[int]) -> np.ndarray:
    """The features that are asked for, where they come first, and -1."""
    known, first = np.unique(features, return_index=True)
    first = first[np.isin(known, asked)]
    once = np.full(len(features), -1)
    once[first] = features[first]
    return once


def add_values(graph: Graph, curves: Sequence[Curve], columns: Columns) -> str:
    """What each of these says of X, a row each, in some order."""
    rows = [steps.add_found(graph, steps.values) for steps in add_steps(graph, curves, columns)]
    return graph.stacked(rows)


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
