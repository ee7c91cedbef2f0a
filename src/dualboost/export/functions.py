"""Trees as truth functions: a bit of the leaf's number, worked out from the leaves to the root for 64 rows at a time.

A split is a choice between the bits of its two sides; where these are 0 and 1 it is the answer itself, and where they
are alike, or one of them is no matter, it is not asked at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from dualboost.export.columns import Columns
from dualboost.export.graph import Graph
from dualboost.export.leaf_numbers import Tree
from dualboost.export.questions import ALWAYS, Questions, Rungs, question

__all__ = ["Circuit", "Function", "Functions"]

_NEVER_SO: Rungs = ()
_ALWAYS_SO: Rungs = (ALWAYS,)
_RUNS = 4  # of columns from one table; more are better sorted first


@dataclass(frozen=True, eq=False)
class Choice:
    """What counts where the answer is no, and where it is yes."""

    answer: Rungs
    no: Function
    yes: Function


Function = Rungs | Choice


@dataclass(eq=False)
class Functions:
    """The choices of some trees, none of them twice."""

    questions: Questions
    _known: dict[tuple[Rungs, Function, Function], Choice] = field(default_factory=dict)

    def digit(self, tree: Tree, digit: int) -> Function:
        """This digit of the leaf's number."""
        found = self._at(tree, tree.root, digit)
        return self.never if found is None else found

    @property
    def never(self) -> Function:
        """A digit that is 0 for every row."""
        return _NEVER_SO

    @property
    def strange(self) -> Sequence[Function]:
        """Whether a category is strange, for each column where one can be."""
        return self.questions.strange

    def _at(self, tree: Tree, node: int, digit: int) -> Function | None:
        """Nothing where the digit is no matter."""
        if tree.vote.feature[node] < 0:
            bit = tree.number[node].bit(digit)
            return None if bit is None else _ALWAYS_SO if bit else _NEVER_SO
        no, yes = (self._at(tree, int(side[node]), digit) for side in (tree.vote.left, tree.vote.right))
        if no is None or yes is None or no == yes:
            return yes if no is None else no
        answer = self.questions.answers[question(tree.vote, node)[0]]
        if (no, yes) == (_NEVER_SO, _ALWAYS_SO):
            return answer
        if (no, yes) == (_ALWAYS_SO, _NEVER_SO):
            return tuple(sorted({*answer} ^ {ALWAYS}))
        return self._known.setdefault((answer, no, yes), Choice(answer, no, yes))


@dataclass(frozen=True, eq=False)
class Circuit:
    """How to work out some functions: answers, then level by level the choices that others are between."""

    questions: Questions
    wanted: list[Function]
    asked: dict[Rungs, int]
    """What is needed of the answers, by number."""
    levels: list[list[Choice]]
    """The choices of a level are between those of the next one and answers, no others; one may be in several levels."""

    @classmethod
    def of(cls, questions: Questions, wanted: Sequence[Function]) -> Circuit:
        levels: list[list[Choice]] = []
        asked: dict[Rungs, int] = {}
        needed = dict.fromkeys(wanted)
        while needed:
            level = sorted((own for own in needed if isinstance(own, Choice)), key=_order)
            answers = [own for own in needed if not isinstance(own, Choice)]
            for answer in [*answers, *(choice.answer for choice in level)]:
                asked.setdefault(answer, len(asked))
            if level:
                levels.append(level)
            needed = dict.fromkeys(side for choice in level for side in (choice.no, choice.yes))
        return cls(questions, list(wanted), asked, levels)

    def add(self, graph: Graph, columns: Columns) -> str:
        """The bits that are wanted, 64 rows in a word: a column each."""
        tables = _Tables(graph, *self.questions.add(graph, columns, list(self.asked)), self.asked)
        for level in reversed(self.levels):
            tables.choose(level)
        return tables.take(self.wanted)


def _order(choice: Choice) -> tuple[bool, bool]:
    """So that both sides come from one table in long runs."""
    no, yes = _is_choice(choice.no), _is_choice(choice.yes)
    return no, no != yes


def _is_choice(function: Function) -> bool:
    return isinstance(function, Choice)


class _Tables:
    """The answers and the last level, a column each."""

    def __init__(self, graph: Graph, answers: str, places: np.ndarray, asked: dict[Rungs, int]) -> None:
        self._graph = graph
        self._answers, self._level = answers, ""
        self._answer_at: dict[Function, int] = {rungs: int(places[number]) for rungs, number in asked.items()}
        self._choice_at: dict[Function, int] = {}

    def choose(self, level: Sequence[Choice]) -> None:
        answer = self.take([choice.answer for choice in level])
        no, yes = self.take([choice.no for choice in level]), self.take([choice.yes for choice in level])
        changed = self._graph.add("BitwiseAnd", [answer, self._graph.add("BitwiseXor", [no, yes])])
        self._level = self._graph.add("BitwiseXor", [no, changed])
        self._choice_at = {choice: k for k, choice in enumerate(level)}

    def take(self, functions: Sequence[Function]) -> str:
        """These, side by side."""
        runs = [(choices, list(own)) for choices, own in groupby(functions, key=_is_choice)]
        if len(runs) <= _RUNS:
            return self._graph.stacked([self._run(*run) for run in runs], axis=1)
        answers = list(dict.fromkeys(own for own in functions if not _is_choice(own)))
        place = {own: k for k, own in enumerate([*self._choice_at, *answers])}
        joined = self._graph.stacked([self._level, self._run(False, answers)], axis=1)
        return self._graph.columns(joined, np.array([place[own] for own in functions]))

    def _run(self, choices: bool, functions: Sequence[Function]) -> str:
        """Columns of one table."""
        table, at = (self._level, self._choice_at) if choices else (self._answers, self._answer_at)
        return self._graph.columns(table, np.array([at[own] for own in functions]))
