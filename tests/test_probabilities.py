"""Several classes and probabilities, which every classifier gets from the same base."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics import brier_score_loss, log_loss

import dualboost
from dualboost import LPBoostClassifier, MarginBoostClassifier
from dualboost.estimators.calibration import Sigmoid, Steps, learned


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_several_classes(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = MarginBoostClassifier(nu=0.2).fit(X, names)
    assert model.score(X, names) > 0.95
    assert model.decision_function(X).shape == (150, 3) and len(model.estimators_) == 3
    assert model.margins_.shape == model.sample_distribution_.shape == (150, 3)
    assert model.feature_importances_.sum() == pytest.approx(1)
    for k, part in enumerate(model.estimators_):
        alone = MarginBoostClassifier(nu=0.2).fit(X, names == model.classes_[k])
        np.testing.assert_array_equal(part.margins_, alone.margins_)
        assert part.certificate_ == alone.certificate_
    least = min(model.estimators_, key=lambda part: part.certificate_.objective).certificate_
    assert model.certificate_.objective == least.objective <= model.certificate_.bound


def test_a_fit_to_two_classes_forgets_the_third(iris):
    X, y = iris
    model = LPBoostClassifier(nu=0.2, calibrate=False).fit(X, y)
    model.fit(X, y == 1)
    assert model.decision_function(X).shape == (150,) and list(model.classes_) == [False, True]


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_the_likeliest_class_is_the_predicted_one(classes):
    X, y = make_classification(300, 6, n_informative=5, n_redundant=0, n_classes=classes, random_state=0)
    model = MarginBoostClassifier(nu=0.5, max_iter=40).fit(X, y)
    chances = model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X))
    assert chances.min() > 0


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["AdaBoostClassifier", "LogisticBoostClassifier"])
def test_probabilities_of_many_rounds_arelearned_out_of_fold(kind, classes):
    """The odds that the loss trusts are too certain by then; either way they agree with the vote."""
    X, y = make_classification(900, 10, n_informative=6, n_classes=classes, flip_y=0.2, random_state=1)
    models = [getattr(dualboost, kind)(n_estimators=400, calibrate=k).fit(X[:500], y[:500]) for k in (False, True)]
    trusted, learned = (log_loss(y[500:], model.predict_proba(X[500:])) for model in models)
    assert learned < trusted - 0.02
    for model in models:
        chances = model.predict_proba(X)
        np.testing.assert_array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X))
        *_, last = model.staged_predict_proba(X)
        np.testing.assert_allclose(last, chances, rtol=0, atol=1e-9)


ROUNDING = np.array([5.6e-17, -5.6e-17, 0.0, 5e-324, -5e-324, 1e-300])
ALMOST_EQUAL = np.array([[0.3, np.nextafter(0.3, 1), -1], [0.0, 5e-324, 5e-324], [27.0, -1, 27.5], [0.1, 0.1, 0.1]])


@pytest.mark.parametrize("name", [name for name in dualboost.__all__ if name.endswith("Classifier")])
@pytest.mark.parametrize("votes", [ROUNDING, ALMOST_EQUAL], ids=["two classes", "three classes"])
@pytest.mark.filterwarnings("ignore")
def test_votes_that_cancel_but_for_rounding_are_told_alike(name, votes, monkeypatch, iris):
    """Or `predict` names one class and the larger probability is that of another."""
    X, y = iris[0][::3], iris[1][::3]
    model = getattr(dualboost, name)()
    quick = {"max_iter": 3, "bags": 2, "random_state": 0}
    model.set_params(**{key: value for key, value in quick.items() if key in model.get_params()})
    model.fit(X, y if votes.ndim == 2 else y == 1)
    monkeypatch.setattr(model, "decision_function", lambda X: votes)
    chances = model.predict_proba(X)
    np.testing.assert_array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-15)


def test_without_calibration_there_are_no_probabilities(iris):
    X, y = iris
    for labels in (y, y == 0):
        model = MarginBoostClassifier(nu=0.2, calibrate=False).fit(X, labels)
        assert not hasattr(model, "predict_proba")
        assert model.score(X, labels) > 0.9


@pytest.mark.parametrize("rows", [400, 8000])
def test_probabilities_are_calibrated_on_unseen_rows(rows):
    X, y = make_classification(2 * rows, 6, n_informative=4, flip_y=0.2, random_state=1)
    model = MarginBoostClassifier(nu=0.5).fit(X[:rows], y[:rows])
    assert isinstance(model.link_, Steps if rows > 2000 else Sigmoid)
    chances = model.predict_proba(X[rows:])[:, 1]
    hopeful = np.clip((1 + model.decision_function(X[rows:])) / 2, 1e-6, 1 - 1e-6)  # the vote taken for a probability
    assert brier_score_loss(y[rows:], chances) < brier_score_loss(y[rows:], hopeful) - 0.005
    assert log_loss(y[rows:], chances) < log_loss(y[rows:], hopeful)
    for low in np.arange(0.0, 1.0, 0.2):
        inside = (chances >= low) & (chances < low + 0.2)
        if inside.sum() > 100:
            error = abs(np.mean(y[rows:][inside]) - chances[inside].mean())
            assert error < 3 * 0.5 / np.sqrt(inside.sum()) + 0.06


def test_weights_are_copies_for_probabilities_too():
    X, y = make_classification(120, 4, n_informative=3, n_redundant=0, flip_y=0.1, random_state=0)
    counts = np.random.RandomState(0).randint(0, 4, 120)
    weighted = MarginBoostClassifier(nu=0.5).fit(X, y, counts)
    copied = MarginBoostClassifier(nu=0.5).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("rows", [50, 5000])
def test_a_link_rises_and_is_one_half_at_zero_only(rows):
    rng = np.random.default_rng(0)
    scores = np.round(rng.normal(size=rows), 2)
    wins = rng.random(rows) < 1 / (1 + np.exp(-3 * scores + 1))  # a bias that the link may not follow
    link = learned(scores, wins, np.full(rows, 1 / rows), rows)
    grid = np.linspace(-3, 3, 2001)
    chances = link.of(grid)
    assert np.all(np.diff(chances) >= 0) and chances[0] > 0 and chances[-1] < 1
    assert np.all(chances[grid > 0] > 0.5) and np.all(chances[grid < 0] < 0.5)


def test_all_right_and_all_wrong_rows_are_not_certain():
    for wins in (np.array([True, False]), np.array([False, True])):
        link = learned(np.array([0.5, -0.5]), wins, np.full(2, 0.5), 2)
        assert 0.5 <= link.of(np.array([0.5]))[0] < 0.99
