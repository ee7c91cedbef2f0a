"""Splits of categories for trees that are walked: columns that say where each row goes, 0 left, 1 right, 2 nowhere.

A row has a place in each column of categories, and a table has what all rules on that column say of the place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dualboost.export.codes import add_steps
from dualboost.export.columns import add_columns
from dualboost.export.curves import Curve, finite_cuts
from dualboost.export.graph import DOUBLE, Graph
from dualboost.inspection.trees import ABSTAIN, PlainTrees, Rule

__all__ = ["add_sides"]


def add_sides(graph: Graph, votes: Sequence[PlainTrees], n_features: int, X: str) -> tuple[list[PlainTrees], str]:
    """(the votes with thresholds on further columns in the place of rules, X with these columns)."""
    rules = [rule for vote in votes for rule in vote.rules]
    if not rules:
        return list(votes), X
    features = sorted({rule.feature for rule in rules})
    own = {feature: [k for k, rule in enumerate(rules) if rule.feature == feature] for feature in features}
    curves = [_curve([rules[k] for k in own[feature]]) for feature in features]
    places = add_steps(graph, curves, add_columns(graph, np.array(features), n_features, X))
    tables: list[str] = []
    order: list[int] = []
    for steps in places:
        for row, feature, codes in steps.own:
            sides = _sides(curves[features.index(feature)], [rules[k] for k in own[feature]])
            at = graph.add("Gather", [steps.at, graph.constant(np.array(row))], {"axis": 0})
            tables.append(graph.add("Gather", [graph.constant(sides[codes]), at], {"axis": 0}))
            order += own[feature]
    joined = tables[0] if len(tables) == 1 else graph.add("Concat", tables, {"axis": 1})
    wide = graph.add("Concat", [X, graph.add("Cast", [joined], {"to": DOUBLE})], {"axis": 1})
    return _told(votes, n_features + np.argsort(order)), wide


def _curve(rules: Sequence[Rule]) -> Curve:
    """Places between the cuts of any of these rules, and one for missing values."""
    cuts = finite_cuts(rule.cuts for rule in rules)
    return Curve(rules[0].feature, cuts, np.arange(len(cuts) + 1, dtype=np.int32), len(cuts) + 1)


def _sides(curve: Curve, rules: Sequence[Rule]) -> np.ndarray:
    """What each rule says of each place, a column each."""
    values = [*curve.cuts, np.inf, np.nan]
    return np.column_stack([rule.of(values) for rule in rules]).astype(np.uint8)


def _told(votes: Sequence[PlainTrees], columns: np.ndarray) -> list[PlainTrees]:
    told, first = [], 0
    for vote in votes:
        ruled = vote.rule >= 0
        told.append(
            replace(
                vote,
                feature=np.where(ruled, columns[first + np.where(ruled, vote.rule, 0)], vote.feature),
                threshold=np.where(ruled, 0.5, vote.threshold),
                missing=np.where(ruled, ABSTAIN, vote.missing),
            )
        )
        first += len(vote.rules)
    return told
