"""The classifiers for noisy labels: scikit-learn's rules, the noise they find, averaged and single fits, the ends."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import dualboost.estimators.noisy_trials as noisy_trials
from dualboost import LogisticDifferenceClassifier, LogisticMixtureClassifier, load_model, save_model
from dualboost.boosters import Leveraging
from dualboost.estimators.bag_fits import AnyFit, BagParts, Bags, LeafFit, fits_to
from dualboost.estimators.bagging import deal, try_out
from dualboost.estimators.noise_rate import estimated_rate, scale_and_rate
from dualboost.estimators.validation import TrainingData
from dualboost.learners import LeafTrees, Stumps
from dualboost.losses import LogisticMixture
from dualboost.rows import Rows

MIXTURE = LogisticMixtureClassifier(bags=4, max_iter=30, learning_rate=0.4, random_state=0)
DIFFERENCE = LogisticDifferenceClassifier(bags=3, max_iter=6, learner=LeafTrees(4), random_state=0)
SINGLE = LogisticMixtureClassifier(bags=0, max_iter=40, learner=Stumps(), random_state=0)


@parametrize_with_checks([LogisticMixtureClassifier(), LogisticDifferenceClassifier()])
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.fixture(scope="module")
def noisy():
    """X, given labels, which of them are wrong."""
    X, y = make_classification(600, 6, n_informative=4, n_redundant=0, class_sep=1.8, flip_y=0, random_state=3)
    wrong = np.random.default_rng(0).random(600) < 0.15
    return X, np.where(wrong, 1 - y, y), wrong


def fresh(model):
    return clone(model)


@pytest.mark.parametrize("model", [MIXTURE, DIFFERENCE, SINGLE], ids=["mixture", "difference", "single"])
def test_what_a_fit_keeps(noisy, model):
    X, y, wrong = noisy
    fitted = fresh(model).fit(X, y)
    assert np.all(np.diff(fitted.loss_history_) <= 1e-12) and len(fitted.loss_history_) > 2, "never rises"
    assert 0 < fitted.noise_rate_ < 0.5
    assert np.all((fitted.label_noise_ >= 0) & (fitted.label_noise_ <= 1))
    assert fitted.label_noise_[wrong].mean() > 3 * fitted.label_noise_[~wrong].mean()
    truth = np.where(wrong, 1 - y, y)
    assert np.mean(fitted.predict(X) == truth) > 0.9, "wrong labels do not bend it"
    scores = np.where(y == 1, 1, -1) * fitted.decision_function(X)
    np.testing.assert_allclose(fitted.margins_, scores, atol=1e-9)
    probability = fitted.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert np.array_equal(probability[:, 1] > 0.5, fitted.predict(X) == 1)
    assert fitted.certificate_.bound == np.inf and np.isfinite(fitted.certificate_.objective)
    assert fitted.sample_distribution_.sum() == pytest.approx(1) and fitted.feature_importances_.sum() == pytest.approx(
        1
    )


def test_rows_are_judged_by_fits_that_have_not_seen_them(noisy):
    X, y, wrong = noisy
    fitted = fresh(MIXTURE).fit(X, y)
    assert fitted.oob_margins_.mean() < fitted.margins_.mean(), "who has seen a row is surer of it"
    suspects = np.argsort(-fitted.label_noise_)[: wrong.sum()]
    assert wrong[suspects].mean() > 0.75
    assert abs(fitted.noise_rate_ - wrong.mean()) < 0.07


def test_a_given_rate_is_kept(noisy):
    X, y, _ = noisy
    assert fresh(MIXTURE).set_params(noise_rate=0.2).fit(X, y).noise_rate_ == 0.2
    assert fresh(SINGLE).set_params(noise_rate=0.2).fit(X, y).noise_rate_ == 0.2
    mu = float(np.log(4))
    assert fresh(DIFFERENCE).set_params(mu=mu).fit(X, y).noise_rate_ == pytest.approx(0.2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_labels_without_signal_are_reported_as_such():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(400, 5)), rng.random(400) < 0.7
    with pytest.warns(ConvergenceWarning, match="the labels carry no signal"):
        fitted = fresh(MIXTURE).fit(X, y)
    assert fitted.noise_rate_ == 0.5 and np.all(fitted.label_noise_ == 0.5) and "no signal" in fitted.status_
    assert np.all(fitted.predict(X)), "the more frequent class"


def test_without_noise_the_rate_is_small():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(500, 3))
    y = X[:, 0] > 0
    fitted = fresh(MIXTURE).fit(X, y)
    assert fitted.noise_rate_ < 0.02 and fitted.label_noise_.mean() < 0.03 and fitted.score(X, y) > 0.98


def test_missing_values_labels_of_any_type_sparse_tables(noisy, monkeypatch):
    X, y, _ = noisy
    names = np.array(["no", "yes"])[y]
    holes = np.where(np.random.default_rng(3).random(X.shape) < 0.1, np.nan, X)
    fitted = fresh(MIXTURE).fit(holes, names)
    assert fitted.score(holes, names) > 0.8 and set(fitted.predict(holes)) == {"no", "yes"}
    counts = np.maximum(np.round(X), 0)
    dense = fresh(SINGLE).fit(counts, y)
    sparse = fresh(SINGLE).fit(sp.csr_array(counts), y)
    np.testing.assert_allclose(
        dense.decision_function(counts), sparse.decision_function(sp.csr_array(counts)), atol=1e-12
    )
    dense, sparse = (LogisticMixtureClassifier(bags=3, max_iter=10, random_state=0) for _ in range(2))
    votes = dense.fit(counts, y).decision_function(counts)
    assert np.array_equal(sparse.fit(sp.csr_array(counts), y).decision_function(sp.csr_array(counts)), votes)
    monkeypatch.setattr(noisy_trials, "_MOST_CELLS", 100)
    bagged = LogisticMixtureClassifier(bags=3, max_iter=10, random_state=0).fit(sp.csr_array(counts), y)
    assert bagged.score(sp.csr_array(counts), y) > 0.7, "stumps on large sparse tables"


def test_model_files_keep_it(noisy, tmp_path):
    X, y, _ = noisy
    fitted = fresh(MIXTURE).fit(X, y)
    save_model(fitted, tmp_path / "m.dualboost")
    again = load_model(tmp_path / "m.dualboost")
    assert np.array_equal(fitted.decision_function(X), again.decision_function(X))


def test_several_classes():
    X, y = load_iris(return_X_y=True)
    wrong = np.arange(0, 150, 12)
    given = y.copy()
    given[wrong] = (y[wrong] + 1) % 3
    fitted = fresh(MIXTURE).fit(X, given)
    assert fitted.predict_proba(X).shape == (150, 3) and np.mean(fitted.predict(X) == y) > 0.9
    assert fitted.label_noise_.shape == (150,) and 0 < fitted.noise_rate_ < 0.5
    suspects = np.argsort(-fitted.label_noise_)[: len(wrong)]
    assert np.isin(suspects, wrong).mean() > 0.6


def test_several_classes_count_weights_as_copies():
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).integers(0, 4, 150)
    copies = np.repeat(np.arange(150), weights)
    weighed, copied = fresh(DIFFERENCE).fit(X, y, weights), fresh(DIFFERENCE).fit(X[copies], y[copies])
    np.testing.assert_allclose(weighed.label_noise_[copies], copied.label_noise_, atol=1e-12)
    assert weighed.noise_rate_ == pytest.approx(copied.noise_rate_, rel=1e-9)
    huge = fresh(DIFFERENCE).fit(X, y, weights * 4e307)
    assert huge.noise_rate_ == pytest.approx(weighed.noise_rate_, rel=1e-9)


@pytest.mark.parametrize("label", [-1, 7])
def test_a_class_without_weight_is_none_of_several(label):
    X, y = load_iris(return_X_y=True)
    y = np.append(y, [label, label])
    fitted = fresh(DIFFERENCE).fit(np.concatenate([X, X[:2]]), y, np.append(np.ones(150), [0, 0]))
    whole = fresh(DIFFERENCE).fit(X, y[:150])
    assert np.isnan(fitted.label_noise_[150:]).all() and fitted.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(fitted.label_noise_[:150], whole.label_noise_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_labels_of_several_classes_in_a_column():
    X, y = load_iris(return_X_y=True)
    column, flat = fresh(DIFFERENCE).fit(X, y[:, None]), fresh(DIFFERENCE).fit(X, y)
    np.testing.assert_array_equal(column.label_noise_, flat.label_noise_)


def test_importances_of_several_classes_are_shares_though_one_carries_no_signal():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(rng.random(300) < 0.3, 0, np.where(X[:, 0] > 0, 2, 1))  # class 0 by chance alone
    with pytest.warns(ConvergenceWarning, match="no signal"):
        fitted = fresh(DIFFERENCE).fit(X, y)
    assert not all(part.feature_importances_.any() for part in fitted.estimators_)
    assert fitted.feature_importances_.sum() == pytest.approx(1.0)


# ---- the parts ------------------------------------------------------------------------------------------------------


def test_every_row_is_left_out_equally_often():
    rng = np.random.default_rng(0)
    prints = rng.integers(0, 2**63, 500).astype(np.uint64)
    bags = deal(prints, rng.choice([-1, 1], 500), 8)
    assert len(bags) == 8 and set(bags.times_out) == {3}
    copies = deal(np.repeat(prints, 2), np.ones(1000) * np.tile([1, -1], 500), 8)
    assert np.array_equal(copies.inside[:, ::2], copies.inside[:, 1::2]), "copies stay together"
    assert len(deal(prints, np.ones(500), 4)) == 0, "a bag needs both classes"


@pytest.mark.parametrize("step", ["newton", "spectral"])
def test_the_compiled_fits_are_those_of_the_loop(step):
    """On a table whose bins do not depend on the bag."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 4, (200, 4)).astype(float)
    signs = np.where(X[:, 0] + X[:, 1] > rng.normal(3, 1, 200), 1, -1).astype(np.int8)
    data, rows = TrainingData(X, (signs > 0).astype(int), None, np.array([0, 1]), None, 200, {}), Rows.of(200)
    bags = Bags(np.array([rng.random(200) < 0.6 for _ in range(3)]))
    learner, booster = LeafTrees(4, 255, 0.02), Leveraging("difference", step=step, shrink=0.4)
    parts = BagParts(learner, LogisticMixture(0.1), booster)
    one = try_out(data, rows, bags, parts, 12)

    fits = [AnyFit(data, parts, inside, rows) for inside in bags.inside]
    for _ in range(one.rounds):
        for fit in fits:
            fit.advance()
    compiled = fits_to(data, rows, bags, parts)
    assert all(isinstance(fit, LeafFit) for fit in compiled)
    for fit, slow in zip(compiled, fits, strict=True):
        for _ in range(one.rounds):
            fit.advance()
        np.testing.assert_allclose(fit.margins, slow.margins, atol=1e-9)
        constant = -np.log1p(-0.1)  # the compiled rounds report the difference of losses
        np.testing.assert_allclose(np.add(fit.losses, constant), slow.losses, rtol=1e-9)
    scores = np.mean([fit.predictor(one.rounds).scores(X) for fit in fits], axis=0)
    np.testing.assert_allclose(one.predictor().scores(X), scores, atol=1e-9)
    assert one.rounds > 3


