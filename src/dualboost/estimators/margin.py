"""Classifiers that maximise the soft margin and prove how close they came: one problem, many ways to play it."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from dualboost.boosters import Booster, Corrective, TotallyCorrective
from dualboost.estimators.base import BoostedClassifier, Parts, check_booster, check_learner, with_a_vote
from dualboost.estimators.selection import choose_nu
from dualboost.estimators.validation import TrainingData, check_whole_number
from dualboost.game import Certificate, Game
from dualboost.learners import Learner, Trees
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Capped
from dualboost.solve import Outcome

__all__ = ["MarginBoostClassifier", "MarginClassifier", "SoftMarginClassifier", "ToAGap"]

FLOOR = 1e-3  # an absolute gap below this is as good as zero: margins live in [-1, 1]
_ROWS_TO_REVISIT = 50_000
_TREES_A_ROUND = 3  # more take as long, and make votes twice as large that are no better


class MarginClassifier(BoostedClassifier):
    """Maximise the average of the nu * m smallest margins. Abstract: a final class chooses nu and how to play."""

    learner: Learner | None
    multiclass: str
    tol: float
    max_bins: int
    widest = Certificate(-1.0, 1.0)

    @abstractmethod
    def _choose_nu(self, data: TrainingData, rows: Rows, learner: Learner) -> float:
        """The fraction of the rows that may fall inside the margin."""

    @abstractmethod
    def _booster(self, data: TrainingData) -> Booster:
        """How the game is played on this data."""

    @abstractmethod
    def _accuracy(self) -> tuple[float, float]:
        """(absolute, relative) gap at which to stop."""

    def fit(self, X, y, sample_weight=None, *, eval_set=None):
        """Fit to classes of any label type; NaN is a missing value; weight k is k copies of the row.

        `eval_set`, (X, y) or (X, y, sample_weight), are rows to stop early by; see `Training`.
        """
        return self._fit(X, y, sample_weight, eval_set=eval_set)

    def _prepared(self, data: TrainingData) -> TrainingData:
        """Copies merged: a soft margin has many best votes, and the last bit of a sum over rows may choose."""
        return data.without_copies()

    def _fit_two(self, data: TrainingData, rows: Rows) -> None:
        learner = check_learner(self.learner, self.max_bins)
        booster = self._booster(data)  # first: it refuses what it cannot do before anything is computed
        self.nu_ = self._choose_nu(data, rows, learner)
        tol, rtol = self._accuracy()
        parts = Parts(learner, SoftMargin(Capped(nu=self.nu_)), booster, tol=tol, rtol=rtol)
        game, outcome = self._train(data, rows, parts, f"nu = {self.nu_:.3g}")
        self._keep(data, game.oracle, with_a_vote(game, outcome, data.control, self.max_iter))
        self.status_ += self._warning(game, outcome)

    def _check_parameters(self) -> None:
        check_nu(getattr(self, "nu", "auto"))
        if not (isinstance(self.tol, Real) and 0 < self.tol < np.inf):
            raise ValueError(f"tol is the gap to reach and must be a number above 0, not {self.tol!r}.")
        check_booster(getattr(self, "booster", None))
        if getattr(self, "multiclass", "rest") not in ("rest", "pairs"):
            raise ValueError(f'multiclass must be "rest" or "pairs", not {self.multiclass!r}.')
        check_whole_number("max_iter", self.max_iter, 1)
        check_whole_number("max_bins", self.max_bins, 2, 255)
        check_learner(self.learner, self.max_bins)

    @abstractmethod
    def _remedy(self, larger: float) -> str:
        """What to do when there is no margin at this nu."""

    def _warning(self, game: Game, outcome: Outcome) -> str:
        """What a user should do when there is no margin to speak of."""
        certificate = outcome.certificate
        if certificate.objective > 0:
            return ""
        wrong = float(np.sum(game.rows.prior, where=outcome.margins <= 0))  # of the rows of the game, pairs or not
        remedy = self._remedy(min(1.0, max(2.5 * wrong, 1.5 * self.nu_)))
        if certificate.bound <= self._accuracy()[0]:
            reason = f"the hypotheses cannot put all but {self.nu_:.0%} of the rows on their side; {remedy}"
        else:  # nothing is proved: the run may have been too short
            reason = f"give it more rounds or time; or {remedy}"
        advice = (
            f"; no positive soft margin was reached at nu = {self.nu_:.3g} "
            f"(the best possible is at most {certificate.bound:.3g}): {reason}"
        )
        warnings.warn(f"{type(self).__name__}: {outcome.status}{advice}", ConvergenceWarning, stacklevel=3)
        return advice


def check_nu(nu) -> None:
    if not (nu == "auto" if isinstance(nu, str) else isinstance(nu, Real) and 0 < float(nu) <= 1):
        raise ValueError(f'nu is the fraction of rows inside the margin: a number in (0, 1] or "auto", not {nu!r}.')


class SoftMarginClassifier(MarginClassifier):
    """The margin classifiers with a `nu`: given, or chosen from the data. Abstract."""

    def __init__(
        self,
        nu="auto",
        *,
        learner=None,
        tol=0.01,
        max_iter=2000,
        training=None,
        warm_start=False,
        max_bins=255,
        calibrate=True,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.nu = nu
        self.learner = learner
        self.tol = tol
        self.max_iter = max_iter
        self.training = training
        self.warm_start = warm_start
        self.max_bins = max_bins
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _choose_nu(self, data: TrainingData, rows: Rows, learner: Learner) -> float:
        if isinstance(self.nu, Real):
            return float(self.nu)
        if data.control.checkpoint is not None and self.random_state is None:
            raise ValueError(
                'A fit with a checkpoint must choose the same nu when it is taken up: give random_state with nu="auto".'
            )
        return choose_nu(data, rows, learner, self.random_state)

    def _settled(self) -> dict[str, Any]:
        return {"nu": self.nu_}

    def _remedy(self, larger: float) -> str:
        return f"raise nu, for example to {larger:.2g}"


class ToAGap:
    """For solvers whose smoothing is fixed by the accuracy asked: `tol` is a difference of margins, not a fraction."""

    tol: float

    def _accuracy(self) -> tuple[float, float]:
        return self.tol, 0.0


class MarginBoostClassifier(SoftMarginClassifier):
    """Maximise the soft margin of a weighted vote of decision stumps, and prove how close it came.

    The vote sum of w_j h_j(x), with ‖w‖₁ <= 1, is chosen so that the average of the nu * m smallest margins is as large
    as possible. `certificate_` holds the soft margin reached and a bound that no weighting of any stumps exceeds: of
    all stumps where a feature has at most `max_bins` distinct values, else of those at the cuts of its bins.

    Parameters
    ----------
    nu : float in (0, 1] or "auto", default "auto"
        The fraction of the rows (by weight) that may fall inside the margin. Small values insist on every row, large
        ones forgive noise. "auto" takes the value of a short path with the best held-out accuracy.
    booster : Booster, optional
        How the game is played: `TotallyCorrective()`, `LPBoost()`, `Corrective()`. By default totally corrective up to
        50,000 distinct rows, corrective above. All end at the same soft margin, up to `tol`.
    learner : Learner, default Stumps(max_bins)
        The hypotheses that vote, such as `Stumps()`.
    multiclass : {"rest", "pairs"}, default "rest"
        Of more than two classes: one vote for each against the rest; or one vote for all, whose margin is half the lead
        of the true class over each wrong one, with one certificate. "pairs" needs stumps.
    tol : float, default 0.05
        Stop when the certified gap is within this fraction of the soft margin, or below 0.001: margins lie in [-1, 1],
        and where the largest is zero no fraction of it can be reached. Greedy trees cannot prove a small gap; with them
        it is the gap to what the learner names, within that fraction or below tol / 2.
    max_iter : int, default 2000
        The most rounds.
    training : Training, optional
        Time limit, early stopping, checkpoints, callbacks; see `Training`.
    warm_start : bool, default False
        A further fit to the same data goes on where this one ended, with a larger `max_iter` or a smaller `tol`. Other
        data or other parameters begin anew.
    max_bins : int in [2, 255], default 255
        The most bins a feature is cut into.
    calibrate : bool, default True
        Learn probabilities from the votes of three models on rows that they had not seen (at most 20,000 rows take
        part). False saves that time and leaves `predict_proba` out.
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
        y f(x) of each training row, in [-1, 1]; not positive means misclassified. Of "pairs" the least over the wrong
        classes, of "rest" a column for each class.
    sample_distribution_ : ndarray of shape (n_samples,)
        The row weights that prove the bound: the hard rows carry most.
    history_ : dict of ndarrays
        "objective", "bound", "edge", "size" for every round; with held-out rows also "validation" (their accuracy) and
        "validation_loss", NaN where they were not scored.
    status_ : str
        Why the run stopped.
    n_iter_ : int
    feature_importances_ : ndarray, one entry a feature
        The share of the vote on each feature.
    predictor_ : Predictor
        The whole model as flat arrays; of stumps one step function per used feature.

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
        learner=None,
        multiclass="rest",
        tol=0.05,
        max_iter=2000,
        training=None,
        warm_start=False,
        max_bins=255,
        calibrate=True,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        super().__init__(
            nu,
            learner=learner,
            tol=tol,
            max_iter=max_iter,
            training=training,
            warm_start=warm_start,
            max_bins=max_bins,
            calibrate=calibrate,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.booster = booster
        self.multiclass = multiclass

    def _booster(self, data: TrainingData) -> Booster:
        """All weights anew each round while that is cheap, else one step a round. Copies of a row are merged by now."""
        if self.booster is not None:
            return self.booster
        columns = _TREES_A_ROUND if isinstance(self.learner, Trees) else None
        small = len(data.codes) <= _ROWS_TO_REVISIT
        return TotallyCorrective(columns) if small else Corrective(step="search", smoothing="halving")

    def _accuracy(self) -> tuple[float, float]:
        """Where nothing will be proved, a wider gap makes votes half as large that are no worse."""
        proves = not isinstance(self.learner, Trees) or self.learner.proves
        return FLOOR if proves else max(FLOOR, self.tol / 2), self.tol
