"""One margin over all classes: MarginBoostClassifier(multiclass="pairs")."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.utils.estimator_checks import parametrize_with_checks

from dualboost import MarginBoostClassifier, Training, explain, load_model, save_model, shapes
from dualboost.boosters import FrankWolfe, LPBoost
from dualboost.learners import Stumps, Trees


def model(**options) -> MarginBoostClassifier:
    return MarginBoostClassifier(**{"nu": 0.3, "tol": 0.1, "multiclass": "pairs"} | options)


@parametrize_with_checks([model(max_iter=30)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X, np.array(["red", "rose", "white"])[y]


def test_the_certificate_is_about_pairs(wine):
    X, y = wine
    fitted = model(calibrate=False).fit(X, y)
    scores = fitted.decision_function(X)
    codes = np.searchsorted(fitted.classes_, y)
    own = scores[np.arange(len(y)), codes][:, None]
    leads = np.sort(((own - scores) / 2)[np.arange(3) != codes[:, None]])
    worst = 0.3 * len(leads)
    whole = int(worst)
    soft = (leads[:whole].sum() + (worst - whole) * leads[whole]) / worst
    assert fitted.certificate_.objective == pytest.approx(soft, abs=1e-12)
    assert fitted.certificate_.gap <= 0.1 * soft + 1e-12 and soft > 0.1
    assert fitted.margins_.shape == y.shape and fitted.margins_.min() == pytest.approx(leads[0], abs=1e-12)
    assert fitted.sample_distribution_.shape == y.shape and fitted.sample_distribution_.sum() == pytest.approx(1)
    assert not hasattr(fitted, "estimators_") and not hasattr(fitted, "predict_proba")


def test_another_solver_reaches_the_same_margin(wine):
    one, other = (model(booster=booster, tol=0.01, calibrate=False).fit(*wine) for booster in (None, LPBoost()))
    assert one.certificate_.objective <= other.certificate_.bound + 1e-12
    assert other.certificate_.objective <= one.certificate_.bound + 1e-12


def test_two_classes_are_what_they_were():
    X, y = load_iris(return_X_y=True)
    two = y > 0
    pairs, rest = (model(multiclass=kind).fit(X, two) for kind in ("pairs", "rest"))
    np.testing.assert_array_equal(pairs.predict_proba(X), rest.predict_proba(X))


def test_probabilities_agree_with_the_vote_and_mean_something(wine):
    X, y = wine
    train = np.random.default_rng(0).permutation(len(y)) < 120
    fitted = model().fit(X[train], y[train])
    chances = fitted.predict_proba(X[~train])
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert np.array_equal(fitted.classes_[chances.argmax(axis=1)], fitted.predict(X[~train]))
    own = chances[np.arange(len(chances)), np.searchsorted(fitted.classes_, y[~train])]
    assert -np.log(own).mean() < 0.35 < -np.log(1 / 3)


def test_weights_are_copies(wine):
    X, y = wine
    weights = np.random.default_rng(1).integers(0, 3, len(y))
    weighted = model().fit(X, y, weights)
    copied = model().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.decision_function(X), copied.decision_function(X), atol=1e-9)
    assert weighted.link_.slope == pytest.approx(copied.link_.slope, rel=1e-6)
    assert np.all(np.isnan(weighted.margins_) == (weights == 0))


def test_nu_is_chosen_and_a_run_can_stop_early(wine):
    fitted = model(nu="auto", training=Training(validation_fraction=0.25, patience=10)).fit(*wine)
    assert 0 < fitted.nu_ < 1 and "held-out" in fitted.status_
    assert np.nanmax(fitted.history_["validation"]) > 0.85


def test_files_and_explanations(wine, tmp_path):
    X, y = wine
    fitted = model().fit(X, y)
    save_model(fitted, tmp_path / "wine.dualboost")
    np.testing.assert_array_equal(load_model(tmp_path / "wine.dualboost").predict_proba(X), fitted.predict_proba(X))
    explanation = explain(fitted, X[:7])
    total = explanation.base + explanation.contributions.sum(axis=1)
    np.testing.assert_allclose(total, fitted.decision_function(X[:7]), atol=1e-12)
    with pytest.raises(ValueError, match='multiclass="rest"'):
        shapes(fitted)


def test_checkpoints_and_warm_starts(wine, tmp_path):
    whole = model(max_iter=40, calibrate=False, tol=1e-3).fit(*wine)
    warm = model(max_iter=15, calibrate=False, tol=1e-3, warm_start=True).fit(*wine).set_params(max_iter=40).fit(*wine)
    np.testing.assert_allclose(warm.decision_function(wine[0]), whole.decision_function(wine[0]), atol=0.05)
    kept = model(max_iter=40, calibrate=False, training=Training(checkpoint=str(tmp_path / "run"))).fit(*wine)
    assert kept.n_iter_ > 0 and not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "options, words",
    [
        ({"multiclass": "all"}, '"rest" or "pairs"'),
        ({"learner": Trees()}, 'multiclass="rest"'),
        ({"learner": Stumps(monotone=((0, 1),))}, 'multiclass="rest"'),
        ({"booster": FrankWolfe()}, "can be averaged"),
    ],
)
def test_what_cannot_be_is_refused(options, words, wine):
    with pytest.raises(ValueError, match=words):
        model(**options).fit(*wine)


@pytest.mark.parametrize("seed", range(8))
def test_weight_k_is_k_copies_where_many_stumps_are_equal(seed):
    """Few values: at the start many stumps have the same edge, and rounding must not choose among them."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=90), rng.integers(0, 5, 90), rng.integers(0, 3, 90)]).astype(float)
    y = (X[:, 0] + (X[:, 1] == 2) > 0.3).astype(int) + (X[:, 2] > 1)
    y = np.where(np.arange(90) % 13 == 5, (y + 1) % 3, y)
    X[::11, 1] = np.nan
    counts = np.random.default_rng(seed).integers(0, 4, 90)
    runs = []

    def fitted(X, y, weights):
        met = []
        training = Training(callbacks=(lambda state: met.append(list(state.pool.keys[: len(state.w)])),))
        runs.append(met)
        return model(calibrate=False, training=training).fit(X, y, weights).decision_function(table)

    table = X
    by_weight = fitted(X, y, counts)
    by_copies = fitted(np.repeat(X, counts, axis=0), np.repeat(y, counts), None)
    assert runs[0] == runs[1] and len(runs[0]) > 2, "the same hypotheses in the same order"
    np.testing.assert_allclose(by_weight, by_copies, atol=1e-8)
