"""Every finished vote of steps, trees or boxes as plain trees."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from dualboost.data import MISSING
from dualboost.estimators.bagging import Average
from dualboost.inspection.trees import ABSTAIN, LEFT, RIGHT, Node, PlainTrees, Rule
from dualboost.learners import Predictor
from dualboost.learners.class_stumps import ClassScores
from dualboost.learners.leaf_scores import LeafScores
from dualboost.learners.nzdd.boxes import Box, BoxScores
from dualboost.learners.step_functions import step_scores
from dualboost.learners.stumps import StumpScores
from dualboost.learners.tree_scores import TreeScores
from dualboost.learners.union import SumScores
from dualboost.learners.words import WordScores

__all__ = ["plain_trees", "step_tree", "word_steps"]


def plain_trees(predictor: Predictor) -> PlainTrees:
    """The vote as trees; one sentence for a vote that is none of steps, trees or boxes."""
    if isinstance(predictor, StumpScores):
        return PlainTrees.of(_steps(predictor), predictor.base)
    if isinstance(predictor, TreeScores):
        rules: list[Rule] = []
        return PlainTrees.of(list(_vote_trees(predictor, rules)), 0.0, rules)
    if isinstance(predictor, LeafScores):
        return _leaf_trees(predictor)
    if isinstance(predictor, BoxScores):
        return PlainTrees.of(map(_box, predictor.boxes, predictor.weights.tolist()), predictor.base)
    if isinstance(predictor, WordScores):
        return plain_trees(word_steps(predictor))
    if isinstance(predictor, SumScores):
        return PlainTrees.joined([plain_trees(part) for part in predictor.parts], 0.0)
    if isinstance(predictor, Average):
        share = predictor.scale / max(len(predictor.parts), 1)
        return PlainTrees.joined([plain_trees(part).scaled(share) for part in predictor.parts], predictor.base)
    if isinstance(predictor, ClassScores):
        raise ValueError(
            "A vote over all classes has curves for each of them: explain(model, X).of(label) has their values, and a "
            'fit with multiclass="rest" shows them.'
        )
    raise ValueError(
        f"This needs a vote of stumps, trees or boxes, and the model's is {type(predictor).__name__}: "
        "fit with learner=Stumps(), Trees() or LeafTrees()."
    )


def _leaf(value: float) -> Node:
    return (-1, 0.0, LEFT, 0, 0, value, -1)


def _steps(vote: StumpScores) -> Iterator[list[Node]]:
    """A balanced tree for each step function. Missing values go right at every split: they are beyond infinity."""
    for u, feature in enumerate(vote.features.tolist()):
        first, last = vote.cut_start[u], vote.cut_start[u + 1]
        # A table has one value more than cuts, so each earlier feature shifts it by one.
        cuts, table = vote.cuts[first:last].tolist(), vote.tables[first + u : last + u + 1].tolist()
        nodes: list[Node] = []
        _balanced(nodes, feature, [*cuts, np.inf], [*table, float(vote.missing[u])])
        yield nodes


def step_tree(cuts: list[float], table: list[float], feature: int = 0) -> PlainTrees:
    """A step function of a feature as one balanced tree: table[k] for cuts[k - 1] < x <= cuts[k]."""
    nodes: list[Node] = []
    _balanced(nodes, feature, cuts, table)
    return PlainTrees.of([nodes])


def _balanced(nodes: list[Node], feature: int, cuts: list[float], table: list[float]) -> None:
    """Append the tree of table[k] for cuts[k - 1] < x <= cuts[k]."""
    if not cuts:
        nodes.append(_leaf(table[0]))
        return
    at, middle = len(nodes), len(cuts) // 2
    nodes.append(_leaf(0.0))  # its place
    _balanced(nodes, feature, cuts[:middle], table[: middle + 1])
    nodes[at] = (feature, cuts[middle], RIGHT, at + 1, len(nodes), 0.0, -1)
    _balanced(nodes, feature, cuts[middle + 1 :], table[middle + 1 :])


def _vote_trees(vote: TreeScores, rules: list[Rule]) -> Iterator[list[Node]]:
    """The trees of a vote; their splits of categories are added to the rules."""
    for (first, last), weight in zip(pairwise(vote.start.tolist()), vote.weights.tolist(), strict=True):
        yield [_vote_node(vote, (first, at), weight, rules) for at in range(first, last)]


def _vote_node(vote: TreeScores, at: tuple[int, int], weight: float, rules: list[Rule]) -> Node:
    first, here = at
    place, cut, missing_right = vote.nodes[here, :3].tolist()
    if place < 0:
        return _leaf(weight * cut)
    feature, number = int(vote.features[place]), -1
    cuts = vote.cuts[vote.cut_start[place] : vote.cut_start[place + 1]]
    # Beyond the cuts: missing or not. Below them: by a mask, and no threshold at all.
    threshold = float(cuts[cut]) if 0 <= cut < len(cuts) else np.inf
    missing = (RIGHT if missing_right else LEFT) if vote.met_missing[place] else ABSTAIN
    if feature in vote.named:
        number = len(rules)
        rules.append(_rule(vote, here, missing if cut >= 0 else None, threshold))
    right = _end_of(vote.nodes[:, 0], here + 1)
    return (feature, threshold, missing, here + 1 - first, right - first, 0.0, number)


def _rule(vote: TreeScores, here: int, missing: int | None, threshold: float) -> Rule:
    """The sides of all categories: by their bits in the mask, or by their codes."""
    place = int(vote.nodes[here, 0])
    feature = int(vote.features[place])
    if missing is None:
        bits = _bits(vote.nodes[here, 3:])
        sides, missing = bits.astype(np.float64), int(bits[MISSING]) if vote.met_missing[place] else ABSTAIN
    else:
        sides = (np.arange(MISSING + 1) > threshold).astype(np.float64)
    cuts, table = vote.categories_of(feature).steps(sides, float(missing))
    return Rule(feature, cuts, table.astype(np.int64))


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
    rule, masked = np.full(len(value), -1), np.flatnonzero(vote.mask >= 0)
    rule[masked] = np.arange(len(masked))
    rules = tuple(_leaf_rules(vote, masked))
    return PlainTrees(vote.feature, vote.threshold, missing, *children, value, rule, roots, 0.0, rules)


def _leaf_rules(vote: LeafScores, nodes: np.ndarray) -> Iterator[Rule]:
    """The rules of splits of categories."""
    for node in nodes.tolist():
        feature, missing = int(vote.feature[node]), RIGHT if vote.missing_right[node] else LEFT
        cuts, table = vote.categories_of(feature).steps(_bits(vote.masks[vote.mask[node]]).astype(float), missing)
        yield Rule(feature, cuts, table.astype(np.int64))


def _bits(mask: np.ndarray) -> np.ndarray:
    """Of each code, whether it is in the mask."""
    return np.unpackbits(np.ascontiguousarray(mask).view(np.uint8), bitorder="little")


def _box(box: Box, weight: float) -> list[Node]:
    """Two splits for each side of the box; whatever falls outside, as a missing value does, scores nothing."""
    nodes: list[Node] = []
    outside = 2 * len(box) + 1
    for feature, low, high in box:
        at = len(nodes)
        nodes += [(feature, high, RIGHT, at + 1, outside, 0.0, -1), (feature, low, RIGHT, outside, at + 2, 0.0, -1)]
    return [*nodes, _leaf(weight), _leaf(0.0)]


def word_steps(vote: WordScores) -> StumpScores:
    """Words as step functions of their counts: nothing where the word is absent or not counted."""
    used = np.flatnonzero(np.any(vote.weights != 0, axis=0))
    steps = [(vote.levels, np.append(0.0, np.cumsum(vote.weights[:, j]))) for j in used]
    return step_scores(vote.base, used, steps, np.zeros(len(used)), np.abs(vote.weights[:, used]).sum(axis=0))
