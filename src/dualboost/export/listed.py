"""Answers that are looked up: a table has up to 64 of them for each code, one bit each, in a whole number.

The numbers of 64 rows are a square of 64 by 64 bits. It is turned, first its bytes and then the bits of each: then a
number has one answer for 64 rows. As in `planes`, with n numbers row b n + k is bit b of number k.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dualboost.export.codes import Steps
from dualboost.export.graph import Graph
from dualboost.export.planes import ROWS
from dualboost.export.turning import BITS, BYTES, EIGHT, add_turned, even_and_odd

__all__ = ["add_listed"]


def add_listed(graph: Graph, parts: Sequence[Steps], answers: Mapping[int, np.ndarray]) -> str:
    """The answers of each feature, in turn, given those of each of its codes; the rows are a multiple of 64."""
    words: list[str] = []
    owners: list[int] = []
    for steps in parts:
        rows, tables = [], []
        for row, feature, codes in steps.own:
            # No matter which answer a missing value has, where none can be missing.
            own = _words(answers[feature])[:, np.minimum(codes, len(answers[feature]) - 1)]
            tables.append(own)
            rows += [row] * len(own)
            owners += [feature] * len(own)
        words.append(steps.part(graph, np.array(rows)).add_found(graph, np.concatenate(tables)))
    joined = words[0] if len(words) == 1 else graph.add("Concat", words, {"axis": 0})
    turned = _turned(graph, joined, len(owners))
    first = {feature: ROWS * owners.index(feature) for feature in answers}
    places = [first[feature] + np.arange(own.shape[1]) for feature, own in answers.items()]
    return graph.add("Gather", [turned, graph.constant(np.concatenate(places))], {"axis": 0})


def _words(answers: np.ndarray) -> np.ndarray:
    """64 answers in a number, a column a code."""
    codes, count = answers.shape
    padded = np.zeros((codes, -(-count // ROWS) * ROWS), dtype=np.uint8)
    padded[:, :count] = answers
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").T


def _turned(graph: Graph, words: str, count: int) -> str:
    """64 rows for each of the words, one for each of its bits."""
    for shape, steps in (([count, EIGHT, -1], BYTES), ([count * EIGHT, EIGHT, -1], BITS)):
        apart = graph.add("Reshape", [words, graph.constant(np.array(shape))])
        words = add_turned(graph, *even_and_odd(graph, apart), steps)
    return graph.add("Reshape", [words, graph.constant(np.array([count * ROWS, -1]))])
