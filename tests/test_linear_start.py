"""The linear vote that noise models may begin with: sure steps, the ridge optimum, step functions; and the trials."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

import dualboost.estimators.linear_start as linear_start
import dualboost.estimators.noise_rate as noise_rate
from dualboost import LogisticMixtureClassifier, Training
from dualboost.estimators.bag_fits import BagParts, Bags
from dualboost.estimators.bag_rounds import ByLeftOut
from dualboost.estimators.bagging import LeftOut, _advanced, _Best, deal, try_out
from dualboost.estimators.clock import Clock
from dualboost.estimators.linear_start import _Descent, design_of, linear_votes
from dualboost.estimators.noise_rate import scale_and_rate
from dualboost.estimators.validation import TrainingData
from dualboost.fingerprints import count_distinct, fingerprints
from dualboost.learners import LeafTrees
from dualboost.losses import LogisticMixture
from dualboost.losses.logistic_difference import bounded_value
from dualboost.rows import Rows


@pytest.fixture
def table():
    """Numbers with holes and a column of categories; the labels follow a line, with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[:, 3] = rng.integers(0, 5, 300)
    line = X[:, 0] - 0.5 * X[:, 1] + np.array([0.0, 2.0, -2.0, 1.0, -1.0])[X[:, 3].astype(int)]
    signs = np.where(line + rng.logistic(size=300) > 0, 1, -1).astype(np.int8)
    X[rng.random(300) < 0.1, 2] = np.nan
    return X, signs


def bound(X, signs, weights=None, categorical=(3,)):
    rows = Rows.of(len(signs) if weights is None else weights)
    prints = fingerprints(X, np.random.RandomState(0))
    return LeafTrees(4, 64, categorical=categorical).bind(X, signs, rows), deal(prints, signs, 6), prints


def in_bag_loss(descent: _Descent, ridges: np.ndarray) -> np.ndarray:
    losses = (descent.prior * bounded_value(descent.weights @ descent.table.T, descent.loss.mu)).sum(axis=1)
    return losses + (ridges * descent.weights**2).sum(axis=1) / 2


@pytest.mark.parametrize("rate", [0.02, 0.3])
def test_every_round_lowers_the_loss_of_every_bag(table, rate, monkeypatch):
    X, signs = table
    oracle, bags, _ = bound(X, signs)
    design = design_of(oracle, np.arange(300))
    descent = _Descent(design.of(oracle.codes), oracle.y, bags, oracle.rows, LogisticMixture(rate))
    monkeypatch.setattr(linear_start, "_ROUNDS", 1)
    ridges = np.full(descent.weights.shape[1], 0.01)
    ridges[-1] *= linear_start._FREE
    before = in_bag_loss(descent, ridges)
    for _ in range(20):
        descent.descended(0.01)
        now = in_bag_loss(descent, ridges)
        assert np.all(now <= before + 1e-12)
        before = now
    assert np.all(before < bounded_value(np.zeros(1), LogisticMixture(rate).mu) - 0.05), "and not by nothing"


