"""MarginBoostClassifier: a soft-margin stump ensemble with a duality gap."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from dualboost.boosters import Booster, Corrective, TotallyCorrective
from dualboost.estimators.progress import progress
from dualboost.estimators.selection import choose_nu, distinct_rows
from dualboost.estimators.validation import TrainingData, check_whole_number, predict_input, thread_count, training_data
from dualboost.game import Game
from dualboost.learners import Oracle, Stumps
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Capped
from dualboost.solve import Outcome, finish, play

__all__ = ["MarginBoostClassifier"]

_FLOOR = 1e-3  # an absolute gap below this is as good as zero: margins live in [-1, 1]
_ROWS_TO_REVISIT = 50_000


class MarginBoostClassifier(ClassifierMixin, BaseEstimator):
    """Maximise the soft margin of a weighted vote of decision stumps, and prove how close it came.

    The vote sum of w_j h_j(x), with ‖w‖₁ <= 1, is chosen so that the average of the nu * m smallest margins is as large
    as possible. `certificate_` holds the soft margin reached and a bound that no weighting of any stumps exceeds.

    Parameters
    ----------
    nu : float in (0, 1] or "auto", default "auto"
        The fraction of the rows (by weight) that may fall inside the margin. Small values insist on every row, large
        ones forgive noise. "auto" takes the value of a short path with the best held-out accuracy.
    booster : Booster, optional
        How the game is played: `TotallyCorrective()`, `LPBoost()`, `Corrective()`. By default totally corrective up to
        50,000 distinct rows, corrective above. All end at the same soft margin, up to `tol`.
    tol : float, default 0.05
        Stop when the certified gap is within this fraction of the soft margin.
    max_iter : int, default 2000
        The most rounds.
    max_bins : int in [2, 255], default 255
        The most bins a feature is cut into.
    n_jobs : int, optional
        Threads; the model does not depend on it.
    random_state : int, RandomState instance or None
        Seeds the folds of nu="auto"; everything else is deterministic.
    verbose : int, default 0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    nu_ : float
        The fraction used.
    certificate_ : Certificate
        `objective` (the soft margin of this model), `bound` (of any model), `gap`; recomputed from scratch.
    margins_ : ndarray of shape (n_samples,)
        y f(x) of each training row, in [-1, 1]; not positive means misclassified.
    sample_distribution_ : ndarray of shape (n_samples,)
        The row weights that prove the bound: the hard rows carry most.
    history_ : dict of ndarrays
        "objective", "bound", "edge", "size" for every round.
    status_ : str
        Why the run stopped.
    n_iter_ : int
    feature_importances_ : ndarray, one entry a feature
        The share of the vote on each feature.
    predictor_ : StumpScores
        One step function per used feature: the whole model.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import MarginBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MarginBoostClassifier(nu=0.2).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> 0 < model.certificate_.objective <= model.certificate_.bound
    True
    """

    def __init__(
        self,
        nu="auto",
        *,
        booster=None,
        tol=0.05,
        max_iter=2000,
        max_bins=255,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.nu = nu
        self.booster = booster
        self.tol = tol
        self.max_iter = max_iter
        self.max_bins = max_bins
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Fit to two classes of any label type; NaN is a missing value; weight k is k copies of the row."""
        self._check_parameters()
        data = training_data(self, X, y, sample_weight)
        rows = Rows.of(len(data.signs) if data.weights is None else data.weights, thread_count(self.n_jobs))
        learner = Stumps(self.max_bins)
        booster = self._booster_for(data) if self.booster is None else self.booster
        self.nu_ = float(self.nu) if isinstance(self.nu, Real) else choose_nu(data, rows, learner, self.random_state)
        oracle = learner.bind(data.X, data.signs, rows)
        game = Game(SoftMargin(Capped(nu=self.nu_)).bind(rows), oracle, rows, tol=_FLOOR, rtol=self.tol)
        with progress(f"nu = {self.nu_:.3g}", self.max_iter, self.verbose) as watch:
            outcome = play(game, booster, self.max_iter, watch=watch)
        self._keep(data, oracle, _with_a_vote(game, outcome))
        return self

    def _booster_for(self, data: TrainingData) -> Booster:
        """All weights anew each round while that is cheap, else one step a round. Copies of a row do not count."""
        small = len(data.signs) <= _ROWS_TO_REVISIT or distinct_rows(data.X) <= _ROWS_TO_REVISIT
        return TotallyCorrective() if small else Corrective(step="search", smoothing="halving")

    def _check_parameters(self):
        if not (self.nu == "auto" if isinstance(self.nu, str) else isinstance(self.nu, Real) and 0 < self.nu <= 1):
            raise ValueError(
                f'nu is the fraction of rows inside the margin: a number in (0, 1] or "auto", not {self.nu!r}.'
            )
        if not (isinstance(self.tol, Real) and 0 < self.tol < np.inf):
            raise ValueError(f"tol is the relative gap to reach and must be a number above 0, not {self.tol!r}.")
        if not (self.booster is None or isinstance(self.booster, Booster)):
            raise ValueError(
                "booster must be one of dualboost.boosters, such as TotallyCorrective(), or None, "
                f"not {self.booster!r}."
            )
        check_whole_number("max_iter", self.max_iter, 1)
        check_whole_number("max_bins", self.max_bins, 2, 255)

    def _keep(self, data: TrainingData, oracle: Oracle, outcome: Outcome):
        self.classes_ = data.classes
        self.certificate_, self.history_ = outcome.certificate, outcome.history
        self.n_iter_ = outcome.n_rounds
        self.predictor_ = oracle.predictor(outcome.hypotheses, outcome.weights)
        self.feature_importances_ = self.predictor_.importances(self.n_features_in_)
        self.margins_, self.sample_distribution_ = outcome.margins, outcome.distribution
        if data.present is not None:
            self.margins_ = np.full(data.n_given, np.nan)
            self.margins_[data.present] = outcome.margins
            self.sample_distribution_ = np.zeros(data.n_given)
            self.sample_distribution_[data.present] = outcome.distribution
        self.status_ = outcome.status + self._warning(outcome)

    def _warning(self, outcome: Outcome) -> str:
        """What a user should do when there is no margin to speak of."""
        certificate = outcome.certificate
        if certificate.objective > 0:
            return ""
        wrong = float(np.mean(outcome.margins <= 0))
        larger = min(1.0, max(2.5 * wrong, 1.5 * self.nu_))
        advice = (
            f"; no positive soft margin was reached at nu = {self.nu_:.3g} "
            f"(the best possible is at most {certificate.bound:.3g}): "
            f"the stumps cannot put all but {self.nu_:.0%} of the rows on their side; "
            f"raise nu, for example to {larger:.2g}"
        )
        warnings.warn("MarginBoostClassifier: " + outcome.status + advice, ConvergenceWarning, stacklevel=4)
        return advice

    def decision_function(self, X):
        """The vote, in [-1, 1]; positive speaks for classes_[1]."""
        check_is_fitted(self)
        return self.predictor_.scores(predict_input(self, X), thread_count(self.n_jobs))

    def predict(self, X):
        """The class that wins the vote; a tie goes to classes_[0]."""
        wins = self.decision_function(X) > 0
        return self.classes_[wins.astype(int)]


def _with_a_vote(game: Game, outcome: Outcome) -> Outcome:
    """The last ensemble where the empty one has the best soft margin: 0 is no use to a classifier."""
    if len(outcome.weights) or not len(outcome.state.w):
        return outcome
    state = outcome.state
    log = list(zip(*outcome.history.values(), strict=True))
    return finish(game, replace(state, best=replace(state.best, w=state.w)), outcome.status, log)
