"""Sums of trees on blocks of rows that stay in the cache, by operators on whole arrays.

onnxruntime walks its trees row by row, and half of the turns come as a surprise to the processor; so all splits of all
trees are worked out at once. A few rows are walked as before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dualboost.export.columns import Columns, add_columns
from dualboost.export.graph import Graph
from dualboost.inspection.trees import PlainTrees

__all__ = ["BlockSums", "Outside", "add_block", "add_blocks", "add_fits", "add_many", "levels_of"]

_CELLS = 300_000  # of X in a block, a few MB with what is worked out from them...
_LEAST, _MOST = 640, 10_240  # ...and rows
_FEWEST, _MANY = 64, 1024  # rows: at least, and surely


@dataclass(frozen=True)
class Outside:
    """Where what all blocks have in common is worked out once."""

    graph: Graph
    rows: str
    """The number of rows of a block."""
    few: bool
    """Whether that can be a small number."""


class BlockSums(ABC):
    """Trees that can be summed block by block."""

    @property
    @abstractmethod
    def n_votes(self) -> int: ...

    @property
    @abstractmethod
    def features(self) -> np.ndarray:
        """The columns of X they look at, ascending."""

    @property
    @abstractmethod
    def beginning(self) -> int:
        """How many steps of a walk take as long as the sums for a few rows."""

    @property
    def block(self) -> int:
        """How many rows are summed at once."""
        return int(np.clip(_CELLS // len(self.features), _LEAST, _MOST))

    @abstractmethod
    def add(self, graph: Graph, columns: Columns, outside: Outside) -> str:
        """The sum of the trees of each vote for these rows, a column each."""


def add_fits(graph: Graph, trees: BlockSums, votes: Sequence[PlainTrees]) -> str:
    """Whether the rows of X are too many to be walked and fit in one block."""
    rows = graph.add("Shape", ["X"], {"start": 0, "end": 1})
    ends = (graph.constant(np.array(end)) for end in (_fewest(trees, votes), trees.block))
    return graph.add("Equal", [rows, graph.add("Clip", [rows, *ends])])


def add_block(graph: Graph, trees: BlockSums, n_features: int) -> str:
    """The sums for the rows of X, which fit in one block."""
    rows = graph.add("Shape", ["X"], {"start": 0, "end": 1})
    return trees.add(graph, add_columns(graph, trees.features, n_features), Outside(graph, rows, few=True))


def add_blocks(graph: Graph, trees: BlockSums, n_features: int, X: str = "X") -> str:
    """The sums for any number of rows of X."""
    blocks = _Blocks.of(graph, trees.block)
    body, start = graph.branch(), graph.name("start")
    end = body.add("Add", [start, blocks.size])
    rows = body.add("Slice", [X, start, end, body.constant(np.array([0]))])
    columns = add_columns(body, trees.features, n_features, rows)
    result = trees.add(body, columns, Outside(graph, blocks.size, few=False))
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
        rows = graph.add("Shape", ["X"], {"start": 0, "end": 1})
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


def add_many(graph: Graph, trees: BlockSums, votes: Sequence[PlainTrees]) -> str:
    """Whether the rows are too many to be walked."""
    rows = graph.add("Shape", ["X"], {"start": 0, "end": 1})
    return graph.add("GreaterOrEqual", [rows, graph.constant(np.array([_fewest(trees, votes)]))])


def _fewest(trees: BlockSums, votes: Sequence[PlainTrees]) -> int:
    return int(np.clip(trees.beginning / max(1.0, sum(map(_steps, votes))), _FEWEST, _MANY))


def levels_of(trees: PlainTrees) -> np.ndarray:
    """How many splits the longest path of each tree has."""
    levels = np.zeros(len(trees), dtype=np.int64)
    tree, at = np.arange(len(trees)), trees.roots[:-1]
    while len(at):
        inner = trees.feature[at] >= 0
        tree, at = tree[inner], at[inner]
        levels[np.unique(tree)] += 1
        tree, at = np.tile(tree, 2), np.concatenate([trees.left[at], trees.right[at]])
    return levels


def _steps(trees: PlainTrees) -> float:
    """How many splits a row meets, if half of the rows turn left at each."""
    met, share, at = 0.0, 1.0, trees.roots[:-1]
    while len(at := at[trees.feature[at] >= 0]):
        met, share, at = met + share * len(at), share / 2, np.concatenate([trees.left[at], trees.right[at]])
    return met
