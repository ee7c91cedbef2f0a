"""Splits of categories for trees that are walked: columns that say where each row goes, 0 left, 1 right, 2 nowhere.

A row has a place in each column of categories, and a table has what all rules on that column say of the place, some of
them at a time. One more column tells a strange category, of which some rule says nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dualboost.export.codes import add_steps
from dualboost.export.columns import add_columns
from dualboost.export.curves import Curve, finite_cuts
from dualboost.export.graph import DOUBLE, Graph
from dualboost.inspection.as_trees import step_tree
from dualboost.inspection.trees import ABSTAIN, RIGHT, PlainTrees, Rule

__all__ = ["add_sides"]

_WIDE = 16  # rules that are looked up at once


def add_sides(
    graph: Graph, votes: Sequence[PlainTrees], n_features: int, X: str, doubtful: bool = False
) -> tuple[list[PlainTrees], str]:
    """(the votes with thresholds on further columns in the place of rules, X with these columns).

    Doubtful votes do not abstain: of a strange category their sum is NaN.
    """
    sides = _sides(votes, n_features)
    if not sides:
        return list(votes), X
    told = [_told(vote, sides, RIGHT if doubtful else ABSTAIN) for vote in votes]
    if doubtful:
        strangers = [step_tree([0.5], [0.0, np.nan], own.strange) for own in sides]
        told[0] = PlainTrees.joined([told[0], *strangers], 0.0)
    return told, graph.add("Concat", [X, _looked_up(graph, sides, n_features, X)], {"axis": 1})


@dataclass(frozen=True, eq=False)
class _Sides:
    """What all rules on one column say of its values."""

    curve: Curve
    """A place between the cuts of any of the rules, and one for missing values."""
    columns: dict[bytes, int]
    """The new column of X of each rule."""
    strange: int
    """That of strange categories."""
    table: np.ndarray
    """A row a place, a column a new column of X, as many as a multiple of the rules that are looked up at once."""


def _sides(votes: Sequence[PlainTrees], first: int) -> list[_Sides]:
    rules = {_key(rule): rule for vote in votes for rule in vote.rules}
    found = []
    for feature in sorted({rule.feature for rule in rules.values()}):
        own = {key: rule for key, rule in rules.items() if rule.feature == feature}
        cuts = finite_cuts(rule.cuts for rule in own.values())
        curve = Curve(feature, cuts, np.arange(len(cuts) + 1, dtype=np.int32), len(cuts) + 1)
        says = np.column_stack([rule.of([*cuts, np.inf, np.nan]) for rule in own.values()])
        strange = np.append((says[:-1] == ABSTAIN).any(axis=1), False)
        table = np.zeros((len(says), -(-(len(own) + 1) // _WIDE) * _WIDE), dtype=np.uint8)
        table[:, : len(own)], table[:, len(own)] = says, strange
        columns = {key: first + k for k, key in enumerate(own)}
        found.append(_Sides(curve, columns, first + len(own), table))
        first += table.shape[1]
    return found


def _key(rule: Rule) -> bytes:
    return b"%d " % rule.feature + rule.cuts.tobytes() + rule.sides.tobytes()


def _looked_up(graph: Graph, sides: Sequence[_Sides], n_features: int, X: str) -> str:
    """The new columns of X."""
    features = np.array([own.curve.feature for own in sides])
    tables: list[np.ndarray] = []
    indices: list[str] = []
    order: list[int] = []
    for steps in add_steps(graph, [own.curve for own in sides], add_columns(graph, features, n_features, X)):
        rows, starts = [], []
        for row, feature, codes in steps.own:
            own = int(np.searchsorted(features, feature))
            for first in range(0, sides[own].table.shape[1], _WIDE):
                rows.append(row)
                starts.append(sum(map(len, tables)))
                tables.append(sides[own].table[codes, first : first + _WIDE])
                order.append(own)
        start = graph.constant(np.array(starts, dtype=np.int32)[:, None])
        indices.append(graph.add("Add", [steps.part(graph, np.array(rows)).at, start]))
    at = graph.add("Transpose", [graph.stacked(indices)], {"perm": [1, 0]})
    if order != sorted(order):
        at = graph.add("Gather", [at, graph.constant(np.argsort(order, kind="stable"))], {"axis": 1})
    found = graph.add("Gather", [graph.constant(np.concatenate(tables)), at], {"axis": 0})
    found = graph.add("Reshape", [found, graph.constant(np.array([-1, _WIDE * len(order)]))])
    return graph.add("Cast", [found], {"to": DOUBLE})


def _told(vote: PlainTrees, sides: Sequence[_Sides], missing: int) -> PlainTrees:
    columns = {key: column for own in sides for key, column in own.columns.items()}
    own = np.array([columns[_key(rule)] for rule in vote.rules], dtype=np.int64)
    ruled = vote.rule >= 0
    feature = vote.feature.copy()
    feature[ruled] = own[vote.rule[ruled]]
    threshold, gone = np.where(ruled, 0.5, vote.threshold), np.where(ruled, missing, vote.missing)
    return replace(vote, feature=feature, threshold=threshold, missing=gone)
