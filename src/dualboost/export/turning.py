"""Squares of bits, or of bytes, turned: what lay in the k-th number at the j-th place comes to lie the other way round.

Eight numbers hold a square of eight by eight. It is turned by exchanging what lies in numbers that differ by 1, then by
2, then by 4; whole arrays of such eights at once.
"""

from __future__ import annotations

import numpy as np

from dualboost.export.graph import Graph

__all__ = ["BITS", "BYTES", "EIGHT", "add_turned"]

EIGHT = 8  # the numbers of a square

# How far apart what is exchanged lies, and what comes from above: of each byte a square of bits, or one of its bytes.
BITS = (1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F)
BYTES = (8, 0x00FF00FF00FF00FF), (16, 0x0000FFFF0000FFFF), (32, 0x00000000FFFFFFFF)


def add_turned(graph: Graph, cube: str, steps: tuple[tuple[int, int], ...]) -> str:
    """Squares, turned: their eights stand on axes 1 to 3, two by two by two, where long runs are exchanged."""
    for axis, (apart, chosen) in zip((3, 2, 1), steps, strict=True):
        exchanged = _exchanged(graph, graph.split(cube, axis), apart, chosen)
        cube = graph.add("Concat", exchanged, {"axis": axis})
    return cube


def _exchanged(graph: Graph, pair: list[str], apart: int, chosen: int) -> list[str]:
    """The chosen bits of the second in the place of those that far above them in the first, and the other way round."""
    first, second = pair
    by, mask = (graph.constant(np.array(number, dtype=np.uint64)) for number in (apart, chosen))
    lowered = graph.add("BitShift", [first, by], {"direction": "RIGHT"})
    differ = graph.add("BitwiseAnd", [graph.add("BitwiseXor", [lowered, second]), mask])
    raised = graph.add("BitShift", [differ, by], {"direction": "LEFT"})
    return [graph.add("BitwiseXor", [first, raised]), graph.add("BitwiseXor", [second, differ])]
