"""Plain trees: the one form in which every finished vote of steps, trees or boxes is explained, drawn and exported.

A node is a leaf (feature -1, with its value) or a split: x <= threshold goes left, anything above right. A missing
value goes left, right, or nowhere: then its tree says nothing, as trees do about a feature that was never missing. A
split of categories has a rule instead of a threshold: a step function of sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

__all__ = ["ABSTAIN", "LEFT", "RIGHT", "Node", "PlainTrees", "Rule"]

LEFT, RIGHT, ABSTAIN = 0, 1, 2
Node = tuple[int, float, int, int, int, float, int]  # feature, threshold, missing, left, right, value, rule


class Rule(NamedTuple):
    """sides[k] for cuts[k - 1] < x <= cuts[k] of one feature; the outermost ones are where a missing value goes."""

    feature: int
    cuts: np.ndarray
    sides: np.ndarray

    def of(self, values: Sequence[float] | np.ndarray) -> np.ndarray:
        """Where these go; missing ones stand beyond all cuts."""
        return self.sides[np.searchsorted(self.cuts, values)]


@dataclass(frozen=True, eq=False)
class PlainTrees:
    """Trees as flat arrays, one entry a node; tree t is the nodes roots[t] to roots[t + 1]. The score is their sum."""

    feature: np.ndarray
    threshold: np.ndarray
    missing: np.ndarray
    """Where a missing value goes: LEFT, RIGHT or ABSTAIN."""
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    rule: np.ndarray
    """The number of the node's rule; -1 for a threshold."""
    roots: np.ndarray
    """Where each tree begins, and where the last one ends."""
    base: float = 0.0
    rules: tuple[Rule, ...] = ()

    @classmethod
    def of(cls, trees: Iterable[list[Node]], base: float = 0.0, rules: Sequence[Rule] = ()) -> PlainTrees:
        listed = [tree for tree in trees if tree]
        roots = np.cumsum([0, *map(len, listed)], dtype=np.int64)
        table = [node for tree in listed for node in tree]
        columns = [np.array([node[k] for node in table], kind) for k, kind in enumerate("idbqqdq")]
        shift = np.repeat(roots[:-1], np.diff(roots))
        feature, threshold, missing, left, right, value, rule = columns
        return cls(feature, threshold, missing, left + shift, right + shift, value, rule, roots, base, tuple(rules))

    @classmethod
    def joined(cls, parts: Sequence[PlainTrees], base: float) -> PlainTrees:
        """The sum of votes and a constant."""
        starts = np.cumsum([0, *(len(part.feature) for part in parts)])
        known = np.cumsum([0, *(len(part.rules) for part in parts)])

        def stacked(name: str, shifts: np.ndarray | None = None) -> np.ndarray:
            own = [getattr(part, name) for part in (cls.of([]), *parts)]
            return np.concatenate(own if shifts is None else [own[0], *map(np.add, own[1:], shifts)])

        rule = np.concatenate(
            [cls.of([]).rule, *(np.where(part.rule < 0, -1, part.rule + known[k]) for k, part in enumerate(parts))]
        )
        return cls(
            stacked("feature"),
            stacked("threshold"),
            stacked("missing"),
            stacked("left", starts[:-1]),
            stacked("right", starts[:-1]),
            stacked("value"),
            rule,
            np.concatenate([*(part.roots[:-1] + starts[k] for k, part in enumerate(parts)), starts[-1:]]),
            base + sum(part.base for part in parts),
            tuple(rule for part in parts for rule in part.rules),
        )

    def __len__(self) -> int:
        return len(self.roots) - 1

    @property
    def abstains(self) -> np.ndarray:
        """Which nodes are thresholds that send a missing value nowhere."""
        return (self.feature >= 0) & (self.rule < 0) & (self.missing == ABSTAIN)

    @property
    def nodes(self) -> Iterator[slice]:
        """The places of each tree."""
        return (slice(first, last) for first, last in pairwise(self.roots.tolist()))

    def part(self, chosen: Iterable[int]) -> PlainTrees:
        """Only these trees, without the base."""
        spans = [slice(*self.roots[t : t + 2].tolist()) for t in chosen]
        rows = [np.arange(span.start, span.stop) for span in spans]
        roots = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        kept = np.concatenate([np.empty(0, np.int64), *rows])
        shift = np.repeat(np.array([span.start for span in spans], np.int64) - roots[:-1], np.diff(roots))
        arrays = (self.feature, self.threshold, self.missing, self.left, self.right, self.value, self.rule)
        feature, threshold, missing, left, right, value, rule = (array[kept] for array in arrays)
        return PlainTrees(feature, threshold, missing, left - shift, right - shift, value, rule, roots, 0.0, self.rules)

    def by_paths(self) -> dict[tuple[int, ...], PlainTrees]:
        """The vote in parts, by the features on the path to a leaf: each has the leaves of its paths alone."""
        leaves: dict[tuple[int, ...], list[int]] = {}
        open_nodes: list[tuple[int, frozenset[int]]] = [(int(root), frozenset()) for root in self.roots[:-1]]
        while open_nodes:
            node, met = open_nodes.pop()
            if self.feature[node] < 0:
                leaves.setdefault(tuple(sorted(met)), []).append(node)
            else:
                met |= {int(self.feature[node])}
                open_nodes += [(int(self.left[node]), met), (int(self.right[node]), met)]
        return {key: self._of_leaves(np.array(nodes)) for key, nodes in leaves.items()}

    def _of_leaves(self, leaves: np.ndarray) -> PlainTrees:
        value = np.zeros_like(self.value)
        value[leaves] = self.value[leaves]
        trees = np.unique(np.searchsorted(self.roots, leaves, side="right") - 1)
        return replace(self, value=value).part(trees.tolist())

    def scaled(self, factor: float) -> PlainTrees:
        return replace(self, value=self.value * factor, base=self.base * factor)

    def sides(self, node: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which values of the node's feature go left and which go right."""
        if self.rule[node] >= 0:
            rule = self.rules[self.rule[node]]
            sides = rule.of(x)
            return sides == LEFT, sides == RIGHT
        lost = np.isnan(x)
        left, right = x <= self.threshold[node], x > self.threshold[node]
        where = self.missing[node]
        return left | (lost if where == LEFT else False), right | (lost if where == RIGHT else False)

    def scores(self, X: np.ndarray) -> np.ndarray:
        """The score of each row of a dense table."""
        out = np.full(len(X), self.base)
        open_nodes = [(int(root), np.arange(len(X))) for root in self.roots[:-1]]
        while open_nodes:
            node, rows = open_nodes.pop()
            if self.feature[node] < 0:
                out[rows] += self.value[node]
                continue
            left, right = self.sides(node, X[rows, self.feature[node]])
            open_nodes += [(int(self.left[node]), rows[left]), (int(self.right[node]), rows[right])]
        return out
