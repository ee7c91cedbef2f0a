"""Scores as probabilities, learned from rows that the scoring model had not seen.

Both links are increasing and give one half at score 0, so that the likelier class is the one that wins the vote.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, softmax
from sklearn.isotonic import IsotonicRegression

from dualboost.estimators.folds import sampled, splits
from dualboost.estimators.validation import TrainingData
from dualboost.fingerprints import fingerprints

__all__ = [
    "CERTAIN",
    "SUREST",
    "Learn",
    "Link",
    "Sigmoid",
    "Softmax",
    "Steps",
    "calibrated",
    "calibration_cost",
    "in_haste",
    "learned",
    "unlearned",
    "with_likeliest",
]

CERTAIN = 1e-12  # as near to 0 and 1 as probabilities come whose log-odds are compared...
SUREST = float(np.log((1 - CERTAIN) / CERTAIN))  # ...and the largest of these
_FOLDS = 3
_MOST_ROWS = 20_000  # more would not make the link better
_ROWS_FOR_STEPS = 2_000  # below, a curve of one number is the better estimate
_FLATTEST, _STEEPEST = 3e-4, 3e3  # slopes, in units of the largest score
_LEAST = 1e-4  # nothing seen on finitely many rows is certain


class Link(ABC):
    """From scores to the probability of the second class, or from the scores of all classes to their probabilities."""

    @abstractmethod
    def of(self, scores: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def log_odds(self, scores: np.ndarray) -> np.ndarray:
        """log(p / (1 - p)) of these probabilities, where none is nearer to 0 or 1 than CERTAIN."""


@dataclass(frozen=True)
class Sigmoid(Link):
    """1 / (1 + exp(-slope * score)): Platt's link through one half at 0."""

    slope: float

    def of(self, scores: np.ndarray) -> np.ndarray:
        return expit(self.slope * scores)

    def log_odds(self, scores: np.ndarray) -> np.ndarray:
        # By way of p, digits would be lost where it is near 1.
        return np.clip(self.slope * scores, -SUREST, SUREST)


@dataclass(frozen=True)
class Softmax(Link):
    """exp(slope * score), made to sum 1 over the classes: one column of scores and of probabilities for each."""

    slope: float

    def of(self, scores: np.ndarray) -> np.ndarray:
        return softmax(self.slope * scores, axis=1)

    def log_odds(self, scores: np.ndarray) -> np.ndarray:
        return _log_odds(self.of(scores))


@dataclass(frozen=True, eq=False)
class Steps(Link):
    """Straight pieces between learned points: isotonic regression on either side of 0."""

    scores: np.ndarray
    probabilities: np.ndarray

    def of(self, scores: np.ndarray) -> np.ndarray:
        return np.interp(scores, self.scores, self.probabilities)

    def log_odds(self, scores: np.ndarray) -> np.ndarray:
        return _log_odds(self.of(scores))


def _log_odds(p: np.ndarray) -> np.ndarray:
    p = np.clip(p, CERTAIN, 1 - CERTAIN)
    return np.log(p / (1 - p))


Learn = Callable[[np.ndarray, np.ndarray, np.ndarray, int], Link]
"""From scores, numbers of classes, shares of the weight, and how many of the rows are different."""


def with_likeliest(P: np.ndarray, winners: np.ndarray) -> np.ndarray:
    """P, in which the first of the largest probabilities of each row is that of the class that wins the vote.

    Votes that cancel but for rounding have equal probabilities: the winner's is made larger by the least there is.
    """
    tied = np.argmax(P, axis=1) != winners
    if tied.any():
        P[tied, winners[tied]] = np.nextafter(P[tied].max(axis=1), 2.0)
    return P


def calibration_cost(rows: int) -> float:
    """What learning the link takes, in units of a fit to so many rows: each model has all folds but one."""
    return (_FOLDS - 1) * min(1.0, _MOST_ROWS / rows)


