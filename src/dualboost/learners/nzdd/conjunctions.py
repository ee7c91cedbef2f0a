"""Conjunctions of a few literals over 0/1 features, as a tree whose edges exclude rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dualboost.learners.nzdd.boxes import Box, BoxRules
from dualboost.learners.nzdd.diagram import Diagram
from dualboost.learners.nzdd.rules import Rules, as_dense

__all__ = ["Conjunctions"]

_MOST_LABELS = 1 << 27  # half a gigabyte


@dataclass(frozen=True)
class Conjunctions(Rules):
    """All conjunctions of at most `k` literals over 0/1 features: "x_3 and not x_7".

    The path of a conjunction captures the rows that violate it, each at the first literal it violates: -1 where the
    conjunction holds, +1 elsewhere. A literal that excludes no further training row is left out, and so is what holds
    for no row. A row is a label only where it is excluded: about 2^k times fewer entries than a list of columns has.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.learners.nzdd import Conjunctions
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> Conjunctions(2).bind(X).diagram.count()  # all rows, four literals, four pairs
    9
    """

    k: int = 2

    def __post_init__(self):
        if not isinstance(self.k, (int, np.integer)) or isinstance(self.k, bool) or self.k < 1:
            raise ValueError(f"k is a number of literals: a whole number of at least 1, not {self.k!r}.")

    def bind(self, X) -> BoxRules:
        X = as_dense(X)
        wrong = np.flatnonzero(~np.all((X == 0) | (X == 1), axis=0))
        if len(wrong):
            raise ValueError(f"Conjunctions need features of 0 and 1, but column {wrong[0]} has other values.")
        tree = _Tree(X == 1).grown(self.k)
        return BoxRules(_built(tree.edges, len(X)), tuple(tree.boxes))


class _Node(NamedTuple):
    """A conjunction: what must hold, and the training rows for which it does."""

    number: int
    held: Box
    covered: np.ndarray


class _Tree:
    """The tree of conjunctions, level by level: edges as (from, to, rows excluded), -1 for the leaf, and the boxes."""

    def __init__(self, X: np.ndarray):
        self.columns = np.ascontiguousarray(X.T)
        self.edges: list[tuple[int, int, np.ndarray]] = []
        self.boxes: list[Box | None] = []
        self.nodes, self.labels = 1, 0

    def grown(self, k: int) -> _Tree:
        level = [_Node(0, (), np.arange(self.columns.shape[1], dtype=np.int32))]
        for depth in range(k + 1):
            level = [child for node in level for child in self._branches(node, last=depth == k)]
        return self

    def _branches(self, node: _Node, last: bool) -> list[_Node]:
        self.edges.append((node.number, -1, np.empty(0, dtype=np.int32)))  # the conjunction as it is
        self.boxes.append(None)
        first = len(self.columns) if last else node.held[-1][0] + 1 if node.held else 0
        return [child for f in range(first, len(self.columns)) for child in self._literals(node, f)]

    def _literals(self, node: _Node, f: int) -> list[_Node]:
        """The two literals of a feature, where both hold for some of the rows that are left."""
        holds = self.columns[f].take(node.covered)
        true, false = node.covered[holds], node.covered[~holds]
        if not (len(true) and len(false)):
            return []
        return [self._child(node, _literal_box(f, truth), _literal_box(f, not truth), rows)
                for truth, rows in ((True, (true, false)), (False, (false, true)))]  # fmt: skip

    def _child(self, node: _Node, holds, fails, rows: tuple[np.ndarray, np.ndarray]) -> _Node:
        passing, failing = rows
        child = _Node(self.nodes, (*node.held, holds), passing)
        self.edges.append((node.number, child.number, failing))
        self.boxes.append((*node.held, fails))
        self.nodes, self.labels = self.nodes + 1, self.labels + len(failing)
        if self.labels > _MOST_LABELS:
            raise ValueError(
                f"The conjunctions of these features take more than {_MOST_LABELS:,} labels: "
                "use a smaller k, fewer features or fewer rows."
            )
        return child


def _literal_box(f: int, truth: bool) -> tuple[int, float, float]:
    return (f, 0.5, np.inf) if truth else (f, -np.inf, 0.5)


def _built(edges: list, m: int) -> Diagram:
    """The arrays of a tree whose nodes are numbered level by level; -1 is the leaf."""
    tails = np.array([tail for tail, _, _ in edges])
    leaf = int(tails.max()) + 1
    heads = np.array([leaf if head < 0 else head for _, head, _ in edges])
    start = np.concatenate([np.searchsorted(tails, np.arange(leaf + 1)), [len(edges)]])
    label_start = np.cumsum([0, *(len(labels) for _, _, labels in edges)])
    return Diagram.of_arrays(m, start, heads, label_start, np.concatenate([labels for _, _, labels in edges]))
