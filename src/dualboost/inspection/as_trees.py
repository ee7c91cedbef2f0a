"""Every finished vote of steps, trees or boxes as plain trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np

from dualboost.estimators.bagging import Average
from dualboost.inspection.trees import ABSTAIN, LEFT, RIGHT, Node, PlainTrees
from dualboost.learners import Predictor
from dualboost.learners.leaf_trees import LeafScores
from dualboost.learners.nzdd.boxes import Box, BoxScores
from dualboost.learners.stumps import StumpScores
from dualboost.learners.tree_scores import TreeScores

__all__ = ["plain_trees", "step_tree"]


def plain_trees(predictor: Predictor) -> PlainTrees:
    """The vote as trees; one sentence for a vote that is none of steps, trees or boxes."""
    if isinstance(predictor, StumpScores):
        return PlainTrees.of(_steps(predictor), predictor.base)
    if isinstance(predictor, TreeScores):
        return PlainTrees.of(_vote_trees(predictor))
    if isinstance(predictor, LeafScores):
        return _leaf_trees(predictor)
    if isinstance(predictor, BoxScores):
        return PlainTrees.of(map(_box, predictor.boxes, predictor.weights.tolist()), predictor.base)
    if isinstance(predictor, Average):
        return _joined(predictor)
    raise ValueError(
        f"This needs a vote of stumps, trees or boxes, and the model's is {type(predictor).__name__}: "
        "fit with learner=Stumps(), Trees() or LeafTrees()."
    )


def _leaf(value: float) -> Node:
    return (-1, 0.0, LEFT, 0, 0, value)


def _steps(vote: StumpScores) -> Iterator[list[Node]]:
    """A balanced tree for each step function. Missing values go right at every split: they are beyond infinity."""
    for u, feature in enumerate(vote.features.tolist()):
        first, last = vote.cut_start[u], vote.cut_start[u + 1]
        # A table has one value more than cuts, so each earlier feature shifts it by one.
        cuts, table = vote.cuts[first:last].tolist(), vote.tables[first + u : last + u + 1].tolist()
        nodes: list[Node] = []
        _balanced(nodes, feature, [*cuts, np.inf], [*table, float(vote.missing[u])])
        yield nodes


def step_tree(cuts: list[float], table: list[float]) -> PlainTrees:
    """A step function of feature 0 as one balanced tree: table[k] for cuts[k - 1] < x <= cuts[k]."""
    nodes: list[Node] = []
    _balanced(nodes, 0, cuts, table)
    return PlainTrees.of([nodes])


def _balanced(nodes: list[Node], feature: int, cuts: list[float], table: list[float]) -> None:
    """Append the tree of table[k] for cuts[k - 1] < x <= cuts[k]."""
    if not cuts:
        nodes.append(_leaf(table[0]))
        return
    at, middle = len(nodes), len(cuts) // 2
    nodes.append(_leaf(0.0))  # its place
    _balanced(nodes, feature, cuts[:middle], table[: middle + 1])
    nodes[at] = (feature, cuts[middle], RIGHT, at + 1, len(nodes), 0.0)
    _balanced(nodes, feature, cuts[middle + 1 :], table[middle + 1 :])


def _vote_trees(vote: TreeScores) -> Iterator[list[Node]]:
    for (first, last), weight in zip(pairwise(vote.start.tolist()), vote.weights.tolist(), strict=True):
        yield [_vote_node(vote, first, at, weight) for at in range(first, last)]


def _vote_node(vote: TreeScores, first: int, at: int, weight: float) -> Node:
    place, cut, missing_right = vote.nodes[at].tolist()
    if place < 0:
        return _leaf(weight * cut)
    cuts = vote.cuts[vote.cut_start[place] : vote.cut_start[place + 1]]
    threshold = float(cuts[cut]) if cut < len(cuts) else np.inf  # beyond them: missing or not
    missing = (RIGHT if missing_right else LEFT) if vote.met_missing[place] else ABSTAIN
    right = _end_of(vote.nodes[:, 0], at + 1)
    return (int(vote.features[place]), threshold, missing, at + 1 - first, right - first, 0.0)


def _end_of(places: np.ndarray, at: int) -> int:
    """Where the tree that begins here ends: in preorder, one leaf more than splits later."""
    open_ends = 1
    while open_ends:
        open_ends += 1 if places[at] >= 0 else -1
        at += 1
    return at


def _leaf_trees(vote: LeafScores) -> PlainTrees:
    missing = np.where(vote.missing_right > 0, RIGHT, LEFT)
    roots = np.append(vote.roots, len(vote.feature))
    children = vote.left.astype(np.int64), vote.right.astype(np.int64)
    value = np.where(vote.feature < 0, vote.value, 0.0)
    return PlainTrees(vote.feature, vote.threshold, missing, *children, value, roots)


def _box(box: Box, weight: float) -> list[Node]:
    """Two splits for each side of the box; whatever falls outside, as a missing value does, scores nothing."""
    nodes: list[Node] = []
    outside = 2 * len(box) + 1
    for feature, low, high in box:
        at = len(nodes)
        nodes += [(feature, high, RIGHT, at + 1, outside, 0.0), (feature, low, RIGHT, outside, at + 2, 0.0)]
    return [*nodes, _leaf(weight), _leaf(0.0)]


def _joined(average: Average) -> PlainTrees:
    parts = [plain_trees(part).scaled(average.scale / len(average.parts)) for part in average.parts]
    empty = PlainTrees.of([], average.base)
    starts = np.cumsum([0, *(len(part.feature) for part in parts)])
    shifted = [
        replace(part, left=part.left + start, right=part.right + start, roots=part.roots + start)
        for part, start in zip(parts, starts, strict=False)
    ]

    def stacked(name: str) -> np.ndarray:
        return np.concatenate([getattr(part, name) for part in (empty, *shifted)])

    feature, threshold, missing = stacked("feature"), stacked("threshold"), stacked("missing")
    left, right, value = stacked("left"), stacked("right"), stacked("value")
    roots = np.concatenate([*(part.roots[:-1] for part in shifted), starts[-1:]])
    base = average.base + sum(part.base for part in parts)
    return PlainTrees(feature, threshold, missing, left, right, value, roots, base)
