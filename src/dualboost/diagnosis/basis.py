"""The collected columns in a form that is cheap to solve with: neighbours in the order of the hypotheses, subtracted.

Two thresholds on one feature differ only in the rows between them, so the differences of neighbouring stumps have one
entry per row and feature. A change of basis changes neither which rows are separable nor which weightings balance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dualboost.learners.base import Hypothesis

__all__ = ["Basis"]

_SPARSE = 0.2  # the share of entries up to which sparse arithmetic is the faster


@dataclass(frozen=True, eq=False)
class Basis:
    """Columns `B`; the j-th is the hypothesis `order[j]`, minus `links[j]` times the one before."""

    B: np.ndarray | sp.csr_array
    order: np.ndarray
    links: np.ndarray

    @classmethod
    def of(cls, hypotheses: Sequence[Hypothesis], columns: Sequence[np.ndarray], rows: np.ndarray) -> Basis:
        """A basis of these columns on the rows marked."""
        order = _order(hypotheses)
        parts, links, before = [], [], None
        for j in order:
            column = columns[j][rows]
            link = _link(column, before)
            parts.append(column - link * before if before is not None and link else column)
            links.append(link)
            before = column
        return cls(_matrix(parts, int(rows.sum())), np.array(order, dtype=np.intp), np.array(links, dtype=np.float64))

    def to_hypotheses(self, x: np.ndarray) -> np.ndarray:
        """Weights of the hypotheses, in the order they were given, with the margins B x."""
        w = np.zeros(len(x))
        w[self.order] = x - np.append((self.links * x)[1:], 0.0)[: len(x)]
        return w

    def from_hypotheses(self, w: np.ndarray) -> np.ndarray:
        """The inverse."""
        x, after, link = np.zeros(len(w)), 0.0, 0.0
        for j in range(len(w) - 1, -1, -1):
            after = x[j] = w[self.order[j]] + link * after
            link = self.links[j]
        return x


def _order(hypotheses: Sequence[Hypothesis]) -> list[int]:
    numbers = list(range(len(hypotheses)))
    try:
        return sorted(numbers, key=hypotheses.__getitem__)
    except TypeError:  # hypotheses that know no order
        return numbers


def _link(column: np.ndarray, before: np.ndarray | None) -> int:
    """Subtract, add, or leave alone: whichever leaves fewest entries. Only where subtraction is exact."""
    if before is None or column.dtype != np.int8 or before.dtype != np.int8:
        return 0
    left = {0: np.count_nonzero(column), 1: np.count_nonzero(column != before), -1: np.count_nonzero(column != -before)}
    return min(left, key=left.__getitem__)


def _matrix(parts: list[np.ndarray], m: int) -> np.ndarray | sp.csr_array:
    if not parts:
        return np.zeros((m, 0))
    used = [np.flatnonzero(part) for part in parts]
    start = np.concatenate([[0], np.cumsum([len(rows) for rows in used])])
    if start[-1] > _SPARSE * m * len(parts):
        return np.array(parts, dtype=np.float64).T
    values = np.concatenate([part[rows] for part, rows in zip(parts, used, strict=True)]).astype(np.float64)
    return sp.csr_array(sp.csc_array((values, np.concatenate(used), start), shape=(m, len(parts))))
