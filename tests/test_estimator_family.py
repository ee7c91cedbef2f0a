"""The classifiers that differ only in how the margin game is played."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from dualboost import (
    ERLPBoostClassifier,
    LPBoostClassifier,
    MarginBoostClassifier,
    MLPBoostClassifier,
    SoftBoostClassifier,
    TotalBoostClassifier,
)

SOFT = [LPBoostClassifier, ERLPBoostClassifier, SoftBoostClassifier, MLPBoostClassifier]


@parametrize_with_checks([make(nu=0.4, tol=0.05) for make in SOFT] + [TotalBoostClassifier()])
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.fixture(scope="module")
def data():
    return make_classification(200, 6, n_informative=4, flip_y=0.1, random_state=3)


@pytest.mark.parametrize("make", SOFT)
def test_all_reach_the_same_soft_margin(data, make):
    X, y = data
    best = MarginBoostClassifier(nu=0.4, tol=1e-4).fit(X, y).certificate_
    model = make(nu=0.4, tol=0.02).fit(X, y)
    assert best.objective - 0.02 <= model.certificate_.objective <= best.bound
    assert model.certificate_.bound >= best.objective
    assert model.status_.startswith(("certified", "optimal"))
    assert model.n_iter_ >= 2


def test_total_boost_finds_the_hard_margin():
    X, y = make_classification(80, 10, n_informative=5, n_redundant=0, class_sep=2.0, flip_y=0, random_state=1)
    hard = MarginBoostClassifier(nu=1 / len(y), tol=1e-3).fit(X, y).certificate_
    model = TotalBoostClassifier(tol=0.01).fit(X, y)
    assert hard.objective > 0.02
    assert model.certificate_.objective == pytest.approx(hard.objective, abs=0.011)
    assert np.min(model.margins_) == pytest.approx(model.certificate_.objective, abs=1e-12)


def test_total_boost_says_what_to_do_without_a_margin():
    X, y = np.zeros((4, 1)), np.array([0, 1, 0, 1])
    with pytest.warns(ConvergenceWarning, match="SoftBoostClassifier"):
        TotalBoostClassifier().fit(X, y)
