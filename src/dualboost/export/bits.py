"""Trees on many rows: all splits at once, 64 rows in a number, with operators that work on whole arrays.

Every question is answered for 64 rows by one number (`questions`), the digits of the leaf that a row reaches follow
from the answers with three operations a split (`functions`), and eight digits, of one tree or several, tell the score
in a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dualboost.export.blocks import BlockSums, Outside
from dualboost.export.columns import Columns
from dualboost.export.functions import DIGITS, Functions, Place, Tree, numbered
from dualboost.export.graph import INT32, UINT8, Graph
from dualboost.export.planes import ROWS
from dualboost.export.questions import Questions
from dualboost.export.turning import BITS, add_turned
from dualboost.inspection.trees import PlainTrees

__all__ = ["CountedTrees", "by_size", "counted_trees"]

_NUMBERS = 4_000_000  # of rungs in a block
_BYTES = 8 * np.arange(8, dtype=np.uint64)[:, None, None]


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
    def n_votes(self) -> int:
        return len(self.votes)

    @property
    def features(self) -> np.ndarray:
        return np.array([curve.feature for curve in self.functions.questions.curves])

    @property
    def block(self) -> int:
        """Not so many rows that the rungs would take more than a few dozen MB."""
        return int(np.clip(ROWS * _NUMBERS // self.functions.questions.size, 1, super().block))

    @property
    def beginning(self) -> int:
        questions = self.functions.questions
        lost, listed = any(curve.lost for curve in questions.curves), bool(questions.listed)
        return 23_000 + 7 * sum(map(len, self.functions.levels)) + 7_000 * lost + 10_000 * listed

    def add(self, graph: Graph, columns: Columns, outside: Outside) -> str:
        even, odd = self._digits(graph, columns, outside)
        numbers = _numbers(graph, add_turned(graph, even, odd, BITS))
        found = graph.add("GatherElements", [graph.constant(self.tables), numbers], {"axis": 1})
        sums = graph.add("MatMul", [graph.constant(self.votes), found])
        rows = graph.add("Transpose", [sums], {"perm": [1, 0]})
        return graph.add("Slice", [rows, graph.constant(np.array([0])), outside.rows])

    def _digits(self, graph: Graph, columns: Columns, outside: Outside) -> list[str]:
        """The even digits and the odd ones: (group, digit, 64 rows)."""
        wanted = sorted({place for own in self.digits for place in own})
        rows = self.functions.add(graph, columns, outside, wanted)
        at = np.array([[wanted.index(place) for place in own] for own in self.digits])
        return [graph.add("Gather", [rows, graph.constant(at[:, k::2])], {"axis": 0}) for k in (0, 1)]


def _numbers(graph: Graph, turned: str) -> str:
    """Byte by byte, one a row, of each group: the rows are in their order again."""
    turned = graph.add("Unsqueeze", [turned, graph.constant(np.array([1]))])
    lowered = graph.add("BitShift", [turned, graph.constant(_BYTES)], {"direction": "RIGHT"})
    byte = graph.add("Cast", [lowered], {"to": UINT8})  # the lowest one
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
        [[*own, *own[:1] * (DIGITS - len(own))] for own in digits],  # what is left over counts for nothing
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
        sums += tree.values[numbers & ((1 << tree.digits) - 1)]
        numbers = numbers >> tree.digits
    return sums
