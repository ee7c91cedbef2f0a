"""The part of a vote that looks at one feature at a time, as one step function a feature."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from dualboost.inspection.trees import PlainTrees

__all__ = ["Curve", "curves_and_trees", "finite_cuts"]


@dataclass(frozen=True, eq=False)
class Curve:
    """values[k] for cuts[k - 1] < x <= cuts[k] of one feature; the cuts are finite and ascend."""

    feature: int
    cuts: np.ndarray
    values: np.ndarray
    missing: float
    lost: bool = True
    """Whether a value can be missing."""


def finite_cuts(parts: Iterable[np.ndarray]) -> np.ndarray:
    """All of these, ascending and each once."""
    cuts = np.unique(np.concatenate([np.empty(0), *parts]))
    return cuts[np.isfinite(cuts)]


def curves_and_trees(vote: PlainTrees) -> tuple[list[Curve], PlainTrees]:
    """(the sums of all trees on one and the same feature, the trees on several features). The base is left out."""
    split = np.flatnonzero(vote.feature >= 0)
    tree = np.searchsorted(vote.roots, split, side="right") - 1
    lowest, highest = np.full(len(vote), np.iinfo(np.int64).max), np.full(len(vote), -1)
    np.minimum.at(lowest, tree, vote.feature[split])
    np.maximum.at(highest, tree, vote.feature[split])
    alone = np.flatnonzero(lowest == highest)
    order = alone[np.argsort(lowest[alone], kind="stable")]
    groups = np.split(order, np.flatnonzero(np.diff(lowest[order])) + 1) if len(order) else []
    curves = [_curve(vote.part(group.tolist()), int(lowest[group[0]])) for group in groups]
    return curves, vote.part(np.flatnonzero(lowest < highest).tolist())


def _curve(trees: PlainTrees, feature: int) -> Curve:
    cuts = finite_cuts(_jumps(trees))
    places = np.zeros((len(cuts) + 2, feature + 1))
    places[:, feature] = [*cuts, np.inf, np.nan]
    values = trees.scores(places)
    return Curve(feature, cuts, values[:-1], float(values[-1]))


def _jumps(trees: PlainTrees) -> Iterator[np.ndarray]:
    """Wherever a split changes sides."""
    yield trees.threshold[(trees.feature >= 0) & (trees.rule < 0)]
    yield from (trees.rules[number].cuts for number in np.unique(trees.rule[trees.rule >= 0]))
