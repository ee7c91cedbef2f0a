"""Bits that depend on the code of a row in its column, 64 rows in a word: a plane has one bit of one column.

A table turns the code of a row into eight bits, a byte apart; with the bits of seven other rows in between they are one
sum of whole numbers. Eight such sums are a square of bytes, which is turned: then each word has one bit of 64 rows.

Tables of planes have a word of 64 rows a row, and a plane a column. Row 64 k + 8 b + a of X is bit 8 b + a of word k.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dualboost.export.blocks import ROWS, Outside
from dualboost.export.codes import add_steps
from dualboost.export.columns import BEYOND, Columns
from dualboost.export.curves import Curve
from dualboost.export.graph import INT64, UINT64, Graph
from dualboost.export.turning import BYTES, EIGHT, add_turned

__all__ = ["Planes", "add_padding", "add_planes"]

_WIDE = 8  # tables of a feature that are better looked up at once


@dataclass(frozen=True)
class Planes:
    """A table of planes in the graph, with signed words: those can be chosen quickly."""

    name: str
    sums: list[tuple[int, int]]
    """Whose bits each sum has: a feature, and which eight of them. Column s + j len(sums) is the j-th bit of sum s."""

    @property
    def width(self) -> int:
        return EIGHT * len(self.sums)

    def column(self, feature: int, bit: int) -> int:
        return self.sums.index((feature, bit // EIGHT)) + bit % EIGHT * len(self.sums)


def add_padding(outside: Outside) -> str:
    """What makes the rows of X a multiple of 64, and BEYOND; nothing where they are whole."""
    if outside.whole:
        return ""
    graph = outside.graph
    lacking = graph.add("Mul", [outside.rows, graph.constant(np.array([0, 0, -1, 0]))])
    words = graph.add("Mod", [lacking, graph.constant(np.array(ROWS))])
    return graph.add("Add", [words, graph.constant(np.array([0, 0, BEYOND, 0]))])


def add_planes(graph: Graph, columns: Columns, curves: Sequence[Curve], bits: Mapping[int, np.ndarray]) -> Planes:
    """The planes of all bits of the codes that curves give: a row a code, a column a bit."""
    curves = [curve for curve in curves if curve.feature in bits]
    parted: list[str] = []
    sums: list[tuple[int, int]] = []
    for longer in add_steps(graph, curves, columns):
        steps = longer._replace(at=columns.cut(graph, longer.at))
        own = {feature: _tables(bits[feature], codes) for _, feature, codes in steps.own}
        row_of = {feature: row for row, feature, _ in steps.own}
        wide = [feature for feature, tables in own.items() if len(tables) >= _WIDE]
        narrow = [feature for feature in own if feature not in wide]
        if wide:
            each = _looked_up(graph, steps.at, [(row_of[feature], own[feature]) for feature in wide])
            parted += [_added(graph, found, len(own[feature])) for found, feature in zip(each, wide, strict=True)]
        if narrow:
            rows = np.repeat([row_of[feature] for feature in narrow], [len(own[feature]) for feature in narrow])
            found = steps.part(graph, rows).add_found(graph, np.concatenate([own[feature] for feature in narrow]))
            parted.append(_added(graph, found, len(rows)))
        sums += [(feature, eight) for feature in [*wide, *narrow] for eight in range(len(own[feature]))]
    joined = graph.add("Cast", [graph.stacked(parted)], {"to": UINT64})
    eights = graph.add("Transpose", [joined], {"perm": [1, 2, 0]})
    cube = graph.add("Reshape", [eights, graph.constant(np.array([-1, 2, 2, 2, len(sums)]))])
    turned = graph.add("Cast", [add_turned(graph, cube, BYTES)], {"to": INT64})
    return Planes(graph.add("Reshape", [turned, graph.constant(np.array([-1, EIGHT * len(sums)]))]), sums)


def _tables(bits: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Of each place in a table of codes their bits, eight in a number and a byte apart; a row for every eight."""
    # No matter which bits a missing value has, where none can be missing.
    known = bits[np.minimum(codes, len(bits) - 1)].astype(np.uint64)
    eights = [known[:, first : first + EIGHT] for first in range(0, known.shape[1], EIGHT)]
    apart = [np.uint64(1) << (EIGHT * np.arange(own.shape[1], dtype=np.uint64)) for own in eights]
    return np.array([own @ places for own, places in zip(eights, apart, strict=True)]).view(np.int64)


def _looked_up(graph: Graph, at: str, wide: Sequence[tuple[int, np.ndarray]]) -> Iterator[str]:
    """Of some features, given by their rows, the columns of many tables each."""
    rows = graph.constant(np.array([row for row, _ in wide]))
    places = graph.add("Cast", [graph.add("Gather", [at, rows], {"axis": 0})], {"to": INT64})
    each = graph.split(places, 0, len(wide)) if len(wide) > 1 else [places]
    for own, (_, tables) in zip(each, wide, strict=True):
        yield graph.columns(graph.constant(tables), own)


def _added(graph: Graph, found: str, count: int) -> str:
    """The bits of eight rows in a number, for so many tables."""
    apart = graph.add("Reshape", [found, graph.constant(np.array([count, -1, EIGHT]))])
    return graph.add("MatMul", [apart, graph.constant(1 << np.arange(EIGHT)[:, None])])
