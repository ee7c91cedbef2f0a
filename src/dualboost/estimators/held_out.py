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
from dualboost.estimators.intervals import Interval, area_interval, wilson
from dualboost.estimators.selection import fingerprints
from dualboost.estimators.validation import check_whole_number

__all__ = ["HeldOut", "deal", "held_out"]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What models said about rows that they were not fitted to."""

    classes: np.ndarray
    positive: np.ndarray
    """Whether the row is of classes[1]."""
    scores: np.ndarray
    """Positive speaks for classes[1]."""
    folds: np.ndarray

    @property
    def guesses(self) -> np.ndarray:
        """Whether the vote is for classes[1]."""
        return self.scores > 0

    @property
    def accuracy(self) -> Interval:
        return wilson(int((self.guesses == self.positive).sum()), len(self.positive))

    @property
    def recalls(self) -> tuple[Interval, Interval]:
        """The share of each class that was recognised."""
        no, yes = (self.guesses[self.positive == side] == side for side in (False, True))
        return wilson(int(no.sum()), len(no)), wilson(int(yes.sum()), len(yes))

    @property
    def area(self) -> Interval:
        """The area under the ROC curve."""
        return area_interval(self.scores, self.positive, self.folds)

    @property
    def majority(self) -> Interval:
        """The accuracy of always saying the more frequent class."""
        return wilson(max(int(self.positive.sum()), int((~self.positive).sum())), len(self.positive))

    @property
    def confusion(self) -> np.ndarray:
        """Counts, a row for each true class and a column for each guess."""
        return np.bincount(2 * self.positive + self.guesses, minlength=4).reshape(2, 2)


def held_out(
    model: BoostedClassifier, X, y, folds: int = 5, random_state=0, watch: Callable[[int], None] | None = None
) -> HeldOut:
    """Fit `folds` copies of the model, each to all rows but those it then scores.

    Parameters
    ----------
    model : classifier, fitted or not
    X, y : data of two classes
    folds : int, default 5
    random_state : int
    watch : callable, optional
        Called with the number of each fold before it is fitted.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import MarginBoostClassifier
    >>> from dualboost.estimators.held_out import held_out
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> result = held_out(MarginBoostClassifier(nu=0.2, max_iter=100), X, y, folds=2)
    >>> result.accuracy.low > 0.9, result.confusion.sum() == len(y)
    (True, True)
    """
    check_whole_number("folds", folds, 2)
    labels = np.asarray(y)
    classes, codes = np.unique(labels, return_inverse=True)
    fold_of = deal(X, codes == 1, folds, random_state)
    scores = np.full(len(labels), np.nan)
    for fold in np.unique(fold_of):
        if watch is not None:
            watch(int(fold))
        test = fold_of == fold
        _check_classes(labels[~test], classes)
        scores[test] = clone(model).fit(X[~test], labels[~test]).decision_function(X[test])
    return HeldOut(classes, codes == 1, scores, fold_of)


def part_of(result: HeldOut, kept: np.ndarray) -> HeldOut:
    """The same for some of the rows."""
    return replace(result, positive=result.positive[kept], scores=result.scores[kept], folds=result.folds[kept])


def _check_classes(labels: np.ndarray, classes: np.ndarray) -> None:
    if len(classes) == 2 and len(np.unique(labels)) < 2:
        raise ValueError("A class has too few different rows to hold some of them out: use fewer folds or more data.")


def deal(X, positive: np.ndarray, folds: int, random_state) -> np.ndarray:
    """The fold of each row: equal rows together, both classes spread evenly."""
    _, first, group = np.unique(
        fingerprints(X, check_random_state(random_state)), return_index=True, return_inverse=True
    )
    fold_of = np.empty(len(first), dtype=np.int64)
    for side in (False, True):  # in the order of the fingerprints, which is a random one
        members = np.flatnonzero(positive[first] == side)
        fold_of[members] = (np.arange(len(members)) + side * (folds // 2)) % folds
    return fold_of[group]
