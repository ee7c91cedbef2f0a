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
from dualboost.learners.stumps import StumpOracle, StumpScores
from dualboost.rows import Rows

__all__ = ["ClassScores", "ClassStumpOracle", "ClassStumps", "single_votes"]

ClassStump = tuple[tuple[int, int, int], tuple[int, ...]]  # a stump, and the sign of each class; the first is +1


@dataclass(frozen=True)
class ClassStumps:
    """Thresholds on single features, each with a sign for every class.

    It is no `Learner` of two classes: `bind` takes the number of each example's class, and `rows` are pairs.

    Parameters
    ----------
    max_bins : int in [2, 255]

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

    @staticmethod
    def rows_of(weights: int | np.ndarray, n_classes: int, threads: int = 1) -> Rows:
        """The rows of examples with these weights: each is shared by the pairs of its example."""
        if isinstance(weights, (int, np.integer)):
            return Rows.of(int(weights) * (n_classes - 1), threads)
        return Rows.of(np.repeat(np.asarray(weights, dtype=np.float64), n_classes - 1), threads)

    def bind(self, X, codes: np.ndarray, rows: Rows) -> ClassStumpOracle:
        n_classes = len(rows) // len(codes) + 1
        examples = Rows.of(len(codes) if rows.uniform else rows.prior[:: n_classes - 1].copy(), rows.threads)
        bins = bin_columns(X, None if examples.uniform else examples.prior, self.max_bins, rows.threads)
        signs = [np.where(codes == c, 1, -1).astype(np.int8) for c in range(n_classes)]
        return ClassStumpOracle([StumpOracle(bins, y, examples) for y in signs], codes, rows)


class ClassStumpOracle(Oracle):
    """One table of stumps for each class against the rest, over the same bins."""

    def __init__(self, parts: Sequence[StumpOracle], codes: np.ndarray, rows: Rows):
        self.parts, self.codes, self.rows = parts, codes, rows
        n, classes = len(codes), np.arange(len(parts))
        # The wrong classes of each example, in order: column j of a table of pairs.
        self.wrong = np.broadcast_to(classes, (n, len(classes)))[classes != codes[:, None]].reshape(n, -1)

    def best(self, d: np.ndarray, k: int = 1) -> Answer:
        tables = [part.all_edges(weights) for part, weights in zip(self.parts, self._by_class(d), strict=True)]
        edges = np.stack([table for table, _ in tables])
        sizes = np.abs(edges).sum(axis=0) / 2
        rounding = sum(bound - np.abs(table).max() for table, bound in tables) / 2
        first = _largest(sizes, k)
        stumps = list(zip(*(part.tolist() for part in self.parts[0].index.stumps(first)), strict=True))
        votes = np.where(edges[:, first] < 0, -1, 1)
        lead = votes[0]  # h and -h are one hypothesis: its first sign is +1
        names = [(stump, tuple(v.tolist())) for stump, v in zip(stumps, (votes * lead).T, strict=True)]
        return Answer(names, [self.column(name) for name in names], sizes[first] * lead, float(sizes.max() + rounding))

    def _by_class(self, d: np.ndarray) -> np.ndarray:
        """How much each example weighs in the table of each class: all its pairs for its own, one pair for another."""
        pairs = d.reshape(self.wrong.shape)
        weights = np.zeros((len(self.parts), len(self.codes)))
        np.put_along_axis(weights.T, self.wrong, pairs, axis=1)
        weights[self.codes, np.arange(len(self.codes))] = pairs.sum(axis=1)
        return weights

    def _pairs(self, scores: np.ndarray) -> np.ndarray:
        """Half the lead of the true class over each wrong one, for class scores of shape (examples, classes)."""
        own = np.take_along_axis(scores, self.codes[:, None], axis=1)
        return ((own - np.take_along_axis(scores, self.wrong, axis=1)) / 2).ravel()

    def column(self, hypothesis: ClassStump) -> np.ndarray:
        stump, votes = hypothesis
        side = self.parts[0].column(stump) * self.parts[0].y
        return self._pairs(side[:, None].astype(np.float64) * np.array(votes)).astype(np.int8)

    def margins(self, hypotheses: Sequence[ClassStump], w: np.ndarray) -> np.ndarray:
        stumps, shares = _split(hypotheses, w)
        scores = [part.y * part.margins(stumps, share) for part, share in zip(self.parts, shares, strict=True)]
        return self._pairs(np.column_stack(scores))

    def predictor(self, hypotheses: Sequence[ClassStump], w: np.ndarray) -> ClassScores:
        stumps, shares = _split(hypotheses, w)
        bins = self.parts[0].bins
        return ClassScores(tuple(StumpScores.collapse(bins, stumps, share) for share in shares))

    def forget(self) -> None:
        for part in self.parts:
            part.forget()


def _largest(sizes: np.ndarray, k: int) -> np.ndarray:
    """The places of the k largest, best first, ties by the lowest place."""
    if k == 1:
        return np.array([np.argmax(sizes)])
    return np.argsort(-sizes, kind="stable")[:k]


def _split(hypotheses: Sequence[ClassStump], w: np.ndarray) -> tuple[list, np.ndarray]:
    """The stumps, and their weights for each class."""
    votes = np.array([votes for _, votes in hypotheses], dtype=np.float64)
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