def test_it_ends_at_the_ridge_optimum(table, monkeypatch):
    """Against scipy on the plain logistic loss, which the bounded one is when hardly a label is wrong."""
    X, signs = table
    oracle, bags, _ = bound(X, signs)
    A = design_of(oracle, np.arange(300)).of(oracle.codes)
    descent = _Descent(A, oracle.y, bags, oracle.rows, LogisticMixture(1e-9))
    monkeypatch.setattr(linear_start, "_ROUNDS", 2000)
    monkeypatch.setattr(linear_start, "_SETTLED", 1e-9)
    descent.descended(0.02)
    ridges = np.full(A.shape[1], 0.02)
    ridges[-1] *= linear_start._FREE
    inside, z = bags.inside[1], signs.astype(float)

    def objective(w):
        return np.logaddexp(0, -z * (A @ w))[inside].mean() + (ridges * w**2).sum() / 2

    best = minimize(objective, np.zeros(A.shape[1]), method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(A @ descent.weights[1], A @ best.x, atol=1e-4)


def test_the_vote_is_a_step_function_of_the_raw_values(table):
    X, signs = table
    oracle, bags, prints = bound(X, signs)
    votes = linear_votes(oracle, bags, prints, LogisticMixture(0.02))
    scores = votes.predictor(oracle, 2.0).scores(X)
    np.testing.assert_allclose(scores, 2 * signs * votes.margins.mean(axis=0), atol=1e-9)
    assert np.mean(np.sign(scores) == signs) > 0.7
    assert np.isfinite(votes.predictor(oracle, 1.0).scores(np.full((1, 4), np.nan)))[0]


def test_weights_are_copies(table):
    X, signs = table
    counts = np.random.default_rng(1).integers(1, 4, 300)
    copy_of = np.repeat(np.arange(300), counts)
    one, bags, prints = bound(X, signs, counts.astype(float))
    many, more, longer = bound(X[copy_of], signs[copy_of])
    weighted = linear_votes(one, bags, prints, LogisticMixture(0.1))
    copied = linear_votes(many, more, longer, LogisticMixture(0.1))
    np.testing.assert_allclose(weighted.margins[:, copy_of], copied.margins, atol=1e-9)


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_extreme_values_and_constant_columns(table, scale):
    X, signs = table
    wide = np.column_stack([X[:, :3] * scale, np.full(300, 7.0), np.full(300, np.nan)])
    oracle, bags, prints = bound(wide, signs, categorical=())
    votes = linear_votes(oracle, bags, prints, LogisticMixture(0.02))
    assert np.all(np.isfinite(votes.margins)) and np.ptp(votes.margins) > 0.1


def test_a_wide_table_has_no_start(monkeypatch, table):
    monkeypatch.setattr(linear_start, "_MOST_COLUMNS", 3)
    X, signs = table
    oracle, bags, prints = bound(X, signs)
    assert linear_votes(oracle, bags, prints, LogisticMixture(0.02)) is None
    monkeypatch.setattr(linear_start, "_MOST_COLUMNS", 4)
    assert linear_votes(oracle, bags, prints, LogisticMixture(0.02)) is not None
    monkeypatch.setattr(linear_start, "_MOST_CATEGORIES", 4)
    assert linear_votes(oracle, bags, prints, LogisticMixture(0.02)) is None


def test_a_line_is_found_as_one():
    """Rows are few and the boundary is straight: hardly a tree, and far better than trees alone."""
    rng = np.random.default_rng(3)
    direction = rng.normal(size=10)
    X, new = rng.normal(size=(200, 10)), rng.normal(size=(2000, 10))
    y = (X @ direction > 0) ^ (rng.random(200) < 0.15)
    model = LogisticMixtureClassifier(random_state=0).fit(X, y)
    trees = LogisticMixtureClassifier(random_state=0, learner=LeafTrees(10)).fit(X, y)
    truth = new @ direction > 0
    assert model.score(new, truth) > trees.score(new, truth) + 0.05
    assert model.loss_history_[0] < trees.loss_history_[0], "the first entry is the loss of the line"


def test_categories_are_read_by_trees_and_by_the_line():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(4)
    kind = rng.choice(list("abcdefgh"), 400)
    frame = pandas.DataFrame({"kind": pandas.Categorical(kind), "size": rng.normal(size=400)})
    truth = np.isin(kind, ["a", "d", "g"])
    y = truth ^ (rng.random(400) < 0.1)
    model = LogisticMixtureClassifier(random_state=0).fit(frame, y)
    assert np.mean(model.predict(frame) == truth) > 0.95 and abs(model.noise_rate_ - 0.1) < 0.06


# ---- trials ---------------------------------------------------------------------------------------------------------


def training(X, signs):
    return TrainingData(X, (signs > 0).astype(int), None, np.array([0, 1]), None, len(signs), {})


def test_a_start_of_nothing_changes_nothing(table):
    X, signs = table
    oracle, bags, _ = bound(X, signs)
    model = LogisticMixtureClassifier()
    parts = BagParts(oracle.learner, LogisticMixture(0.1), model._booster(), oracle)
    plain = try_out(training(X, signs), oracle.rows, bags, parts, 10)
    started = BagParts(*list(vars(parts).values())[:4], start=np.zeros((6, 300)))
    same = try_out(training(X, signs), oracle.rows, bags, started, 10)
    assert np.array_equal(plain.out_margins, same.out_margins) and plain.rounds == same.rounds > 0
    assert np.array_equal(plain.history, same.history[1:]), "with the loss of the start in front"


def test_the_first_round_ends_with_the_time():
    """So that a fit to a million rows overruns by one tree, not by one for each bag; later rounds keep all bags."""
    played = []
    fits = [SimpleNamespace(advance=lambda k=k: played.append(k)) for k in range(5)]
    over = Clock(0.0)
    kept, reason = _advanced(fits, over, 1)
    assert kept == fits[:1] and "time budget" in reason and played == [0]
    assert _advanced(fits, over, 2)[0] == fits
    assert _advanced(fits, Clock(), 1) == (fits, "")


def test_a_fit_without_time_is_a_model(table):
    X, signs = table
    model = LogisticMixtureClassifier(random_state=0, training=Training(seconds=1e-6)).fit(X[:, :3], signs)
    assert "time budget" in model.status_ and model.score(X[:, :3], signs) > 0.5
    assert np.all((model.label_noise_ >= 0) & (model.label_noise_ <= 1))


def test_trials_that_cannot_win_end_early():
    best = _Best(LogisticMixture(0.1).bind(Rows.of(2)), Bags(np.array([[True, False], [False, True]])), ByLeftOut())
    best._seen, best.left_out, best.now = [1.0 - 0.01 * t for t in range(20)], LeftOut(0.81, np.zeros(2)), 0.81
    assert best.cannot(reach=0.5, rounds=30) and not best.cannot(reach=0.5, rounds=32)
    assert not best.cannot(reach=0.82, rounds=0), "who has won may go on"
    best._seen = best._seen[:8]
    assert not best.cannot(reach=0.5, rounds=1), "too early to tell"


def test_groups_of_margins_say_what_all_of_them_say(monkeypatch):
    rng = np.random.default_rng(5)
    true = 3 * rng.normal(size=5000)
    margins = np.where(rng.random(5000) < 0.15, -1, 1) * np.abs(true)
    whole = scale_and_rate(margins, Rows.of(5000))
    monkeypatch.setattr(noise_rate, "_MANY", 1000)
    monkeypatch.setattr(noise_rate, "_GROUPS", 500)
    grouped = scale_and_rate(margins, Rows.of(5000))
    assert grouped[0] == whole[0] and grouped[1] == pytest.approx(whole[1], abs=1e-3)
    assert scale_and_rate(np.ones(5000), Rows.of(5000))[1] < 0.1, "all alike"


def test_distinct_numbers_are_counted():
    assert count_distinct(np.array([3, 1, 3, 2, 1], dtype=np.uint64)) == 3
    assert count_distinct(np.zeros(0, dtype=np.uint64)) == 0
