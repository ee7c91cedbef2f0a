"""AdaBoost and logistic boosting as scikit-learn classes: coordinate descent without a budget.

The first is a drop-in for scikit-learn's AdaBoostClassifier: the same parameters where they make sense, staged
predictions, and probabilities that agree with `predict`. More than two classes are one model each against the rest.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from itertools import zip_longest
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from dualboost.boosters import CoordinateDescent
from dualboost.estimators.base import BoostedClassifier, Parts, check_learner
from dualboost.estimators.calibration import Sigmoid
from dualboost.estimators.new_rows import predict_input
from dualboost.estimators.validation import TrainingData, check_whole_number, thread_count
from dualboost.learners import Learner, Predictor, SklearnLearner
from dualboost.losses import Exponential, Logistic, Separable
from dualboost.rows import Rows

__all__ = ["AdaBoostClassifier", "DescentClassifier", "LogisticBoostClassifier"]


class DescentClassifier(BoostedClassifier):
    """Descend a separable loss, one hypothesis a round. Abstract: a final class names the loss and the line search."""

    has_odds = True

    n_estimators: int
    estimator: Any
    learning_rate: float
    learner: Learner | None
    tol: float
    max_bins: int
    calibrate: bool
    random_state: Any
    estimators_: list[DescentClassifier]
    members_: list[Predictor]
    stages_: np.ndarray
    steps_: np.ndarray

    @abstractmethod
    def _loss(self) -> Separable:
        """What is descended."""

    @abstractmethod
    def _line_search(self) -> str:
        """How long the steps are."""

    @abstractmethod
    def _odds(self) -> float:
        """The score times this is the log of the odds of the second class: where the expected loss is smallest."""

    @property
    def max_iter(self) -> int:  # type: ignore[override]
        """The most rounds, by the name it has elsewhere."""
        return self.n_estimators

    def fit(self, X, y, sample_weight=None, *, eval_set=None):
        """Fit to classes of any label type; NaN is a missing value; weight k is k copies of the row.

        `eval_set`, (X, y) or (X, y, sample_weight), are rows to stop early by; see `Training`.
        """
        return self._fit(X, y, sample_weight, eval_set=eval_set)

    def _check_parameters(self) -> None:
        check_whole_number("n_estimators", self.n_estimators, 1)
        check_whole_number("max_bins", self.max_bins, 2, 255)
        if not (isinstance(self.tol, Real) and 0 < self.tol < 1):
            raise ValueError(f"tol is the edge and the share of the loss to stop at, in (0, 1), not {self.tol!r}.")
        if self.estimator is not None and self.learner is not None:
            raise ValueError("Give either estimator or learner: estimator=E is short for learner=SklearnLearner(E).")
        CoordinateDescent(self._line_search(), self.learning_rate)  # refuses what is out of range
        self._hypotheses()

    def _hypotheses(self) -> Learner:
        if self.estimator is None:
            return check_learner(self.learner, self.max_bins)
        if not hasattr(self.estimator, "get_params"):
            raise ValueError(f"estimator must be a classifier of scikit-learn or None, not {self.estimator!r}.")
        estimator = clone(self.estimator)
        if "random_state" in estimator.get_params() and estimator.get_params()["random_state"] is None:
            seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
            estimator.set_params(random_state=seed)
        return SklearnLearner(estimator)

    def _settled(self) -> dict[str, Any]:
        return {}

    def _with_rounds(self, most: int) -> dict[str, Any]:
        return {"n_estimators": most}

    def _fit_two(self, data: TrainingData, rows: Rows) -> None:
        booster = CoordinateDescent(self._line_search(), float(self.learning_rate))
        parts = Parts(self._hypotheses(), self._loss(), booster, budget=np.inf, tol=self.tol)
        game, outcome = self._train(data, rows, parts, type(self).__name__)
        self._keep(data, game.oracle, outcome)
        self.link_ = Sigmoid(self._odds())
        moves, pool = outcome.state.memory, outcome.state.pool
        used, self.stages_ = np.unique(moves.numbers, return_inverse=True)
        self.members_ = game.oracle.predictors([pool.keys[j] for j in used])
        self.steps_ = moves.steps

    def staged_decision_function(self, X) -> Iterator[np.ndarray]:
        """The score after each round; the last one is `decision_function`, up to rounding."""
        check_is_fitted(self)
        X = predict_input(self, X)
        if not hasattr(self, "estimators_"):
            yield from self._stages(X)
            return
        votes = [np.zeros(X.shape[0]) for _ in self.estimators_]
        for step in zip_longest(*(model._stages(X) for model in self.estimators_)):
            votes = [last if score is None else score for score, last in zip(step, votes, strict=True)]
            yield self._side_by_side(votes)

    def _stages(self, X) -> Iterator[np.ndarray]:
        score, threads = np.zeros(X.shape[0]), thread_count(self.n_jobs)
        for stage, step in zip(self.stages_, self.steps_, strict=True):
            score = score + step * self.members_[stage].scores(X, threads)
            yield score

    def staged_predict(self, X) -> Iterator[np.ndarray]:
        """The prediction after each round."""
        return (self._winners(votes) for votes in self.staged_decision_function(X))

    def staged_predict_proba(self, X) -> Iterator[np.ndarray]:
        """The probabilities after each round."""
        return (self._chances(votes) for votes in self.staged_decision_function(X))

    def staged_score(self, X, y, sample_weight=None) -> Iterator[float]:
        """The accuracy after each round."""
        for predicted in self.staged_predict(X):
            yield float(accuracy_score(y, predicted, sample_weight=sample_weight))


class AdaBoostClassifier(DescentClassifier):
    """AdaBoost: the exponential loss, one hypothesis a round.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        Short for learner=SklearnLearner(estimator).
    n_estimators : int, default 50
        The most rounds.
    training : Training, optional
        Time limit, early stopping, checkpoints, callbacks; see `Training`.
    warm_start : bool, default False
        A further fit to the same data goes on where this one ended, with a larger `n_estimators` or a smaller `tol`.
        Other data or other parameters begin anew.
    learning_rate : float in (0, 1], default 1.0
        Each step is shortened by this factor.
    learner : Learner, default Stumps(max_bins)
        The class of hypotheses.
    tol : float, default 1e-7
        Stop when no hypothesis has an edge above this, or the loss has fallen to this share.
    max_bins : int in [2, 255], default 255
        The most bins a feature is cut into.
    calibrate : bool, default True
        Learn probabilities from the votes of three models on rows that they had not seen (at most 20,000 rows take
        part). False saves that time and trusts the loss: exp(2 f) are the odds of least expected loss, which after
        many rounds are too certain.
    n_jobs : int, optional
        Threads; the model does not depend on it.
    random_state : int, RandomState instance or None
        Seeds an `estimator` that has none; everything else is deterministic.
    verbose : int, default 0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray
    certificate_ : Certificate
        `objective` is the negative loss; `bound` is infinite: without a budget nothing is proved.
    margins_ : ndarray of shape (n_samples,)
        y f(x) of each training row.
    sample_distribution_ : ndarray of shape (n_samples,)
        The weights of the rows after the last round.
    history_ : dict of ndarrays
        "objective", "bound", "edge", "size" for every round; with held-out rows also "validation", "validation_loss".
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
        estimator=None,
        *,
        n_estimators=50,
        training=None,
        warm_start=False,
        learning_rate=1.0,
        learner=None,
        tol=1e-7,
        max_bins=255,
        calibrate=True,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.training = training
        self.warm_start = warm_start
        self.learning_rate = learning_rate
        self.learner = learner
        self.tol = tol
        self.max_bins = max_bins
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _loss(self) -> Separable:
        return Exponential()

    def _line_search(self) -> str:
        return "adaboost"

    def _odds(self) -> float:
        return 2.0


