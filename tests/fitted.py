"""Small fitted models of every kind, for the tests of what can be done with a finished model."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeClassifier

import dualboost
from dualboost.files.model import MODELS
from dualboost.learners import NZDD, LeafTrees, Matrix, SklearnLearner, Stumps, Trees, Union, Words
from dualboost.learners.nzdd import Conjunctions, Intervals

X, Y = make_classification(120, 5, n_informative=3, n_redundant=0, random_state=0)
X[::9, 1] = np.nan
WHOLE = np.nan_to_num(X)
THREE = np.array(["a", "b", "c"])[(Y + (X[:, 0] > 0.5)).astype(int)]
rng = np.random.default_rng(1)
NEW = np.concatenate([X, rng.normal(size=(60, 5)) * 3])
NEW[rng.random(NEW.shape) < 0.1] = np.nan
"""Rows seen and rows never seen, with missing values also where training had none."""

_QUICK = {"bags": 3, "max_iter": 30, "nu": 0.3, "tol": 0.1, "random_state": 0, "smoothness": 5.0, "alpha": 0.1}


def quick(kind: str, **others):
    """An estimator of this class with parameters that make it fast."""
    model = MODELS[kind]()
    known = model.get_params()
    return model.set_params(**{name: value for name, value in {**_QUICK, **others}.items() if name in known})


def margin(**others):
    return quick("MarginBoostClassifier", **others)


def noisy_categories(**others):
    return quick("LogisticMixtureClassifier", learner=LeafTrees(6, categorical=(0, 2)), **others)


_KINDS: dict[str, Callable] = {
    **{kind: lambda kind=kind: quick(kind).fit(X, Y) for kind in MODELS},
    "three classes": lambda: margin().fit(X, THREE),
    "three classes, noisy": lambda: quick("LogisticMixtureClassifier").fit(X, THREE),
    "three classes, votes": lambda: margin(calibrate=False).fit(X, THREE),
    "votes": lambda: margin(calibrate=False).fit(X, Y),
    "trees of one level": lambda: margin(learner=Trees(1)).fit(X, Y),
    "trees of two levels": lambda: margin(learner=Trees(2)).fit(X, Y),
    "trees of three levels": lambda: quick("AdaBoostClassifier", learner=Trees(3)).fit(X, Y),
    "trees, never missing": lambda: margin(learner=Trees(3)).fit(WHOLE, Y),
    "leaf trees": lambda: quick("LogisticMixtureClassifier", learner=LeafTrees(6)).fit(X, Y),
    "leaf stumps": lambda: quick("LogisticMixtureClassifier", learner=LeafTrees(2)).fit(X, Y),
    "bagged stumps": lambda: quick("LogisticMixtureClassifier", learner=Stumps()).fit(X, Y),
    "intervals": lambda: quick("FrankWolfeBoostClassifier", learner=NZDD(Intervals())).fit(X, Y),
    "boxes": lambda: quick("FrankWolfeBoostClassifier", nu=0.8, learner=NZDD(Conjunctions(2))).fit(bits(WHOLE), Y),
    "linear": lambda: margin(learner=Matrix()).fit(np.clip(WHOLE / 5, -1, 1), Y),
    "categories": lambda: margin(nu=0.5, learner=Stumps(categorical=(0, 2))).fit(coded(X), Y),
    "categories in trees": lambda: margin(nu=0.5, learner=Trees(2, categorical=(0, 1))).fit(coded(X), Y),
    "categories, never missing": lambda: margin(nu=0.5, learner=Trees(3, categorical=(0, 1))).fit(coded(WHOLE), Y),
    "categories, one or missing": lambda: margin(learner=Trees(2, categorical=(1,))).fit(
        one_or_missing(X), (X[:, 0] < 0) ^ (X[:, 2] < 0)
    ),
    "categories in leaf trees": lambda: noisy_categories(bags=0).fit(coded(X), Y),
    "categories in leaf trees, never missing": lambda: noisy_categories().fit(coded(WHOLE), Y),
    "words": lambda: margin(nu=0.8, learner=Words((0, 2))).fit(counts(WHOLE), Y),
    "union": lambda: margin(nu=0.5, learner=Union((Stumps(), Words()))).fit(counts(WHOLE), Y),
    "union of trees": lambda: margin(nu=0.5, learner=Union((Trees(2), Words()))).fit(counts(WHOLE), Y),
    "names": lambda: margin().fit(frame(X), Y),
    "scikit-learn's trees": lambda: quick(
        "AdaBoostClassifier", learner=SklearnLearner(DecisionTreeClassifier(max_depth=3, random_state=0))
    ).fit(X, Y),
    "a forest, reweighted": lambda: dualboost.reweight(
        RandomForestClassifier(20, max_depth=4, random_state=0).fit(X[::2], Y[::2]), X, Y, nu=0.3
    ),
}
KINDS = list(_KINDS)


def bits(X):
    """The signs of the values; a missing value stays one."""
    return np.where(np.isnan(X), np.nan, X > 0)


def coded(X):
    """Whole numbers from 0 on; a missing value stays one."""
    return np.floor(np.abs(X) * 3)


def one_or_missing(X):
    """A single category in the second column, or nothing."""
    one = X.copy()
    one[:, 1] = np.where(X[:, 0] < 0, np.nan, 0)
    return one


def counts(X):
    return np.maximum(np.floor(X * 2), 0)


def frame(X):
    import pandas as pd

    return pd.DataFrame(X, columns=["alpha", "beta", "gamma", "delta", "größe"])


@cache
def fitted(kind: str) -> dualboost.MarginBoostClassifier:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the runs are short
        return _KINDS[kind]()


def new_rows(kind: str):
    """Rows that the model can score."""
    if kind == "linear":
        return np.clip(np.nan_to_num(NEW) / 5, -1, 1)
    if kind.startswith("categories"):
        return coded(NEW)
    if kind in ("words", "union", "union of trees"):
        return counts(NEW)
    if kind == "boxes":
        return bits(NEW)
    return frame(NEW) if kind == "names" else NEW
