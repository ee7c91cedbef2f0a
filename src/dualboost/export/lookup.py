"""Step functions of many features at once, with operators that work on whole arrays.

onnxruntime walks its trees row by row, and half of the turns come as a surprise to the processor. Here each feature's
range is a grid of cells with at most two cuts in one: a multiplication finds the cell, comparisons with its cuts the
step, a table the value. Cell and step are exact: the cell of a number never decreases with it, for every operation on
the way is correctly rounded, and the cuts went the same way. Where equal cells do not part the cuts, as those of a
feature with long tails, fourth roots of the distance from the densest place may; features that resist are left to the
trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dualboost.export.columns import Columns
from dualboost.export.curves import Curve
from dualboost.export.graph import INT32, Graph

__all__ = ["Lookup", "add_curves", "lookups"]

_CELLS = (1, 16, 64, 256, 512, 1024)
_PROBES = 2
_WIDEST = 256  # features in one array: what a batch of rows takes in memory


@dataclass(frozen=True, eq=False)
class Lookup:
    """Tables for some features, one a row."""

    features: np.ndarray
    lost: bool
    """Whether values can be missing."""
    rooted: bool
    centre: np.ndarray
    """Taken from the value..."""
    low: np.ndarray
    scale: np.ndarray
    """...of which, or of whose signed fourth root, (value - low) * scale is the cell."""
    cuts: np.ndarray
    """cuts[p, u] has the p-th cut of each cell of a feature, infinity where there is none; the last is for NaN."""
    values: np.ndarray
    """Of each feature, those of all cells below their cuts, then those above the first, then above the second. With
    one cut in a cell: what is above it is below that of the next cell, which has its place already."""

    def add(self, graph: Graph, columns: Columns) -> str:
        """The sum over the features, one row."""
        found = self._gathered(graph, self.values, self.add_steps(graph, columns))
        return graph.add("ReduceSum", [found, graph.constant(np.array([0]))], {"keepdims": 1})

    def add_steps(self, graph: Graph, columns: Columns) -> str:
        """Where among its values each feature is, a row each."""
        x = columns.take(graph, self.features)
        step = cell = self._cell(graph, x)
        for cuts in self.cuts:
            above = graph.add("Less", [self._gathered(graph, cuts, cell), x])
            if len(self.cuts) == 1:
                further = graph.add("Cast", [above], {"to": INT32})
            else:
                places = (graph.constant(np.array(n, dtype=np.int32)) for n in (self.cuts.shape[2], 0))
                further = graph.add("Where", [above, *places])
            step = graph.add("Add", [step, further])
        return step

    @staticmethod
    def _gathered(graph: Graph, table: np.ndarray, at: str) -> str:
        return graph.add("GatherElements", [graph.constant(table), at], {"axis": 1})

    def _cell(self, graph: Graph, x: str) -> str:
        def column(values: np.ndarray) -> str:
            return graph.constant(values[:, None])

        place = graph.add("Sub", [x, column(self.centre)])
        if self.rooted:
            root = graph.add("Sqrt", [graph.add("Sqrt", [graph.add("Abs", [place])])])
            place = graph.add("Sub", [graph.add("Mul", [graph.add("Sign", [place]), root]), column(self.low)])
        place = graph.add("Mul", [place, column(self.scale)])
        missing = self.cuts.shape[2] - 1
        ends = graph.constant(np.zeros(())), graph.constant(np.array(missing - 2.0))
        cell = graph.add("Cast", [graph.add("Clip", [place, *ends])], {"to": INT32})
        if not self.lost:
            return cell
        return graph.add("Where", [graph.add("IsNaN", [x]), graph.constant(np.array(missing, dtype=np.int32)), cell])


def add_curves(graph: Graph, votes: Sequence[Sequence[Lookup]], columns: Columns) -> str:
    """The sums of each vote's tables, a column each."""
    nothing = [_lookup([Curve(0, np.empty(0), np.zeros(1), 0.0)], False)]
    rows = [graph.sum([table.add(graph, columns) for table in own or nothing]) for own in votes]
    joined = columns.cut(graph, graph.stacked(rows))
    return graph.add("Transpose", [joined], {"perm": [1, 0]})


