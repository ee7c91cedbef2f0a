"""Sums of trees on blocks of rows that stay in the cache, by operators on whole arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dualboost.export.graph import INT64, Graph

__all__ = ["ROWS", "ArraySums", "Outside", "add_block", "add_blocks", "add_rows"]


ROWS = 64  # in a word


@dataclass(frozen=True)
class Outside:
    """Where what all blocks have in common is worked out once."""

    graph: Graph
    n_features: int
    rows: str
    """The number of rows of a block."""
    whole: bool = False
    """Whether that is a multiple of 64 and none of 256: columns of so many do not lie a power of two apart."""


class ArraySums(Protocol):
    """A way to sum trees by operators on whole arrays."""

    @property
    def n_votes(self) -> int: ...

    @property
    def block(self) -> int:
        """How many rows are summed at once."""
        ...

    def add(self, graph: Graph, X: str, outside: Outside) -> str:
        """The sum of the trees of each vote for these rows, a column each."""
        ...


def add_rows(graph: Graph) -> str:
    """The number of rows of X."""
    return graph.add("Shape", ["X"], {"start": 0, "end": 1})


def add_block(graph: Graph, rows: str, trees: ArraySums, n_features: int, X: str = "X") -> str:
    """The sums for the rows of X, so many, which fit in one block."""
    return trees.add(graph, X, Outside(graph, n_features, rows))


def add_blocks(graph: Graph, trees: ArraySums, n_features: int, X: str = "X") -> str:
    """The sums for more rows of X than fit in one block."""
    blocks = _Blocks.of(graph, trees.block)
    body, start = graph.branch(), graph.name("start")
    end = body.add("Add", [start, blocks.size])
    rows = body.add("Slice", [X, start, end, body.constant(np.array([0]))])
    result = trees.add(body, rows, Outside(graph, n_features, blocks.size, whole=True))
    sums = graph.scan(blocks.starts, (body, start, result))
    flat = graph.add("Reshape", [sums, graph.constant(np.array([-1, trees.n_votes]))])
    return blocks.joined(graph, flat)


@dataclass(frozen=True)
class _Blocks:
    """Blocks of the same whole size; the last one may begin with rows of the one before."""

    starts: str
    size: str
    last: str
    """The number of rows in all blocks but the last."""
    twice: str
    """Where in the last block the rows begin that no other has."""

    @classmethod
    def of(cls, graph: Graph, most: int) -> _Blocks:
        def parts(rows: str, size: str) -> str:
            return graph.add("Div", [graph.add("Sub", [graph.add("Add", [rows, size]), one]), size])

        one, word, four = (graph.constant(np.array([number])) for number in (1, ROWS, 4))
        rows = add_rows(graph)
        words = parts(parts(rows, parts(rows, graph.constant(np.array([most])))), word)
        of_four = graph.add("Equal", [graph.add("Mod", [words, four]), graph.constant(np.array([0]))])
        size = graph.add("Mul", [graph.add("Add", [words, graph.add("Cast", [of_four], {"to": INT64})]), word])
        count = parts(rows, size)
        last = graph.add("Mul", [graph.add("Sub", [count, one]), size])
        ends = graph.constant(np.array(0)), graph.add("Squeeze", [count]), graph.constant(np.array(1))
        even = graph.add("Mul", [graph.add("Range", [*ends]), size])
        latest = graph.add("Sub", [rows, size])
        starts = graph.add("Min", [even, latest])
        column = graph.add("Reshape", [starts, graph.constant(np.array([-1, 1]))])
        return cls(column, size, last, graph.add("Add", [last, graph.add("Sub", [last, latest])]))

    def joined(self, graph: Graph, flat: str) -> str:
        zero, end = graph.constant(np.array([0])), graph.constant(np.array([np.iinfo(np.int64).max]))
        before = graph.add("Slice", [flat, zero, self.last])
        return graph.add("Concat", [before, graph.add("Slice", [flat, self.twice, end])], {"axis": 0})
