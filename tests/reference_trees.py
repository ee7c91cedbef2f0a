"""Slow twins of the tree learner that share no code with it: growth by masks, all trees of two levels, a walk."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np

import reference

TIE = 1e-12
CONSTANT = ((-1, 1, 0),)


def splits_of(X: np.ndarray) -> list[tuple[tuple[int, int, int], np.ndarray]]:
    """Every split in index order, with the rows that go right."""
    return [(key, values > 0) for key, values in reference.all_stumps(X)[1:]]


def walk(tree: tuple, X: np.ndarray, values: list[np.ndarray] | None = None) -> np.ndarray:
    """h(x) of each row; cut k of a feature lies above its k-th smallest value in `values` (those of X by default)."""
    if values is None:
        values = [np.unique(x[~np.isnan(x)]) for x in X.T]
    votes, rest = _walk(tree, X, values)
    assert not rest, "nodes after the last leaf"
    return votes


def _walk(nodes: tuple, X: np.ndarray, values: list[np.ndarray]) -> tuple[np.ndarray, tuple]:
    feature, cut, missing_right = nodes[0]
    if feature < 0:
        return np.full(len(X), float(cut)), nodes[1:]
    left, rest = _walk(nodes[1:], X, values)
    right, rest = _walk(rest, X, values)
    x = X[:, feature]
    edge = values[feature][cut] if cut < len(values[feature]) else np.inf
    goes_right = np.where(np.isnan(x), bool(missing_right), x > edge)
    return np.where(goes_right, right, left), rest


# ---- growth ---------------------------------------------------------------------------------------------------------


@dataclass
class Node:
    rows: np.ndarray
    depth: int
    plan: tuple | None = None
    twig: tuple | None = None
    gain: float = -np.inf
    children: list = field(default_factory=list)
    ends: bool = False

    @property
    def is_leaf(self) -> bool:
        return not self.children and not self.ends


def grow(X: np.ndarray, y: np.ndarray, d: np.ndarray, max_depth: int | None = None, max_leaves: int | None = None):
    """The greedy tree as the learner's documentation describes it: (key, signed edge)."""
    splits = splits_of(X)
    leaves = max_leaves or 1024
    depth = max_depth or leaves - 1
    nodes = [_looked_at(Node(np.ones(len(y), dtype=bool), 0), splits, y, d)]
    for _ in range(leaves - 1):
        best = None
        for node in nodes:
            last = node.depth + 1 == depth or leaves == 2
            fine = node.is_leaf and node.depth < depth and (node.twig if last else node.plan) is not None
            if fine and (best is None or node.gain > best.gain + TIE):
                best = node
        if best is None:
            break
        if best.depth + 1 == depth or leaves == 2:
            best.ends = True
        else:
            right = best.plan[1]
            for rows in (best.rows & ~right, best.rows & right):
                best.children.append(_looked_at(Node(rows, best.depth + 1), splits, y, d))
            nodes += best.children
    key, edge = _written(nodes[0], y, d, 1)
    first = next(vote for feature, vote, _ in key if feature < 0)
    if first == (1 if len(key) == 1 else -1):
        return key, edge
    return tuple((f, -c, s) if f < 0 else (f, c, s) for f, c, s in key), -edge


def _sums(rows, y, d) -> tuple[float, float]:
    return float(d[rows & (y > 0)].sum()), float(d[rows & (y < 0)].sum())


def _looked_at(node: Node, splits, y, d) -> Node:
    P, N = _sums(node.rows, y, d)
    if P == 0 or N == 0:
        return node
    edges, costs = [], []
    for _, right in splits:
        (lp, ln), (rp, rn) = _sums(node.rows & ~right, y, d), _sums(node.rows & right, y, d)
        edges.append(abs(lp - ln) + abs(rp - rn))
        costs.append(np.sqrt(lp * ln) + np.sqrt(rp * rn) if lp + ln > 0 and rp + rn > 0 else np.inf)
    if edges and max(edges) > abs(P - N) + TIE:
        node.twig = splits[int(np.argmax(np.array(edges) >= max(edges) - TIE))]
    if costs and min(costs) < np.inf:
        node.plan = splits[int(np.argmax(np.array(costs) <= min(costs) + TIE))]
        node.gain = np.sqrt(P * N) - min(costs)
    return node


def _vote(rows, y, d, usual: int) -> int:
    P, N = _sums(rows, y, d)
    return usual if abs(P - N) <= 1e-17 else 1 if P > N else -1


def _written(node: Node, y, d, usual: int) -> tuple[tuple, float]:
    vote = _vote(node.rows, y, d, usual)
    if node.ends or (node.children and all(child.is_leaf for child in node.children)):
        parts = [] if node.twig is None else [node.rows & ~node.twig[1], node.rows & node.twig[1]]
        split = node.twig
        written = [_leaf(rows, y, d, _vote(rows, y, d, vote)) for rows in parts]
    else:
        split = node.plan
        written = [_written(child, y, d, vote) for child in node.children]
    if not written:
        return _leaf(node.rows, y, d, vote)
    (left, left_edge), (right, right_edge) = written
    if len(left) == len(right) == 1 and left == right:
        return left, left_edge + right_edge
    return (split[0], *left, *right), left_edge + right_edge


def _leaf(rows, y, d, vote: int) -> tuple[tuple, float]:
    P, N = _sums(rows, y, d)
    return ((-1, vote, 0),), vote * (P - N)


# ---- all trees of two levels ----------------------------------------------------------------------------------------


def all_trees(X: np.ndarray) -> list[tuple[tuple, np.ndarray]]:
    """Every tree of at most two levels in index order with its values h(x): the constant, then by root, left, right."""
    X = np.asarray(X, dtype=float)
    out = [(CONSTANT, np.ones(len(X)))]
    stumps = [((key, (-1, -1, 0), (-1, 1, 0)), np.where(right, 1.0, -1.0)) for key, right in splits_of(X)]
    lefts = [(((-1, -1, 0),), -np.ones(len(X))), *stumps]
    rights = [(CONSTANT, np.ones(len(X))), *stumps]
    for root, goes_right in splits_of(X):
        for (left, left_values), (right, right_values), sign in product(lefts, rights, (1, -1)):
            if len(left) == len(right) == 1 and sign < 0:
                continue  # the same vote everywhere: no split
            turned = tuple((f, sign * c, s) if f < 0 else (f, c, s) for f, c, s in right)
            out.append(((root, *left, *turned), np.where(goes_right, sign * right_values, left_values)))
    return out


def most_of_any_tree(X: np.ndarray, y: np.ndarray, d: np.ndarray) -> float:
    """The largest edge of any function of the rows' values: sum over distinct rows of |sum of d y|."""
    groups = {}
    for i, row in enumerate(np.where(np.isnan(X), np.inf, X)):
        groups.setdefault(tuple(row), []).append(i)
    return float(sum(abs((d * y)[rows].sum()) for rows in groups.values()))
