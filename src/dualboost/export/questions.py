"""What trees ask, answered for 64 rows at a time: one bit a row, 64 of them in a whole number.

Each row has a code in every column, the number of cuts below its value. One scatter puts the bit of a row where its
code is, one cumulative sum over the codes then tells for every cut at once which rows lie above. Bits of different rows
never meet, so there are no carries. The codes of a column add up to the bits of all rows; taken away once, they let one
sum run over all columns, and none overflows: the sign is the highest bit, and sums of different bits are numbers.

A question is a step function of sides; the rows that it sends right are differences of these sums, one for each run of
codes. A missing value has the last code of its column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from dualboost.export.blocks import Outside
from dualboost.export.codes import add_codes
from dualboost.export.columns import Columns
from dualboost.export.curves import Curve
from dualboost.export.graph import Graph
from dualboost.inspection.trees import ABSTAIN, LEFT, RIGHT, PlainTrees, Rule

__all__ = ["ROWS", "Key", "Lanes", "Questions", "question"]

ROWS = 64  # in one number

Key = tuple[int, bytes, bytes]
Runs = list[tuple[int, int]]
_NOWHERE = 0  # the row of the sums where no bit is set

_BITS = np.left_shift(np.uint64(1), np.arange(ROWS, dtype=np.uint64)).view(np.int64)
_LOWEST_BITS = np.append(0, np.cumsum(_BITS))  # so many of them are set


@dataclass(frozen=True, eq=False)
class Questions:
    """All different questions of some trees, and the codes that answer them."""

    curves: list[Curve]
    """The row of the sums for each code of a column."""
    answers: dict[Key, int]
    """The row where each answer is found, true for right: in the sums themselves, or in the differences below them."""
    differences: list[np.ndarray]
    """Tables of these, as runs of the sums: (answer, run, above and not below)."""

    @classmethod
    def of(cls, votes: Sequence[PlainTrees]) -> Questions:
        asked = [question(vote, node) for vote in votes for node in np.flatnonzero(vote.feature >= 0).tolist()]
        rules = dict(asked)
        curves = _curves(list(rules.values()))
        known = {curve.feature: curve for curve in curves}
        runs = {key: _runs(known[rule.feature], rule) for key, rule in rules.items()}
        answers = {key: own[0][0] for key, own in runs.items() if len(own) == 1 and not own[0][1]}
        others = sorted((key for key in runs if key not in answers), key=lambda key: len(runs[key]))
        size = int(curves[-1].missing) + 1
        answers |= {key: size + row for row, key in enumerate(others)}
        groups = groupby(others, key=lambda key: len(runs[key]).bit_length())
        return cls(curves, answers, [_padded([runs[key] for key in group]) for _, group in groups])

    @property
    def count(self) -> int:
        """The number of rows of the sums and the differences."""
        return self.size + sum(map(len, self.differences))

    @property
    def size(self) -> int:
        """The number of rows of the sums: a column has one of its own before its codes."""
        return int(self.curves[-1].missing) + 1

    def add(self, graph: Graph, columns: Columns, lanes: Lanes) -> str:
        """The sums and the differences, a number for each 64 rows of X."""
        # Sliced here: onnxruntime warns of slices of constants that a part of the graph takes from outside.
        own = np.arange(lanes.most) // ROWS * self.size
        first = graph.add("Slice", [graph.constant(own.astype(np.int32)), graph.constant(np.array([0])), lanes.rows])
        cells = graph.add("Add", [add_codes(graph, self.curves, columns), first])
        cells = graph.add("Reshape", [cells, graph.constant(np.array([-1]))])
        placed = graph.add("ScatterElements", [lanes.start, cells, lanes.bits], {"axis": 0, "reduction": "add"})
        placed = graph.add("Reshape", [placed, graph.constant(np.array([-1, self.size]))])
        turned = graph.add("Transpose", [placed], {"perm": [1, 0]})
        sums = graph.add("CumSum", [turned, graph.constant(np.array(0))], {"exclusive": 1, "reverse": 1})
        if not self.differences:
            return sums
        return graph.add(
            "Concat", [sums, *(_difference(graph, sums, table) for table in self.differences)], {"axis": 0}
        )

    def lanes(self, outside: Outside) -> Lanes:
        """What the answers for so many rows have in common."""

        def first(values: np.ndarray, count: str) -> str:
            return graph.add("Slice", [graph.constant(values), zero, count])

        graph, rows = outside.graph, outside.rows
        zero, size, most = graph.constant(np.array([0])), graph.constant(np.array([ROWS])), np.arange(outside.most)
        numbers = graph.add("Div", [graph.add("Add", [rows, graph.constant(np.array([ROWS - 1]))]), size])
        left = graph.add("Min", [graph.add("Sub", [rows, first(most[::ROWS, None], numbers)]), size])
        every = graph.add("Gather", [graph.constant(_LOWEST_BITS), left])
        before = np.zeros(self.size, dtype=np.int64)
        before[[curve.values[0] - 1 for curve in self.curves]] = -1
        line = graph.constant(np.array([-1]))
        start = graph.add("Reshape", [graph.add("Mul", [graph.constant(before), every]), line])
        bits = graph.add("Expand", [first(_BITS[most % ROWS], rows), graph.constant(np.array([len(self.curves), 1]))])
        return Lanes(rows, outside.most, graph.add("Reshape", [bits, line]), start)


@dataclass(frozen=True)
class Lanes:
    """Row i is bit i % 64 of number i // 64."""

    rows: str
    most: int
    """How many rows there are, and can be."""
    bits: str
    """The bit of each row, for all columns."""
    start: str
    """The sums, one number after the other, before any bit is set."""


