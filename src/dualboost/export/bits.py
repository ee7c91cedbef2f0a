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
from dualboost.export.graph import INT32, UINT8, UINT64, Graph
from dualboost.export.questions import ROWS, Questions
from dualboost.inspection.trees import PlainTrees

__all__ = ["CountedTrees", "by_size", "counted_trees"]

_EXCHANGES = (1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F)
_EVEN_AND_ODD = np.arange(DIGITS).reshape(-1, 2).T
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
    def beginning(self) -> int:
        return 18_000 + 20 * sum(map(len, self.functions.levels))

    def add(self, graph: Graph, columns: Columns, outside: Outside) -> str:
        questions = self.functions.questions
        answers = questions.add(graph, columns, questions.lanes(outside))
        numbers = _numbers(graph, _turned(graph, self._digits(graph, answers)))
        found = graph.add("GatherElements", [graph.constant(self.tables), numbers], {"axis": 1})
        sums = graph.add("MatMul", [graph.constant(self.votes), found])
        return self._by_rows(graph, sums, outside.rows)

    def _digits(self, graph: Graph, answers: str) -> list[str]:
        """The even digits and the odd ones: (group, digit, 64 rows)."""
        wanted = sorted({place for own in self.digits for place in own})
        rows = graph.add("Cast", [self.functions.add(graph, answers, wanted)], {"to": UINT64})
        at = np.array([[wanted.index(place) for place in own] for own in self.digits])
        return [graph.add("Gather", [rows, graph.constant(at[:, k::2])], {"axis": 0}) for k in (0, 1)]

    def _by_rows(self, graph: Graph, sums: str, count: str) -> str:
        """From (vote, row of 64, 64 rows) to a row each."""
        n_votes = len(self.votes)
        apart = graph.add("Reshape", [sums, graph.constant(np.array([n_votes, ROWS, -1]))])
        turned = graph.add("Transpose", [apart], {"perm": [2, 1, 0]})
        rows = graph.add("Reshape", [turned, graph.constant(np.array([-1, n_votes]))])
        return graph.add("Slice", [rows, graph.constant(np.array([0])), count])


def _turned(graph: Graph, digits: list[str]) -> str:
    """Digits of 64 rows turned into bytes, one a row: the k-th of eight numbers has the bytes of rows k, k + 8, ...

    The digits of eight rows are a square of bits, which is turned by exchanging the bits of digits that differ by 1,
    then by 2, then by 4.
    """
    both = ""
    for apart, chosen in _EXCHANGES:
        if both:
            digits = [graph.add("Gather", [both, graph.constant(at)], {"axis": 1}) for at in _EVEN_AND_ODD]
        both = graph.add("Concat", _exchanged(graph, digits, apart, chosen), {"axis": 1})
    return both


def _exchanged(graph: Graph, pair: list[str], apart: int, chosen: int) -> list[str]:
    """The chosen bits of the second in the place of those that far above them in the first, and the other way round."""
    first, second = pair
    by, mask = (graph.constant(np.array(number, dtype=np.uint64)) for number in (apart, chosen))
    lowered = graph.add("BitShift", [first, by], {"direction": "RIGHT"})
    differ = graph.add("BitwiseAnd", [graph.add("BitwiseXor", [lowered, second]), mask])
    raised = graph.add("BitShift", [differ, by], {"direction": "LEFT"})
    return [graph.add("BitwiseXor", [first, raised]), graph.add("BitwiseXor", [second, differ])]


def _numbers(graph: Graph, turned: str) -> str:
    """Byte by byte, of each group: (row of 64, 64 rows)."""
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
        own = np.zeros(1 << tree.digits)
        own[: len(tree.values)] = tree.values
        sums += own[numbers & ((1 << tree.digits) - 1)]
        numbers = numbers >> tree.digits
    return sums
