"""Splits of categories: what all rules on a column say of a row at once, 0 left, 1 right, 2 nowhere.

A row has a place in each column of categories, and a table has what all rules on that column say of the place. One
more thing it says is whether a category is strange: some rule says nowhere. For trees that are walked these are further
columns of X.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dualboost.export.codes import Steps, add_steps
from dualboost.export.columns import Columns, add_columns
from dualboost.export.curves import Curve, finite_cuts
from dualboost.export.graph import DOUBLE, Graph
from dualboost.inspection.as_trees import step_tree
from dualboost.inspection.trees import ABSTAIN, RIGHT, PlainTrees, Rule

__all__ = ["Places", "Sides", "add_places", "add_sides", "all_sides", "rule_key"]

_WIDE = 16  # rules that are looked up at once


@dataclass(frozen=True, eq=False)
class Sides:
    """What all rules on one column say of its values."""

    curve: Curve
    """A place between the cuts of any of the rules, and one for missing values."""
    column: dict[bytes, int]
    """Where in the table each rule stands."""
    table: np.ndarray
    """A row a place, a column a rule; the last one tells strange categories."""

    @property
    def strange(self) -> int:
        return len(self.column)


def all_sides(votes: Sequence[PlainTrees]) -> list[Sides]:
    """Of all columns of categories, ascending."""
    rules = {rule_key(vote.rules[k]): vote.rules[k] for vote in votes for k in _asked(vote)}
    found = []
    for feature in sorted({rule.feature for rule in rules.values()}):
        own = {key: rule for key, rule in rules.items() if rule.feature == feature}
        cuts = finite_cuts(rule.cuts for rule in own.values())
        curve = Curve(feature, cuts, np.arange(len(cuts) + 1, dtype=np.int32), len(cuts) + 1)
        says = np.column_stack([rule.of([*cuts, np.inf, np.nan]) for rule in own.values()])
        strange = np.append((says[:-1] == ABSTAIN).any(axis=1), False)
        found.append(Sides(curve, {key: k for k, key in enumerate(own)}, np.column_stack([says, strange])))
    return found


def _asked(vote: PlainTrees) -> list[int]:
    """The numbers of the rules that some split has."""
    return np.unique(vote.rule[vote.rule >= 0]).tolist()


def rule_key(rule: Rule) -> bytes:
    return b"%d " % rule.feature + rule.cuts.tobytes() + rule.sides.tobytes()


class Places(NamedTuple):
    """Tables of sides in parts of as many columns each, as one table."""

    table: np.ndarray
    at: str
    """In which of its rows the rows of X are, for each part."""
    order: list[int]
    """Whose part it is; the parts of each are in their order."""


def add_places(graph: Graph, sides: Sequence[Sides], columns: Columns, widths: Sequence[int]) -> dict[int, Places]:
    """The parts of all sides, each as wide as it is given, by their width."""
    found = add_steps(graph, [own.curve for own in sides], columns)
    return {wide: _of_width(graph, sides, found, wide, widths) for wide in sorted({*widths})}


def _of_width(graph: Graph, sides: Sequence[Sides], found: Sequence[Steps], wide: int, widths: Sequence[int]) -> Places:
    number = {own.curve.feature: k for k, own in enumerate(sides) if widths[k] == wide}
    tables: list[np.ndarray] = []
    places: list[str] = []
    order: list[int] = []
    for steps in found:
        rows, starts = [], []
        for row, feature, codes in steps.own:
            for part in _parts(sides[number[feature]].table[codes], wide) if feature in number else ():
                rows.append(row)
                starts.append(sum(map(len, tables)))
                tables.append(part)
                order.append(number[feature])
        if rows:
            start = graph.constant(np.array(starts, dtype=np.int32)[:, None])
            places.append(graph.add("Add", [steps.part(graph, np.array(rows)).at, start]))
    return Places(np.concatenate(tables), graph.stacked(places), order)


def _parts(table: np.ndarray, wide: int) -> list[np.ndarray]:
    """So many columns each, the last ones filled up."""
    filled = np.pad(table, ((0, 0), (0, -table.shape[1] % wide))).astype(np.uint8)
    return np.split(filled, filled.shape[1] // wide, axis=1)


def add_sides(
    graph: Graph, votes: Sequence[PlainTrees], n_features: int, X: str, doubtful: bool = False
) -> tuple[list[PlainTrees], str]:
    """(the votes with thresholds on further columns in the place of rules, X with these columns).

    Doubtful votes do not abstain: of a strange category their sum is NaN.
    """
    sides = all_sides(votes)
    if not sides:
        return list(votes), X
    widths = [-(-own.table.shape[1] // _WIDE) * _WIDE for own in sides]
    first = n_features + np.cumsum([0, *widths])
    columns = {key: int(first[k]) + column for k, own in enumerate(sides) for key, column in own.column.items()}
    told = [_told(vote, columns, RIGHT if doubtful else ABSTAIN) for vote in votes]
    if doubtful:
        strangers = [step_tree([0.5], [0.0, np.nan], int(first[k]) + own.strange) for k, own in enumerate(sides)]
        told[0] = PlainTrees.joined([told[0], *strangers], 0.0)
    return told, graph.add("Concat", [X, _looked_up(graph, sides, n_features, X)], {"axis": 1})


def _looked_up(graph: Graph, sides: Sequence[Sides], n_features: int, X: str) -> str:
    """The new columns of X."""
    features = np.array([own.curve.feature for own in sides])
    columns = add_columns(graph, features, n_features, X)
    table, places, order = add_places(graph, sides, columns, [_WIDE] * len(sides))[_WIDE]
    at = graph.add("Transpose", [places], {"perm": [1, 0]})
    if order != sorted(order):
        at = graph.columns(at, np.argsort(order, kind="stable"))
    found = graph.add("Gather", [graph.constant(table), at], {"axis": 0})
    found = graph.add("Reshape", [found, graph.constant(np.array([-1, _WIDE * len(order)]))])
    return graph.add("Cast", [found], {"to": DOUBLE})


def _told(vote: PlainTrees, columns: dict[bytes, int], missing: int) -> PlainTrees:
    own = {k: columns[rule_key(vote.rules[k])] for k in _asked(vote)}
    ruled = vote.rule >= 0
    feature = vote.feature.copy()
    feature[ruled] = [own[k] for k in vote.rule[ruled].tolist()]
    threshold, gone = np.where(ruled, 0.5, vote.threshold), np.where(ruled, missing, vote.missing)
    return replace(vote, feature=feature, threshold=threshold, missing=gone)
