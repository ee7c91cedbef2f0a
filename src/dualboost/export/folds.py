"""Trees that are one question: those that say two values, by pairs of splits and the split above them.

Of such a pair only one answer counts, and the split above tells which. So the three are a single question, whose answer
takes a few operations on whole arrays; a pair of those and the split above them is one again, and so on to the root. In
the place of one of a pair there may be a leaf: its answer is that of the split above, which is known where it counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dualboost.export.graph import Graph
from dualboost.inspection.trees import PlainTrees

__all__ = ["Folds", "gathered"]

Place = Callable[[int], int]
"""The row of a table that has the answer of a node."""


@dataclass(frozen=True, eq=False)
class Folds:
    """What is one question; either answer has its value."""

    trees: PlainTrees
    height: np.ndarray
    """Of each node: how often what is below it is folded; 0 for a split that is asked by itself, and for leaves."""
    gain: np.ndarray
    """The value of yes less that of no, where something is folded."""
    opposed: np.ndarray
    """Whether yes has in the right one of a pair the value that no has in the left one."""

    @classmethod
    def of(cls, trees: PlainTrees) -> Folds:
        leaf = trees.feature < 0
        left, right = np.where(leaf, 0, trees.left), np.where(leaf, 0, trees.right)
        height, opposed = np.zeros(len(leaf), dtype=np.int64), np.zeros(len(leaf), dtype=bool)
        lowest = ~leaf & leaf[left] & leaf[right]
        no, yes = np.where(lowest, trees.value[left], np.nan), np.where(lowest, trees.value[right], np.nan)
        # In a pair a leaf on the left is always no, one on the right always yes; its other value is anything.
        no_left, yes_right = np.where(leaf, trees.value, no), np.where(leaf, trees.value, yes)
        last = lowest | leaf
        while True:
            alike = _same(no_left[left], no[right]) & _same(yes[left], yes_right[right])
            crossed = _same(no_left[left], yes_right[right]) & _same(yes[left], no[right])
            last = ~(leaf | lowest) & last[left] & last[right] & (alike | crossed)
            if not last.any():
                break
            height[last] = height.max() + 1
            opposed |= last & ~alike
            right_yes = np.where(alike, yes_right[right], no[right])
            no = np.where(last, no_left[left], no)
            yes = np.where(last, np.where(leaf[left], right_yes, yes[left]), yes)
            no_left, yes_right = no, yes  # only the lowest pairs have leaves
        whole = np.repeat(height[trees.roots[:-1]] > 0, np.diff(trees.roots))
        return cls(trees, height * whole, yes - no, opposed)

    @property
    def count(self) -> int:
        return int(np.count_nonzero(self.height))

    @property
    def highest(self) -> int:
        return int(self.height.max(initial=0))

    def add(self, graph: Graph, answers: str, place: Place) -> list[str]:
        """The answers of the trees that are folded, by height and then by root; given those of single splits."""
        found: list[str] = []
        pair: list[str] = []
        for nodes, pairs in self._orders():
            above = gathered(graph, answers, place, nodes)
            left, right = pair or self._lowest(graph, answers, place, nodes)
            differ = graph.add("Xor", [left, right])
            if self.opposed[nodes].any():
                differ = graph.add("Xor", [differ, graph.constant(self.opposed[nodes][:, None])])
            table = graph.add("Xor", [left, graph.add("And", [above, differ])])
            *pair, roots = graph.parted(table, [pairs, pairs, len(nodes) - 2 * pairs])
            found += [roots] if roots else []
        return found

    def _lowest(self, graph: Graph, answers: str, place: Place, nodes: np.ndarray) -> Iterator[str]:
        """The answers of single splits on the left, and of those on the right."""
        for below in (self.trees.left[nodes], self.trees.right[nodes]):
            yield gathered(graph, answers, place, np.where(self.trees.feature[below] < 0, nodes, below))

    def _orders(self) -> list[tuple[np.ndarray, int]]:
        """(the nodes of a height: those on the left of pairs, those on the right, and roots; the number of pairs)."""
        roots = self.trees.roots[:-1]
        orders: list[tuple[np.ndarray, int]] = []
        above = roots[:0]
        for height in range(self.highest, 0, -1):
            nodes = [self.trees.left[above], self.trees.right[above], roots[self.height[roots] == height]]
            orders.append((np.concatenate(nodes), len(above)))
            above = orders[-1][0]
        return orders[::-1]


def gathered(graph: Graph, table: str, place: Place, nodes: np.ndarray) -> str:
    """The rows of some nodes."""
    return graph.add("Gather", [table, graph.constant(np.array([place(node) for node in nodes.tolist()]))], {"axis": 0})


def _same(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return (one == other) | np.isnan(one) | np.isnan(other)
