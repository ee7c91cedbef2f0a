"""NZDD: a directed acyclic graph whose paths are sets (Mitsuboshi, Hatano & Takimoto, section 2).

One root, one leaf, several edges between two nodes allowed, a set of labels on each edge; along a path no label occurs
twice, so that a path is the set of its labels and sums over labels are sums over edges.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Diagram", "Edge"]

Edge = tuple[Hashable, Hashable, Sequence[int]]  # (from node, to node, labels)


@dataclass(frozen=True, eq=False)
class Diagram:
    """A diagram as flat arrays. Node 0 is the root, the last node the leaf, and every edge leads to a later node.

    The edges of node v are `start[v]` to `start[v + 1]`; edge e leads to `head[e]` and has the labels
    `labels[label_start[e]:label_start[e + 1]]`. Build one with `Diagram.of_edges`, which checks everything.

    Examples
    --------
    >>> from dualboost.learners.nzdd import Diagram
    >>> diagram = Diagram.of_edges([("a", "b", [0]), ("a", "b", [1]), ("b", "c", []), ("b", "c", [2])], n_labels=3)
    >>> diagram.count()
    4
    >>> [sorted(diagram.set_of(path)) for path in diagram.paths()]
    [[0], [0, 2], [1], [1, 2]]
    """

    n_labels: int
    start: np.ndarray
    head: np.ndarray
    label_start: np.ndarray
    labels: np.ndarray

    @classmethod
    def of_edges(cls, edges: Iterable[Edge], n_labels: int) -> Diagram:
        """From (from, to, labels); nodes are named by anything hashable. Refuses what is no diagram, and says why."""
        return cls.of_edges_ordered(edges, n_labels)[0]

    @classmethod
    def of_edges_ordered(cls, edges: Iterable[Edge], n_labels: int) -> tuple[Diagram, list[int]]:
        """The same, and which of the given edges each edge of the diagram is."""
        drawn = [(tail, head, [int(label) for label in labels]) for tail, head, labels in edges]
        order = _topological(drawn)
        place = {name: k for k, name in enumerate(order)}
        given = sorted(range(len(drawn)), key=lambda e: place[drawn[e][0]])  # the edges of a node keep their order
        drawn = [drawn[e] for e in given]
        _check_labels(drawn, order, n_labels)
        tails = np.array([place[tail] for tail, _, _ in drawn], dtype=np.int64)
        counts = np.bincount(tails, minlength=len(order))
        diagram = cls.of_arrays(
            n_labels,
            np.concatenate([[0], np.cumsum(counts)]),
            np.array([place[head] for _, head, _ in drawn]),
            np.cumsum([0, *(len(labels) for _, _, labels in drawn)]),
            np.array([label for _, _, labels in drawn for label in labels]),
        )
        return diagram, given

    @classmethod
    def of_arrays(cls, n_labels: int, start, head, label_start, labels) -> Diagram:
        """From arrays that are known to be right, as those of a construction are."""
        long, short = np.int64, np.int32
        parts = [(start, long), (head, short), (label_start, long), (labels, short)]
        return cls(int(n_labels), *(np.ascontiguousarray(part, dtype=kind) for part, kind in parts))

    @property
    def n_nodes(self) -> int:
        return len(self.start) - 1

    @property
    def n_edges(self) -> int:
        return len(self.head)

    @property
    def tails(self) -> np.ndarray:
        """The node that each edge leaves."""
        return np.repeat(np.arange(self.n_nodes), np.diff(self.start))

    def count(self) -> int:
        """The number of paths, exactly."""
        ways = [0] * self.n_nodes
        ways[-1] = 1
        start, head = self.start.tolist(), self.head.tolist()
        for v in range(self.n_nodes - 2, -1, -1):
            ways[v] = sum(ways[head[e]] for e in range(start[v], start[v + 1]))
        return ways[0]

    def paths(self) -> Iterator[tuple[int, ...]]:
        """All paths as tuples of edges, in the order of the edges: for small diagrams."""
        stack: list[tuple[int, tuple[int, ...]]] = [(0, ())]
        while stack:
            v, path = stack.pop()
            if v == self.n_nodes - 1:
                yield path
            stack += [(int(self.head[e]), (*path, e)) for e in range(self.start[v + 1] - 1, self.start[v] - 1, -1)]

    def labels_of(self, edge: int) -> np.ndarray:
        return self.labels[self.label_start[edge] : self.label_start[edge + 1]]

    def set_of(self, path: Iterable[int]) -> set[int]:
        """The labels along a path."""
        return {int(label) for edge in path for label in self.labels_of(edge)}


def _topological(edges: list) -> list:
    """The nodes, root first and leaf last, each before those it leads to."""
    if not edges:
        return ["root"]  # one node, one empty path
    heads: dict[Hashable, list] = {}
    incoming: dict[Hashable, int] = {}
    for tail, head, _ in edges:
        heads.setdefault(tail, []).append(head)
        heads.setdefault(head, [])
        incoming.setdefault(tail, 0)
        incoming[head] = incoming.get(head, 0) + 1
    sources = [name for name in incoming if incoming[name] == 0]
    ready, order = list(reversed(sources)), []
    while ready:
        name = ready.pop()
        order.append(name)
        for head in heads[name]:
            incoming[head] -= 1
            if incoming[head] == 0:
                ready.append(head)
    _check_shape(heads, sources, order)
    leaf = next(name for name in order if not heads[name])
    return [name for name in order if name != leaf] + [leaf]


def _check_shape(heads: dict, sources: list, order: list) -> None:
    if len(order) < len(heads):
        raise ValueError(f"Node {_on_a_cycle(heads, set(order))!r} lies on a cycle: every edge must lead forward.")
    if len(sources) > 1:
        raise ValueError(
            f"Node {sources[1]!r} cannot be reached from the root {sources[0]!r}: give it an edge, or remove it."
        )
    leaves = [name for name in heads if not heads[name]]
    if len(leaves) > 1:
        raise ValueError(f"Nodes {leaves[0]!r} and {leaves[1]!r} are both leaves: all paths must end in one node.")


def _on_a_cycle(heads: dict, done: set) -> Hashable:
    """Walk among the nodes that were never ready: each has such a node before it, so go backwards until one repeats."""
    before = {head: tail for tail in heads if tail not in done for head in heads[tail]}
    name = next(name for name in heads if name not in done)
    seen: set = set()
    while name not in seen:
        seen.add(name)
        name = before[name]
    return name


def _check_labels(edges: list, order: list, n_labels: int) -> None:
    """Every label in range, and none twice on a path: the labels that may have been met before each node, as bits."""
    met: dict[Hashable, int] = dict.fromkeys(order, 0)
    for tail, head, labels in edges:  # sorted by their tails
        here = 0
        for label in labels:
            if not 0 <= label < n_labels:
                raise ValueError(f"Label {label} of an edge of node {tail!r} is not between 0 and {n_labels - 1}.")
            if (here | met[tail]) >> label & 1:
                raise ValueError(f"Label {label} occurs twice on a path through node {tail!r}.")
            here |= 1 << label
        met[head] |= met[tail] | here
