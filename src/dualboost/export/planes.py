"""The codes of columns by binary digits: a plane has one digit of one column, 64 rows in a number.

A table turns the code of a row into its digits, eight bits apart; with the digits of seven other rows in between they
are one sum of doubles, and exact, for six digits of eight rows are 48 bits. Eight such sums are a square of bytes,
which is turned: then each number has one digit of 64 rows.

No array is turned round on the way in or out: with n numbers, row b n + k is bit b of number k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dualboost.export.blocks import Outside
from dualboost.export.codes import Steps
from dualboost.export.graph import UINT64, Graph
from dualboost.export.turning import BYTES, EIGHT, add_turned, even_and_odd

__all__ = ["ROWS", "Planes", "add_padding", "add_planes"]

ROWS = 64  # in one number
_DIGITS = 6  # of a code in one sum


@dataclass(frozen=True)
class Planes:
    """A table of planes in the graph."""

    name: str
    first: dict[tuple[int, int], int]
    """The row of the first of the digits of a feature, six by six."""

    def row(self, feature: int, digit: int) -> int:
        first = self.first.get((feature, digit // _DIGITS))
        return self.nothing(feature) if first is None else first + digit % _DIGITS

    def nothing(self, feature: int) -> int:
        """A row where no bit is set."""
        return self.first[feature, 0] + _DIGITS


def add_padding(outside: Outside) -> str:
    """How many rows to add at the end of a table, so that their number is a multiple of 64."""
    graph = outside.graph
    left = graph.add("Neg", [outside.rows])
    lacking = graph.add("Mod", [left, graph.constant(np.array([ROWS]))])
    return graph.add("Concat", [graph.constant(np.zeros(3, dtype=np.int64)), lacking], {"axis": 0})


def add_planes(graph: Graph, parts: Sequence[Steps]) -> Planes:
    """The planes of these codes; the number of rows is a multiple of 64."""
    sums: list[str] = []
    first: dict[tuple[int, int], int] = {}
    for steps in parts:
        rows, tables = [], []
        for row, feature, codes in steps.own:
            for six in range(_sixes(codes.max())):
                first[feature, six] = EIGHT * len(first)
                rows.append(row)
                tables.append(_digits(codes, six))
        sums.append(_sums(graph, steps.part(graph, np.array(rows)), np.array(tables)))
    joined = sums[0] if len(sums) == 1 else graph.add("Concat", sums, {"axis": 0})
    apart = graph.add("Reshape", [joined, graph.constant(np.array([len(first), EIGHT, -1]))])
    numbers = graph.add("Cast", [apart], {"to": UINT64})
    turned = add_turned(graph, *even_and_odd(graph, numbers), BYTES)
    return Planes(graph.add("Reshape", [turned, graph.constant(np.array([EIGHT * len(first), -1]))]), first)


def _sixes(highest: int) -> int:
    return max(1, -(-int(highest).bit_length() // _DIGITS))


def _digits(codes: np.ndarray, six: int) -> np.ndarray:
    """Six binary digits of each code, a byte apart."""
    return (codes[:, None] >> _DIGITS * six >> np.arange(_DIGITS) & 1) @ 2.0 ** (EIGHT * np.arange(_DIGITS))


def _sums(graph: Graph, steps: Steps, tables: np.ndarray) -> str:
    """The digits of eight rows in a number, a row a table."""
    found = steps.add_found(graph, tables)
    apart = graph.add("Reshape", [found, graph.constant(np.array([len(tables), EIGHT, EIGHT, -1]))])
    return graph.add("MatMul", [graph.constant(2.0 ** np.arange(EIGHT)[None, :]), apart])
