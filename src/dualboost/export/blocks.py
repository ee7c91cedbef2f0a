"""Sums of trees on blocks of rows that stay in the cache, by operators on whole arrays.

onnxruntime walks its trees row by row, and half of the turns come as a surprise to the processor; so all splits of all
trees are worked out at once. A few rows are walked as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dualboost.export.columns import add_columns
from dualboost.export.graph import Graph
from dualboost.inspection.trees import PlainTrees

if TYPE_CHECKING:
    from dualboost.export.bits import CountedTrees

__all__ = ["Outside", "add_block", "add_blocks", "add_fits", "add_many", "add_rows"]

_FEWEST, _MANY = 32, 1024  # rows: at least, and surely


@dataclass(frozen=True)
class Outside:
    """Where what all blocks have in common is worked out once."""

    graph: Graph
    rows: str
    """The number of rows of a block."""


def add_rows(graph: Graph) -> str:
    """The number of rows of X."""
    return graph.add("Shape", ["X"], {"start": 0, "end": 1})


def add_fits(graph: Graph, rows: str, trees: CountedTrees, votes: Sequence[PlainTrees]) -> str:
    """Whether so many rows are too many to be walked and fit in one block."""
    ends = (graph.constant(np.array(end)) for end in (_fewest(trees, votes), trees.block))
    return graph.add("Equal", [rows, graph.add("Clip", [rows, *ends])])


def add_block(graph: Graph, rows: str, trees: CountedTrees, n_features: int) -> str:
    """The sums for the rows of X, so many, which fit in one block."""
    return trees.add(graph, add_columns(graph, trees.features, n_features), Outside(graph, rows))


def add_blocks(graph: Graph, trees: CountedTrees, n_features: int, X: str = "X") -> str:
    """The sums for any number of rows of X."""
    blocks = _Blocks.of(graph, trees.block)
    body, start = graph.branch(), graph.name("start")
    end = body.add("Add", [start, blocks.size])
    rows = body.add("Slice", [X, start, end, body.constant(np.array([0]))])
    columns = add_columns(body, trees.features, n_features, rows)
    result = trees.add(body, columns, Outside(graph, blocks.size))
    sums = graph.scan(blocks.starts, (body, start, result))
    flat = graph.add("Reshape", [sums, graph.constant(np.array([-1, trees.n_votes]))])
    return blocks.joined(graph, flat)


@dataclass(frozen=True)
class _Blocks:
    """Blocks of the same size; the last one may begin with rows of the one before."""

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

        one = graph.constant(np.array([1]))
        rows = add_rows(graph)
        count = parts(rows, graph.constant(np.array([most])))
        size = parts(rows, count)
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


def add_many(graph: Graph, rows: str, trees: CountedTrees, votes: Sequence[PlainTrees]) -> str:
    """Whether so many rows are too many to be walked."""
    return graph.add("GreaterOrEqual", [rows, graph.constant(np.array([_fewest(trees, votes)]))])


def _fewest(trees: CountedTrees, votes: Sequence[PlainTrees]) -> int:
    return int(np.clip(trees.beginning / max(1.0, sum(map(_steps, votes))), _FEWEST, _MANY))


def _steps(trees: PlainTrees) -> float:
    """How many splits a row meets, if half of the rows turn left at each; one of categories takes as long as two."""
    met, share, at = 0.0, 1.0, trees.roots[:-1]
    while len(at := at[trees.feature[at] >= 0]):
        met += share * (len(at) + np.count_nonzero(trees.rule[at] >= 0))
        share, at = share / 2, np.concatenate([trees.left[at], trees.right[at]])
    return met