class LogisticBoostClassifier(DescentClassifier):
    """Boosting on the logistic loss: like AdaBoost, but a row far on the wrong side pulls with a bounded weight.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        Short for learner=SklearnLearner(estimator).
    n_estimators : int, default 100
        The most rounds.
    learning_rate : float in (0, 1], default 1.0
        Each step is shortened by this factor.
    line_search : {"closed", "wolfe", "exact"}, default "closed"
        As in `CoordinateDescent`. The closed form has the fastest rounds; "exact" is slow.
    learner, tol, training, warm_start, max_bins, calibrate, n_jobs, random_state, verbose
        As in `AdaBoostClassifier`, like the fitted attributes; the odds that the loss trusts are exp(f).

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
        estimator=None,
        *,
        n_estimators=100,
        training=None,
        warm_start=False,
        learning_rate=1.0,
        line_search="closed",
        learner=None,
        tol=1e-7,
        max_bins=255,
        calibrate=True,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.training = training
        self.warm_start = warm_start
        self.learning_rate = learning_rate
        self.line_search = line_search
        self.learner = learner
        self.tol = tol
        self.max_bins = max_bins
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _loss(self) -> Separable:
        return Logistic()

    def _line_search(self) -> str:
        return self.line_search

    def _odds(self) -> float:
        return 1.0
