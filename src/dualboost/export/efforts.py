"""Which way to sum trees is the quickest for how many rows.

A walk begins at once, but half of its turns come as a surprise to the processor; right turns take a moment to begin and
less for each row; counting takes longest to begin and least for a row, unless trees are small. All in nanoseconds,
fitted to measurements: where they are off, the quickest way is missed, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dualboost.inspection.trees import PlainTrees

__all__ = ["Effort", "Ranges", "walking"]

_STEP = 5.5  # of a walk
_NEAR = 0.8  # of what right turns take for a row, as long as all stays in the nearest cache
_FEWEST = 4  # rows that are not walked
_EVER = 1 << 40  # more rows than there are


class Effort(NamedTuple):
    """What a way takes."""

    beginning: float
    each: float
    """Row."""

    def since(self, other: Effort) -> int:
        """From how many rows on this way is quicker than one that begins sooner."""
        gained = other.each - self.each
        return min(_EVER, int(max(0.0, self.beginning - other.beginning) / gained)) if gained > 0 else _EVER


def walking(votes: Sequence[PlainTrees]) -> Effort:
    """A row meets as many splits as lie above a leaf; one of categories takes as long as two."""
    return Effort(0.0, _STEP * sum(map(_steps, votes)))


def _steps(trees: PlainTrees) -> float:
    """The mean over the leaves of each tree."""
    above = np.zeros(len(trees.feature))
    nodes = trees.roots[:-1]
    while len(nodes := nodes[trees.feature[nodes] >= 0]):
        own = above[nodes] + 1 + (trees.rule[nodes] >= 0)
        above[trees.left[nodes]] = above[trees.right[nodes]] = own
        nodes = np.concatenate([trees.left[nodes], trees.right[nodes]])
    leaves = trees.feature < 0
    counts, sums = (np.add.reduceat(values, trees.roots[:-1]) for values in (leaves.astype(float), above * leaves))
    return float((sums / counts).sum())


class Ranges(NamedTuple):
    """Numbers of rows: fewer are walked, then right turns are summed, then numbers of leaves counted."""

    turns: int
    counting: int

    @classmethod
    def of(cls, walk: Effort, turns: Effort, counting: Effort) -> Ranges:
        near = turns._replace(each=_NEAR * turns.each)
        first, second = max(_FEWEST, near.since(walk)), max(_FEWEST, counting.since(turns))
        if first < second:
            return cls(first, second)
        at_once = max(_FEWEST, counting.since(walk))
        return cls(at_once, at_once)
