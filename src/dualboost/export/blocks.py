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

__all__ = ["BlockSums", "Outside", "add_blocks", "add_condition", "levels_of"]

_BLOCK = 2500
_STEPS = 50_000  # in which a walk through trees takes as long as it takes to begin with arrays
_FEWEST, _MANY = 64, 1024  # rows: at least, and surely


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
    """Whether the rows are not few, and no tree abstains from one, for which all of them are looked at."""
    rows = graph.add("Shape", ["X"], {"start": 0, "end": 1})
    steps = sum(int(levels_of(vote).sum()) for vote in votes)
    fewest = np.clip(_STEPS // max(steps, 1), _FEWEST, _MANY)
    many = graph.add("GreaterOrEqual", [rows, graph.constant(np.array([fewest]))])
    looking = graph.branch()
    found = [*_whole(looking, votes), *_known(looking, votes, n_features)]
    for condition in found[1:]:
        found[0] = looking.add("And", [found[0], condition])
    return graph.both(many, (looking, found[0])) if found else many


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


def _whole(graph: Graph, votes: Sequence[PlainTrees]) -> list[str]:
    """That nothing is missing in the columns where a tree abstains from it."""
    whole = [vote.feature[(vote.feature >= 0) & (vote.rule < 0) & (vote.missing == ABSTAIN)] for vote in votes]
    features = np.unique(np.concatenate(whole)).astype(np.int64)
    if not len(features):
        return []
    sums = graph.add("ReduceSum", ["X", graph.constant(np.array([0]))], {"keepdims": 0})
    own = graph.add("Gather", [sums, graph.constant(features)])
    # NaN where one is; where infinities meet, too.
    return [graph.add("Not", [graph.add("IsNaN", [graph.add("ReduceSum", [own], {"keepdims": 1})])])]


def _known(graph: Graph, votes: Sequence[PlainTrees], n_features: int) -> list[str]:
    """That no category is one of which a tree says nothing."""
    curves = _abstaining(votes)
    if not curves:
        return []
    one = graph.constant(np.array([1], dtype=np.int32))
    columns = add_columns(graph, np.array([curve.feature for curve in curves]), n_features)
    strangest = graph.add("ReduceMax", [add_codes(graph, curves, columns, one)], {"keepdims": 0})
    return [graph.add("Less", [strangest, one])]


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
