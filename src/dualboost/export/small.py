"""Trees of two levels on many rows: all splits at once, as bytes, with operators that work on whole arrays.

A comparison of a whole column with all its cuts gives a byte for each split and row, and the three splits of a tree,
read as one binary number, tell the leaf in a table. Every tree is laid out as a full one: a leaf that comes early is
repeated, and what is asked below it does not matter. Deeper trees have more cuts, for which `bits` is quicker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dualboost.export.blocks import BlockSums, Outside, levels_of
from dualboost.export.columns import Columns
from dualboost.export.graph import INT32, UINT8, Graph
from dualboost.inspection.trees import RIGHT, PlainTrees

__all__ = ["FullTrees", "SmallTrees", "small_trees"]

_LEVELS = 2
_TREES = 32  # in one array

Question = tuple[int, bool, float]  # feature, whether a missing value goes right, threshold


@dataclass(frozen=True, eq=False)
class SmallTrees(BlockSums):
    """The trees of each vote, in parts."""

    parts: list[list[FullTrees]]

    @property
    def n_votes(self) -> int:
        return len(self.parts)

    @property
    def features(self) -> np.ndarray:
        return np.unique([question[0] for own in self.parts for part in own for question in part.asked])

    @property
    def beginning(self) -> int:
        return 30_000

    def add(self, graph: Graph, columns: Columns, outside: Outside) -> str:
        nothing = graph.add("Mul", [columns.take(graph, self.features[:1]), graph.constant(np.array(0.0))])
        sums = [graph.sum([part.add(graph, columns) for part in own]) if own else nothing for own in self.parts]
        rows = sums[0] if len(sums) == 1 else graph.add("Concat", sums, {"axis": 0})
        return graph.add("Transpose", [rows], {"perm": [1, 0]})


@dataclass(frozen=True, eq=False)
class FullTrees:
    """Trees with all their splits on the same number of levels; the root has place 1, below k are 2k and 2k + 1."""

    asked: list[Question]
    """All different, ascending."""
    splits: np.ndarray
    """What is asked at each place of each tree; nothing at place 0."""
    leaves: np.ndarray

    def add(self, graph: Graph, columns: Columns) -> str:
        """The sum of the trees, one row."""
        answers = graph.add("Cast", [self._answers(graph, columns)], {"to": UINT8})
        number = ""
        for at in self.splits.T[1:]:
            digit = graph.add("Gather", [answers, graph.constant(at)], {"axis": 0})
            number = graph.add("Add", [graph.add("Add", [number, number]), digit]) if number else digit
        numbers = 1 << (self.splits.shape[1] - 1)
        table = graph.constant(self.leaves[:, _leaf_of(np.arange(numbers), self.splits.shape[1])])
        found = graph.add("GatherElements", [table, graph.add("Cast", [number], {"to": INT32})], {"axis": 1})
        return graph.add("MatMul", [graph.constant(np.ones((1, len(self.splits)))), found])

    def _answers(self, graph: Graph, columns: Columns) -> str:
        """One row for each question: true is right."""
        rows = []
        for feature, right in sorted({question[:2] for question in self.asked}):
            cuts = graph.constant([[cut] for *which, cut in self.asked if which == [feature, right]])
            x = columns.take(graph, np.array([feature]))
            # A comparison with a missing value is false.
            rows.append(
                graph.add("Not", [graph.add("GreaterOrEqual", [cuts, x])]) if right else graph.add("Less", [cuts, x])
            )
        return rows[0] if len(rows) == 1 else graph.add("Concat", rows, {"axis": 0})


def _leaf_of(numbers: np.ndarray, places: int) -> np.ndarray:
    """Where a tree with these answers ends; the root's is the highest digit."""
    at = np.ones_like(numbers)
    while at[0] < places:
        at = 2 * at + (numbers >> (places - 1 - at) & 1)
    return at - places


def small_trees(votes: Sequence[PlainTrees]) -> SmallTrees | None:
    """These trees in parts; nothing where one is too deep, or splits categories."""
    if any(np.any(vote.rule >= 0) or np.any(levels_of(vote) > _LEVELS) for vote in votes):
        return None
    return SmallTrees([_parts(vote) for vote in votes])


def _parts(trees: PlainTrees) -> list[FullTrees]:
    order = np.argsort(levels_of(trees), kind="stable")
    return [_part(trees, order[first : first + _TREES]) for first in range(0, len(order), _TREES)]


def _question(trees: PlainTrees, node: int) -> Question:
    return int(trees.feature[node]), bool(trees.missing[node] == RIGHT), float(trees.threshold[node])


def _part(trees: PlainTrees, chosen: np.ndarray) -> FullTrees:
    own = trees.part(chosen.tolist())
    levels = int(levels_of(own).max())
    asked = sorted({_question(own, node) for node in np.flatnonzero(own.feature >= 0).tolist()})
    number = {question: row for row, question in enumerate(asked)}
    splits = np.zeros((len(own), 1 << levels), dtype=np.int64)
    leaves = np.empty((len(own), 1 << levels))
    open_nodes = [(t, int(root), 1, levels) for t, root in enumerate(own.roots[:-1])]
    while open_nodes:
        t, node, place, below = open_nodes.pop()
        if own.feature[node] < 0:
            first = (place << below) - (1 << levels)
            leaves[t, first : first + (1 << below)] = own.value[node]
        else:
            splits[t, place] = number[_question(own, node)]
            sides = int(own.left[node]), int(own.right[node])
            open_nodes += [(t, side, 2 * place + k, below - 1) for k, side in enumerate(sides)]
    return FullTrees(asked, splits, leaves)
