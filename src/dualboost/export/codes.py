"""The cells of step functions with whole numbers for values: one number for each value of X, exactly.

Most columns fit the grids of `lookup`; those that resist are searched, the same halving for all rows at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dualboost.export.columns import Columns
from dualboost.export.curves import Curve
from dualboost.export.graph import INT32, Graph
from dualboost.export.lookup import lookups

__all__ = ["add_codes"]


def add_codes(graph: Graph, curves: Sequence[Curve], columns: Columns) -> str:
    """What each of these says of X: 32-bit numbers, a row a curve, in some order."""
    rows = []
    for lost in (False, True):
        tables, resisting = lookups([curve for curve in curves if curve.lost == lost])
        rows += [table.each(graph, columns) for table in tables]
        rows += [_searched(graph, resisting, columns)] if resisting else []
    return rows[0] if len(rows) == 1 else graph.add("Concat", rows, {"axis": 0})


def _searched(graph: Graph, curves: Sequence[Curve], columns: Columns) -> str:
    """A halving search among the cuts of each column, as many as a power of two less one."""
    half = 1 << (max(len(curve.cuts) for curve in curves).bit_length() - 1)
    cuts, values = _tables(curves, 2 * half)
    x = columns.take(graph, np.array([curve.feature for curve in curves]))
    at = _above(graph, graph.constant(cuts[:, [half - 1]]), x, half)
    while half := half // 2:
        middle = graph.add("Add", [at, _number(graph, half - 1)])
        cut = graph.add("GatherElements", [graph.constant(cuts), middle], {"axis": 1})
        at = graph.add("Add", [at, _above(graph, cut, x, half)])
    at = graph.add("Where", [graph.add("IsNaN", [x]), _number(graph, values.shape[1] - 1), at])
    return graph.add("GatherElements", [graph.constant(values), at], {"axis": 1})


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
