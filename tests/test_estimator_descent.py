"""AdaBoostClassifier and LogisticBoostClassifier as a scikit-learn user meets them."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.ensemble import AdaBoostClassifier as ScikitAdaBoost
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from dualboost import AdaBoostClassifier, LogisticBoostClassifier, load_model, save_model
from dualboost.learners import Stumps, Trees

MODELS = (AdaBoostClassifier, LogisticBoostClassifier)
every_model = pytest.mark.parametrize("make", MODELS)


@parametrize_with_checks([*(make() for make in MODELS), LogisticBoostClassifier(line_search="wolfe")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    return make_classification(400, 8, n_informative=4, flip_y=0.1, random_state=3)


class LargestEdge(ClassifierMixin, BaseEstimator):
    """The stump of the smallest weighted error, by trying all; scikit-learn's trees go by impurity."""

    def fit(self, X, y, sample_weight):
        self.classes_ = np.unique(y)
        signs, stumps = np.where(y == self.classes_[1], 1, -1), [(0, -np.inf)]
        stumps += [(f, t) for f in range(X.shape[1]) for t in np.unique(X[:, f])[:-1]]
        edges = [sample_weight @ (signs * np.where(X[:, f] > t, 1, -1)) for f, t in stumps]
        best = int(np.argmax(np.abs(edges) >= np.max(np.abs(edges)) - 1e-12))
        self.stump_, self.right_ = stumps[best], int(edges[best] > 0)
        return self

    def predict(self, X):
        f, t = self.stump_
        return self.classes_[np.where(X[:, f] > t, self.right_, 1 - self.right_)]


def test_the_same_rounds_as_scikit_learn():
    X, y = make_classification(120, 4, n_informative=3, n_redundant=0, flip_y=0.1, random_state=1)
    theirs = ScikitAdaBoost(LargestEdge(), n_estimators=12, random_state=0).fit(X, y)
    ours = AdaBoostClassifier(n_estimators=12).fit(X, y)
    np.testing.assert_allclose(2 * np.abs(ours.steps_), theirs.estimator_weights_, rtol=1e-6)
    np.testing.assert_allclose(list(ours.staged_predict(X)), list(theirs.staged_predict(X)))
    votes = sum(w * (2 * e.predict(X) - 1) for w, e in zip(theirs.estimator_weights_, theirs.estimators_, strict=True))
    np.testing.assert_allclose(2 * ours.decision_function(X), votes, atol=1e-5)


@every_model
def test_stages_lead_to_the_model(make, data):
    X, y = data
    model = make(n_estimators=25).fit(X[:300], y[:300])
    stages = list(model.staged_decision_function(X))
    assert len(stages) == model.n_iter_ == 25 == len(model.history_["edge"]) - 1
    np.testing.assert_allclose(stages[-1], model.decision_function(X), atol=1e-12)
    for t in (1, 7):
        short = make(n_estimators=t).fit(X[:300], y[:300])
        np.testing.assert_allclose(stages[t - 1], short.decision_function(X), atol=1e-12)
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    np.testing.assert_allclose(list(model.staged_predict_proba(X))[-1], model.predict_proba(X), atol=1e-12)
    scores = list(model.staged_score(X[300:], y[300:]))
    assert scores[-1] == model.score(X[300:], y[300:]) > 0.7 and len(set(scores)) > 1


@every_model
def test_probabilities_agree_with_predict(make, data):
    X, y = data
    model = make(n_estimators=60).fit(X, y)
    chances = model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-15)
    np.testing.assert_array_equal(chances.argmax(axis=1), model.predict(X))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), chances, rtol=1e-12)
    assert chances.min() < 0.1 and chances.max() > 0.9, "not squeezed towards 1/2"


def test_logistic_probabilities_are_calibrated_on_the_training_rows(data):
    X, y = data
    chances = LogisticBoostClassifier(n_estimators=200).fit(X, y).predict_proba(X)[:, 1]
    assert abs(chances.mean() - y.mean()) < 0.01


@every_model
def test_the_loss_falls_and_the_margins_are_those_of_the_model(make, data):
    X, y = data
    model = make(n_estimators=40).fit(X, y)
    signs = np.where(y == 1, 1, -1)
    np.testing.assert_allclose(model.margins_, signs * model.decision_function(X), atol=1e-11)
    losses = {AdaBoostClassifier: np.exp(-model.margins_), LogisticBoostClassifier: np.logaddexp(0, -model.margins_)}
    assert -model.certificate_.objective == pytest.approx(losses[make].mean(), rel=1e-12)
    assert np.all(np.diff(model.history_["objective"]) > 0) and model.certificate_.bound == np.inf
    assert model.status_ == "stopped after max_rounds = 40"


