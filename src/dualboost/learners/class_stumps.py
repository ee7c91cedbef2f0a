"""Stumps that vote for some classes and against the others: the hypotheses of a margin over several classes.

A row is a pair of an example and a class that it does not have. A hypothesis says s(x) v_c of class c, with a stump s
and a sign v_c for each class; on the pair (i, r) it is worth s(x_i) (v_y - v_r) / 2, y being the class of example i. So
the margin of a vote on a pair is half the lead of the true class over r. For given row weights the best signs of a
stump are those of its edges class by class, one class against the rest: the largest edge over all stumps and all 2^K
signs is found exactly, at the price of K tables of stumps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dualboost.data import bin_columns
from dualboost.learners.base import Answer, Oracle, Predictor
from dualboost.learners.categories import category_bins, without_features
from dualboost.learners.pairs import Pairs
from dualboost.learners.stumps import StumpOracle, StumpScores
from dualboost.products import times
from dualboost.rows import Rows

__all__ = ["ClassScores", "ClassStumpOracle", "ClassStumps", "single_votes"]

ClassStump = tuple[tuple[int, int, int], tuple[int, ...]]  # a stump, and the sign of each class; the first is +1
_GRID = 2.0**40  # edges closer than its inverse are equal


@dataclass(frozen=True)
class ClassStumps:
    """Thresholds on single features, each with a sign for every class.

    It is no `Learner` of two classes: `bind` takes the number of each example's class, and `rows` are pairs.

    Parameters
    ----------
    max_bins : int in [2, 255]
    categorical : tuple of int, default ()
        The columns that hold categories: there each class has a subset of its own, see `class_subsets`.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.learners.class_stumps import ClassStumps
    >>> X, codes = np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 2])
    >>> oracle = ClassStumps().bind(X, codes, ClassStumps.rows_of(3, 3))
    >>> answer = oracle.best(np.full(6, 1 / 6))
    >>> answer.hypotheses, answer.edges.round(3)
    ([((0, 0, 0), (1, -1, -1))], array([-0.667]))
    """

    max_bins: int = 255
    categorical: tuple[int, ...] = ()

    @staticmethod
    def rows_of(weights: int | np.ndarray, n_classes: int, threads: int = 1) -> Rows:
        """The rows of examples with these weights: each is shared by the pairs of its example."""
        if isinstance(weights, (int, np.integer)):
            return Rows.of(int(weights) * (n_classes - 1), threads)
        return Rows.of(np.repeat(np.asarray(weights, dtype=np.float64), n_classes - 1), threads)

    def bind(self, X, codes: np.ndarray, rows: Rows) -> Oracle:
        n_classes = len(rows) // len(codes) + 1
        examples = Rows.of(len(codes) if rows.uniform else rows.prior[:: n_classes - 1].copy(), rows.threads)
        bins = bin_columns(X, None if examples.uniform else examples.prior, self.max_bins, rows.threads)
        bins = without_features(bins, self.categorical) if self.categorical else bins
        signs = [np.where(codes == c, 1, -1).astype(np.int8) for c in range(n_classes)]
        stumps = ClassStumpOracle([StumpOracle(bins, y, examples) for y in signs], codes, rows)
        if not self.categorical:
            return stumps
        # It builds on this module: it cannot be imported above.
        from dualboost.learners.class_subsets import ClassSubsetOracle
        from dualboost.learners.union import UnionOracle

        coded, categories = category_bins(X, self.categorical, examples)
        if not coded.stored.any():  # nothing but constants
            return stumps
        return UnionOracle((stumps, ClassSubsetOracle(coded, categories, codes, rows)), rows)


class ClassStumpOracle(Oracle):
    """One table of stumps for each class against the rest, over the same bins."""

    def __init__(self, parts: Sequence[StumpOracle], codes: np.ndarray, rows: Rows):
        self.parts, self.rows, self.pairs = parts, rows, Pairs(codes, len(parts))

    def best(self, d: np.ndarray, k: int = 1) -> Answer:
        tables = [part.all_edges(weights) for part, weights in zip(self.parts, self.pairs.by_class(d), strict=True)]
        edges = np.stack([table for table, _ in tables])
        sizes = np.abs(edges).sum(axis=0) / 2
        rounding = sum(bound - np.abs(table).max() for table, bound in tables) / 2
        first = _largest(sizes, k)
        stumps = list(zip(*(part.tolist() for part in self.parts[0].index.stumps(first)), strict=True))
        votes = np.where(np.rint(edges[:, first] * _GRID) < 0, -1, 1)
        lead = votes[0]  # h and -h are one hypothesis: its first sign is +1
        names = [(stump, tuple(v.tolist())) for stump, v in zip(stumps, (votes * lead).T, strict=True)]
        return Answer(names, [self.column(name) for name in names], sizes[first] * lead, float(sizes.max() + rounding))

    def column(self, hypothesis: ClassStump) -> np.ndarray:
        stump, votes = hypothesis
        side = self.parts[0].column(stump) * self.parts[0].y
        return self.pairs.leads(side[:, None].astype(np.float64) @ np.array([votes], dtype=np.float64)).astype(np.int8)

    def margins(self, hypotheses: Sequence[ClassStump], w: np.ndarray) -> np.ndarray:
        stumps, shares = _split(hypotheses, w, len(self.parts))
        scores = [times(part.y, part.margins(stumps, share)) for part, share in zip(self.parts, shares, strict=True)]
        return self.pairs.leads(np.column_stack(scores))

    def predictor(self, hypotheses: Sequence[ClassStump], w: np.ndarray) -> ClassScores:
        stumps, shares = _split(hypotheses, w, len(self.parts))
        bins = self.parts[0].bins
        return ClassScores(tuple(StumpScores.collapse(bins, stumps, share) for share in shares))

    def forget(self) -> None:
        for part in self.parts:
            part.forget()


def _largest(sizes: np.ndarray, k: int) -> np.ndarray:
    """The places of the k largest, best first, ties by the lowest place; equal but for rounding is a tie.

    Many stumps have the same edge at the start of a run. A row of weight k is rounded once and its k copies k times:
    were a last bit to decide among equals, the two would take different ways.
    """
    rounded = np.rint(sizes * _GRID)
    if k == 1:
        return np.array([np.argmax(rounded)])
    return np.argsort(-rounded, kind="stable")[:k]


def _split(hypotheses: Sequence[ClassStump], w: np.ndarray, n_classes: int) -> tuple[list, np.ndarray]:
    """The stumps, and their weights for each class."""
    votes = np.array([votes for _, votes in hypotheses], dtype=np.float64).reshape(-1, n_classes)
    return [stump for stump, _ in hypotheses], np.ascontiguousarray(votes.T * w)


@dataclass(frozen=True, eq=False)
class ClassScores(Predictor):
    """The score of each class, as one step function per used feature."""

    parts: tuple[StumpScores, ...]

    def scores(self, X, threads: int = 1) -> np.ndarray:
        """One column a class; the largest wins."""
        return np.column_stack([part.scores(X, threads) for part in self.parts])

    def importances(self, n_features: int) -> np.ndarray:
        return self.parts[0].importances(n_features)  # all classes have the same stumps, of the same absolute weights


def single_votes(predictor: Predictor) -> Sequence[Predictor]:
    """The vote for each class, or the one vote of two classes."""
    return predictor.parts if isinstance(predictor, ClassScores) else [predictor]