def test_the_rate_and_the_scale_are_recovered():
    rng = np.random.default_rng(6)
    true = 4 * rng.normal(size=20_000)
    label = np.where(rng.random(20_000) < 1 / (1 + np.exp(-true)), 1, -1)
    given = np.where(rng.random(20_000) < 0.2, -label, label)
    rows = Rows.of(20_000)
    assert estimated_rate(given * true, rows) == pytest.approx(0.2, abs=0.02)
    scale, rate = scale_and_rate(given * true / 3, rows)
    assert rate == pytest.approx(0.2, abs=0.03) and scale == pytest.approx(3, rel=0.2)


@pytest.mark.parametrize(
    "wrong",
    [{"noise_rate": 0.5}, {"noise_rate": "auto"}, {"bags": -1}, {"learning_rate": 0}, {"update": 0}, {"max_iter": 0}],
)
def test_impossible_parameters_are_refused(noisy, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LogisticMixtureClassifier(**wrong).fit(*noisy[:2])


def test_other_impossible_parameters(noisy):
    with pytest.raises(ValueError, match="mu"):
        LogisticDifferenceClassifier(mu=-1).fit(*noisy[:2])
    with pytest.raises(ValueError, match="learner"):
        LogisticMixtureClassifier(learner="trees").fit(*noisy[:2])


def test_the_same_for_any_number_of_threads(noisy):
    X, y, _ = noisy
    one, two = (fresh(MIXTURE).set_params(n_jobs=n).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.oob_margins_, two.oob_margins_)
    assert replace(one.certificate_) == two.certificate_


@pytest.mark.parametrize("weight", [1e18, 1e300])
@pytest.mark.parametrize("bags", [0, 2])
@pytest.mark.parametrize("kind", [LogisticMixtureClassifier, LogisticDifferenceClassifier])
def test_one_row_with_nearly_all_the_weight(kind, bags, weight):
    """The share of its class rounds to 1; the scores are finite all the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    weights = np.ones(60)
    weights[0] = weight
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = kind(bags=bags, max_iter=10, random_state=0).fit(X, X[:, 0] > 0, weights)
    for values in (model.decision_function(X), model.predict_proba(X), model.margins_, model.label_noise_):
        assert np.isfinite(values).all()
    assert model.predict(X[:1])[0] == (X[0, 0] > 0)
