"""The soft-margin solvers people search for by name, each a classifier: same problem, same certificate, another way."""

from __future__ import annotations

from typing import Any

from dualboost.boosters import Booster, ERLPBoost, LPBoost, MLPBoost, SoftBoost, TotalBoost
from dualboost.estimators.margin import FLOOR, MarginClassifier, SoftMarginClassifier, ToAGap
from dualboost.estimators.validation import TrainingData
from dualboost.learners import Learner
from dualboost.rows import Rows

__all__ = [
    "ERLPBoostClassifier",
    "LPBoostClassifier",
    "MLPBoostClassifier",
    "SoftBoostClassifier",
    "TotalBoostClassifier",
]


class LPBoostClassifier(SoftMarginClassifier):
    """LPBoost: the soft margin by linear programming, one program a round, warm and without a licence.

    The sparsest of the family: at the end the weights are a vertex of the program.

    Parameters
    ----------
    nu : float in (0, 1] or "auto", default "auto"
        The fraction of the rows (by weight) that may fall inside the margin.
    learner : Learner, default Stumps(max_bins)
    tol : float, default 0.01
        Stop when the certified gap is within this fraction of the soft margin, or below a thousandth of `tol`.
    max_iter, training, warm_start, max_bins, calibrate, n_jobs, random_state, verbose
        As in `MarginBoostClassifier`, like the fitted attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import LPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LPBoostClassifier(nu=0.2).fit(X, y)
    >>> model.certificate_.gap <= 0.01 * model.certificate_.objective
    True
    """

    def _booster(self, data: TrainingData) -> Booster:
        return LPBoost()

    def _accuracy(self) -> tuple[float, float]:
        return FLOOR * self.tol, self.tol


class ERLPBoostClassifier(ToAGap, SoftMarginClassifier):
    """Entropy-regularised LPBoost: the soft margin in few, provably few, rounds.

    Parameters
    ----------
    nu : float in (0, 1] or "auto", default "auto"
        The fraction of the rows (by weight) that may fall inside the margin.
    learner : Learner, default Stumps(max_bins)
    tol : float, default 0.01
        Stop when the certified gap, a difference of margins in [-1, 1], is at most this.
    max_iter, training, warm_start, max_bins, calibrate, n_jobs, random_state, verbose
        As in `MarginBoostClassifier`, like the fitted attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import ERLPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ERLPBoostClassifier(nu=0.2).fit(X, y).certificate_.gap <= 0.01
    True
    """

    def _booster(self, data: TrainingData) -> Booster:
        return ERLPBoost()


class SoftBoostClassifier(ToAGap, SoftMarginClassifier):
    """SoftBoost: the distribution nearest to the prior under which no hypothesis met so far is good enough.

    Parameters
    ----------
    nu : float in (0, 1] or "auto", default "auto"
        The fraction of the rows (by weight) that may fall inside the margin.
    learner : Learner, default Stumps(max_bins)
    tol : float, default 0.01
        Stop when the certified gap, a difference of margins in [-1, 1], is at most this.
    max_iter, training, warm_start, max_bins, calibrate, n_jobs, random_state, verbose
        As in `MarginBoostClassifier`, like the fitted attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import SoftBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> SoftBoostClassifier(nu=0.4, tol=0.05).fit(X, y).certificate_.gap <= 0.05
    True
    """

    def _booster(self, data: TrainingData) -> Booster:
        return SoftBoost()


class MLPBoostClassifier(ToAGap, SoftMarginClassifier):
    """MLPBoost: each round the better of a Frank-Wolfe step and a linear program.

    Parameters
    ----------
    nu : float in (0, 1] or "auto", default "auto"
        The fraction of the rows (by weight) that may fall inside the margin.
    learner : Learner, default Stumps(max_bins)
    tol : float, default 0.01
        Stop when the certified gap, a difference of margins in [-1, 1], is at most this.
    max_iter, training, warm_start, max_bins, calibrate, n_jobs, random_state, verbose
        As in `MarginBoostClassifier`, like the fitted attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import MLPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> MLPBoostClassifier(nu=0.4, tol=0.05).fit(X, y).certificate_.gap <= 0.05
    True
    """

    def _booster(self, data: TrainingData) -> Booster:
        return MLPBoost()


class TotalBoostClassifier(ToAGap, MarginClassifier):
    """TotalBoost: the hard margin, every row on its side by as much as possible.

    Where no vote can do that the margin is 0, and `status_` says so: then a soft margin is the better question.

    Parameters
    ----------
    learner : Learner, default Stumps(max_bins)
    tol : float, default 0.01
        Stop when the certified gap, a difference of margins in [-1, 1], is at most this.
    max_iter, training, warm_start, max_bins, calibrate, n_jobs, random_state, verbose
        As in `MarginBoostClassifier`, like the fitted attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import TotalBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> TotalBoostClassifier(tol=0.05).fit(X, y).certificate_.gap <= 0.05
    True
    """

    def __init__(
        self,
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
        """Every row may carry all the weight: the cap of the lightest row is 1."""
        return float(rows.prior.min())

    def _settled(self) -> dict[str, Any]:
        return {}

    def _remedy(self, larger: float) -> str:
        return f"ask for a soft margin instead: SoftBoostClassifier(nu={larger:.2g})"

    def _booster(self, data: TrainingData) -> Booster:
        return TotalBoost()
