"""Trees on many rows: all splits at once, 63 rows in a number, with operators that work on whole arrays.

Every question is answered for 63 rows by one number (`questions`), the digits of the leaf that a row reaches follow
from the answers with three operations a split (`functions`), and eight digits, of one tree or several, tell the score
in a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dualboost.export.blocks import BlockSums, Outside
from dualboost.export.columns import Columns
from dualboost.export.functions import DIGITS, Functions, Tree, numbered
from dualboost.export.graph import INT32, UINT64, Graph
from dualboost.export.questions import NEVER, Place, Questions
from dualboost.inspection.trees import PlainTrees

__all__ = ["CountedTrees", "by_size", "counted_trees"]


@dataclass(frozen=True, eq=False)
class CountedTrees(BlockSums):
    """Groups of trees whose leaves have eight digits together."""

    functions: Functions
    digits: list[list[Place]]
    """Of each group, the lowest first."""
    tables: np.ndarray
    """The score of a group for each number."""
    votes: np.ndarray
    """votes[k, g]: whether group g belongs to vote k."""

    @property
    def features(self) -> np.ndarray:
        return np.array([curve.feature for curve in self.functions.questions.curves])

    def add(self, graph: Graph, columns: Columns, outside: Outside) -> str:
        questions = self.functions.questions
        answers = questions.add(graph, columns, questions.lanes(outside.graph, outside.rows))
        bits = self._digits(graph, answers)
        found = graph.add("GatherElements", [graph.constant(self.tables), _numbers(graph, bits)], {"axis": 1})
        sums = graph.add("MatMul", [graph.constant(self.votes), found])
        length = graph.add("Shape", [columns.name], {"start": 1, "end": 2})
        first, axis = graph.constant(np.array([0])), graph.constant(np.array([1]))
        return graph.add("Transpose", [graph.add("Slice", [sums, first, length, axis])], {"perm": [1, 0]})

    def _digits(self, graph: Graph, answers: Sequence[str]) -> list[str]:
        """A table for each digit, with a row for each group."""
        wanted = sorted({place for own in self.digits for place in own})
        rows = graph.add("Cast", [self.functions.add(graph, answers, wanted)], {"to": UINT64})
        at = np.array([[wanted.index(place) for place in own] for own in self.digits])
        return [graph.add("Gather", [rows, graph.constant(own[:, None])], {"axis": 0}) for own in at.T]


def _numbers(graph: Graph, digits: Sequence[str]) -> str:
    """Digits of 63 rows turned into one number a row: every eighth row at a time, then byte by byte."""
    eight = graph.constant(np.arange(8, dtype=np.uint64)[:, None])
    lowest = graph.constant(np.array(0x0101010101010101, dtype=np.uint64))
    packed = ""
    for place, digit in enumerate(digits):
        shifted = graph.add("BitShift", [digit, eight], {"direction": "RIGHT"})
        single = graph.add("BitwiseAnd", [shifted, lowest])
        by = np.array(place, dtype=np.uint64)
        placed = graph.add("BitShift", [single, graph.constant(by)], {"direction": "LEFT"}) if place else single
        packed = graph.add("BitwiseOr", [packed, placed]) if place else single
    packed = graph.add("Unsqueeze", [packed, graph.constant(np.array([1]))])
    bytes_ = graph.constant(8 * np.arange(8, dtype=np.uint64)[:, None, None])
    moved = graph.add("BitShift", [packed, bytes_], {"direction": "RIGHT"})
    byte = graph.add("BitwiseAnd", [moved, graph.constant(np.array(255, dtype=np.uint64))])
    return graph.add("Flatten", [graph.add("Cast", [byte], {"to": INT32})], {"axis": 1})


def by_size(trees: PlainTrees) -> tuple[PlainTrees, PlainTrees]:
    """(the trees that can be counted, those with too many leaves)."""
    small = [numbered(trees, t).digits <= DIGITS for t in range(len(trees))]
    return trees.part(np.flatnonzero(small).tolist()), trees.part(np.flatnonzero(np.logical_not(small)).tolist())


def counted_trees(votes: Sequence[PlainTrees]) -> CountedTrees:
    """These trees in groups; none has too many leaves."""
    trees = [[numbered(vote, t) for t in range(len(vote))] for vote in votes]
    functions = Functions(Questions.of(votes))
    groups = [(k, group) for k, own in enumerate(trees) for group in _groups(own)]
    digits = [[functions.digit(tree, j) for tree in group for j in range(tree.digits)] for _, group in groups]
    member = np.array([k for k, _ in groups])
    return CountedTrees(
        functions,
        [[*own, *[NEVER] * (DIGITS - len(own))] for own in digits],
        np.array([_table(group) for _, group in groups]),
        (member == np.arange(len(votes))[:, None]).astype(np.float64),
    )


def _groups(trees: Sequence[Tree]) -> list[list[Tree]]:
    """As many trees as have eight digits together."""
    groups: list[list[Tree]] = []
    left = 0
    for tree in sorted(trees, key=lambda tree: tree.digits):
        if not groups or tree.digits > left:
            groups.append([])
            left = DIGITS
        groups[-1].append(tree)
        left -= tree.digits
    return groups


def _table(group: Sequence[Tree]) -> np.ndarray:
    numbers, sums = np.arange(1 << DIGITS), np.zeros(1 << DIGITS)
    for tree in group:
        own = np.zeros(1 << tree.digits)
        own[: len(tree.values)] = tree.values
        sums += own[numbers & ((1 << tree.digits) - 1)]
        numbers = numbers >> tree.digits
    return sums
