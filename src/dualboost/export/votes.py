"""The scores of a model in an ONNX graph: every part of a vote by the fastest operators that say exactly the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from dualboost.export.abstaining import Abstaining, add_no_number
from dualboost.export.bits import by_size, counted_trees
from dualboost.export.blocks import ArraySums, add_block, add_blocks, add_rows
from dualboost.export.columns import add_beyond, add_columns
from dualboost.export.curves import Curve, curves_and_trees
from dualboost.export.efforts import Ranges, walking
from dualboost.export.ensemble import tree_arrays
from dualboost.export.graph import Graph
from dualboost.export.lookup import add_curves, lookups
from dualboost.export.right_turns import RightTurns, right_turns
from dualboost.export.sides import add_sides
from dualboost.inspection.as_trees import step_tree
from dualboost.inspection.trees import RIGHT, PlainTrees

__all__ = ["add_votes"]


def add_votes(graph: Graph, votes: Sequence[PlainTrees], n_features: int) -> str:
    """The score of each vote, a column each: tables for single features, bits for trees, the rest walked."""
    parts = [_parts(vote) for vote in votes]
    tables, trees = [own for own, _ in parts], [own for _, own in parts]
    small, large = zip(*map(by_size, trees), strict=True)
    sums = []
    if any(tables):
        used = np.unique([feature for own in tables for table in own for feature in table.features])
        sums.append(add_curves(graph, tables, add_columns(graph, used, n_features, padding=add_beyond(graph))))
    turns = right_turns(small) if any(map(len, small)) else None
    if turns:
        sums.append(_Ways.of(small, turns, n_features).add(graph))
    else:
        large = tuple(trees)
    if any(map(len, large)) or not sums:
        sums.append(_walked(graph, large, n_features))
    bases = np.array([[_constant(vote) for vote in votes]])
    return graph.add("Add", [graph.sum(sums), graph.constant(bases)]) if bases.any() else graph.sum(sums)


@dataclass(frozen=True, eq=False)
class _Ways:
    """Ways to sum the same trees: walked, or by arrays, in one block of rows or several."""

    trees: Sequence[PlainTrees]
    n_features: int
    turns: RightTurns
    blocks: ArraySums
    """For more rows than right turns are summed for at once; the same, or leaves that are counted."""
    ranges: Ranges

    @classmethod
    def of(cls, trees: Sequence[PlainTrees], turns: RightTurns, n_features: int) -> _Ways:
        counted = counted_trees(trees)
        first, counting = Ranges.of(walking(trees), turns.effort, counted.effort)
        blocks = counted if counted.effort.each < turns.effort.each else turns
        most = turns.block if blocks is turns else turns.at_once  # however long counting takes to begin
        return cls(trees, n_features, turns, blocks, Ranges(first, max(first, min(counting, most + 1))))

    def add(self, graph: Graph) -> str:
        """The sums, by the quickest way; where right turns are, a single decision leads there."""
        abstaining = Abstaining.of(self.trees, self.n_features)
        missing = abstaining.anywhere(graph) if len(abstaining.features) else ""
        rows = add_rows(graph)
        sums = self._turns_or_others(graph, rows, abstaining, missing)
        return self._patched(graph, sums, abstaining, missing) if missing or self.turns.strangers else sums

    def _turns_or_others(self, graph: Graph, rows: str, abstaining: Abstaining, missing: str) -> str:
        first, last = self.ranges.turns, self.ranges.counting - 1
        if first > last:
            return self._block_or_others(graph, rows, abstaining, missing)
        turns, others = graph.branch(), graph.branch()
        summed = add_block(turns, rows, self.turns, self.n_features)
        otherwise = self._block_or_others(others, rows, abstaining, missing)
        return graph.choose(_between(graph, rows, first, last), (turns, summed), (others, otherwise))

    def _block_or_others(self, graph: Graph, rows: str, abstaining: Abstaining, missing: str) -> str:
        first, last = self.ranges.counting, self.blocks.block
        if first > last:
            return self._in_blocks_or_walked(graph, rows, abstaining, missing)
        at_once = _between(graph, rows, first, last)
        if missing:
            at_once = graph.add("And", [at_once, graph.add("Not", [missing])])
        block, others = graph.branch(), graph.branch()
        whole = add_block(block, rows, self.blocks, self.n_features)
        otherwise = self._in_blocks_or_walked(others, rows, abstaining, missing)
        return graph.choose(at_once, (block, whole), (others, otherwise))

    def _in_blocks_or_walked(self, graph: Graph, rows: str, abstaining: Abstaining, missing: str) -> str:
        """As if no tree abstained from a missing value, and NaN for a strange category: so walks are shorter."""
        counting, walking = graph.branch(), graph.branch()
        decided = [replace(vote, missing=np.where(vote.abstains, RIGHT, vote.missing)) for vote in self.trees]
        counted = self._in_blocks(counting, rows, abstaining, missing)
        walked = _walked(walking, decided, self.n_features, doubtful=True)
        many = graph.add("GreaterOrEqual", [rows, graph.constant(np.array([self.ranges.counting]))])
        return graph.choose(many, (counting, counted), (walking, walked))

    def _in_blocks(self, graph: Graph, rows: str, abstaining: Abstaining, missing: str) -> str:
        if not missing or self.blocks is self.turns:
            return add_blocks(graph, self.blocks, self.n_features)
        some, none = graph.branch(), graph.branch()
        patchy = self._without_missing(some, rows, abstaining)
        return graph.choose(missing, (some, patchy), (none, add_blocks(none, self.blocks, self.n_features)))

    def _without_missing(self, graph: Graph, rows: str, abstaining: Abstaining) -> str:
        """As if nothing was missing in any number of rows, and rows where something is were of zeros."""
        column = graph.add("Unsqueeze", [abstaining.rows(graph), graph.constant(np.array([1]))])
        harmless = graph.add("Where", [column, graph.constant(np.array(0.0)), "X"])
        one, several = graph.branch(), graph.branch()
        block = add_block(one, rows, self.blocks, self.n_features, harmless)
        blocks = add_blocks(several, self.blocks, self.n_features, harmless)
        fit = graph.add("LessOrEqual", [rows, graph.constant(np.array([self.blocks.block]))])
        return graph.choose(fit, (one, block), (several, blocks))

    def _patched(self, graph: Graph, sums: str, abstaining: Abstaining, missing: str) -> str:
        """Rows from which trees may abstain are walked again."""
        doubts = [missing] if missing else []
        if self.turns.strangers:
            doubts.append(add_no_number(graph, sums))
        walking, enough = graph.branch(), graph.branch()
        chosen = [abstaining.rows(walking)] if missing else []
        if self.turns.strangers:
            first = walking.add("Gather", [sums, walking.constant(np.array(0))], {"axis": 1})
            chosen.append(walking.add("IsNaN", [first]))
        places = walking.add("Transpose", [walking.add("NonZero", [_any(walking, chosen)])], {"perm": [1, 0]})
        line = walking.add("Reshape", [places, walking.constant(np.array([-1]))])
        walked = _walked(walking, self.trees, self.n_features, walking.add("Gather", ["X", line], {"axis": 0}))
        patched = walking.add("ScatterND", [sums, places, walked])
        return graph.choose(_any(graph, doubts), (walking, patched), (enough, enough.add("Identity", [sums])))


def _between(graph: Graph, number: str, first: int, last: int) -> str:
    ends = (graph.constant(np.array(end)) for end in (first, last))
    return graph.add("Equal", [number, graph.add("Clip", [number, *ends])])


def _any(graph: Graph, conditions: Sequence[str]) -> str:
    return reduce(lambda one, other: graph.add("Or", [one, other]), conditions)


def _parts(vote: PlainTrees):
    """(tables for the features that stand alone, the other trees)."""
    curves, trees = curves_and_trees(vote)
    tables, resisting = lookups(curves)
    return tables, PlainTrees.joined([trees, *map(_tree, resisting)], 0.0)


def _tree(curve: Curve) -> PlainTrees:
    return step_tree([*curve.cuts, np.inf], [*curve.values, curve.missing], curve.feature)


def _constant(vote: PlainTrees) -> float:
    """The base, and the trees without a split."""
    roots = vote.roots[:-1]
    return float(vote.base + vote.value[roots][vote.feature[roots] < 0].sum())


def _walked(graph: Graph, trees: Sequence[PlainTrees], n_features: int, X: str = "X", doubtful: bool = False) -> str:
    told, wide = add_sides(graph, trees, n_features, X, doubtful)
    return graph.trees(wide, tree_arrays(told), len(told))
