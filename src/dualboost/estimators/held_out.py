"""Votes on rows that the voter has not seen: every row is left out once, and scored by the model of the others.

Rows are dealt by their content, so that copies of a row stay together: a duplicate never tests the model that has
seen it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from dualboost.estimators.base import BoostedClassifier
from dualboost.estimators.coded import coded, rows_of
from dualboost.estimators.intervals import Interval, area_interval, wilson
from dualboost.estimators.validation import check_whole_number
from dualboost.fingerprints import fingerprints

__all__ = ["HeldOut", "deal", "held_out"]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What models said about rows that they were not fitted to."""

    classes: np.ndarray
    truth: np.ndarray
    """The number of each row's class."""
    votes: np.ndarray
    """As `decision_function` gives them: positive speaks for classes[1], or a column for each of several classes."""
    folds: np.ndarray
    weights: np.ndarray | None = None
    """What each row counts; None for one each."""

    @property
    def guesses(self) -> np.ndarray:
        """The number of the class that wins."""
        return (self.votes > 0).astype(int) if self.votes.ndim == 1 else self.votes.argmax(axis=1)

    @property
    def accuracy(self) -> Interval:
        return self._share(self.guesses == self.truth)

    def _share(self, right: np.ndarray, among: np.ndarray | slice = slice(None)) -> Interval:
        """How many of these rows are so; weights count as as many equal ones as would be as uncertain (Kish)."""
        right = right[among]
        if self.weights is None:
            return wilson(int(right.sum()), len(right))
        weights = self.weights[among]
        weights = weights / max(float(weights.max(initial=0.0)), np.finfo(np.float64).tiny)  # sums of 1e308 are finite
        total = float(weights.sum())
        rows = total * total / float(weights @ weights) if total > 0 else 0.0
        return wilson(rows * float(weights @ right) / total if rows else 0.0, rows)

    @property
    def recalls(self) -> tuple[Interval, ...]:
        """The share of each class that was recognised."""
        return tuple(self._share(self.guesses == k, self.truth == k) for k in range(len(self.classes)))

    @property
    def area(self) -> Interval | None:
        """The area under the ROC curve; None for more than two classes, and for weighted rows."""
        if self.votes.ndim == 2 or self.weights is not None:
            return None
        return area_interval(self.votes, self.truth == 1, self.folds)

    @property
    def majority(self) -> Interval:
        """The accuracy of always saying the most frequent class."""
        return self._share(self.truth == np.bincount(self.truth, self.weights).argmax())

    @property
    def confusion(self) -> np.ndarray:
        """Counts, or sums of weights: a row for each true class and a column for each guess."""
        k = len(self.classes)
        return np.bincount(k * self.truth + self.guesses, self.weights, minlength=k * k).reshape(k, k)


def held_out(
    model: BoostedClassifier,
    X,
    y,
    folds: int = 5,
    random_state=0,
    watch: Callable[[int], None] | None = None,
    sample_weight: np.ndarray | None = None,
) -> HeldOut:
    """Fit `folds` copies of the model, each to all rows but those it then scores.

    Parameters
    ----------
    model : classifier, fitted or not
    X, y : data
    folds : int, default 5
    random_state : int
    watch : callable, optional
        Called with the number of each fold before it is fitted.
    sample_weight : array, optional
        What each row counts in the fits and in the measures.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import MarginBoostClassifier
    >>> from dualboost.estimators.held_out import held_out
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> result = held_out(MarginBoostClassifier(nu=0.2, max_iter=100), X, y, folds=2)
    >>> result.accuracy.low > 0.85, int(result.confusion.sum()) == len(y)
    (True, True)
    """
    check_whole_number("folds", folds, 2)
    labels = np.asarray(y)
    classes, truth = np.unique(labels, return_inverse=True)
    fold_of = deal(coded(X)[0], truth, folds, random_state)
    copy = _without_a_file(_without_probabilities(clone(model), len(classes)))
    votes = np.full((len(labels), len(classes)) if len(classes) > 2 else len(labels), np.nan)
    for fold in np.unique(fold_of):
        if watch is not None:
            watch(int(fold))
        test = fold_of == fold
        if len(np.unique(truth[~test])) < len(classes):
            raise ValueError("A class has too few different rows to hold some of them out: use more data.")
        weights = {} if sample_weight is None else {"sample_weight": sample_weight[~test]}
        fitted = clone(copy).fit(rows_of(X, ~test), labels[~test], **weights)
        votes[test] = fitted.decision_function(rows_of(X, test))
    return HeldOut(classes, truth, votes, fold_of, sample_weight)


def _without_probabilities(model: BoostedClassifier, classes: int) -> BoostedClassifier:
    """They take further fits, and decide only between more than two classes."""
    return model.set_params(calibrate=False) if classes == 2 and "calibrate" in model.get_params() else model


def _without_a_file(model: BoostedClassifier) -> BoostedClassifier:
    """A checkpoint is for one fit."""
    training = getattr(model, "training", None)
    return model if training is None else model.set_params(training=replace(training, checkpoint=None))


def deal(X, truth: np.ndarray, folds: int, random_state) -> np.ndarray:
    """The fold of each row: equal rows together, every class spread evenly."""
    prints = fingerprints(X, check_random_state(random_state))
    _, first, group = np.unique(prints, return_index=True, return_inverse=True)
    fold_of = np.empty(len(first), dtype=np.int64)
    dealt = 0
    for label in np.unique(truth):  # in the order of the fingerprints, which is a random one
        members = np.flatnonzero(truth[first] == label)
        fold_of[members] = (dealt + np.arange(len(members))) % folds
        dealt += len(members)
    return fold_of[group]
