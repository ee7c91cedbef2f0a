"""Shapley values of trees: what each feature of a row adds to its score, exactly and for every depth.

A leaf of a tree is a product: its value, times for every feature on its path whether the row meets the feature's
conditions there. A feature that is left out is replaced by its share r of the rows that would meet them. These are
the values of Lundberg et al., "From local explanations to global understanding with explainable AI for trees", in the
path-dependent form. They need no sum over subsets: if every feature becomes known at a random time between 0 and 1, the
Shapley value is the integral over the time of what the feature then changes, and that is a polynomial (Owen,
"Multilinear extensions of games").
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from dualboost.inspection.trees import PlainTrees

__all__ = ["background_shares", "tree_contributions"]

_FEW = 64  # patterns, of which all are worked out; of more only those that occur
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

    They depend on which of the path's features are met, and on nothing else of the row: once for each such pattern.
    """
    if not met or not len(out):
        return
    patterns, place = _patterns(list(met.values()))
    lines = value * _of_product(patterns, np.array(list(ratios.values())))
    for feature, line in zip(met, lines, strict=True):
        out[:, feature] += line.take(place)


def _patterns(columns: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(patterns, place): different rows of these columns of booleans, one a column, and which of them each row is."""
    place, count = np.zeros(len(columns[0]), np.intp), 1
    for column in columns:
        place, count = 2 * place + column, 2 * count
        if count > _FEW:
            place, count = _without_gaps(place, count)
    example = np.zeros(count, np.intp)
    example[place] = np.arange(len(place))
    return np.array([column[example] for column in columns]), place


def _without_gaps(place: np.ndarray, count: int) -> tuple[np.ndarray, int]:
    """The places that occur, numbered anew in their order, and how many they are."""
    occurs = np.zeros(count, bool)
    occurs[place] = True
    numbers = np.cumsum(occurs) - 1
    return numbers[place], int(numbers[-1]) + 1


def _of_product(known: np.ndarray, ratios: np.ndarray) -> np.ndarray:
    """The Shapley values of products, one a column: factor k is known[k], 0 or 1, or ratios[k] where it is left out.

    At time t a factor is t + (1 - t) ratio if it is met, and (1 - t) ratio if not; its slope times all other factors
    is to be integrated. All terms of an integral have one sign, and all logarithms too: nothing cancels, so the digits
    last for any number of factors.
    """
    times, rests, weights = _integration(len(ratios))
    met = times + ratios[:, None] * rests
    logs = np.log(met).T @ known + np.outer(np.log(rests), np.count_nonzero(~known, axis=0))
    products = np.exp(logs, out=logs)
    products *= np.prod(np.where(known, 1.0, ratios[:, None]), axis=0)
    gains = (1 - ratios[:, None]) * weights / met
    return np.where(known, gains @ products, -(weights / rests) @ products)


@lru_cache(256)
def _integration(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(t, 1 - t, weights) for polynomials of this many coefficients from 0 to 1, by Fejér's second rule.

    Gauss needs half as many points, but these are known in closed form, to the last digit near both ends.
    """
    angles = np.pi * np.arange(1, count + 1) / (count + 1)
    odd = np.arange(1, count + 1, 2)
    weights = 2 / (count + 1) * np.sin(angles) * (np.sin(np.outer(angles, odd)) @ (1 / odd))
    return np.sin(angles / 2) ** 2, np.cos(angles / 2) ** 2, weights
