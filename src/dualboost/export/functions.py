"""Trees as truth functions: a bit of the leaf's number, worked out from the leaves to the root for 64 rows at a time.

A tree with two values needs one bit, others the digits of their leaf's number. A split is a choice between the bits of
its two sides; where these are 0 and 1 it is the answer itself, and where they are alike it is not asked at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from dualboost.export.graph import Graph
from dualboost.export.questions import Questions, question
from dualboost.inspection.trees import PlainTrees

__all__ = ["DIGITS", "Functions", "Place", "Tree", "numbered"]

DIGITS = 8  # of a leaf's number at most
_ANSWERS, _LEVELS = 0, 1  # tables in the graph: the answers and below them the opposite of some, then one a level
Place = tuple[int, int]  # a table, and a row of it
_NEVER, _ALWAYS = (_ANSWERS, 0), (_ANSWERS, 1)  # no bit is set there, and all are
Choice = tuple[Place, Place, Place]  # the answer, what counts where it is false, and where it is true


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree of a vote, with a number for each leaf."""

    vote: PlainTrees
    root: int
    number: dict[int, int]
    """Of each leaf; in a tree of two values these are told apart, and no more."""
    values: list[float]
    """The value of each number."""

    @property
    def digits(self) -> int:
        return (len(self.values) - 1).bit_length()


def numbered(vote: PlainTrees, tree: int) -> Tree:
    """The leaves from left to right, or the two values."""
    leaves: list[int] = []
    open_nodes = [int(vote.roots[tree])]
    while open_nodes:
        node = open_nodes.pop()
        if vote.feature[node] < 0:
            leaves.append(node)
        else:
            open_nodes += [int(vote.right[node]), int(vote.left[node])]
    each = [float(vote.value[leaf]) for leaf in leaves]
    values = sorted(set(each))
    if len(values) > 2:
        return Tree(vote, int(vote.roots[tree]), {leaf: k for k, leaf in enumerate(leaves)}, each)
    return Tree(vote, int(vote.roots[tree]), dict(zip(leaves, map(values.index, each), strict=True)), values)


@dataclass(eq=False)
class Functions:
    """The choices of some trees, by how many others stand below them, none of them twice."""

    questions: Questions
    negated: list[Place] = field(default_factory=list)
    levels: list[list[Choice]] = field(default_factory=list)
    _known: dict[Choice, Place] = field(default_factory=dict)

    def digit(self, tree: Tree, digit: int) -> Place:
        """Where this digit of the leaf's number will be found."""
        return self._at(tree, tree.root, lambda leaf: tree.number[leaf] >> digit & 1)

    def _at(self, tree: Tree, node: int, bit: Callable[[int], int]) -> Place:
        if tree.vote.feature[node] < 0:
            return _ALWAYS if bit(node) else _NEVER
        false, true = (self._at(tree, int(side[node]), bit) for side in (tree.vote.left, tree.vote.right))
        if false == true:
            return true
        answer = _ANSWERS, self.questions.answers[question(tree.vote, node)[0]]
        choice = answer, false, true
        if choice not in self._known:
            self._known[choice] = answer if (false, true) == (_NEVER, _ALWAYS) else self._new(choice)
        return self._known[choice]

    def _new(self, choice: Choice) -> Place:
        if choice[1:] == (_ALWAYS, _NEVER):
            self.negated.append(choice[0])
            return _ANSWERS, self.questions.count + len(self.negated) - 1
        level = max(0, *(source + 1 - _LEVELS for source, _ in choice[1:]))
        if level == len(self.levels):
            self.levels.append([])
        self.levels[level].append(choice)
        return _LEVELS + level, len(self.levels[level]) - 1

    def add(self, graph: Graph, answers: str, wanted: Sequence[Place]) -> str:
        """The bits at these places, a row each."""
        if self.negated:
            opposite = graph.add("BitwiseNot", [_Tables(graph, answers).take(self.negated)])
            answers = graph.add("Concat", [answers, opposite], {"axis": 0})
        tables = _Tables(graph, answers)
        for level in self.levels:
            tables.choose(level)
        return tables.take(wanted)


class _Tables:
    """The tables of a graph so far; the rows of a level stand in another order, so that they are gathered in runs."""

    def __init__(self, graph: Graph, answers: str) -> None:
        self._graph = graph
        self._names = [answers]
        self._moved: dict[int, np.ndarray] = {}

    def choose(self, level: Sequence[Choice]) -> None:
        order = sorted(range(len(level)), key=lambda k: [source for source, _ in level[k][1:] + level[k][:1]])
        answer, false, true = (self.take([level[k][part] for k in order]) for part in range(3))
        differ = self._graph.add("BitwiseXor", [false, true])
        changed = self._graph.add("BitwiseAnd", [answer, differ])
        self._moved[len(self._names)] = np.argsort(order)
        self._names.append(self._graph.add("BitwiseXor", [false, changed]))

    def take(self, places: Sequence[Place]) -> str:
        """The rows at these places, one after the other."""
        parts = [self._rows(source, [row for _, row in own]) for source, own in groupby(places, key=lambda at: at[0])]
        return parts[0] if len(parts) == 1 else self._graph.add("Concat", parts, {"axis": 0})

    def _rows(self, source: int, rows: list[int]) -> str:
        at = self._moved[source][rows] if source in self._moved else np.array(rows)
        return self._graph.add("Gather", [self._names[source], self._graph.constant(at)], {"axis": 0})
