"""Trees on many rows: all splits at once, 64 rows in a word, with operators that work on whole arrays.

Every question is answered for 64 rows by one word (`questions`), the digits of the leaf that a row reaches follow from
the answers with a few operations a split (`functions`), and eight digits, of one tree or several, tell the score in a
table. Arrays know nothing of abstaining: the score of a row with a strange category is no number, but NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dualboost.export.blocks import ROWS, Outside
from dualboost.export.columns import add_columns
from dualboost.export.efforts import Effort
from dualboost.export.functions import Circuit, Function, Functions
from dualboost.export.graph import INT32, UINT8, UINT64, Graph
from dualboost.export.leaf_numbers import DIGITS, Tree, numbered
from dualboost.export.planes import add_padding
from dualboost.export.questions import Questions
from dualboost.export.turning import BITS, add_turned
from dualboost.inspection.trees import PlainTrees

__all__ = ["CountedTrees", "by_size", "counted_trees"]

_BYTES_AT_ONCE = 9_500_000  # of a block with what is worked out from it: much of it comes from a cache then...
_LEAST, _MOST = 640, 10_240  # ...and rows
_NUMBERS = 4_000_000  # of answers in a block
_NOT_A_NUMBER = np.append(0.0, np.full((1 << DIGITS) - 1, np.nan))  # wherever any digit is 1
_EIGHT = np.arange(8, dtype=np.uint64)
_LOWEST = 0x0101010101010101  # bit of each byte
_FEW = 16  # groups: their words are few


@dataclass(frozen=True, eq=False)
class CountedTrees:
    """Groups of trees whose leaves have eight digits together."""

    digits: Circuit
    """The lowest digit of each group, then the second ones, and so on."""
    tables: np.ndarray
    """The score of a group for each number."""
    votes: np.ndarray
    """votes[k, g]: whether group g belongs to vote k."""

    @property
    def n_votes(self) -> int:
        return len(self.votes)

    @property
    def features(self) -> np.ndarray:
        """The columns of X they look at, ascending."""
        return np.array([curve.feature for curve in self.digits.questions.curves])

    @property
    def block(self) -> int:
        """How many rows are summed at once: what is worked out from them stays in a cache, or takes a few dozen MB."""
        codes = 24 * len(self.features) + 8 * self.digits.questions.eights
        bytes_of_a_row = codes + (self._choices + len(self.digits.asked)) // 4 + 16 * len(self.tables)
        most = int(np.clip(_BYTES_AT_ONCE // bytes_of_a_row, _LEAST, _MOST))
        return int(np.clip(ROWS * _NUMBERS // len(self.digits.asked), ROWS, most))

    @property
    def _choices(self) -> int:
        return sum(map(len, self.digits.levels))

    @property
    def effort(self) -> Effort:
        asked = len(self.digits.asked)
        codes = 6 * len(self.features) + 2.1 * self.digits.questions.eights
        each = codes + 0.06 * self._choices + 0.03 * asked + 1.5 * len(self.tables)
        lacking = ROWS * each  # the last word is worked out for all its rows, of which there may be but one
        turning = 2_000 if len(self.tables) <= _FEW else 9_000
        return Effort(31_000 + turning + 4_700 * len(self.digits.levels) + 3 * asked + lacking, each)

    def add(self, graph: Graph, X: str, outside: Outside) -> str:
        """The sum of the trees of each vote for these rows, a column each."""
        columns = add_columns(graph, self.features, outside.n_features, X, add_padding(outside))
        digits = graph.add("Cast", [self.digits.add(graph, columns)], {"to": UINT64})
        numbers = _numbers(graph, digits, len(self.tables), outside)
        found = graph.add("GatherElements", [graph.constant(self.tables), numbers], {"axis": 1})
        if self.n_votes == 1 and outside.whole:  # a product is slower for many rows, a sum much slower for a few
            sums = graph.add("ReduceSum", [found, graph.constant(np.array([0]))], {"keepdims": 1})
        else:
            sums = graph.add("MatMul", [graph.constant(self.votes), found])
        if self.n_votes == 1:  # nothing is moved
            return graph.add("Reshape", [sums, graph.constant(np.array([-1, 1]))])
        return graph.add("Transpose", [sums], {"perm": [1, 0]})


def _numbers(graph: Graph, digits: str, groups: int, outside: Outside) -> str:
    """Of each group, a column a row; only of rows that are there."""
    if groups <= _FEW and not outside.whole:
        turned = _turned_by_product(graph, digits, groups)
    else:
        eights = graph.add("Reshape", [digits, graph.constant(np.array([-1, 2, 2, 2, groups]))])
        turned = add_turned(graph, eights, BITS)
    by_bit = graph.add("Reshape", [turned, graph.constant(np.array([-1, 1, 8, groups]))])
    lowered = graph.add("BitShift", [by_bit, graph.constant(8 * _EIGHT[:, None, None])], {"direction": "RIGHT"})
    byte = graph.add("Cast", [lowered], {"to": UINT8})  # the lowest one
    each = graph.add("Reshape", [byte, graph.constant(np.array([-1, groups]))])
    if not outside.whole:
        each = graph.add("Slice", [each, graph.constant(np.array([0])), outside.rows])
    return graph.add("Cast", [graph.add("Transpose", [each], {"perm": [1, 0]})], {"to": INT32})


def _turned_by_product(graph: Graph, digits: str, groups: int) -> str:
    """Squares of bits, turned with few operators: on a few words these are most of the time."""
    eights = graph.add("Reshape", [digits, graph.constant(np.array([-1, 1, 8, groups]))])
    lowered = graph.add("BitShift", [eights, graph.constant(_EIGHT[:, None, None])], {"direction": "RIGHT"})
    lowest = graph.add("BitwiseAnd", [lowered, graph.constant(np.array(_LOWEST, dtype=np.uint64))])
    return graph.add("MatMul", [graph.constant(np.uint64(1) << _EIGHT[None, :]), lowest])


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
    tables = [_table(group) for _, group in groups]
    member = [np.arange(len(votes)) == k for k, _ in groups]
    for strange in _eights(functions.strange):
        digits.append(strange)
        tables.append(_NOT_A_NUMBER)
        member.append(np.ones(len(votes), dtype=bool))
    wanted = [own[j] if j < len(own) else functions.never for j in range(DIGITS) for own in digits]
    circuit = Circuit.of(functions.questions, wanted)
    return CountedTrees(circuit, np.array(tables), np.column_stack(member).astype(np.float64))


def _eights(functions: Sequence[Function]) -> list[list[Function]]:
    return [list(functions[first : first + DIGITS]) for first in range(0, len(functions), DIGITS)]


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
