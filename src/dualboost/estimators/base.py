"""What all classifiers here share: the rules for input, playing a game under a progress bar, what is kept of it.

A final class names its parameters, checks them in its `fit`, chooses the parts of the game, and keeps the outcome:
`start` -> `train` -> `keep`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dualboost.boosters import Booster
from dualboost.estimators.progress import progress
from dualboost.estimators.validation import TrainingData, predict_input, thread_count, training_data
from dualboost.game import Game, State
from dualboost.learners import Learner, Oracle, Predictor, Stumps
from dualboost.losses import Loss
from dualboost.rows import Rows
from dualboost.solve import Outcome, finish, play

__all__ = ["BoostedClassifier", "Parts", "check_booster", "check_learner"]


@dataclass(frozen=True)
class Parts:
    """What a classifier chooses for its data: the problem posed and how it is played."""

    learner: Learner
    loss: Loss
    booster: Booster
    budget: float = 1.0
    tol: float = 1e-3
    rtol: float = 0.0


class BoostedClassifier(ClassifierMixin, BaseEstimator):
    """A weighted vote of hypotheses. Abstract: a final class writes `__init__` and `fit`.

    A final class has at least the parameters `max_iter`, `n_jobs` and `verbose`.
    """

    max_iter: int
    n_jobs: int | None
    verbose: int
    predictor_: Predictor
    classes_: np.ndarray

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def _start(self, X, y, sample_weight) -> tuple[TrainingData, Rows]:
        """The data, checked and without rows of weight zero, and what is shared about its rows."""
        data = training_data(self, X, y, sample_weight)
        rows = Rows.of(len(data.signs) if data.weights is None else data.weights, thread_count(self.n_jobs))
        return data, rows

    def _train(
        self, data: TrainingData, rows: Rows, parts: Parts, title: str, note: Callable[[State], None] | None = None
    ) -> tuple[Game, Outcome]:
        """Play the game of these parts; `note` sees every state."""
        oracle = parts.learner.bind(data.X, data.signs, rows)
        game = Game(parts.loss.bind(rows), oracle, rows, parts.budget, parts.tol, parts.rtol)
        with progress(title, self.max_iter, self.verbose) as draw:
            watch = draw if note is None else lambda state: (note(state), draw and draw(state))[1]
            return game, play(game, parts.booster, self.max_iter, watch=watch)

    def _keep(self, data: TrainingData, oracle: Oracle, outcome: Outcome) -> None:
        """The fitted attributes that every classifier has."""
        self.classes_ = data.classes
        self.certificate_, self.history_ = outcome.certificate, outcome.history
        self.n_iter_, self.status_ = outcome.n_rounds, outcome.status
        self.predictor_ = oracle.predictor(outcome.hypotheses, outcome.weights)
        self.feature_importances_ = self.predictor_.importances(self.n_features_in_)
        self.margins_ = data.for_all_rows(outcome.margins, np.nan)
        self.sample_distribution_ = data.for_all_rows(outcome.distribution, 0.0)

    def decision_function(self, X):
        """The vote; positive speaks for classes_[1]."""
        check_is_fitted(self)
        return self.predictor_.scores(predict_input(self, X), thread_count(self.n_jobs))

    def predict(self, X):
        """The class that wins the vote; a tie goes to classes_[0]."""
        wins = self.decision_function(X) > 0
        return self.classes_[wins.astype(int)]


def with_a_vote(game: Game, outcome: Outcome) -> Outcome:
    """The last ensemble where the empty one has the best soft margin: 0 is no use to a classifier."""
    if len(outcome.weights) or not len(outcome.state.w):
        return outcome
    state = outcome.state
    log = list(zip(*outcome.history.values(), strict=True))
    return finish(game, replace(state, best=replace(state.best, w=state.w)), outcome.status, log)


def check_learner(learner, max_bins: int) -> Learner:
    """The learner that was asked for; stumps where none was."""
    if not (learner is None or isinstance(learner, Learner)):
        raise ValueError(f"learner must be one of dualboost.learners, such as Stumps(), or None, not {learner!r}.")
    return Stumps(max_bins) if learner is None else learner


def check_booster(booster) -> None:
    if not (booster is None or isinstance(booster, Booster)):
        raise ValueError(
            f"booster must be one of dualboost.boosters, such as TotallyCorrective(), or None, not {booster!r}."
        )
