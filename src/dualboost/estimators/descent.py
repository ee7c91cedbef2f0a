"""AdaBoost and logistic boosting as scikit-learn classes: coordinate descent without a budget.

The first is a drop-in for scikit-learn's AdaBoostClassifier on two classes: the same parameters where they make sense,
staged predictions, and probabilities that agree with `predict`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from numbers import Real

import numpy as np
from scipy.special import expit
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from dualboost.boosters import CoordinateDescent
from dualboost.estimators.base import BoostedClassifier, Parts, check_learner
from dualboost.estimators.validation import check_whole_number, predict_input, thread_count
from dualboost.game import Game
from dualboost.learners import Learner, Predictor
from dualboost.losses import Exponential, Logistic, Separable
from dualboost.solve import Outcome

__all__ = ["AdaBoostClassifier", "DescentClassifier", "LogisticBoostClassifier"]


class DescentClassifier(BoostedClassifier):
    """Descend a separable loss, one hypothesis a round. Abstract: a final class names the loss and the line search."""

    n_estimators: int
    learning_rate: float
    learner: Learner | None
    tol: float
    max_bins: int
    members_: list[Predictor]

    @abstractmethod
    def _loss(self) -> Separable:
        """What is descended."""

    @abstractmethod
    def _line_search(self) -> str:
        """How long the steps are."""

    @property
    @abstractmethod
    def _log_odds(self) -> float:
        """The score times this is the log of the odds of classes_[1] (where the loss is smallest in expectation)."""

    @property
    def max_iter(self) -> int:  # type: ignore[override]
        """The most rounds, by the name it has elsewhere."""
        return self.n_estimators

    def fit(self, X, y, sample_weight=None):
        """Fit to two classes of any label type; NaN is a missing value; weight k is k copies of the row."""
        learner = self._check_parameters()
        data, rows = self._start(X, y, sample_weight)
        booster = CoordinateDescent(self._line_search(), float(self.learning_rate))
        parts = Parts(learner, self._loss(), booster, budget=np.inf, tol=self.tol)
        game, outcome = self._train(data, rows, parts, type(self).__name__)
        self._keep(data, game.oracle, outcome)
        self._keep_stages(game, outcome)
        return self

    def _check_parameters(self) -> Learner:
        check_whole_number("n_estimators", self.n_estimators, 1)
        check_whole_number("max_bins", self.max_bins, 2, 255)
        if not (isinstance(self.tol, Real) and 0 < self.tol < 1):
            raise ValueError(f"tol is the edge and the share of the loss to stop at, in (0, 1), not {self.tol!r}.")
        CoordinateDescent(self._line_search(), self.learning_rate)  # refuses what is out of range
        return check_learner(self.learner, self.max_bins)

    def _keep_stages(self, game: Game, outcome: Outcome) -> None:
        moves = outcome.state.memory
        used = np.unique(moves.numbers)
        one = np.ones(1)
        self.members_ = [game.oracle.predictor([outcome.state.pool.keys[j]], one) for j in used]
        self.stages_ = np.searchsorted(used, moves.numbers)
        self.steps_ = moves.steps

    def predict_proba(self, X):
        """The probability of each class, the one that the loss implies: above 1/2 for the class of `predict`."""
        return self._probabilities(self.decision_function(X))

    def predict_log_proba(self, X):
        """The logarithm of the probabilities, also where they underflow."""
        odds = self._log_odds * self.decision_function(X)
        return -np.column_stack([np.logaddexp(0, odds), np.logaddexp(0, -odds)])

    def staged_decision_function(self, X) -> Iterator[np.ndarray]:
        """The score after each round; the last one is `decision_function`, up to rounding."""
        check_is_fitted(self)
        X, threads = predict_input(self, X), thread_count(self.n_jobs)
        score = np.zeros(X.shape[0])
        for stage, step in zip(self.stages_, self.steps_, strict=True):
            score = score + step * self.members_[stage].scores(X, threads)
            yield score

    def staged_predict(self, X) -> Iterator[np.ndarray]:
        """The prediction after each round."""
        for score in self.staged_decision_function(X):
            yield self.classes_[(score > 0).astype(int)]

    def staged_predict_proba(self, X) -> Iterator[np.ndarray]:
        """The probabilities after each round."""
        for score in self.staged_decision_function(X):
            yield self._probabilities(score)

    def staged_score(self, X, y, sample_weight=None) -> Iterator[float]:
        """The accuracy after each round."""
        for predicted in self.staged_predict(X):
            yield float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def _probabilities(self, score: np.ndarray) -> np.ndarray:
        odds = self._log_odds * score
        return np.column_stack([expit(-odds), expit(odds)])


class AdaBoostClassifier(DescentClassifier):
    """AdaBoost on two classes: the exponential loss, one hypothesis a round.

    Parameters
    ----------
    n_estimators : int, default 50
        The most rounds.
    learning_rate : float in (0, 1], default 1.0
        Each step is shortened by this factor.
    learner : Learner, default Stumps(max_bins)
        The class of hypotheses.
    tol : float, default 1e-7
        Stop when no hypothesis has an edge above this, or the loss has fallen to this share.
    max_bins : int in [2, 255], default 255
        The most bins a feature is cut into.
    n_jobs : int, optional
        Threads; the model does not depend on it.
    random_state : int, RandomState instance or None
        Kept for scikit-learn's sake: nothing here is random.
    verbose : int, default 0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    certificate_ : Certificate
        `objective` is the negative loss; `bound` is infinite: without a budget nothing is proved.
    margins_ : ndarray of shape (n_samples,)
        y f(x) of each training row.
    sample_distribution_ : ndarray of shape (n_samples,)
        The weights of the rows after the last round.
    history_ : dict of ndarrays
        "objective", "bound", "edge", "size" for every round.
    members_, stages_, steps_ : list, ndarray, ndarray
        The distinct hypotheses; which of them each round took; its signed step.
    status_, n_iter_, feature_importances_, predictor_
        As in `MarginBoostClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=30).fit(X, y)
    >>> model.score(X, y) > 0.97
    True
    >>> len(list(model.staged_predict(X[:5])))
    30
    """

    def __init__(
        self,
        n_estimators=50,
        *,
        learning_rate=1.0,
        learner=None,
        tol=1e-7,
        max_bins=255,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.learner = learner
        self.tol = tol
        self.max_bins = max_bins
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _loss(self) -> Separable:
        return Exponential()

    def _line_search(self) -> str:
        return "adaboost"

    @property
    def _log_odds(self) -> float:
        return 2.0


class LogisticBoostClassifier(DescentClassifier):
    """Boosting on the logistic loss: like AdaBoost, but a row far on the wrong side pulls with a bounded weight.

    Parameters
    ----------
    n_estimators : int, default 100
        The most rounds.
    learning_rate : float in (0, 1], default 1.0
        Each step is shortened by this factor.
    line_search : {"closed", "wolfe", "exact"}, default "closed"
        As in `CoordinateDescent`. The closed form has the fastest rounds; "exact" is slow.
    learner, tol, max_bins, n_jobs, random_state, verbose
        As in `AdaBoostClassifier`, like the fitted attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import LogisticBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticBoostClassifier().fit(X, y)
    >>> model.score(X, y) > 0.97
    True
    >>> bool((model.predict_proba(X).argmax(axis=1) == model.predict(X)).all())
    True
    """

    def __init__(
        self,
        n_estimators=100,
        *,
        learning_rate=1.0,
        line_search="closed",
        learner=None,
        tol=1e-7,
        max_bins=255,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.line_search = line_search
        self.learner = learner
        self.tol = tol
        self.max_bins = max_bins
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _loss(self) -> Separable:
        return Logistic()

    def _line_search(self) -> str:
        return self.line_search

    @property
    def _log_odds(self) -> float:
        return 1.0
