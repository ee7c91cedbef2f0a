"""FrankWolfeBoostClassifier: scikit-learn's rules, the same margin as the others, classes that are not listed."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from dualboost import FrankWolfeBoostClassifier, LPBoostClassifier, load_model, save_model
from dualboost.learners import NZDD
from dualboost.learners.nzdd import Conjunctions, Intervals, Paths


# With its defaults in test_estimator_defaults.py: choosing nu takes most of the time.
@parametrize_with_checks([FrankWolfeBoostClassifier(nu=0.5), FrankWolfeBoostClassifier(nu=0.5, polish=0, max_iter=40)])
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.fixture(scope="module")
def data():
    return make_classification(200, 6, n_informative=4, flip_y=0.1, random_state=3)


@pytest.mark.parametrize("step", ["pairwise", "classic", "line search"])
@pytest.mark.parametrize("polish", [0, 20])
def test_the_same_soft_margin_as_linear_programming(data, step, polish):
    X, y = data
    best = LPBoostClassifier(nu=0.4, tol=1e-4).fit(X, y).certificate_
    model = FrankWolfeBoostClassifier(nu=0.4, tol=0.03, step=step, polish=polish).fit(X, y)
    assert best.objective - 0.03 <= model.certificate_.objective <= best.bound
    assert model.certificate_.bound >= best.objective and model.certificate_.gap <= 0.03
    assert model.status_.startswith("certified") and model.n_iter_ >= 2
    np.testing.assert_allclose(model.decision_function(X) * np.where(y == 1, 1, -1), model.margins_, atol=1e-12)


def xor(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """No vote of single bits tells these classes apart; pairs of literals do."""
    rng = np.random.default_rng(seed)
    X = (rng.random((300, 6)) < 0.5).astype(float)
    return X, np.where(X[:, 1] == X[:, 4], "same", "other")


def test_conjunctions_learn_what_stumps_cannot(tmp_path):
    X, y = xor(0)
    fresh, truth = xor(1)
    model = FrankWolfeBoostClassifier(nu=0.2, tol=0.05, learner=NZDD(Conjunctions(2))).fit(X, y)
    assert model.score(fresh, truth) == 1.0
    with pytest.warns(ConvergenceWarning, match="raise nu"):
        assert FrankWolfeBoostClassifier(nu=0.8, tol=0.05).fit(X, y).score(fresh, truth) < 0.7
    assert set(np.argsort(model.feature_importances_)[-2:]) == {1, 4}
    save_model(model, tmp_path / "model.dualboost")
    for again in (load_model(tmp_path / "model.dualboost"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(again.decision_function(fresh), model.decision_function(fresh))


def test_intervals_learn_a_band():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3))
    y = np.abs(X[:, 1]) < 0.7
    model = FrankWolfeBoostClassifier(nu=0.1, tol=0.05, learner=NZDD(Intervals())).fit(X, y)
    assert model.score(X, y) == 1.0 and np.argmax(model.feature_importances_) == 1


def test_a_drawn_graph():
    X, y = xor(3)
    bit, no = (lambda f: (f, 0.5, np.inf)), (lambda f: (f, -np.inf, 0.5))
    both, neither = [bit(1), bit(4)], [no(1), no(4)]
    rules = Paths([("a", "b", both), ("a", "b", None), ("b", "c", neither), ("b", "c", None)])
    assert FrankWolfeBoostClassifier(nu=0.2, tol=0.05, learner=NZDD(rules)).fit(X, y).score(X, y) == 1.0


@pytest.mark.parametrize(
    "parameters, words", [({"step": "other"}, "step"), ({"polish": -1}, "polish"), ({"nu": 2}, "nu")]
)
def test_bad_parameters_are_refused(data, parameters, words):
    with pytest.raises(ValueError, match=words):
        FrankWolfeBoostClassifier(**parameters).fit(*data)