def in_haste(data: TrainingData) -> TrainingData:
    """As many rows as take part, evenly spaced: found without a look at the others."""
    return data.part(np.arange(0, len(data.codes), max(1, len(data.codes) // _MOST_ROWS)))


def calibrated(
    data: TrainingData,
    score: Callable[[TrainingData, TrainingData], np.ndarray],
    learn: Learn,
    otherwise: Link | None = None,
) -> Link:
    """The link learned from out-of-fold scores; score(train, test) fits a model to one part and scores the other.

    Where nothing can be learned, for lack of rows or time, it is `otherwise`, or as steep as if votes were odds.
    """
    control, prints = data.control, fingerprints(data.X, np.random.RandomState(0))
    kept = sampled(prints, _FOLDS, _MOST_ROWS)
    scores, codes, weights = [], [], []
    for seen, unseen in splits(prints, kept, data.codes, _FOLDS):
        test = data.part(unseen)
        # Where Ctrl-C comes before this model has a vote, the one that it is for has: it must not be lost.
        scores.append(control.ctrl_c.once_more(control.clock, partial(score, data.part(seen), test)))
        codes.append(test.codes)
        weights.append(np.ones(len(test.codes)) if test.weights is None else test.weights)
        if control.clock.reason():
            break
    if not scores:
        return otherwise or unlearned(data)
    mass = np.concatenate(weights)
    return learn(np.concatenate(scores), np.concatenate(codes), mass / mass.sum(), len(np.unique(prints[kept])))


def unlearned(data: TrainingData) -> Link:
    """As if votes were log-odds."""
    return Softmax(1.0) if data.pairs else Sigmoid(1.0)


def learned(scores: np.ndarray, codes: np.ndarray, shares: np.ndarray, distinct: int) -> Link:
    """How much was seen is the number of different rows: neither copies nor the scale of the weights add to it."""
    if scores.ndim == 2:
        return _softmax(scores, codes, shares, 1 / distinct)
    if distinct >= _ROWS_FOR_STEPS:
        return _steps(scores, codes == 1, shares)
    return _sigmoid(scores, codes == 1, shares, 1 / distinct)


def _softmax(scores: np.ndarray, codes: np.ndarray, shares: np.ndarray, row: float) -> Softmax:
    """The likeliest slope, held back by half a row as the sigmoid's is."""
    size = max(float(np.abs(scores).max()), 1e-12)
    scaled = scores / size
    own = scaled[np.arange(len(codes)), codes]

    def rise(slope: float) -> float:
        expected = np.sum(softmax(slope * scaled, axis=1) * scaled, axis=1)
        return 0.5 * row * float(np.tanh(slope / 2)) + float(shares @ (expected - own))

    return Softmax(_root(rise) / size)


def _root(rise: Callable[[float], float]) -> float:
    """The slope where a rise is 0: sharp, where the minimum itself would be known to 1e-8 only."""
    if rise(_FLATTEST) >= 0:
        return _FLATTEST
    return _STEEPEST if rise(_STEEPEST) <= 0 else float(brentq(rise, _FLATTEST, _STEEPEST, xtol=1e-14))


def _sigmoid(scores: np.ndarray, wins: np.ndarray, shares: np.ndarray, row: float) -> Sigmoid:
    """The likeliest slope, with half a row of each class at the edge of the scores: never certain."""
    size = max(float(np.abs(scores).max()), 1e-12)
    signed = np.where(wins, scores, -scores) / size

    def rise(slope: float) -> float:
        """Of the convex negative likelihood."""
        return 0.5 * row * float(np.tanh(slope / 2)) - float(shares @ (signed * expit(-slope * signed)))

    return Sigmoid(_root(rise) / size)


def _steps(scores: np.ndarray, wins: np.ndarray, shares: np.ndarray) -> Steps:
    low, high = scores <= 0, scores > 0
    curves = [
        IsotonicRegression(y_min=bottom, y_max=top).fit(scores[side], wins[side], shares[side])
        for side, bottom, top in ((low, _LEAST, 0.5), (high, 0.5, 1 - _LEAST))
        if side.any()
    ]
    x = np.concatenate([[0.0], *(curve.X_thresholds_ for curve in curves)])
    p = np.concatenate([[0.5], *(curve.y_thresholds_ for curve in curves)])
    order = np.lexsort((p, x))
    return _strict(x[order], p[order])


def _strict(x: np.ndarray, p: np.ndarray) -> Steps:
    """Nudged so that only score 0 has one half: a flat piece there would call a tie what the vote calls a win."""
    nudge = 1e-6 * np.arctan(x / max(float(np.abs(x).max()), 1e-300))
    return Steps(x, p + nudge)