@every_model
def test_kinds_of_input(make, data):
    X, y = data
    X = np.where(np.abs(X) < 0.4, 0.0, X)
    model = make(n_estimators=15).fit(X, y)
    names = [f"x{j}" for j in range(X.shape[1])]
    for other in (sp.csr_array(X), sp.csc_matrix(X)):
        np.testing.assert_allclose(make(n_estimators=15).fit(other, y).decision_function(other),
                                   model.decision_function(X), atol=1e-10)  # fmt: skip
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        named = make(n_estimators=15).fit(frame, np.array(["no", "yes"])[y])
        assert list(named.classes_) == ["no", "yes"] and list(named.feature_names_in_) == names
        np.testing.assert_array_equal(named.predict(frame) == "yes", model.predict(X) == 1)
    X = X.copy()
    X[::3, 0] = np.nan
    assert make(n_estimators=15).fit(X, y).score(X, y) > 0.8


@every_model
def test_weights_are_copies_and_threads_do_not_matter(make, data):
    X, y = data
    k = np.random.default_rng(0).integers(0, 4, len(y))
    one = make(n_estimators=20).fit(X, y, sample_weight=k)
    two = make(n_estimators=20).fit(np.repeat(X, k, axis=0), np.repeat(y, k))
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-6)
    assert np.isnan(one.margins_[k == 0]).all() and not one.sample_distribution_[k == 0].any()
    again = make(n_estimators=20, n_jobs=2).fit(X, y, sample_weight=k)
    np.testing.assert_array_equal(one.decision_function(X), again.decision_function(X))


@every_model
def test_saved_and_pickled(make, data, tmp_path):
    X, y = data
    model = make(n_estimators=10).fit(X, y)
    save_model(model, tmp_path / "m.dualboost")
    for again in (load_model(tmp_path / "m.dualboost"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(list(again.staged_predict(X)), list(model.staged_predict(X)))


@every_model
def test_more_classes_are_each_against_the_rest(make):
    X, y = load_iris(return_X_y=True)
    model = make(n_estimators=30).fit(X, y)
    stages = list(model.staged_predict_proba(X))
    assert len(stages) == model.n_iter_ and stages[0].shape == (150, 3)
    np.testing.assert_allclose(stages[-1], model.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))
    assert model.score(X, y) > 0.95 and list(model.staged_score(X, y))[-1] == model.score(X, y)


@every_model
def test_any_estimator(make, data):
    X, y = data
    tree = DecisionTreeClassifier(max_depth=2, splitter="random")
    model, again, other = (make(tree, n_estimators=15, random_state=seed).fit(X, y) for seed in (0, 0, 1))
    assert model.score(X, y) > 0.75 and tree.random_state is None, "random splits"
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))
    assert not np.array_equal(model.decision_function(X), other.decision_function(X))
    np.testing.assert_allclose(list(model.staged_decision_function(X))[-1], model.decision_function(X), atol=1e-10)
    trees = make(learner=Trees(max_leaves=4), n_estimators=15).fit(X, y)
    assert trees.score(X, y) > 0.85 and trees.n_iter_ == 15
    with pytest.raises(ValueError, match="either estimator or learner"):
        make(tree, learner=Stumps()).fit(X, y)


def test_separable_data_and_data_without_signal():
    X, y = load_breast_cancer(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=2000).fit(X, y)
    assert (
        model.score(X, y) == 1.0
        and model.status_.startswith("the loss")
        and np.all(np.isfinite(model.predict_proba(X)))
    )
    perfect = AdaBoostClassifier().fit(y[:, None].astype(float), y)
    assert perfect.n_iter_ == 1 and perfect.predict_proba([[0.0], [1.0]])[0, 0] > 1 - 1e-12
    empty = LogisticBoostClassifier().fit(np.zeros((4, 1)), [0, 1, 0, 1])
    assert empty.n_iter_ == 0 and "no hypothesis" in empty.status_
    assert list(empty.predict_proba(np.zeros((1, 1)))[0]) == [0.5, 0.5]
    lopsided = AdaBoostClassifier().fit(np.zeros((4, 1)), [0, 1, 1, 1])
    assert lopsided.predict_proba(np.zeros((1, 1)))[0, 1] == pytest.approx(0.75), "the prior, by a constant"


@pytest.mark.parametrize(
    "options, words",
    [
        ({"n_estimators": 0}, "n_estimators"),
        ({"n_estimators": 2.5}, "n_estimators"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"learning_rate": "fast"}, "learning_rate"),
        ({"tol": 0}, "tol"),
        ({"max_bins": 1}, "max_bins"),
        ({"learner": "stumps"}, "learner"),
    ],
)
def test_bad_parameters_are_refused(options, words, data):
    for make in MODELS:
        with pytest.raises(ValueError, match=words):
            make(**options).fit(*data)
    with pytest.raises(ValueError, match="exponential loss"):
        LogisticBoostClassifier(line_search="adaboost").fit(*data)