def lookups(curves: Sequence[Curve]) -> tuple[list[Lookup], list[Curve]]:
    """(tables for as many of these as possible, the others)."""
    tables: list[Lookup] = []
    left = list(curves)
    for rooted in (False, True):
        fits = [_probes(curve, _CELLS[-1], rooted) <= _PROBES for curve in left]
        fitting = [curve for curve, fit in zip(left, fits, strict=True) if fit]
        left = [curve for curve, fit in zip(left, fits, strict=True) if not fit]
        starts = range(0, len(fitting), _WIDEST)
        tables += [_lookup(fitting[first : first + _WIDEST], rooted) for first in starts]
    return tables, left


def _lookup(curves: list[Curve], rooted: bool) -> Lookup:
    if len(curves) == 1:
        # onnxruntime leaves out the subtraction of one small number and the product with one number near 1.
        curves = [*curves, replace(curves[0], cuts=np.empty(0), values=0 * curves[0].values[:1], missing=0)]
    sizes = [(max(_probes(curve, cells, rooted) for curve in curves), cells) for cells in _CELLS]
    probes, cells = min(sizes)  # a second probe costs more than a larger table
    cuts = np.full((probes, len(curves), cells + 2), np.inf)  # a place after the last cell, and one for NaN
    values = np.empty((len(curves), probes + 1, cells + 2), dtype=curves[0].values.dtype)
    for u, curve in enumerate(curves):
        cell = _cells(curve, cells, rooted)
        first = np.searchsorted(cell, np.arange(cells + 1))
        cuts[np.arange(len(cell)) - first[cell], u, cell] = curve.cuts
        steps = first + np.arange(probes + 1)[:, None]  # beyond a cell's own cuts it is never asked
        values[u, :, :-1] = curve.values[np.minimum(steps, len(curve.cuts))]
        values[u, :, -1] = curve.missing
    centre, low, scale = np.array([_frame(curve, cells, rooted) for curve in curves]).T
    features = np.array([curve.feature for curve in curves])
    lost = any(curve.lost for curve in curves)
    values = values[:, 0] if probes == 1 else values.reshape(len(curves), -1)
    return Lookup(features, lost, rooted, centre, low, scale, cuts, values)


def _probes(curve: Curve, cells: int, rooted: bool) -> int:
    """The largest number of cuts in a cell; more than can be where the grid has no size."""
    if not len(curve.cuts):
        return 0
    if not 0 < _frame(curve, cells, rooted)[2] < np.inf:
        return _PROBES + 1
    return int(np.bincount(_cells(curve, cells, rooted)).max())


def _cells(curve: Curve, cells: int, rooted: bool) -> np.ndarray:
    """The cell of each cut, by the same operations as in the graph."""
    centre, low, scale = _frame(curve, cells, rooted)
    place = curve.cuts - centre
    if rooted:
        place = _signed_root(place) - low
    return np.clip(place * scale, 0.0, cells - 1.0).astype(np.int32)


def _frame(curve: Curve, cells: int, rooted: bool) -> tuple[float, float, float]:
    """centre, low and scale."""
    cuts = curve.cuts
    if len(cuts) < 2:
        return float(cuts[0]) if len(cuts) else 0.0, 0.0, 1.0
    with np.errstate(over="ignore"):
        if not rooted:
            return float(cuts[0]), 0.0, float((cells - 1) / (cuts[-1] - cuts[0])) if cells > 1 else 1.0
        centre = float(cuts[np.argmin(np.diff(cuts))])
        ends = cuts[[0, -1]] - centre
        low, high = _signed_root(ends)
        return centre, float(low), float((cells - 1) / (high - low)) if cells > 1 else 1.0


def _signed_root(x: np.ndarray) -> np.ndarray:
    return np.sign(x) * np.sqrt(np.sqrt(np.abs(x)))
