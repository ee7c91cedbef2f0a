"""Columns of categories in a margin over several classes: a category votes for some classes and against the others.

A hypothesis is a column with one subset of its categories for each class: +1 for the class on the categories inside,
-1 on the others. On the pair (i, r) it is worth half the difference of its votes for the class of example i and for r.
For given row weights each class has the best subset of its own, that of class against rest, so the largest edge over
all of them is exact: half the sum over classes and categories of |sum of y_i d_i|.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dualboost.data import Bins
from dualboost.learners.base import Answer, Oracle, ranked
from dualboost.learners.categories import Categories
from dualboost.learners.class_stumps import ClassScores
from dualboost.learners.pairs import Pairs
from dualboost.learners.subsets import SubsetOracle
from dualboost.rows import Rows

__all__ = ["ClassSubset", "ClassSubsetOracle"]

_UNIT = 2.0**-60  # what a pair may differ by where weights are rounded to units of 2^-61, in two tables
_SUM = 1e-12  # and a sum over classes and codes, of itself

ClassSubset = tuple[int, tuple[int, ...], tuple[int, ...]]
"""A column, and for each class the codes of a subset as the bits of a number, and its sign."""


class ClassSubsetOracle(Oracle):
    """One table of subsets for each class against the rest, over the same codes."""

    def __init__(self, bins: Bins, categories: Mapping[int, Categories], codes: np.ndarray, rows: Rows):
        n_classes = len(rows) // len(codes) + 1
        self.pairs, self.rows = Pairs(codes, n_classes), rows
        examples = Rows.of(len(codes) if rows.uniform else rows.prior[:: n_classes - 1].copy(), rows.threads)
        self.parts = [SubsetOracle(bins, categories, self.pairs.signs(c), examples) for c in range(n_classes)]
        self._labels = [self.pairs.signs(c) for c in range(n_classes)]
        self._columns, self._exists = self.parts[0].code_table()

    def best(self, d: np.ndarray, k: int = 1) -> Answer:
        weights = self.pairs.by_class(d)
        sums = np.stack([part.code_sums(own) for part, own in zip(self.parts, weights, strict=True)])
        sizes = np.abs(sums).sum(axis=(0, 2)) / 2
        chosen = ranked(sizes, k)
        found = [self._named(sums[:, place], int(place)) for place in chosen]
        names, lead = [name for name, _ in found], np.array([sign for _, sign in found])
        bound = float(sizes.max()) * (1 + _SUM) + _UNIT * len(self.rows)
        return Answer(names, [self.column(name) for name in names], lead * sizes[chosen], bound)

    def _named(self, sums: np.ndarray, place: int) -> tuple[ClassSubset, int]:
        """The hypothesis of these sums (class, code), and the sign that its edge has."""
        held = (sums >= 0) & self._exists[place]
        turned = held[:, 0]  # a subset and the rest are one with two signs: code 0 is in none
        held = np.where(turned[:, None], ~held & self._exists[place], held)
        masks = tuple(int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little") for row in held)
        signs = np.where(turned, -1, 1)
        lead = int(signs[0])  # so are h and -h: the first sign is +1
        return (int(self._columns[place]), masks, tuple((lead * signs).tolist())), lead

    def column(self, hypothesis: ClassSubset) -> np.ndarray:
        feature, masks, signs = hypothesis
        each = zip(self.parts, masks, signs, self._labels, strict=True)
        votes = [sign * y * part.column((feature, mask)) for part, mask, sign, y in each]
        return self.pairs.leads(np.column_stack(votes).astype(np.float64)).astype(np.int8)

    def margins(self, hypotheses: Sequence[ClassSubset], w: np.ndarray) -> np.ndarray:
        each = zip(self.parts, self._labels, self._by_class(hypotheses, w), strict=True)
        return self.pairs.leads(np.column_stack([y * part.margins(*own) for part, y, own in each]))

    def predictor(self, hypotheses: Sequence[ClassSubset], w: np.ndarray) -> ClassScores:
        each = zip(self.parts, self._by_class(hypotheses, w), strict=True)
        return ClassScores(tuple(part.predictor(*own) for part, own in each))

    def _by_class(self, hypotheses: Sequence[ClassSubset], w: np.ndarray):
        """The subsets of each class, and their weights."""
        for c in range(len(self.parts)):
            subsets = [(feature, masks[c]) for feature, masks, _ in hypotheses]
            yield subsets, np.array([signs[c] for _, _, signs in hypotheses], dtype=np.float64) * w

    def forget(self) -> None:
        for part in self.parts:
            part.forget()
