"""Sums of trees on blocks of rows that stay in the cache, by operators on whole arrays.

onnxruntime walks its trees row by row, and half of the turns come as a surprise to the processor; so all splits of all
trees are worked out at once. A few rows are walked as before, and so are rows with a missing value or an unknown
category that makes a tree abstain.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dualboost.export.codes import add_codes
from dualboost.export.columns import Columns, add_columns
from dualboost.export.curves import Curve
from dualboost.export.graph import Graph
from dualboost.inspection.trees import ABSTAIN, PlainTrees

__all__ = ["BlockSums", "Outside", "add_blocks", "add_condition"]

_FEWEST_ROWS, _BLOCK = 128, 2500


@dataclass(frozen=True)
class Outside:
    """Where what all blocks have in common is worked out once."""

    graph: Graph
    rows: str
    """The number of rows of a block."""


class BlockSums(ABC):
    """Trees that can be summed block by block."""

    @property
    @abstractmethod
    def features(self) -> np.ndarray:
        """The columns of X they look at, ascending."""

    @abstractmethod
    def add(self, graph: Graph, columns: Columns, outside: Outside) -> str:
        """The sum of the trees of each vote for these rows, a column each."""


def add_blocks(graph: Graph, trees: BlockSums, n_votes: int, n_features: int) -> str:
    """The sums for all rows of X."""
    blocks = _Blocks.of(graph)
    body, start = graph.branch(), graph.name("start")
    end = body.add("Add", [start, blocks.size])
    rows = body.add("Slice", ["X", start, end, body.constant(np.array([0]))])
    columns = add_columns(body, trees.features, n_features, rows)
    sums = graph.scan(blocks.starts, (body, start, trees.add(body, columns, Outside(graph, blocks.size))))
    flat = graph.add("Reshape", [sums, graph.constant(np.array([-1, n_votes]))])
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
    def of(cls, graph: Graph) -> _Blocks:
        def parts(rows: str, size: str) -> str:
            return graph.add("Div", [graph.add("Sub", [graph.add("Add", [rows, size]), one]), size])

        one = graph.constant(np.array([1]))
        rows = graph.add("Shape", ["X"], {"start": 0, "end": 1})
        count = parts(rows, graph.constant(np.array([_BLOCK])))
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


def add_condition(graph: Graph, votes: Sequence[PlainTrees], n_features: int) -> str:
    """Whether the rows are not few, and no tree abstains from one."""
    rows = graph.add("Shape", ["X"], {"start": 0, "end": 1})
    suits = graph.add("GreaterOrEqual", [rows, graph.constant(np.array([_FEWEST_ROWS]))])
    whole = [vote.feature[(vote.feature >= 0) & (vote.rule < 0) & (vote.missing == ABSTAIN)] for vote in votes]
    features = np.unique(np.concatenate(whole)).astype(np.int64)
    if len(features):
        sums = graph.add("ReduceSum", ["X", graph.constant(np.array([0]))], {"keepdims": 0})
        total = graph.add("ReduceSum", [graph.add("Gather", [sums, graph.constant(features)])], {"keepdims": 0})
        # NaN where one is; where infinities meet, too.
        suits = graph.add("And", [suits, graph.add("Not", [graph.add("IsNaN", [total])])])
    curves = _abstaining(votes)
    if curves:
        one = graph.constant(np.array([1], dtype=np.int32))
        columns = add_columns(graph, np.array([curve.feature for curve in curves]), n_features)
        strangest = graph.add("ReduceMax", [add_codes(graph, curves, columns, one)], {"keepdims": 0})
        suits = graph.add("And", [suits, graph.add("Less", [strangest, one])])
    return suits


def _abstaining(votes: Sequence[PlainTrees]) -> list[Curve]:
    """1 where a rule of categories says nothing."""
    rules = [rule for vote in votes for rule in vote.rules if np.any(rule.sides == ABSTAIN)]
    curves = []
    for feature in sorted({rule.feature for rule in rules}):
        own = [rule for rule in rules if rule.feature == feature]
        cuts = np.unique(np.concatenate([rule.cuts for rule in own]))
        cuts = cuts[np.isfinite(cuts)]
        places = [*cuts, np.inf, np.nan]
        says = [rule.sides[np.searchsorted(rule.cuts, places)] == ABSTAIN for rule in own]
        values = np.any(says, axis=0).astype(np.int32)
        curves.append(Curve(feature, cuts, values[:-1], int(values[-1])))
    return curves
