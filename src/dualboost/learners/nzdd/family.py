"""A diagram of an explicit family of sets: a zero-suppressed decision diagram with its chains contracted.

The family is split by its smallest item into the sets without and with it; equal sub-families are one node (hash
consing), a node whose sets never hold its item is dropped, and a node with one edge is merged into its predecessors.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from dualboost.learners.nzdd.diagram import Diagram

__all__ = ["diagram_of_family"]

Family = frozenset[tuple[int, ...]]  # of sorted sets
_TOP: Family = frozenset([()])


def diagram_of_family(sets: Iterable[Iterable[int]], n_labels: int) -> Diagram:
    """The diagram whose paths are exactly these sets; a set given twice counts once.

    Examples
    --------
    >>> from dualboost.learners.nzdd import diagram_of_family
    >>> diagram = diagram_of_family([[0, 2], [1, 2], [2], []], n_labels=3)
    >>> sorted(sorted(diagram.set_of(path)) for path in diagram.paths())
    [[], [0, 2], [1, 2], [2]]
    """
    family = frozenset(tuple(sorted({int(item) for item in items})) for items in sets)
    if not family:
        raise ValueError("A family needs at least one set; the empty set counts: [[]].")
    if family == _TOP:
        return Diagram.of_edges([], n_labels)
    return Diagram.of_edges(_contracted(_split(family), family), n_labels)


def _split(family: Family) -> dict[Hashable, list[tuple[Hashable, list[int]]]]:
    """(next node, labels) of every node; a node is its family."""
    edges: dict[Hashable, list] = {}
    waiting = [family]
    while waiting:
        node = waiting.pop()
        if node in edges or node == _TOP:
            continue
        item = min(items[0] for items in node if items)
        without = frozenset(items for items in node if not items or items[0] != item)
        with_it = frozenset(items[1:] for items in node if items and items[0] == item)
        edges[node] = [(without, [])] * bool(without) + [(with_it, [item])]
        waiting += [next_node for next_node, _ in edges[node]]
    return edges


def _contracted(edges: dict, root: Hashable) -> list:
    """All edges, each followed through nodes that have a single one; the root stays."""
    names: dict[Hashable, int] = {}
    out = []
    for node in _reachable(edges, root):
        for head, labels in edges[node]:
            head, more = _through(edges, head)
            out.append((names.setdefault(node, len(names)), names.setdefault(head, len(names)), labels + more))
    return out


def _reachable(edges: dict, root: Hashable) -> list:
    """The nodes that stay, root first."""
    found: dict[Hashable, None] = {root: None}
    for node in (waiting := [root]):
        for head, _ in edges[node]:
            head, _ = _through(edges, head)
            if head != _TOP and head not in found:
                found[head] = None
                waiting.append(head)
    return list(found)


def _through(edges: dict, node: Hashable) -> tuple[Hashable, list[int]]:
    labels: list[int] = []
    while node != _TOP and len(edges[node]) == 1:
        (node, more) = edges[node][0]
        labels = labels + more
    return node, labels
