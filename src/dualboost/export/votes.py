"""The scores of a model in an ONNX graph: every part of a vote by the fastest operators that say exactly the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dualboost.export.bits import add_small_trees, full_trees
from dualboost.export.columns import add_columns
from dualboost.export.curves import Curve, curves_and_trees
from dualboost.export.ensemble import tree_arrays, with_columns
from dualboost.export.graph import Graph
from dualboost.export.lookup import add_curves, lookups
from dualboost.inspection.as_trees import step_tree
from dualboost.inspection.trees import PlainTrees

__all__ = ["add_votes"]


def add_votes(graph: Graph, votes: Sequence[PlainTrees], n_features: int) -> str:
    """The score of each vote, a column each: tables for single features, bytes for small trees, the rest as trees."""
    parts = [_parts(vote) for vote in votes]
    tables, trees = [own for own, _ in parts], [own for _, own in parts]
    blocks = [full_trees(own) for own in trees]
    scores = graph.constant(np.array([[_constant(vote) for vote in votes]]))
    used = np.unique(np.concatenate([vote.feature[vote.feature >= 0] for vote in votes]))
    columns = add_columns(graph, used, n_features) if any(tables) or all(blocks) else None
    if columns and any(tables):
        scores = graph.add("Add", [add_curves(graph, tables, columns), scores])
    if columns and all(blocks):
        small = [add_small_trees(graph, own, columns) for own in trees]
        scores = graph.add("Add", [small[0] if len(small) == 1 else graph.add("Concat", small, {"axis": 1}), scores])
    elif not columns or any(map(len, trees)):
        scores = graph.add("Add", [_walked(graph, trees, n_features), scores])
    return scores


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
