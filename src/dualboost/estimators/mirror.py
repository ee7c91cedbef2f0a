"""Boosting under limits on the row weights, with a bound on the training error in every round: Naghibi & Pfister."""

from __future__ import annotations

from dualboost.boosters import Booster, Euclidean, MadaBoost, MirrorAscent, SparseBoost
from dualboost.boosters.regularizers import regularizer_of
from dualboost.estimators.ascent import AscentClassifier
from dualboost.estimators.limits import Asked, caps_times_rows, check_groups

__all__ = ["MABoostClassifier", "MadaBoostClassifier", "SmoothBoostClassifier", "SparseBoostClassifier"]


class MABoostClassifier(AscentClassifier):
    """Mirror-ascent boosting: row weights stay inside limits that you set, and the training error has a bound.

    Without limits it is close to AdaBoost. With them it answers questions like "never more than a fifth of the weight
    on that source", "no row more than ten times its share", "these labels are less reliable".

    Parameters
    ----------
    regularizer : {"entropic", "euclidean"} or Regularizer, default "entropic"
        "euclidean" takes rows out of the game by giving them exactly no weight.
    update : {"active", "lazy"}, default "active"
    step : {"edge", "max margin", "adaptive", "search"}, default "edge"
        How far each hypothesis counts; see `dualboost.boosters.MirrorAscent`.
    smoothness : float >= 1, optional
        The most that a row may weigh, in multiples of its share; with `secondary`, only that source is limited.
    group_caps, group_floors : dict from label to float, optional
        The most and the least share of the weight that each of the `groups` of `fit` may have.
    learner : Learner, default Stumps(max_bins)
    max_iter : int, default 300
    training, warm_start
        As in `MarginBoostClassifier`.
    max_bins, calibrate, n_jobs, verbose
        As in `MarginBoostClassifier`.

    Attributes
    ----------
    history_ : dict of ndarrays
        For every round, besides "objective", "bound", "edge" and "size": "error" (training error, ties are errors),
        "error_bound" (what it cannot exceed) and "nonzero" (the share of rows with any weight). Where groups have
        caps, error and bound are those of the other groups; with floors as well nothing is promised, and the error is
        that of all rows.
    bounds_ : dict from str to str
        What is proved for the last ensemble, in words: for "all" rows, or for "primary" and "secondary" ones, ... Of
        more than two classes a list, one for each class against the rest, like `history_`.
    classes_, certificate_, margins_, sample_distribution_, status_, n_iter_, feature_importances_, predictor_
        As in `MarginBoostClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import MABoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MABoostClassifier(max_iter=50).fit(X, y)
    >>> bool(np.all(model.history_["error"] <= model.history_["error_bound"]))
    True
    >>> source = np.where(np.arange(len(y)) % 2, "web", "lab")
    >>> model = MABoostClassifier(group_caps={"web": 0.2}, max_iter=50).fit(X, y, groups=source)
    >>> round(float(model.sample_distribution_[source == "web"].sum()), 3) <= 0.2
    True
    """

    def __init__(
        self,
        *,
        regularizer="entropic",
        update="active",
        step="edge",
        smoothness=None,
        group_caps=None,
        group_floors=None,
        learner=None,
        max_iter=300,
        training=None,
        warm_start=False,
        max_bins=255,
        calibrate=True,
        n_jobs=None,
        verbose=0,
    ):
        self.regularizer = regularizer
        self.update = update
        self.step = step
        self.smoothness = smoothness
        self.group_caps = group_caps
        self.group_floors = group_floors
        self.learner = learner
        self.max_iter = max_iter
        self.training = training
        self.warm_start = warm_start
        self.max_bins = max_bins
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None, *, secondary=None, groups=None, caps=None, eval_set=None):
        """Fit to classes of any label type; NaN is a missing value; weight k is k copies of the row.

        Every array has one entry per row, and can be routed: `set_fit_request(groups=True)`.

        Parameters
        ----------
        X, y, sample_weight
        secondary : boolean mask, optional
            Rows of a source that is trusted less: only they are limited by `smoothness`, to that multiple of their
            share of the secondary weight.
        groups : array, optional
            The group of each row, for `group_caps` and `group_floors`.
        caps : array, optional
            The most weight of each row, directly.
        eval_set : (X, y) or (X, y, sample_weight), optional
            Rows to stop early by; see `Training`.
        """
        check_groups(groups, self._asked())
        relative = caps_times_rows(caps, sample_weight)
        extras = {"secondary": secondary, "groups": groups, "caps_times_rows": relative}
        return self._ascend(X, y, sample_weight, extras, eval_set)

    def _asked(self) -> Asked:
        return Asked(self.smoothness, self.group_caps, self.group_floors)

    def _booster(self) -> Booster:
        return MirrorAscent(self.regularizer, self.update, self.step)

    def _error_bound(self, gain: float) -> float:
        return regularizer_of(self.regularizer).error_bound(gain)


