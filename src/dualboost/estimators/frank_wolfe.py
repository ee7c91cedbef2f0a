"""FrankWolfeBoostClassifier: the soft margin by averages over a whole class, which need not be listed."""

from __future__ import annotations

from dualboost.boosters import Booster, FrankWolfe
from dualboost.estimators.margin import SoftMarginClassifier, ToAGap
from dualboost.estimators.validation import TrainingData

__all__ = ["FrankWolfeBoostClassifier"]


class FrankWolfeBoostClassifier(ToAGap, SoftMarginClassifier):
    """Frank-Wolfe boosting with the average-margin oracle: no linear program, no entropy projection, no list.

    Each round moves the row weights and asks for the softmax average of all hypotheses, which is the vote itself. The
    class may be far larger than its description: all intervals of all features, all conjunctions of a few literals.

    Parameters
    ----------
    nu : float in (0, 1] or "auto", default "auto"
        The fraction of the rows (by weight) that may fall inside the margin.
    learner : Learner, default Stumps(max_bins)
        A class that can be averaged: `Stumps()`, or `NZDD(rules)` with `Conjunctions(k)`, `Intervals()` or your own.
    step : {"pairwise", "classic", "line search", "away", "blended pairwise"}, default "pairwise"
        The step of Frank-Wolfe, see `FrankWolfe`.
    polish : int, default 50
        How many of the heaviest hypotheses to hand to a linear program now and then; 0 keeps the plain average.
    tol : float, default 0.01
        Stop when the certified gap, a difference of margins in [-1, 1], is at most this.
    max_iter, training, warm_start, max_bins, calibrate, n_jobs, random_state, verbose
        As in `MarginBoostClassifier`, like the fitted attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import FrankWolfeBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> FrankWolfeBoostClassifier(nu=0.4, tol=0.05).fit(X, y).certificate_.gap <= 0.05
    True

    Conjunctions of two literals over 0/1 features:

    >>> from dualboost.learners import NZDD
    >>> from dualboost.learners.nzdd import Conjunctions
    >>> bits = (X[:, :8] > X[:, :8].mean(axis=0)).astype(float)
    >>> model = FrankWolfeBoostClassifier(nu=0.4, tol=0.05, learner=NZDD(Conjunctions(2))).fit(bits, y)
    >>> model.score(bits, y) > 0.85
    True
    """

    def __init__(
        self,
        nu="auto",
        *,
        learner=None,
        step="pairwise",
        polish=50,
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
        self.step = step
        self.polish = polish

    def _booster(self, data: TrainingData) -> Booster:
        return FrankWolfe(step=self.step, smoothing="halving", polish=self.polish)
