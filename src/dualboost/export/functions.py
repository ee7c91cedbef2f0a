"""Trees as truth functions: a bit of the leaf's number, worked out from the leaves to the root for 64 rows at a time.

A split is a choice between the bits of its two sides; where these are 0 and 1 it is the answer itself, and where they
are alike, or one of them is no matter, it is not asked at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from dualboost.export.blocks import Outside
from dualboost.export.columns import Columns
from dualboost.export.graph import Graph
from dualboost.export.leaf_numbers import Tree
from dualboost.export.questions import ALWAYS, Questions, Rungs, question

__all__ = ["Functions", "Place"]

_ANSWERS = 0  # the first table in the graph; then one a level
_MORE = 3  # runs of rows than tables they come from: beyond, they are better sorted first
Place = tuple[int, int]  # a table, and a row of it
Choice = tuple[Place, Place, Place]  # the answer, what counts where it is false, and where it is true


@dataclass(eq=False)
class Functions:
    """The choices of some trees, by how many others stand below them, none of them twice."""

    questions: Questions
    asked: dict[Rungs, int] = field(default_factory=dict)
    """What is needed of the answers, by number."""
    levels: list[list[Choice]] = field(default_factory=list)
    _known: dict[Choice, Place] = field(default_factory=dict)

    def digit(self, tree: Tree, digit: int) -> Place:
        """Where this digit of the leaf's number will be found."""
        return self._at(tree, tree.root, digit) or self.never

    @property
    def never(self) -> Place:
        """A digit that is 0 for every row."""
        return self._answer(())

    @property
    def strange(self) -> list[Place]:
        """Where it will be found whether a category is strange, for each column where one can be."""
        return [self._answer(rungs) for rungs in self.questions.strange]

    def _at(self, tree: Tree, node: int, digit: int) -> Place | None:
        """Nothing where the digit is no matter."""
        if tree.vote.feature[node] < 0:
            bit = tree.number[node].bit(digit)
            return None if bit is None else self._answer((ALWAYS,) if bit else ())
        false, true = (self._at(tree, int(side[node]), digit) for side in (tree.vote.left, tree.vote.right))
        if false is None or true is None or false == true:
            return true if false is None else false
        rungs = self.questions.answers[question(tree.vote, node)[0]]
        never, always = self.never, self._answer((ALWAYS,))
        if (false, true) == (never, always):
            return self._answer(rungs)
        if (false, true) == (always, never):
            return self._answer(tuple(sorted({*rungs} ^ {ALWAYS})))
        choice = self._answer(rungs), false, true
        if choice not in self._known:
            self._known[choice] = self._new(choice)
        return self._known[choice]

    def _answer(self, rungs: Rungs) -> Place:
        return _ANSWERS, self.asked.setdefault(rungs, len(self.asked))

    def _new(self, choice: Choice) -> Place:
        """The place of a choice is in the table after the later one of its sides."""
        _, false, true = choice
        below = max(false[0], true[0])
        if below == len(self.levels):
            self.levels.append([])
        self.levels[below].append(choice)
        return below + 1, len(self.levels[below]) - 1

    def add(self, graph: Graph, columns: Columns, outside: Outside, wanted: Sequence[Place]) -> str:
        """The bits at these places, a row each."""
        tables = _Tables(graph, *self.questions.add(graph, columns, outside, list(self.asked)))
        for level in self.levels:
            tables.choose(level)
        return tables.take(wanted)


class _Tables:
    """The tables of a graph so far; the rows of a level stand in another order, so that they are gathered in runs."""

    def __init__(self, graph: Graph, answers: str, rows: np.ndarray) -> None:
        self._graph = graph
        self._names = [answers]
        self._moved = [rows]

    def choose(self, level: Sequence[Choice]) -> None:
        order = sorted(range(len(level)), key=lambda k: [source for source, _ in level[k][1:] + level[k][:1]])
        answer, false, true = (self.take([level[k][part] for k in order]) for part in range(3))
        differ = self._graph.add("BitwiseXor", [false, true])
        changed = self._graph.add("BitwiseAnd", [answer, differ])
        self._moved.append(np.argsort(order))
        self._names.append(self._graph.add("BitwiseXor", [false, changed]))

    def take(self, places: Sequence[Place]) -> str:
        """The rows at these places, one after the other."""
        runs = [(source, [row for _, row in own]) for source, own in groupby(places, key=lambda at: at[0])]
        if len(runs) <= len({source for source, _ in runs}) + _MORE:
            return self._graph.stacked([self._rows(*run) for run in runs])
        wanted = sorted(set(places))
        number = {place: k for k, place in enumerate(wanted)}
        at = np.array([number[place] for place in places])
        return self._graph.add("Gather", [self.take(wanted), self._graph.constant(at)], {"axis": 0})

    def _rows(self, source: int, rows: list[int]) -> str:
        at = self._moved[source][rows]
        return self._graph.add("Gather", [self._names[source], self._graph.constant(at)], {"axis": 0})