class SmoothBoostClassifier(AscentClassifier):
    """Smooth boosting: no row ever weighs more than `smoothness` times its share, so no outlier can dominate.

    The training error is at most 1 / smoothness, or what the bound of MABoost says if that is larger (Theorem 3).

    Parameters
    ----------
    smoothness : float >= 1, default 10
        The most that a row may weigh, in multiples of its share of the sample weight.
    regularizer : {"entropic", "euclidean"} or Regularizer, default "entropic"
    learner, max_iter, training, warm_start, max_bins, calibrate, n_jobs, verbose
        As in `MABoostClassifier`, like the fitted attributes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import SmoothBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> secondary = np.arange(len(y)) % 3 == 0
    >>> model = SmoothBoostClassifier(smoothness=5, max_iter=50).fit(X, y, secondary=secondary)
    >>> sorted(model.bounds_)
    ['all', 'primary', 'secondary']
    """

    def __init__(
        self,
        smoothness=10.0,
        *,
        regularizer="entropic",
        learner=None,
        max_iter=300,
        training=None,
        warm_start=False,
        max_bins=255,
        calibrate=True,
        n_jobs=None,
        verbose=0,
    ):
        self.smoothness = smoothness
        self.regularizer = regularizer
        self.learner = learner
        self.max_iter = max_iter
        self.training = training
        self.warm_start = warm_start
        self.max_bins = max_bins
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None, *, secondary=None, eval_set=None):
        """Fit to classes of any label type; `secondary` is a mask of rows that are trusted less: only they are limited.

        Then the errors of the primary rows are bounded as without limits, and those of the secondary rows by
        1 / smoothness of their own weight, or the bound.
        """
        return self._ascend(X, y, sample_weight, {"secondary": secondary}, eval_set)

    def _asked(self) -> Asked:
        return Asked(self.smoothness)

    def _booster(self) -> Booster:
        return MirrorAscent(self.regularizer, "lazy")  # Theorem 3 holds for both updates, and this one is cheaper

    def _error_bound(self, gain: float) -> float:
        return regularizer_of(self.regularizer).error_bound(gain)


class SparseBoostClassifier(AscentClassifier):
    """SparseBoost: Euclidean steps that clip row weights at zero, and an l1 term.

    The paper's l1 term `alpha` is meant to make the row weights sparser. With the projection to the simplex it makes
    them denser, because the projection hands what was clipped and what the term has taken to every row alike: the
    default is 0. Without the projection the term does its work, and the bound weakens as the weights shrink. The exact
    projection of `MABoostClassifier(regularizer="euclidean")` has many zeros and the full bound. `history_["nonzero"]`
    shows the share of rows with weight.

    Parameters
    ----------
    alpha : float in [0, 1), default 0
        The l1 term as a share of the edge; the bound is 1 / (1 + (1 - alpha) * sum of edge^2) with the projection.
    project : bool, default True
        Project to the simplex, as in the paper.
    learner, max_iter, training, warm_start, max_bins, calibrate, n_jobs, verbose
        As in `MABoostClassifier`, like the fitted attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import SparseBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SparseBoostClassifier(0.2, project=False, max_iter=50).fit(X, y)
    >>> bool(model.history_["nonzero"].min() < 0.5)
    True
    """

    def __init__(
        self,
        alpha=0.0,
        *,
        project=True,
        learner=None,
        max_iter=300,
        training=None,
        warm_start=False,
        max_bins=255,
        calibrate=True,
        n_jobs=None,
        verbose=0,
    ):
        self.alpha = alpha
        self.project = project
        self.learner = learner
        self.max_iter = max_iter
        self.training = training
        self.warm_start = warm_start
        self.max_bins = max_bins
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None, *, eval_set=None):
        """Fit to classes of any label type; NaN is a missing value; weight k is k copies of the row."""
        return self._ascend(X, y, sample_weight, eval_set=eval_set)

    def _asked(self) -> Asked:
        return Asked()

    def _booster(self) -> Booster:
        return SparseBoost(self.alpha, self.project)

    def _error_bound(self, gain: float) -> float:
        return Euclidean().error_bound(gain)


class MadaBoostClassifier(AscentClassifier):
    """MadaBoost: AdaBoost whose row weights stop growing at the prior, which keeps it calm where labels are wrong.

    Parameters
    ----------
    step : {"weight", "error"}, default "weight"
        The edge times the weight that is left, or times the training error so far (the paper's, never longer).
    learner, max_iter, training, warm_start, max_bins, calibrate, n_jobs, verbose
        As in `MABoostClassifier`, like the fitted attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import MadaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MadaBoostClassifier(max_iter=50).fit(X, y)
    >>> list(model.bounds_)
    ['all']
    """

    def __init__(
        self,
        step="weight",
        *,
        learner=None,
        max_iter=300,
        training=None,
        warm_start=False,
        max_bins=255,
        calibrate=True,
        n_jobs=None,
        verbose=0,
    ):
        self.step = step
        self.learner = learner
        self.max_iter = max_iter
        self.training = training
        self.warm_start = warm_start
        self.max_bins = max_bins
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None, *, eval_set=None):
        """Fit to classes of any label type; NaN is a missing value; weight k is k copies of the row."""
        return self._ascend(X, y, sample_weight, eval_set=eval_set)

    def _asked(self) -> Asked:
        return Asked()

    def _booster(self) -> Booster:
        return MadaBoost(self.step)

    def _error_bound(self, gain: float) -> float:
        return 1.0 - gain
