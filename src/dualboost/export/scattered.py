"""The rungs of few rows: one scatter puts the bit of a row where its code is, one sum tells which rows reach a code.

These are fewer operators than `planes` and `ladders` need, though slower ones. Bits of different rows never meet, so
there are no carries. The codes of a column add up to the bits of all rows, -1; with a 1 on the last rung of the column
before it, which no code reaches, one sum runs over all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dualboost.export.codes import Steps
from dualboost.export.graph import INT32, UINT64, Graph
from dualboost.export.planes import ROWS

__all__ = ["add_scattered"]

_BITS = np.left_shift(np.uint64(1), np.arange(ROWS, dtype=np.uint64)).view(np.int64)


def add_scattered(graph: Graph, parts: Sequence[Steps], rungs: Mapping[int, range], most: int) -> str:
    """The rungs of all columns, given where those of each feature stand; up to `most` rows, a multiple of 64."""
    size = max(own.stop for own in rungs.values())
    lasts = np.zeros((1, size), dtype=np.int64)
    lasts[0, [own.start - 1 for own in rungs.values() if own.start > 0]] = 1
    reached = [_rung_of_each(graph, steps, rungs) for steps in parts]
    table = reached[0] if len(reached) == 1 else graph.add("Concat", reached, {"axis": 0})
    rows = graph.add("Shape", [table], {"start": 1, "end": 2})
    numbers = graph.add("Div", [rows, graph.constant(np.array([ROWS]))])
    bit, number = _places(graph, rows, numbers, most)
    own = graph.add("Mul", [number, graph.constant(np.array(size, dtype=np.int32))])
    cells = graph.add("Add", [table, own])
    bits = graph.add("Gather", [graph.constant(_BITS), bit])
    bits = graph.add("Expand", [bits, graph.constant(np.array([len(rungs), 1]))])
    tall = graph.add("Concat", [numbers, graph.constant(np.array([1]))], {"axis": 0})
    start = graph.add("Expand", [graph.constant(lasts), tall])
    flat = [graph.add("Reshape", [name, graph.constant(np.array([-1]))]) for name in (start, cells, bits)]
    placed = graph.add("ScatterElements", flat, {"axis": 0, "reduction": "add"})
    placed = graph.add("Reshape", [placed, graph.constant(np.array([-1, size]))])
    turned = graph.add("Transpose", [placed], {"perm": [1, 0]})
    sums = graph.add("CumSum", [turned, graph.constant(np.array(0))], {"reverse": 1})
    return graph.add("Cast", [sums], {"to": UINT64})


def _places(graph: Graph, rows: str, numbers: str, most: int) -> list[str]:
    """The bit of each row and its number, as in `planes`."""
    each = graph.constant(np.arange(most, dtype=np.int32))
    row = graph.add("Slice", [each, graph.constant(np.array([0])), rows])
    count = graph.add("Cast", [numbers], {"to": INT32})
    return [graph.add(operator, [row, count]) for operator in ("Div", "Mod")]


def _rung_of_each(graph: Graph, steps: Steps, rungs: Mapping[int, range]) -> str:
    rows, features, codes = zip(*steps.own, strict=True)
    first = np.array([rungs[feature].start for feature in features], dtype=np.int32)
    return steps.part(graph, np.array(rows)).add_found(graph, np.array(codes) + first[:, None])
