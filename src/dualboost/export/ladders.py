"""Which rows have at least a given code, for all codes of many columns at once, by operations on 64 rows.

A code has two digits, a low one and a high one, of a few binary digits each. For either all thresholds are worked out
by doubling: with one binary digit more, the thresholds without it are reached with the digit or as before, those with
it with the digit and as before. A code reaches (high, low) where its high digit is greater, or equal and its low digit
reaches `low`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dualboost.export.graph import Graph
from dualboost.export.planes import Planes

__all__ = ["Ladder", "ladders"]

_LOW = 3  # binary digits of a low digit
_DEAR = 256  # rungs that cost as much as a ladder more

_ALL = np.array(np.iinfo(np.uint64).max, dtype=np.uint64)


@dataclass(frozen=True)
class Ladder:
    """Columns with about as many codes."""

    features: list[int]
    highs: int
    """How many high digits have rungs."""

    @property
    def rungs(self) -> int:
        """Of a column: one for each code, and more."""
        return self.highs << _LOW

    @property
    def size(self) -> int:
        return len(self.features) * self.rungs

    def add(self, graph: Graph, planes: Planes) -> str:
        """Row by row, the rungs of the columns: where codes are at least 0, 1, and so on."""
        count, bits = len(self.features), max(_LOW, self.highs.bit_length())
        both = self._both_digits(graph, planes, bits)
        first = np.arange(count)[:, None, None] << bits
        low = first + np.arange(1 << _LOW)
        high = first + (count << bits) + np.arange(self.highs)[:, None]
        reached, same, beyond = (
            graph.add("Gather", [both, graph.constant(rows)], {"axis": 0}) for rows in (low, high, high + 1)
        )
        rungs = graph.add("BitwiseAnd", [same, graph.add("BitwiseOr", [beyond, reached])])
        return graph.add("Reshape", [rungs, graph.constant(np.array([self.size, -1]))])

    def _both_digits(self, graph: Graph, planes: Planes, bits: int) -> str:
        """All thresholds of the low digits of the columns, then those of their high digits."""
        rungs = ""
        for k in range(bits):
            lows = [planes.row(f, k) if k < _LOW else planes.nothing(f) for f in self.features]
            highs = [planes.row(f, _LOW + k) for f in self.features]
            digit = graph.add("Gather", [planes.name, graph.constant(np.array(lows + highs)[:, None])], {"axis": 0})
            without = graph.add("BitwiseOr", [digit, rungs or graph.constant(_ALL)])
            with_it = graph.add("BitwiseAnd", [digit, rungs]) if rungs else digit
            rungs = graph.add("Concat", [without, with_it], {"axis": 1})
        return graph.add("Reshape", [rungs, graph.constant(np.array([2 * len(self.features) << bits, -1]))])


def ladders(codes: Mapping[int, int]) -> list[Ladder]:
    """For features with so many codes each; every one has a rung that no code reaches."""
    highs = {feature: (count >> _LOW) + 1 for feature, count in codes.items()}
    found: list[Ladder] = []
    for k, feature in enumerate(sorted(highs, key=lambda feature: -highs[feature])):
        # A shorter ladder for all that are left?
        spared = (found[-1].highs - highs[feature] << _LOW) * (len(highs) - k) if found else _DEAR
        if spared < _DEAR:
            found[-1].features.append(feature)
        else:
            found.append(Ladder([feature], highs[feature]))
    return found
