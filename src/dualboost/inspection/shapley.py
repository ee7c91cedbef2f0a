"""Shapley values of trees: what each feature of a row adds to its score, exactly and for every depth.

A leaf of a tree is a product: its value, times for every feature on its path whether the row meets the feature's
conditions there. A feature that is left out is replaced by its share r of the rows that would meet them. The Shapley
value of such a product needs one polynomial for each of its features, not a sum over all subsets (Lundberg et al.,
"From local explanations to global understanding with explainable AI for trees", the path-dependent form).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

import numpy as np

from dualboost.inspection.trees import PlainTrees

__all__ = ["background_shares", "tree_contributions"]

_FEW = 4  # features on a path, of which all patterns are worked out; of more only those that occur
Shares = tuple[np.ndarray, np.ndarray]  # of the rows at each node, those that go left and those that go right


def background_shares(trees: PlainTrees, background: np.ndarray | None) -> Shares:
    """How the rows of the background part at each node; in halves without one, and where none of them comes."""
    shares = np.full(len(trees.feature), 0.5), np.full(len(trees.feature), 0.5)
    open_nodes = [] if background is None else [(int(root), background) for root in trees.roots[:-1]]
    while open_nodes:
        node, rows = open_nodes.pop()
        if trees.feature[node] < 0 or not len(rows):
            continue
        for side, child, share in _both_sides(trees, node, rows, shares):
            share[node] = side.mean()
            open_nodes.append((child, rows[side]))
    return shares


def _both_sides(trees: PlainTrees, node: int, X: np.ndarray, shares: Shares) -> Iterator[tuple]:
    """(rows of X that go there, the child, the shares of that side) for left and right."""
    children = int(trees.left[node]), int(trees.right[node])
    return zip(trees.sides(node, X[:, trees.feature[node]]), children, shares, strict=True)


def tree_contributions(trees: PlainTrees, X: np.ndarray, shares: Shares) -> tuple[np.ndarray, float]:
    """(contributions, base): one row for each row of X, one column a feature; they and the base sum to the score."""
    out, base = np.zeros(X.shape, order="F"), trees.base
    for tree in trees.nodes:
        for value, met, ratios in _leaves(trees, tree.start, X, shares):
            base += value * float(np.prod(list(ratios.values())))
            _add_product(out, value, met, ratios)
    return out, base


def _leaves(trees: PlainTrees, root: int, X: np.ndarray, shares: Shares) -> Iterator[tuple]:
    """(value, rows that meet the path's conditions on each feature, share that does) of the leaves with a value."""
    open_nodes: list[tuple] = [(root, {}, {})]
    while open_nodes:
        node, met, ratios = open_nodes.pop()
        feature = int(trees.feature[node])
        if feature < 0:
            if trees.value[node] != 0:
                yield float(trees.value[node]), met, ratios
            continue
        for side, child, share in _both_sides(trees, node, X, shares):
            here = met[feature] & side if feature in met else side
            ratio = ratios.get(feature, 1.0) * float(share[node])
            open_nodes.append((child, {**met, feature: here}, {**ratios, feature: ratio}))


def _add_product(out: np.ndarray, value: float, met: dict[int, np.ndarray], ratios: dict[int, float]) -> None:
    """The Shapley values of value * product of (met or ratio), added to the columns of their features.

    They depend on which of the few features are met, and on nothing else of the row: one line for each such pattern.
    """
    count = len(met)
    codes = sum(met[feature] * (1 << k) for k, feature in enumerate(met))
    patterns, place = np.arange(1 << count), codes
    if count > _FEW:
        patterns, place = np.unique(codes, return_inverse=True)
    known = (patterns[:, None] >> np.arange(count)) & 1
    table = value * _of_product(known, np.array(list(ratios.values())))
    for k, feature in enumerate(met):
        out[:, feature] += table[place, k]


def _of_product(known: np.ndarray, ratios: np.ndarray) -> np.ndarray:
    """The Shapley values of products, one a row: factor k is known[k], 0 or 1, or ratios[k] where it is left out.

    `terms` are the coefficients of the product of all (ratio + known t). Without a factor that is 0 they are over its
    ratio, which cancels; without one that is 1 they follow from the last to the first, by stable subtractions.
    """
    rows, count = known.shape
    weights = [1 / (count * comb(count - 1, size)) for size in range(count)]
    terms = np.zeros((count + 1, rows))
    terms[0] = 1.0
    for k in range(count):
        terms[1:] = ratios[k] * terms[1:] + known[:, k] * terms[:-1]
        terms[0] *= ratios[k]
    lost = weights @ terms[:-1]
    rest = np.zeros((rows, count))
    total = np.zeros((rows, count))
    for size in range(count - 1, -1, -1):
        rest = terms[size + 1][:, None] - ratios * rest
        total += weights[size] * rest
    return np.where(known, (1 - ratios) * total, -lost[:, None])
