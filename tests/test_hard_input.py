"""Input that other libraries get wrong in silence: odd arrays, near values, extreme weights, hardly any rows."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from dualboost import (
    AdaBoostClassifier,
    LogisticBoostClassifier,
    LogisticMixtureClassifier,
    LPBoostClassifier,
    MABoostClassifier,
    MarginBoostClassifier,
)
from dualboost.learners import Stumps, Subsets, Trees

CLASSIFIERS = {
    "margin": MarginBoostClassifier(nu=0.4, calibrate=False),
    "LP": LPBoostClassifier(nu=0.4, calibrate=False),
    "AdaBoost": AdaBoostClassifier(n_estimators=10),
    "logistic": LogisticBoostClassifier(n_estimators=10),
    "mirror": MABoostClassifier(max_iter=20, calibrate=False),
    "noise": LogisticMixtureClassifier(max_iter=10, bags=0, random_state=0),
    "trees": MarginBoostClassifier(nu=0.4, learner=Trees(2), max_iter=20, calibrate=False),
    "categories": MarginBoostClassifier(nu=0.4, learner=Stumps(categorical=(1,)), calibrate=False),
}
every_classifier = pytest.mark.parametrize("classifier", CLASSIFIERS.values(), ids=CLASSIFIERS)


def fitted(classifier, X, y, sample_weight=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # ten rounds are not meant to converge
        return clone(classifier).fit(X, y, sample_weight=sample_weight)


def data():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(-8, 8, 60) / 4, rng.integers(0, 5, 60), rng.integers(0, 3, 60)]).astype(float)
    return X, (X[:, 0] + (X[:, 1] == 2) > 0).astype(int)


@every_classifier
def test_arrays_of_every_kind(classifier):
    X, y = data()
    expected = fitted(classifier, X, y).decision_function(X)
    read_only = X.copy()
    read_only.flags.writeable = False
    wide = np.zeros((120, 9))
    wide[::2, ::3] = X
    forms = {
        "objects": X.astype(object),
        "float16": X.astype(np.float16),
        "float32": X.astype(np.float32),
        "big endian": X.astype(">f8"),
        "read-only": read_only,
        "columns first": np.asfortranarray(X),
        "strided": wide[::2, ::3],
        "reversed": X[::-1][::-1],
        "lists": X.tolist(),
    }
    for name, form in forms.items():
        np.testing.assert_array_equal(fitted(classifier, form, y).decision_function(form), expected, err_msg=name)


@every_classifier
@pytest.mark.parametrize("values", [(1e-310, 3e-310), (1.0, 1.0 + 1e-9), (2.0**53, 2.0**53 + 2)], ids=str)
def test_near_values_stay_separable(classifier, values):
    X = np.column_stack([np.tile(values, 10), np.zeros(20)])
    y = np.tile([0, 1], 10)
    assert fitted(classifier, X, y).score(X, y) == 1.0


@every_classifier
@pytest.mark.parametrize("scale", [1e-300, 1e307])
def test_extreme_weights_are_only_a_scale(classifier, scale):
    X, y = data()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 60)
    expected = fitted(classifier, X, y, weights).decision_function(X)
    scores = fitted(classifier, X, y, weights * scale).decision_function(X)
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(scores, expected, atol=1e-9)


@every_classifier
@pytest.mark.parametrize("weight", [1e18, 1e300])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_one_row_with_nearly_all_the_weight(classifier, weight):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    X[:, 1] = rng.integers(0, 4, 40)
    y = X[:, 0] > 0
    weights = np.ones(40)
    weights[0] = weight
    model = fitted(classifier, X, y, weights)
    assert np.isfinite(model.decision_function(X)).all() and np.isfinite(model.margins_).all()


@every_classifier
def test_one_row_of_each_class(classifier):
    X = np.array([[0.0, 1.0], [1.0, 3.0]])
    assert fitted(classifier, X, ["a", "b"]).predict(X).tolist() == ["a", "b"]


@every_classifier
def test_constant_columns_change_nothing(classifier):
    X, y = data()
    padded = np.column_stack([X, np.full(60, 7.0), np.full(60, np.nan), np.zeros(60)])
    expected = fitted(classifier, X, y).decision_function(X)
    if isinstance(classifier, LogisticMixtureClassifier):
        return  # it draws its features at random
    np.testing.assert_allclose(fitted(classifier, padded, y).decision_function(padded), expected, atol=1e-12)


@every_classifier
def test_nothing_but_constants(classifier):
    X, y = np.full((10, 2), 3.0), np.array([0] * 3 + [1] * 7)
    if "nu" in classifier.get_params():
        classifier = clone(classifier).set_params(nu=0.8)  # forgives the three rows that nothing can tell apart
    assert set(fitted(classifier, X, y).predict(X)) == {1}, "the larger class"


def test_a_wide_table_of_categories():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 3, (60, 3_000)).astype(float)
    y = np.isin(X[:, 1234], [0, 2]).astype(int)
    model = fitted(MarginBoostClassifier(nu=0.2, learner=Subsets(), calibrate=False), X, y)
    assert model.score(X, y) == 1.0
