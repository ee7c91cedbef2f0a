"""Trees on many rows: all splits at once, 64 rows in a number, with operators that work on whole arrays.

Every question is answered for 64 rows by one number (`questions`), the digits of the leaf that a row reaches follow
from the answers with three operations a split (`functions`), and eight digits, of one tree or several, tell the score
in a table. Arrays know nothing of abstaining: the score of a row with a strange category is no number, but NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dualboost.export.blocks import Outside
from dualboost.export.columns import Columns
from dualboost.export.efforts import Effort
from dualboost.export.functions import Functions, Place
from dualboost.export.graph import INT32, UINT8, Graph
from dualboost.export.leaf_numbers import DIGITS, Tree, numbered
from dualboost.export.planes import ROWS
from dualboost.export.questions import Questions
from dualboost.export.turning import BITS, add_turned
from dualboost.inspection.trees import PlainTrees

__all__ = ["CountedTrees", "by_size", "counted_trees"]

_CELLS = 70_000  # of X in a block, a MB or two with what is worked out from them...
_LEAST, _MOST = 640, 10_240  # ...and rows
_NUMBERS = 4_000_000  # of answers in a block
_GROUPS = 64  # that a sum adds faster than a product
_NOT_A_NUMBER = np.append(0.0, np.full((1 << DIGITS) - 1, np.nan))  # wherever any digit is 1
_BYTES = 8 * np.arange(8, dtype=np.uint64)[:, None]


@dataclass(frozen=True, eq=False)
class CountedTrees:
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
        """The columns of X they look at, ascending."""
        return np.array([curve.feature for curve in self.functions.questions.curves])

    @property
    def block(self) -> int:
        """How many rows are summed at once: what is worked out from them stays in a cache, or takes a few dozen MB."""
        most = int(np.clip(_CELLS // len(self.features), _LEAST, _MOST))
        return int(np.clip(ROWS * _NUMBERS // len(self.functions.asked), 1, most))

    @property
    def effort(self) -> Effort:
        choices, asked = sum(map(len, self.functions.levels)), len(self.functions.asked)
        return Effort(
            70_000 + 8_000 * len(self.functions.levels) + 30 * (choices + asked),
            9 * len(self.features) + 0.1 * (choices + asked) + 2.5 * len(self.digits),
        )

    def add(self, graph: Graph, columns: Columns, outside: Outside) -> str:
        """The sum of the trees of each vote for these rows, a column each."""
        digits = self._digits(graph, columns, outside)
        numbers = _numbers(graph, add_turned(graph, digits, BITS), len(self.digits))
        found = graph.add("GatherElements", [graph.constant(self.tables), numbers], {"axis": 1})
        parts = graph.add("Reshape", [self._summed(graph, found), graph.constant(np.array([self.n_votes, 8, 8, -1]))])
        ordered = graph.add("Transpose", [parts], {"perm": [2, 1, 3, 0]})
        rows = graph.add("Reshape", [ordered, graph.constant(np.array([-1, self.n_votes]))])
        return graph.add("Slice", [rows, graph.constant(np.array([0])), outside.rows])

    def _summed(self, graph: Graph, found: str) -> str:
        """What the groups of each vote say, added up: a product, which is slow where one vote has many groups."""
        if self.n_votes == 1 and len(self.tables) > _GROUPS:
            return graph.add("ReduceSum", [found, graph.constant(np.array([0]))], {"keepdims": 1})
        return graph.add("MatMul", [graph.constant(self.votes), found])

    def _digits(self, graph: Graph, columns: Columns, outside: Outside) -> str:
        """The eight digits of each group, two by two by two, for 64 rows."""
        places = np.array(self.digits).transpose(1, 0, 2)
        flat = [(int(table), int(row)) for table, row in places.reshape(-1, 2)]
        rows = self.functions.add(graph, columns, outside, flat)
        return graph.add("Reshape", [rows, graph.constant(np.array([2, 2, 2, len(self.digits), -1]))])


def _numbers(graph: Graph, turned: str, groups: int) -> str:
    """Byte by byte, one a row, of each group: the first bytes of all numbers, then the second ones."""
    eights = graph.add("Reshape", [turned, graph.constant(np.array([8, groups, -1]))])
    own = graph.add("Transpose", [eights], {"perm": [1, 0, 2]})
    each = graph.add("Reshape", [own, graph.constant(np.array([groups, 1, -1]))])
    lowered = graph.add("BitShift", [each, graph.constant(_BYTES)], {"direction": "RIGHT"})
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
    tables = [_table(group) for _, group in groups]
    member = np.array([k for k, _ in groups]) == np.arange(len(votes))[:, None]
    for strange in _eights(functions.strange):
        digits.append(strange)
        tables.append(_NOT_A_NUMBER)
        member = np.append(member, np.ones((len(votes), 1), dtype=bool), axis=1)
    digits = [[*own, *[functions.never] * (DIGITS - len(own))] for own in digits]
    return CountedTrees(functions, digits, np.array(tables), member.astype(np.float64))


def _eights(places: Sequence[Place]) -> list[list[Place]]:
    return [list(places[first : first + DIGITS]) for first in range(0, len(places), DIGITS)]


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
