"""Fitted ensembles of several libraries, weighted anew."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from dualboost import LPBoostClassifier, reweight
from dualboost.estimators.members import members_of
from dualboost.master import linear
from reference import lp_largest_margin

DATA = Path(os.environ.get("DUALBOOST_DATA", Path(__file__).parents[2] / "shared" / "data"))
X, Y = make_classification(500, 8, n_informative=5, flip_y=0.05, random_state=0)
GROWN, KEPT = slice(0, 250), slice(250, None)
FORESTS = {
    "forest": RandomForestClassifier(40, random_state=0),
    "extra trees": ExtraTreesClassifier(40, random_state=0),
    "bagging": BaggingClassifier(n_estimators=20, max_features=0.5, random_state=0),
    "bagging without probabilities": BaggingClassifier(RidgeClassifier(), n_estimators=10, random_state=0),
    "AdaBoost": AdaBoostClassifier(n_estimators=20),
}
BOOSTERS = {
    "gradient boosting": GradientBoostingClassifier(n_estimators=20),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=20),
}


def raw_scores(model, X):
    return np.ravel(model.decision_function(X))


@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize("labels", [(0, 1), ("no", "yes")])
def test_classifiers_vote(name, labels):
    model = FORESTS[name].fit(X[GROWN], np.array(labels)[Y[GROWN]])
    votes = members_of(model).votes(X[KEPT])
    assert votes.shape == (len(model.estimators_), 250)
    assert np.abs(votes).max() <= 1
    if name in ("forest", "extra trees", "bagging"):
        np.testing.assert_allclose(votes.mean(axis=0), 2 * model.predict_proba(X[KEPT])[:, 1] - 1, atol=1e-12)
    else:
        second = np.array([member.classes_[1] for member in model.estimators_])
        named = [member.predict(X[KEPT]) == label for member, label in zip(model.estimators_, second, strict=True)]
        np.testing.assert_array_equal(votes > 0, named)


@pytest.mark.parametrize("name", BOOSTERS)
def test_trees_of_a_gradient_booster_add_up_to_its_score(name):
    model = BOOSTERS[name].fit(X[GROWN], Y[GROWN])
    votes = members_of(model).votes(X[KEPT])
    rate = getattr(model, "learning_rate", 1.0) if name == "gradient boosting" else 1.0
    rest = raw_scores(model, X[KEPT]) - rate * votes.sum(axis=0)
    assert np.ptp(rest) < 1e-9, "what is left is the base score"
    assert np.ptp(votes.sum(axis=0)) > 0.1


def test_trees_of_lightgbm_and_xgboost_add_up_to_their_scores():
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    light = lightgbm.LGBMClassifier(n_estimators=15, verbose=-1).fit(X[GROWN], Y[GROWN])
    np.testing.assert_allclose(
        members_of(light).votes(X[KEPT]).sum(axis=0), light.predict(X[KEPT], raw_score=True), atol=1e-9
    )
    extreme = xgboost.XGBClassifier(n_estimators=15).fit(X[GROWN], Y[GROWN])
    rest = extreme.predict(X[KEPT], output_margin=True) - members_of(extreme).votes(X[KEPT]).sum(axis=0)
    assert np.ptp(rest) < 1e-5, "single precision"
    for model in (light, extreme):
        small = reweight(model, X[KEPT], Y[KEPT], nu=0.4)
        assert small.feature_importances_.sum() == pytest.approx(1)
        assert small.score(X[KEPT], Y[KEPT]) > 0.8


@pytest.mark.parametrize("name", [*FORESTS, *BOOSTERS])
def test_the_weighting_is_the_best_one(name):
    model = {**FORESTS, **BOOSTERS}[name].fit(X[GROWN], Y[GROWN])
    small = reweight(model, X[KEPT], Y[KEPT], nu=0.4, tol=1e-4)
    votes = members_of(model).votes(X[KEPT])
    votes = np.concatenate([votes / np.abs(votes).max(axis=1, keepdims=True), np.ones((1, 250))])
    signs = np.where(Y[KEPT] == 1, 1.0, -1.0)
    optimum, _ = lp_largest_margin((signs * votes).T, np.full(250, 1 / 100))
    assert small.certificate_.objective == pytest.approx(optimum, abs=1e-4 * optimum + 1e-6)
    assert small.certificate_.bound >= optimum - 1e-9
    np.testing.assert_allclose(small.margins_, signs * small.decision_function(X[KEPT]), atol=1e-12)
    assert 0 < len(small.predictor_) <= len(votes)
    assert isinstance(small, LPBoostClassifier)


def test_most_trees_are_dropped_and_the_rest_is_as_good():
    X, y = make_classification(2400, 8, n_informative=5, flip_y=0.05, random_state=0)
    forest = RandomForestClassifier(150, random_state=0).fit(X[:600], y[:600])
    small = reweight(forest, X[600:1600], y[600:1600], nu=0.4)
    assert len(small.predictor_) < 50
    assert small.score(X[1600:], y[1600:]) > forest.score(X[1600:], y[1600:]) - 0.02


def test_weights_count():
    forest = RandomForestClassifier(20, random_state=0).fit(X[GROWN], Y[GROWN])
    counts = np.random.RandomState(0).randint(0, 3, 250)
    weighted = reweight(forest, X[KEPT], Y[KEPT], nu=0.4, sample_weight=counts, tol=1e-6)
    copied = reweight(forest, np.repeat(X[KEPT], counts, axis=0), np.repeat(Y[KEPT], counts), nu=0.4, tol=1e-6)
    assert weighted.certificate_.objective == pytest.approx(copied.certificate_.objective, abs=1e-7)


def test_bad_input_is_one_sentence():
    forest = RandomForestClassifier(5, random_state=0).fit(X[GROWN], Y[GROWN])
    with pytest.raises(ValueError, match="fitted to the classes"):
        reweight(forest, X, np.where(Y == 1, "a", "b"))
    strange, lost = Y.astype(object), Y.astype(float)
    strange[3], lost[3] = 7, np.nan
    with pytest.raises(ValueError, match=r"fitted to the classes \[0, 1\], but y has \[0, 1, 7\]"):
        reweight(forest, X, strange)
    for missing in (lost, lost.tolist(), [None, *Y[1:].tolist()]):
        with pytest.raises(ValueError, match="1 of its labels are missing"):
            reweight(forest, X, missing)
    with pytest.raises(ValueError, match="needs a fitted forest"):
        reweight(LogisticRegression().fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="needs a fitted forest"):
        reweight(RandomForestClassifier(), X, Y)
    with pytest.raises(ValueError, match="two classes"):
        reweight(RandomForestClassifier(5).fit(X, np.arange(500) % 3), X, Y)


def test_the_same_vote_each_time():
    """The folds that choose nu do not hang on a seed that nobody gave."""
    forest = RandomForestClassifier(20, random_state=0).fit(X[GROWN], Y[GROWN])
    one, two = (reweight(forest, X[KEPT], Y[KEPT]) for _ in range(2))
    assert one.nu_ == two.nu_
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_programs_over_uneven_leaves_do_not_stall(monkeypatch):
    """From an old basis one of them took a quarter of a million iterations, and a few hundred afresh."""
    path = DATA / "diabetis" / "diabetis.csv.gz"
    if not path.exists():
        pytest.skip(f"no data set at {path}: set DUALBOOST_DATA to the folder that holds it")
    table = pd.read_csv(path)
    X, y = table.iloc[:, :-1].to_numpy(float), table.iloc[:, -1].to_numpy() > 0
    counts, work = [], linear.run_warm_program

    def counting(solver, entries):
        solved = work(solver, entries)
        counts.append(solver.getInfo().simplex_iteration_count)
        return solved

    monkeypatch.setattr(linear, "run_warm_program", counting)
    reweight(
        GradientBoostingClassifier(n_estimators=50, random_state=0).fit(X[:300], y[:300]), X[300:], y[300:], nu=0.3
    )
    assert len(counts) > 10 and max(counts) < 5000
