"""The scores of a model in an ONNX graph: every part of a vote by the fastest operators that say exactly the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dualboost.export.bits import by_size, counted_trees
from dualboost.export.blocks import add_blocks, add_many, add_whole
from dualboost.export.columns import add_columns
from dualboost.export.curves import Curve, curves_and_trees
from dualboost.export.ensemble import tree_arrays, with_columns
from dualboost.export.graph import Graph
from dualboost.export.lookup import add_curves, lookups
from dualboost.export.small import small_trees
from dualboost.inspection.as_trees import step_tree
from dualboost.inspection.trees import RIGHT, PlainTrees

__all__ = ["add_votes"]


def add_votes(graph: Graph, votes: Sequence[PlainTrees], n_features: int) -> str:
    """The score of each vote, a column each: tables for single features, bits for trees, the rest walked."""
    parts = [_parts(vote) for vote in votes]
    tables, trees = [own for own, _ in parts], [own for _, own in parts]
    small, large = zip(*map(by_size, trees), strict=True)
    counted = any(map(len, small))
    scores = graph.constant(np.array([[_constant(vote) for vote in votes]]))
    if any(tables):
        used = np.unique([feature for own in tables for table in own for feature in table.features])
        columns = add_columns(graph, used, n_features)
        scores = graph.add("Add", [add_curves(graph, tables, columns), scores])
    if counted:
        scores = graph.add("Add", [_counted(graph, small, n_features), scores])
    if any(map(len, large)) or not (any(tables) or counted):
        scores = graph.add("Add", [_walked(graph, large, n_features), scores])
    return scores


def _counted(graph: Graph, trees: Sequence[PlainTrees], n_features: int) -> str:
    """The sums of trees; where some abstain from a missing value, rows without one take shorter walks."""
    whole = add_whole(graph, trees)
    if not whole:
        return _by_rows(graph, trees, n_features)
    all_known, some_missing = graph.branch(), graph.branch()
    return graph.choose(
        whole,
        (all_known, _by_rows(all_known, trees, n_features)),
        (some_missing, _walked(some_missing, trees, n_features)),
    )


def _by_rows(graph: Graph, trees: Sequence[PlainTrees], n_features: int) -> str:
    """The sums by arrays, or a walk for few rows; no tree abstains from a missing value."""
    walking, counting = graph.branch(), graph.branch()
    sums = small_trees(trees) or counted_trees(trees)
    decided = [replace(vote, missing=np.where(vote.abstains, RIGHT, vote.missing)) for vote in trees]
    return graph.choose(
        add_many(graph, sums, trees, n_features),
        (counting, add_blocks(counting, sums, len(trees), n_features)),
        (walking, _walked(walking, decided, n_features)),
    )


def _parts(vote: PlainTrees):
    """(tables for the features that stand alone, the other trees)."""
    curves, trees = curves_and_trees(vote)
    tables, resisting = lookups(curves)
    return tables, PlainTrees.joined([trees, *map(_tree, resisting)], 0.0)


def _tree(curve: Curve) -> PlainTrees:
    return step_tree([*curve.cuts, np.inf], [*curve.values, curve.missing], curve.feature)


def _constant(vote: PlainTrees) -> float:
    """The base, and the trees without a split."""
    roots = vote.roots[:-1]
    return float(vote.base + vote.value[roots][vote.feature[roots] < 0].sum())


def _walked(graph: Graph, trees: Sequence[PlainTrees], n_features: int) -> str:
    told, sides = with_columns(trees, n_features)
    X = "X"
    if sides:
        X = graph.add("Concat", [X, graph.trees(X, tree_arrays(sides), len(sides))], {"axis": 1})
    return graph.trees(X, tree_arrays(told), len(told))
