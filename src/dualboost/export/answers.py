"""What splits ask, every question once, answered for all rows at a time: a truth value each, true for right."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

from dualboost.export.columns import Columns
from dualboost.export.graph import Graph
from dualboost.export.sides import Sides, add_places, all_sides, rule_key
from dualboost.inspection.trees import RIGHT, PlainTrees

__all__ = ["Answers"]

_AT_ONCE = 4  # thresholds that a column is compared with
_WIDTHS = range(8, 136, 8)  # rules that are looked up at once, where...
_FINDING = 40  # ...finding a place takes as long as so many answers...
_WIDTH = 80  # ...and another width

Threshold = tuple[int, float, bool]  # feature, threshold, and whether missing values go right


@dataclass(frozen=True, eq=False)
class Answers:
    """All different questions of some trees; where a tree abstains any answer will do."""

    thresholds: list[list[Threshold]]
    """Those that one column is compared with at once; first come those where missing values do not go right."""
    sides: list[Sides]

    @classmethod
    def of(cls, trees: PlainTrees) -> Answers:
        split = np.flatnonzero((trees.feature >= 0) & (trees.rule < 0))
        asked = sorted({_threshold(trees, node) for node in split.tolist()}, key=lambda own: (own[2], own))
        alike = (list(own) for _, own in groupby(asked, key=lambda own: (own[2], own[0])))
        parts = [own[first : first + _AT_ONCE] for own in alike for first in range(0, len(own), _AT_ONCE)]
        return cls(parts, all_sides([trees]))

    @property
    def features(self) -> np.ndarray:
        """The columns of X that are asked for, ascending."""
        return np.unique([*(own[0][0] for own in self.thresholds), *(own.curve.feature for own in self.sides)])

    @property
    def strange(self) -> list[Hashable]:
        """Whether a category is, for each column where it can be."""
        return [own.curve.feature for own in self.sides if own.table[:, own.strange].any()]

    def __len__(self) -> int:
        return _AT_ONCE * len(self.thresholds) + self.looked_up

    @property
    def looked_up(self) -> int:
        """Of all questions those that a table answers."""
        return sum(wide * _parts(own, wide) for own, wide in zip(self.sides, self._widths, strict=True))

    def question(self, trees: PlainTrees, node: int) -> Hashable:
        """What a split asks."""
        return rule_key(trees.rules[trees.rule[node]]) if trees.rule[node] >= 0 else _threshold(trees, node)

    def add(self, graph: Graph, columns: Columns) -> tuple[str, dict[Hashable, int]]:
        """A table of answers, and the row in it of each question."""
        left = sum(not own[0][2] for own in self.thresholds)
        tables = [_compared(graph, columns, own) for own in (self.thresholds[:left], self.thresholds[left:]) if own]
        rows: dict[Hashable, int] = {
            key: k * _AT_ONCE + j for k, own in enumerate(self.thresholds) for j, key in enumerate(own)
        }
        first = len(self.thresholds) * _AT_ONCE
        found = add_places(graph, self.sides, columns, self._widths) if self.sides else {}
        for wide, (table, places, order) in found.items():
            right = graph.add("Gather", [graph.constant(table.astype(bool)), places], {"axis": 0})
            turned = graph.add("Transpose", [right], {"perm": [2, 0, 1]})  # all parts at once: threads meet once
            tables.append(graph.add("Reshape", [turned, graph.constant(np.array([len(order) * wide, -1]))]))
            for k in {*order}:
                own, parts = self.sides[k], first + np.flatnonzero(np.array(order) == k)
                for key, column in [*own.column.items(), (own.curve.feature, own.strange)]:
                    rows[key] = int(parts[column // wide]) + column % wide * len(order)
            first += len(order) * wide
        return graph.stacked(tables), rows

    @cached_property
    def _widths(self) -> list[int]:
        """How many rules on each column are looked up at once: one width for columns of a few, another for the rest."""
        counts = np.array([own.table.shape[1] for own in self.sides])
        most = min((0, *_WIDTHS), key=lambda most: _effort(counts[counts <= most]) + _effort(counts[counts > most]))
        few = counts <= most
        return [_width(counts[few == own]) for own in few]


def _threshold(trees: PlainTrees, node: int) -> Threshold:
    return int(trees.feature[node]), float(trees.threshold[node]), bool(trees.missing[node] == RIGHT)


def _parts(own: Sides, wide: int) -> int:
    """In how many parts the rules are looked up."""
    return -(-own.table.shape[1] // wide)


def _cost(counts: np.ndarray, wide: int) -> int:
    return (wide + _FINDING) * int((-(-counts // wide)).sum())


def _width(counts: np.ndarray) -> int:
    """The best one for columns of so many rules."""
    return min(_WIDTHS, key=lambda wide: _cost(counts, wide))


def _effort(counts: np.ndarray) -> int:
    return _WIDTH + _cost(counts, _width(counts)) if len(counts) else 0


def _compared(graph: Graph, columns: Columns, parts: Sequence[Sequence[Threshold]]) -> str:
    """Whether values are above thresholds, a row each; missing values as the first of them says."""
    filled = np.array([[own[min(j, len(own) - 1)][1] for j in range(_AT_ONCE)] for own in parts])
    cuts = graph.constant(filled[:, :, None])
    values = columns.take(graph, np.array([[own[0][0]] for own in parts]))
    missing_right = parts[0][0][2]
    order = ("LessOrEqual", [values, cuts]) if missing_right else ("Less", [cuts, values])
    compared = graph.add(*order)
    rows = graph.add("Reshape", [compared, graph.constant(np.array([filled.size, -1]))])
    return graph.add("Not", [rows]) if missing_right else rows
