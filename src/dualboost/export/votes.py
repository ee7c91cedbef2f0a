"""The scores of a model in an ONNX graph: every part of a vote by the fastest operators that say exactly the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dualboost.export.abstaining import Abstaining
from dualboost.export.bits import by_size, counted_trees
from dualboost.export.blocks import BlockSums, add_block, add_blocks, add_fits, add_many
from dualboost.export.columns import add_columns
from dualboost.export.curves import Curve, curves_and_trees
from dualboost.export.ensemble import tree_arrays
from dualboost.export.graph import Graph
from dualboost.export.lookup import add_curves, lookups
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
        sums.append(add_curves(graph, tables, add_columns(graph, used, n_features)))
    if any(map(len, small)):
        sums.append(_Ways(small, counted_trees(small), n_features).add(graph))
    if any(map(len, large)) or not sums:
        sums.append(_walked(graph, large, n_features))
    bases = np.array([[_constant(vote) for vote in votes]])
    return graph.add("Add", [graph.sum(sums), graph.constant(bases)]) if bases.any() else graph.sum(sums)


@dataclass(frozen=True, eq=False)
class _Ways:
    """Ways to sum the same trees: by arrays, in one block of rows or several, or walked."""

    trees: Sequence[PlainTrees]
    sums: BlockSums
    n_features: int

    def add(self, graph: Graph) -> str:
        """The sums, by the quickest way; where the rows fit in one block, a single decision leads there."""
        abstaining = Abstaining.of(self.trees, self.n_features)
        some_abstain = abstaining.anywhere(graph, self._many)
        at_once = add_fits(graph, self.sums, self.trees)
        if not some_abstain:
            return self._choose(graph, at_once, self._without)
        at_once = graph.add("And", [at_once, graph.add("Not", [some_abstain])])
        return self._choose(graph, at_once, lambda others: self._with(others, abstaining, some_abstain))

    def _many(self, graph: Graph) -> str:
        return add_many(graph, self.sums, self.trees)

    def _choose(self, graph: Graph, at_once: str, otherwise: Callable[[Graph], str]) -> str:
        block, others = graph.branch(), graph.branch()
        return graph.choose(at_once, (block, add_block(block, self.sums, self.n_features)), (others, otherwise(others)))

    def _with(self, graph: Graph, abstaining: Abstaining, some_abstain: str) -> str:
        some, none = graph.branch(), graph.branch()
        return graph.choose(some_abstain, (some, self._patched(some, abstaining)), (none, self._without(none)))

    def _without(self, graph: Graph) -> str:
        """No tree abstains from a missing value, so walks are shorter."""
        counting, walking = graph.branch(), graph.branch()
        decided = [replace(vote, missing=np.where(vote.abstains, RIGHT, vote.missing)) for vote in self.trees]
        counted = add_blocks(counting, self.sums, self.n_features)
        walked = _walked(walking, decided, self.n_features)
        return graph.choose(self._many(graph), (counting, counted), (walking, walked))

    def _patched(self, graph: Graph, abstaining: Abstaining) -> str:
        """The rows from which trees abstain are walked, or all if they are few; the others are as ever."""
        many = self._many(graph)
        chosen = graph.add("Or", [abstaining.rows(graph), graph.add("Not", [many])])
        places = graph.add("Transpose", [graph.add("NonZero", [chosen])], {"perm": [1, 0]})
        line = graph.add("Reshape", [places, graph.constant(np.array([-1]))])
        walked = _walked(graph, self.trees, self.n_features, graph.add("Gather", ["X", line], {"axis": 0}))
        counting, walking = graph.branch(), graph.branch()
        column = counting.add("Unsqueeze", [chosen, counting.constant(np.array([1]))])
        harmless = counting.add("Where", [column, counting.constant(np.array(0.0)), "X"])
        counted = add_blocks(counting, self.sums, self.n_features, harmless)
        patched = counting.add("ScatterND", [counted, places, walked])
        return graph.choose(many, (counting, patched), (walking, walking.add("Identity", [walked])))


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


def _walked(graph: Graph, trees: Sequence[PlainTrees], n_features: int, X: str = "X") -> str:
    told, wide = add_sides(graph, trees, n_features, X)
    return graph.trees(wide, tree_arrays(told), len(told))