def question(vote: PlainTrees, node: int) -> tuple[Key, Rule]:
    """What this split asks, as a step function of sides."""
    rule = vote.rules[vote.rule[node]] if vote.rule[node] >= 0 else _of_threshold(vote, node)
    return (rule.feature, rule.cuts.tobytes(), rule.sides.tobytes()), rule


def _of_threshold(vote: PlainTrees, node: int) -> Rule:
    cuts, sides = np.array([vote.threshold[node], np.inf]), np.array([LEFT, RIGHT, vote.missing[node]])
    return Rule(int(vote.feature[node]), cuts, sides)


def _curves(rules: Sequence[Rule]) -> list[Curve]:
    cuts: dict[int, list[np.ndarray]] = {}
    for rule in rules:
        cuts.setdefault(rule.feature, []).append(rule.cuts)
    curves, last = [], 0
    for feature, own in sorted(cuts.items()):
        known = np.unique(np.concatenate(own))
        known = known[np.isfinite(known)]
        codes = np.arange(last + 2, last + 3 + len(known), dtype=np.int32)
        last = int(codes[-1]) + 1
        lost = any(rule.sides[-1] != ABSTAIN for rule in rules if rule.feature == feature)
        curves.append(Curve(feature, known, codes, last, lost))
    return curves


def _runs(curve: Curve, rule: Rule) -> Runs:
    """Above which rows of the sums and not below which ones the right side lies; where trees abstain is no matter."""
    sides = rule.sides[np.searchsorted(rule.cuts, [*curve.cuts, np.inf, np.nan])]
    decided = np.flatnonzero(sides != ABSTAIN)
    if not len(decided):
        return [(_NOWHERE, _NOWHERE)]
    right = sides[decided[np.maximum(np.searchsorted(decided, np.arange(len(sides)), side="right") - 1, 0)]] == RIGHT
    ends = np.flatnonzero(np.diff(np.concatenate([[False], right, [False]]).astype(np.int8)))
    rows = np.append(np.arange(curve.values[0] - 1, curve.missing), _NOWHERE)[ends]
    return [(int(above), int(below)) for above, below in rows.reshape(-1, 2)] or [(_NOWHERE, _NOWHERE)]


def _padded(runs: Sequence[Runs]) -> np.ndarray:
    longest = max(map(len, runs))
    return np.array([[*own, *[(_NOWHERE, _NOWHERE)] * (longest - len(own))] for own in runs], dtype=np.int64)


def _difference(graph: Graph, sums: str, table: np.ndarray) -> str:
    single = table.shape[1] == 1
    sides = np.moveaxis(table[:, 0] if single else table, -1, 0)
    above, below = (graph.add("Gather", [sums, graph.constant(side)], {"axis": 0}) for side in sides)
    runs = graph.add("Sub", [above, below])
    if single:
        return runs
    # `ReduceSum` of onnxruntime rounds whole numbers to doubles.
    sums = graph.add("CumSum", [runs, graph.constant(np.array(1))])
    return graph.add("Gather", [sums, graph.constant(np.array(-1))], {"axis": 1})
