"""A fitted forest or booster made smaller: the sparse soft-margin weighting of its trees, with a certificate."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dualboost.estimators.family import LPBoostClassifier
from dualboost.estimators.foreign_trees import check_single_vote
from dualboost.estimators.margin import MarginBoostClassifier, SoftMarginClassifier
from dualboost.estimators.members import FittedMembers, booster_of, members_of
from dualboost.frames import Frame, as_frame
from dualboost.frames.tables import Kind
from dualboost.labels import as_labels

__all__ = ["reweight"]

_ROWS_FOR_A_PROGRAM = 20_000


def reweight(ensemble, X, y, nu="auto", *, sample_weight=None, tol=0.01, verbose=0) -> SoftMarginClassifier:
    """Give the trees of a fitted ensemble new weights that maximise the soft margin; most get none and are dropped.

    Parameters
    ----------
    ensemble : fitted classifier
        A forest, bagging, AdaBoost or gradient boosting of scikit-learn, LightGBM or XGBoost, for two classes.
    X, y : the rows to weight the trees on
        Best rows that the ensemble has not seen, several times as many as it has trees: trees grown to purity agree on
        the rows they were grown on, and on few rows the weighting fits their noise.
    nu : float in (0, 1] or "auto", default "auto"
        The fraction of the rows that may fall inside the margin.
    sample_weight : array, optional
    tol : float, default 0.01
        The certified gap to reach, relative to the soft margin.
    verbose : int, default 0

    Returns
    -------
    LPBoostClassifier, fitted (MarginBoostClassifier above 20,000 rows)
        Its `predictor_` holds only the trees with a weight; `len(model.predictor_)` says how many.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from dualboost import reweight
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(100, random_state=0).fit(X[:300], y[:300])
    >>> small = reweight(forest, X[300:], y[300:], nu=0.3)
    >>> len(small.predictor_) < 50, small.certificate_.gap < 0.02
    (True, True)
    """
    _check_classes(ensemble, y)
    frame = as_frame(X)
    learner = FittedMembers(members_of(ensemble, sp.issparse(X)))
    _check_columns(ensemble, X, frame)
    if frame is not None and Kind.CATEGORY in frame.kinds:
        raise ValueError(
            "reweight asks single trees, which read numbers: fit the ensemble to numbers instead of categories, for "
            "example with OrdinalEncoder or OneHotEncoder, and give reweight the same table."
        )
    many = np.shape(X)[0] > _ROWS_FOR_A_PROGRAM
    make = MarginBoostClassifier if many else LPBoostClassifier
    # The same folds each time: nobody could give a seed, and what comes of it should not change by itself.
    return make(nu, learner=learner, tol=tol, verbose=verbose, random_state=0).fit(X, y, sample_weight)


def _check_columns(ensemble, X, frame: Frame | None) -> None:
    """The columns that the ensemble was fitted to, in their order; and nothing else that stands for missing values."""
    missing = getattr(ensemble, "missing", np.nan)  # of XGBoost
    if missing is not None and not np.isnan(missing):
        raise ValueError(f"The ensemble takes {missing!r} for missing: fit it, and give reweight X, with NaN instead.")
    count, width = _width(ensemble), np.shape(X)[1:]
    if width and count is not None and width[0] != count:
        raise ValueError(f"X has {width[0]} columns, but the ensemble was fitted to {count}: give it the same.")
    known, given = _names(ensemble), [] if frame is None else frame.names
    if given and known and list(map(_spaceless, given)) != list(map(_spaceless, known)):
        raise ValueError(f"X has the columns {given}, but the ensemble was fitted to {known}: give it the same.")


def _width(ensemble) -> int | None:
    """How many columns the ensemble was fitted to, if it says so."""
    booster = booster_of(ensemble)
    for name in ("num_features", "num_feature"):  # of XGBoost and of LightGBM
        if hasattr(booster, name):
            return int(getattr(booster, name)())
    return getattr(ensemble, "n_features_in_", None)


def _names(ensemble) -> list[str]:
    """What the columns were called that the ensemble was fitted to, if they had names."""
    booster = booster_of(ensemble)
    listed = booster.feature_name() if hasattr(booster, "feature_name") else getattr(booster, "feature_names", None)
    known = [str(name) for name in getattr(ensemble, "feature_names_in_", listed or ())]
    return [] if known[:1] == ["Column_0"] else known  # LightGBM's name for none


def _spaceless(name: str) -> str:
    return name.replace(" ", "_")  # as LightGBM keeps it


def _check_classes(ensemble, y) -> None:
    check_single_vote(getattr(ensemble, "n_outputs_", 1))
    known, given = getattr(ensemble, "classes_", None), np.unique(as_labels(y))
    if known is not None and len(known) != 2:
        raise ValueError(f"reweight is for two classes; the ensemble was fitted to {len(known)}.")
    if known is not None and not np.isin(given, known).all():
        raise ValueError(f"The ensemble was fitted to the classes {_named(known)}, but y has {_named(given)}.")
    if len(given) > 2:
        raise ValueError(f"reweight is for two classes; y has {_named(given)}.")


def _named(classes) -> list:
    return np.asarray(classes).tolist()
