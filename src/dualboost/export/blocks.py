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
    body, block = graph.branch(), graph.name("rows")
    columns = add_columns(body, trees.features, n_features, block)
    blocks, size = _blocks(graph, n_features)
    sums = graph.scan(blocks, (body, block, trees.add(body, columns, Outside(graph, size))))
    flat = graph.add("Reshape", [sums, graph.constant(np.array([-1, n_votes]))])
    length = graph.add("Shape", ["X"], {"start": 0, "end": 1})
    return graph.add("Slice", [flat, graph.constant(np.array([0])), length])


def _blocks(graph: Graph, n_features: int) -> tuple[str, str]:
    """(X in blocks of about the same size, with a few zeros at the end; the number of rows in each)."""

    def number(value: int) -> str:
        return graph.constant(np.array([value]))

    def parts(rows: str, size: str) -> str:
        return graph.add("Div", [graph.add("Sub", [graph.add("Add", [rows, size]), number(1)]), size])

    rows = graph.add("Shape", ["X"], {"start": 0, "end": 1})
    blocks = parts(rows, number(_BLOCK))
    size = parts(rows, blocks)
    lacking = graph.add("Sub", [graph.add("Mul", [blocks, size]), rows])
    pads = graph.add("Concat", [number(0), number(0), lacking, number(0)], {"axis": 0})
    shape = graph.add("Concat", [blocks, size, number(n_features)], {"axis": 0})
    return graph.add("Reshape", [graph.add("Pad", ["X", pads]), shape]), size


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
