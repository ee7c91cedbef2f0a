"""Small trees on many rows: all splits at once, as bytes, with operators that work on whole arrays.

onnxruntime walks its trees row by row, and half of the turns come as a surprise to the processor. Here a comparison of
a whole column with all its cuts gives a byte for each split and row, and the splits of a tree of at most three levels,
read as one binary number of seven digits, tell the leaf in a table. Every tree is laid out as a full one: a leaf that
comes early is repeated, and what is asked below it does not matter.

A few rows walk as before, and so do very many, for which the bytes would need too much memory, and rows with a missing
value that makes a tree abstain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualboost.export.columns import Columns
from dualboost.export.ensemble import tree_arrays
from dualboost.export.graph import Graph
from dualboost.inspection.trees import ABSTAIN, RIGHT, PlainTrees

__all__ = ["FullTrees", "add_small_trees", "full_trees"]

_LEVELS = 3
_TREES = 32  # in one array
_FEWEST_ROWS, _MOST_BYTES = 128, 1 << 28
_BYTE, _INT32 = 2, 6

Question = tuple[int, bool, float]  # feature, whether a missing value goes right, threshold


@dataclass(frozen=True, eq=False)
class FullTrees:
    """Trees with all their splits on the same number of levels; the root has place 1, below k are 2k and 2k + 1."""

    asked: list[Question]
    """All different, ascending."""
    splits: np.ndarray
    """What is asked at each place of each tree; nothing at place 0."""
    leaves: np.ndarray

    @property
    def bytes_a_row(self) -> int:
        """Roughly what one row of X takes in memory: the answers, their number and the leaf of each tree."""
        return len(self.asked) + 24 * len(self.splits)

    def add(self, graph: Graph, columns: Columns) -> str:
        """The sum of the trees, one row."""
        answers = graph.add("Cast", [self._answers(graph, columns)], {"to": _BYTE})
        number = ""
        for at in self.splits.T[1:]:
            digit = graph.add("Gather", [answers, graph.constant(at)], {"axis": 0})
            number = graph.add("Add", [graph.add("Add", [number, number]), digit]) if number else digit
        numbers = 1 << (self.splits.shape[1] - 1)
        table = graph.constant(self.leaves[:, _leaf_of(np.arange(numbers), self.splits.shape[1])])
        found = graph.add("GatherElements", [table, graph.add("Cast", [number], {"to": _INT32})], {"axis": 1})
        return graph.add("ReduceSum", [found, graph.constant(np.array([0]))], {"keepdims": 1})

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


def full_trees(trees: PlainTrees) -> list[FullTrees]:
    """These trees in blocks; nothing where one is too deep, or splits categories."""
    levels = _levels(trees)
    if not len(trees) or np.any(trees.rule >= 0) or levels.max() > _LEVELS:
        return []
    order = np.argsort(levels, kind="stable")
    return [_block(trees, order[first : first + _TREES]) for first in range(0, len(order), _TREES)]


def _levels(trees: PlainTrees) -> np.ndarray:
    """How many splits the longest path of each tree has."""
    levels = np.zeros(len(trees), dtype=np.int64)
    tree, at = np.arange(len(trees)), trees.roots[:-1]
    while len(at):
        inner = trees.feature[at] >= 0
        tree, at = tree[inner], at[inner]
        levels[np.unique(tree)] += 1
        tree, at = np.tile(tree, 2), np.concatenate([trees.left[at], trees.right[at]])
    return levels


def _question(trees: PlainTrees, node: int) -> Question:
    return int(trees.feature[node]), bool(trees.missing[node] == RIGHT), float(trees.threshold[node])


def _block(trees: PlainTrees, chosen: np.ndarray) -> FullTrees:
    own = trees.part(chosen.tolist())
    levels = int(_levels(own).max())
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


def add_small_trees(graph: Graph, trees: PlainTrees, columns: Columns) -> str:
    """The sum of trees that are small enough, as a column, by whichever way suits the rows."""
    blocks = full_trees(trees)
    walked, counted = graph.branch(), graph.branch()
    answer = counted.sum([block.add(counted, columns) for block in blocks])
    return graph.choose(
        _suits(graph, trees, columns, _MOST_BYTES // max(block.bytes_a_row for block in blocks)),
        (counted, counted.add("Transpose", [answer], {"perm": [1, 0]})),
        (walked, walked.trees("X", tree_arrays([trees]), 1)),
    )


def _suits(graph: Graph, trees: PlainTrees, columns: Columns, most_rows: int) -> str:
    """Whether the rows are neither few nor too many, and no tree abstains from one."""
    rows = graph.add("Shape", ["X"], {"start": 0, "end": 1})
    many = graph.add("GreaterOrEqual", [rows, graph.constant(np.array([_FEWEST_ROWS]))])
    suits = graph.add("And", [many, graph.add("LessOrEqual", [rows, graph.constant(np.array([most_rows]))])])
    whole = np.unique(trees.feature[(trees.feature >= 0) & (trees.missing == ABSTAIN)])
    if len(whole):
        total = graph.add(
            "ReduceSum", [columns.take(graph, whole)], {"keepdims": 0}
        )  # NaN where one is; where infinities meet, too
        suits = graph.add("And", [suits, graph.add("Not", [graph.add("IsNaN", [total])])])
    return suits
