"""Bits that depend on the code of a row in its column, 64 rows in a number: a plane has one bit of one column.

A table turns the code of a row into eight bits, a byte apart; with the bits of seven other rows in between they are one
sum of whole numbers. Eight such sums are a square of bytes, which is turned: then each number has one bit of 64 rows.

With n numbers, row (8 a + b) n + k is bit 8 b + a of number k.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dualboost.export.blocks import Outside
from dualboost.export.codes import Steps
from dualboost.export.graph import Graph
from dualboost.export.turning import BYTES, EIGHT, add_turned

__all__ = ["ROWS", "Planes", "add_padding", "add_planes"]

ROWS = 64  # in one number


@dataclass(frozen=True)
class Planes:
    """A table of planes in the graph."""

    name: str
    sums: list[tuple[int, int]]
    """Whose bits each sum has: a feature, and which eight of them. Row s + j len(sums) is the j-th bit of sum s."""

    def row(self, feature: int, bit: int) -> int:
        return self.sums.index((feature, bit // EIGHT)) + bit % EIGHT * len(self.sums)


def add_padding(outside: Outside) -> str:
    """How many columns to add before and after those of a table, so that their number is a multiple of 64."""
    graph = outside.graph
    lacking = graph.add("Mul", [outside.rows, graph.constant(np.array([0, -1]))])
    return graph.add("Mod", [lacking, graph.constant(np.array([ROWS]))])


def add_planes(graph: Graph, parts: Sequence[Steps], bits: Mapping[int, np.ndarray]) -> Planes:
    """The planes of all bits of these features: a row a code, a column a bit. The rows of X are a multiple of 64."""
    parted: list[str] = []
    sums: list[tuple[int, int]] = []
    for steps in parts:
        rows, tables = [], []
        for row, feature, codes in steps.own:
            # No matter which bits a missing value has, where none can be missing.
            known = bits[feature][np.minimum(codes, len(bits[feature]) - 1)]
            for eight in range(-(-known.shape[1] // EIGHT)):
                sums.append((feature, eight))
                rows.append(row)
                tables.append(_apart(known[:, eight * EIGHT : (eight + 1) * EIGHT]))
        parted.append(_added(graph, steps.part(graph, np.array(rows)), np.array(tables)))
    eights = graph.add("Reshape", [graph.stacked(parted), graph.constant(np.array([len(sums), 2, 2, 2, -1]))])
    turned = add_turned(graph, graph.add("Transpose", [eights], {"perm": [1, 2, 3, 0, 4]}), BYTES)
    return Planes(graph.add("Reshape", [turned, graph.constant(np.array([EIGHT * len(sums), -1]))]), sums)


def _apart(bits: np.ndarray) -> np.ndarray:
    """Up to eight bits of each code, a byte apart."""
    return bits.astype(np.uint64) @ (np.uint64(1) << (EIGHT * np.arange(bits.shape[1], dtype=np.uint64)))


def _added(graph: Graph, steps: Steps, tables: np.ndarray) -> str:
    """The bits of eight rows in a number, for each table."""
    found = steps.add_found(graph, tables)
    apart = graph.add("Reshape", [found, graph.constant(np.array([len(tables), EIGHT, -1]))])
    places = np.uint64(1) << np.arange(EIGHT, dtype=np.uint64)
    return graph.add("MatMul", [graph.constant(places[None, :]), apart])
