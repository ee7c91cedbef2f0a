"""Plain trees as the attributes of ONNX's `TreeEnsemble`: doubles all the way, missing values as they were learned.

A split of ONNX sends x <= threshold to its true side, and a missing value to the false side unless it is told
otherwise. Splits that should abstain get a second one below their false side: x <= infinity, or nothing. Splits of
categories look at further columns, the `sides`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dualboost.inspection.as_trees import step_tree
from dualboost.inspection.trees import ABSTAIN, LEFT, PlainTrees

__all__ = ["TreeArrays", "tree_arrays"]


@dataclass(frozen=True, eq=False)
class TreeArrays:
    """Splits and leaves apart, as ONNX wants them; a leaf belongs to one target and to one split."""

    features: np.ndarray
    thresholds: np.ndarray
    missing_true: np.ndarray
    children: tuple[np.ndarray, np.ndarray]
    """True and false: the number of a split or of a leaf."""
    ends: tuple[np.ndarray, np.ndarray]
    """Whether these are leaves."""
    leaf_targets: np.ndarray
    leaf_weights: np.ndarray
    roots: np.ndarray


def tree_arrays(votes: Sequence[PlainTrees]) -> TreeArrays:
    """The trees of all votes; those of the k-th add to target k. The bases, and trees without a split, are left out."""
    parts = [_arrays(_without_abstaining(vote), target) for target, vote in enumerate(votes)]
    parts = [part for part in parts if len(part.roots)] or [_arrays(step_tree([np.inf], [0.0, 0.0]), 0)]
    splits = np.cumsum([0, *(len(part.features) for part in parts)])
    leaves = np.cumsum([0, *(len(part.leaf_weights) for part in parts)])

    def joined(side: int) -> np.ndarray:
        moved = [part.children[side] + np.where(part.ends[side], leaves[k], splits[k]) for k, part in enumerate(parts)]
        return np.concatenate(moved)

    def stacked(name: str) -> np.ndarray:
        return np.concatenate([getattr(part, name) for part in parts])

    return TreeArrays(
        stacked("features"),
        stacked("thresholds"),
        stacked("missing_true"),
        (joined(0), joined(1)),
        (np.concatenate([part.ends[0] for part in parts]), np.concatenate([part.ends[1] for part in parts])),
        stacked("leaf_targets"),
        stacked("leaf_weights"),
        np.concatenate([part.roots + splits[k] for k, part in enumerate(parts)]),
    )


def _without_abstaining(trees: PlainTrees) -> PlainTrees:
    """The same trees with a split of their own for missing values that go nowhere."""
    asks = np.flatnonzero((trees.feature >= 0) & (trees.missing == ABSTAIN))
    if not len(asks):
        return trees
    size, count = len(trees.feature), len(asks)
    splits, nothing = size + np.arange(count), size + count
    right = trees.right.copy()
    right[asks] = splits
    none = np.zeros(1)

    def extended(old: np.ndarray, new, leaf) -> np.ndarray:
        return np.concatenate([old, np.broadcast_to(new, count), leaf + none]).astype(old.dtype)

    return PlainTrees(
        extended(trees.feature, trees.feature[asks], -1),
        extended(trees.threshold, np.where(trees.rule[asks] < 0, np.inf, 1.5), 0),
        extended(np.where(trees.missing == ABSTAIN, 1, trees.missing), 1, 0),
        extended(trees.left, trees.right[asks], 0),
        extended(right, nothing, 0),
        extended(trees.value, 0.0, 0),
        extended(trees.rule, -1, -1),
        trees.roots,
        trees.base,
    )


def _arrays(trees: PlainTrees, target: int) -> TreeArrays:
    splits = np.flatnonzero(trees.feature >= 0)
    number = np.cumsum(trees.feature >= 0) - 1
    both = trees.left[splits], trees.right[splits]
    ends = trees.feature[both[0]] < 0, trees.feature[both[1]] < 0
    first = int(ends[0].sum())
    numbers = np.cumsum(ends[0]) - 1, first + np.cumsum(ends[1]) - 1
    children = tuple(np.where(end, leaf, number[child]) for end, leaf, child in zip(ends, numbers, both, strict=True))
    weights = np.concatenate([trees.value[child[end]] for child, end in zip(both, ends, strict=True)])
    roots = trees.roots[:-1]
    return TreeArrays(
        trees.feature[splits],
        trees.threshold[splits],
        trees.missing[splits] == LEFT,
        (children[0], children[1]),
        ends,
        np.full(len(weights), target),
        weights,
        number[roots[trees.feature[roots] >= 0]],
    )
