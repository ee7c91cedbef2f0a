"""Which rows have at least a given code, for codes of many columns at once, by operations on 64 rows.

A code has two digits, a low one and a high one, of as many binary digits each. For either all thresholds are worked out
by doubling: with one binary digit more, the thresholds without it are reached with the digit or as before, those with
it with the digit and as before. A code reaches (high, low) where its high digit is greater, or equal and its low digit
reaches `low`; that is asked of some codes only, the rungs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dualboost.export.graph import Graph
from dualboost.export.planes import Planes

__all__ = ["Ladder", "add_rungs", "ladders"]

_DEAR = 256  # thresholds that cost as much as a ladder more

_ALL = np.array(-1)  # every bit


@dataclass(frozen=True)
class Ladder:
    """Columns with about as many codes."""

    features: list[int]
    bits: int
    """Binary digits of either digit."""

    @property
    def size(self) -> int:
        """The number of thresholds."""
        return len(self.features) << self.bits + 1

    @property
    def digits(self) -> np.ndarray:
        """The binary digits of all codes of two digits, the lowest first."""
        return np.arange(1 << 2 * self.bits)[:, None] >> np.arange(2 * self.bits) & 1

    def columns(self, feature: int, code: int) -> tuple[int, int, int]:
        """The thresholds of the low digit of a code, of its high digit, and of the next higher one."""
        own, apart = self.features.index(feature), 2 * len(self.features)
        low, high = code & ((1 << self.bits) - 1), code >> self.bits
        return own + low * apart, own + apart // 2 + high * apart, own + apart // 2 + (high + 1) * apart

    def add(self, graph: Graph, planes: Planes) -> str:
        """Threshold by threshold, those of the low digits of all columns and those of their high digits."""
        bits = [[first + k for first in (0, self.bits)] for k in range(self.bits)]
        places = [planes.column(feature, bit) for own in bits for bit in own for feature in self.features]
        digits = graph.columns(planes.name, np.array(places))
        each = graph.add("Reshape", [digits, graph.constant(np.array([0, self.bits, -1]))])
        reached = ""
        for digit in graph.split(each, 1, self.bits):
            without = graph.add("BitwiseOr", [digit, reached or graph.constant(_ALL)])
            with_it = graph.add("BitwiseAnd", [digit, reached]) if reached else digit
            reached = graph.add("Concat", [without, with_it], {"axis": 1})
        return graph.add("Reshape", [reached, graph.constant(np.array([-1, self.size]))])


def add_rungs(graph: Graph, planes: Planes, own: Sequence[Ladder], rungs: Sequence[tuple[int, int]]) -> str:
    """Which rows reach these codes of these features, a column each."""
    table = graph.stacked([ladder.add(graph, planes) for ladder in own], axis=1)
    first = np.cumsum([0, *(ladder.size for ladder in own)])
    place = {feature: k for k, ladder in enumerate(own) for feature in ladder.features}
    places = np.array([own[k].columns(feature, code) + first[k] for feature, code in rungs for k in [place[feature]]])
    reached, same, beyond = (graph.columns(table, chosen) for chosen in places.T)
    return graph.add("BitwiseAnd", [same, graph.add("BitwiseOr", [beyond, reached])])


def ladders(codes: Mapping[int, int]) -> list[Ladder]:
    """For features with so many codes each; one code more has a rung too, which none reaches."""
    bits = {feature: _bits(count) for feature, count in codes.items()}
    found: list[Ladder] = []
    for k, feature in enumerate(sorted(bits, key=lambda feature: -bits[feature])):
        # A shorter ladder for all that are left?
        spared = (len(bits) - k) * ((2 << found[-1].bits) - (2 << bits[feature])) if found else _DEAR
        if spared < _DEAR:
            found[-1].features.append(feature)
        else:
            found.append(Ladder([feature], bits[feature]))
    return found


def _bits(count: int) -> int:
    """Enough for the high digit after that of the last rung."""
    bits = 1
    while (count >> bits) + 1 >= 1 << bits:
        bits += 1
    return bits
