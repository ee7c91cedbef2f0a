"""Thresholds and intervals on single features: chains of distinct values, O(rows * features) edges.

The values of a feature form a chain of edges, each labelled with the rows of that value. A path enters the chain, runs
along it and leaves it, at the end (a threshold: all values above a cut) or anywhere (an interval). There are as many
intervals as pairs of values, and the diagram does not get larger for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualboost.learners.nzdd.diagram import Diagram
from dualboost.learners.nzdd.rules import BoundRules, Rules, as_dense
from dualboost.learners.stumps import StumpScores

__all__ = ["Intervals", "Thresholds"]


@dataclass(frozen=True)
class Thresholds(Rules):
    """ "x_f is above a cut", for all features and cuts: decision stumps. Missing values may be on either side.

    The class is that of `Stumps` without binning: every cut between two values counts.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.learners.nzdd import Thresholds
    >>> Thresholds().bind(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 6.0]])).diagram.count()
    4
    """

    def bind(self, X) -> RangeRules:
        return _chains(as_dense(X), _threshold_edges)


@dataclass(frozen=True)
class Intervals(Rules):
    """ "x_f is between two cuts", for all features and all pairs of cuts. Missing values are outside.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.learners.nzdd import Intervals
    >>> Intervals().bind(np.arange(1000.0)[:, None]).diagram.count()
    500501
    """

    def bind(self, X) -> RangeRules:
        return _chains(as_dense(X), _interval_edges)


@dataclass(frozen=True, eq=False)
class RangeRules(BoundRules):
    """Chains of values: edge e stands for value `value[e]` of feature `feature[e]`, or -1 for no test."""

    feature: np.ndarray
    value: np.ndarray
    cuts: tuple[np.ndarray, ...]

    def predictor(self, flow: np.ndarray, total: float) -> StumpScores:
        """One step function per feature: the flow through each value."""
        everywhere = float(flow[self.feature == _EVERYWHERE].sum())
        parts = [self._steps(f, flow) for f in range(len(self.cuts))]
        used = [f for f, (table, missing) in enumerate(parts) if missing or np.any(table)]
        kept = [(self.cuts[f], *parts[f]) for f in used]
        return StumpScores(
            2 * everywhere - total,
            np.array(used, dtype=np.int32),
            np.cumsum([0, *(len(cuts) for cuts, _, _ in kept)]).astype(np.int64),
            np.concatenate([np.empty(0), *(cuts for cuts, _, _ in kept)]),
            np.concatenate([np.empty(0), *(table for _, table, _ in kept)]),
            np.array([missing for _, _, missing in kept], dtype=np.float64),
            np.array([np.abs(np.diff(table)).sum() / 2 + abs(missing) / 2 for _, table, missing in kept]),
        )

    def _steps(self, f: int, flow: np.ndarray) -> tuple[np.ndarray, float]:
        """The score of each value of a feature, and of a missing one, over what it is where nothing is captured."""
        own = np.flatnonzero(self.feature == f)
        table = np.bincount(self.value[own] + 1, weights=2 * flow[own], minlength=len(self.cuts[f]) + 2)
        return table[1:], float(table[0])


_MISSING = -1  # the value of an edge that captures missing values
_EVERYWHERE, _NO_TEST = -2, -1  # the feature of an edge that captures all rows, or none


class _Column:
    """A feature by its distinct values, and the rows of each: those that are missing first, then ascending."""

    def __init__(self, x: np.ndarray):
        gone = np.isnan(x)
        self.values, codes = np.unique(x[~gone], return_inverse=True)
        code = np.full(len(x), _MISSING)
        code[~gone] = codes
        self.rows = np.argsort(code, kind="stable")
        self.counts = np.bincount(code + 1, minlength=len(self.values) + 1)
        self.start = np.cumsum(self.counts) - self.counts

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def missing(self) -> bool:
        return bool(self.counts[0]) and self.size > 0  # missing everywhere is a constant column: no rules

    @property
    def cuts(self) -> np.ndarray:
        return self.values[:-1] + np.diff(self.values) / 2


def _chains(X: np.ndarray, edges_of) -> RangeRules:
    """Root, the nodes of each feature, leaf; `edges_of` lists the edges of one feature."""
    columns = [_Column(x) for x in X.T]
    tables, first = [np.array([[0, _LEAF, _EVERYWHERE, 0]])], 1  # the constant
    for f, column in enumerate(columns):
        table, nodes = edges_of(column, f, first)
        tables.append(table)
        first += nodes
    edges = np.concatenate(tables)
    edges[edges[:, 1] == _LEAF, 1] = first
    edges = edges[np.argsort(edges[:, 0], kind="stable")]
    tail, head, feature, value = edges.T
    start = np.concatenate([np.searchsorted(tail, np.arange(first + 1)), [len(edges)]])
    label_start, labels = _labels(columns, feature, value, len(X))
    diagram = Diagram.of_arrays(len(X), start, head, label_start, labels)
    return RangeRules(diagram, feature, value, tuple(column.cuts for column in columns))


_LEAF = -1


def _threshold_edges(column: _Column, f: int, first: int) -> tuple[np.ndarray, int]:
    """(edges as (tail, head, feature, value), number of nodes): enter above a cut, run to the end."""
    cuts, gone = max(column.size - 1, 0), column.missing
    entry, chain = (first, first + 1) if gone and cuts else (0, first)
    parts = [np.empty((0, 4), dtype=np.int64)]
    if gone:
        parts.append(_rows_of(0, _LEAF, f, _MISSING))  # "missing or not"
    if gone and cuts:
        parts.append(_rows_of(0, entry, _NO_TEST, 0))  # missing on the left
        parts.append(_rows_of(0, entry, f, _MISSING))  # missing on the right
    if cuts:
        node = np.arange(chain, chain + cuts)
        parts.append(_rows_of(entry, node, _NO_TEST, 0))
        parts.append(_rows_of(node, np.append(node[1:], _LEAF), f, np.arange(1, cuts + 1)))
    return np.concatenate(parts), chain + cuts - first if cuts else 0


def _interval_edges(column: _Column, f: int, first: int) -> tuple[np.ndarray, int]:
    """The same: enter at any value, leave after it or go on to the next."""
    if column.size < 2:
        return np.empty((0, 4), dtype=np.int64), 0
    node, value = np.arange(first, first + column.size), np.arange(column.size)
    parts = (
        _rows_of(0, node, _NO_TEST, 0),
        _rows_of(node, _LEAF, f, value),
        _rows_of(node[:-1], node[1:], f, value[:-1]),
    )
    return np.concatenate(parts), column.size


def _rows_of(*columns) -> np.ndarray:
    return np.column_stack(np.broadcast_arrays(*columns))


def _labels(columns: list[_Column], feature: np.ndarray, value: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows that each edge captures, end to end, and where each begins."""
    lengths = [len(column.counts) for column in columns]
    place = np.cumsum([0, *lengths])[np.maximum(feature, 0)] + value + 1  # of (feature, value) among all
    starts = np.concatenate([column.start + f * m for f, column in enumerate(columns)] + [np.zeros(0)])
    counts = np.concatenate([column.counts for column in columns] + [np.zeros(0)])
    plain = feature >= 0
    begin, count = np.zeros(len(feature), dtype=np.int64), np.zeros(len(feature), dtype=np.int64)
    begin[plain], count[plain] = starts[place[plain]], counts[place[plain]]
    begin[feature == _EVERYWHERE], count[feature == _EVERYWHERE] = len(columns) * m, m
    rows = np.concatenate([column.rows for column in columns] + [np.arange(m)])
    label_start = np.concatenate([[0], np.cumsum(count)])
    return label_start, rows[np.repeat(begin - label_start[:-1], count) + np.arange(label_start[-1])]
