"""Bags with rows held out: these choose the rounds, and what bags leave out still judges the labels."""

import re
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification

from dualboost import LogisticDifferenceClassifier, LogisticMixtureClassifier, Training, audit, load_model, save_model
from dualboost.boosters import Leveraging
from dualboost.estimators.bag_fits import BagParts, fits_to
from dualboost.estimators.bagging import deal, try_out
from dualboost.estimators.control import Control
from dualboost.estimators.validation import TrainingData
from dualboost.learners import LeafTrees, Stumps
from dualboost.losses import LogisticMixture
from dualboost.rows import Rows

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

ALL, LABELS = make_classification(420, 5, n_informative=3, n_redundant=0, flip_y=0.2, random_state=2)
X, Y, XV, YV = ALL[:300], LABELS[:300], ALL[300:], LABELS[300:]
QUICK = {"bags": 3, "max_iter": 40, "random_state": 0}
KINDS = {
    "mixture": LogisticMixtureClassifier(**QUICK),
    "difference": LogisticDifferenceClassifier(**QUICK),
    "stumps": LogisticMixtureClassifier(**QUICK, learner=Stumps()),
    "a given rate": LogisticMixtureClassifier(0.2, **QUICK),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def made(kind: str, training: Training | None = None, **others):
    return clone(KINDS[kind]).set_params(training=training, **others)


def bits(model) -> tuple:
    parts = getattr(model, "estimators_", [model])
    arrays = [
        a for part in parts for a in (part.margins_, part.oob_margins_, part.label_noise_, *part.history_.values())
    ]
    return (*(a.tobytes() for a in arrays), model.decision_function(XV).tobytes(), model.status_, model.n_iter_)


def data_of(X, y, **others) -> TrainingData:
    return TrainingData(X, y.astype(np.int8), None, np.array([0, 1]), None, len(y), {}, **others)


@pytest.mark.parametrize(
    "learner, started",
    [(Stumps(), False), (LeafTrees(4), False), (LeafTrees(4), True)],
    ids=["loop", "compiled", "begun"],
)
@pytest.mark.parametrize("patience", [1, 4, 200])
def test_the_round_kept_is_the_best_of_all_mean_votes(learner, patience, started):
    """Every round scored from scratch, by the rule as it is written down."""
    rows, bags = Rows.of(300), deal(np.arange(300, dtype=np.uint64), np.where(Y, 1, -1), 4)
    parts = BagParts(learner, LogisticMixture(0.1), Leveraging("difference", step="newton", shrink=0.3))
    lean = np.where(XV[:, 0] > 0, 0.4, -0.4) if started else np.zeros(len(YV))
    if started:
        own = np.where(Y, 1, -1) * np.where(X[:, 0] > 0, 0.4, -0.4)
        parts = replace(parts, start=np.tile(own, (4, 1)), held_out_start=lean)
    control = Control(Training(patience=patience))
    found = try_out(data_of(X, Y, held_out=data_of(XV, YV), control=control), rows, bags, parts, 60)

    fits = fits_to(data_of(X, Y), rows, bags, parts)
    best, scores, first = None, {}, 0 if started else 1
    for t in range(first, 61):
        if t:
            for fit in fits:
                fit.advance()
        votes = lean + np.mean([fit.predictor(t).scores(XV) for fit in fits], axis=0)
        scores[t] = (np.mean((votes > 0) == (YV == 1)), -np.mean(np.log1p(np.exp(-np.where(YV, votes, -votes)))))
        if best is None or scores[t] > scores[best]:
            best, margins = t, [fit.margins.copy() for fit in fits]
        if t - best >= patience:
            break
    assert found.rounds == best and (best > 0 or started) and len(found.scores) == len(scores)
    np.testing.assert_allclose([s.accuracy for s in found.scores], [a for a, _ in scores.values()], atol=1e-12)
    np.testing.assert_allclose([s.loss for s in found.scores], [-b for _, b in scores.values()], atol=1e-9)
    # The rows left out are judged by the fits that have not seen them, at that round.
    total, times = np.zeros(300), np.zeros(300)
    for fit, own in zip(fits, margins, strict=True):
        total[fit.out] += own
        times[fit.out] += 1
    np.testing.assert_allclose(found.out_margins, total / times, atol=1e-9)


@every_kind
def test_what_a_fit_with_an_eval_set_keeps(kind):
    fitted = made(kind, Training(patience=6)).fit(X, Y, eval_set=(XV, YV))
    seen = fitted.history_["validation"]
    assert np.nanmax(seen) == pytest.approx(fitted.score(XV, YV), abs=1e-12)
    assert fitted.n_iter_ < len(seen) <= 41
    kept = int(re.search(r"round (\d+), the best on held-out rows, was kept", fitted.status_)[1])
    assert fitted.n_iter_ == max(kept, 1) and seen[kept] == np.nanmax(seen), "round 0 is the linear vote alone"
    assert len(seen) == 41 or "no better held-out score in 6 rounds" in fitted.status_
    assert np.isfinite(fitted.label_noise_).all() and fitted.loss_history_ is fitted.history_["loss"]
    assert np.all(np.diff(fitted.loss_history_) <= 1e-12)
    scores = np.where(Y == 1, 1, -1) * fitted.decision_function(X)
    np.testing.assert_allclose(fitted.margins_, scores, atol=1e-9)
    again = made(kind, Training(patience=6), n_jobs=2).fit(X, Y, eval_set=[(XV, YV)])
    assert bits(again) == bits(fitted)


@every_kind
def test_a_share_of_the_rows_is_kept_from_all_bags_and_judged_by_all_of_them(kind):
    fitted = made(kind, Training(validation_fraction=0.25)).fit(X, Y)
    out = np.isnan(fitted.margins_)
    assert 0.2 < out.mean() < 0.3 and np.all(fitted.sample_distribution_[out] == 0)
    given = made(kind).fit(X[~out], Y[~out], eval_set=(X[out], Y[out]))
    np.testing.assert_array_equal(given.decision_function(XV), fitted.decision_function(XV))
    np.testing.assert_array_equal(given.oob_margins_, fitted.oob_margins_[~out])
    np.testing.assert_array_equal(given.label_noise_, fitted.label_noise_[~out])
    votes = np.where(Y[out] == 1, 1, -1) * fitted.decision_function(X[out])
    np.testing.assert_allclose(fitted.oob_margins_[out], votes, atol=1e-12)
    rate = fitted.noise_rate_
    right, wrong = (1 - rate) / (1 + np.exp(-votes)), rate / (1 + np.exp(votes))
    np.testing.assert_allclose(fitted.label_noise_[out], wrong / (right + wrong), atol=1e-9)


def test_the_audit_judges_every_row():
    wrong = np.arange(0, 300, 12)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    y[wrong] = 1 - y[wrong]
    found = audit(X, y, model=made("mixture", Training(validation_fraction=0.2)))
    assert np.isfinite(found.probability).all()
    held_out = np.isnan(made("mixture", Training(validation_fraction=0.2)).fit(X, y).margins_)
    assert held_out[wrong].sum() >= 3, "some of the wrong ones are held out"
    assert found.probability[wrong][held_out[wrong]].mean() > 2 * found.probability[held_out].mean()


@every_kind
def test_weights_are_copies_in_both_places(kind):
    rng = np.random.default_rng(0)
    copies, twice = rng.integers(0, 4, len(Y)), rng.integers(0, 3, len(YV))
    at, there = np.repeat(np.arange(len(Y)), copies), np.repeat(np.arange(len(YV)), twice)
    kept = KINDS[kind].learner or LeafTrees(6, 64)  # the sizes of a choice depend on nothing but distinct rows
    by_weight = made(kind, learner=kept).fit(X, Y, copies, eval_set=(XV, YV, twice))
    by_copies = made(kind, learner=kept).fit(X[at], Y[at], eval_set=(XV[there], YV[there]))
    assert by_weight.n_iter_ == by_copies.n_iter_ > 1
    np.testing.assert_allclose(by_weight.decision_function(XV), by_copies.decision_function(XV), atol=1e-9)
    shared = made(kind, Training(validation_fraction=0.3), learner=kept).fit(X, Y, copies)
    assert np.array_equal(np.isnan(shared.label_noise_), copies == 0)
    also = made(kind, Training(validation_fraction=0.3), learner=kept).fit(X[at], Y[at])
    np.testing.assert_allclose(shared.label_noise_[at], also.label_noise_, atol=1e-9)


def test_several_classes_stop_each_on_their_own():
    y, yv = Y + (X[:, 0] > 1), YV + (XV[:, 0] > 1)
    fitted = made("mixture", Training(patience=5)).fit(X, y, eval_set=(XV, yv))
    assert len({part.n_iter_ for part in fitted.estimators_}) > 1
    for k, part in enumerate(fitted.estimators_):
        assert "held-out rows, was kept" in part.status_
        assert np.nanmax(part.history_["validation"]) == pytest.approx(part.score(XV, yv == k), abs=1e-12)
    whole = made("mixture", Training(validation_fraction=0.2)).fit(X, y)
    assert whole.label_noise_.shape == (300,) and np.isfinite(whole.label_noise_).all()


@pytest.mark.parametrize("form", [sp.csr_array, lambda X: pd.DataFrame(X).rename(columns=str)], ids=["sparse", "frame"])
def test_tables_of_every_form(form):
    few, new = np.maximum(np.round(X), 0), np.maximum(np.round(XV), 0)
    dense = made("mixture").fit(few, Y, eval_set=(new, YV))
    other = made("mixture").fit(form(few), Y, eval_set=(form(new), YV))
    np.testing.assert_allclose(other.decision_function(form(new)), dense.decision_function(new), atol=1e-12)
    assert other.n_iter_ == dense.n_iter_


def test_categories_are_held_out_too():
    towns = np.array(["a", "b", "c", "d"])
    frame, new = (
        pd.DataFrame({"x": T[:, 0], "t": pd.Categorical(towns[(T[:, 1] > 0) * 2 + (T[:, 2] > 0)])}) for T in (X, XV)
    )
    fitted = made("mixture").fit(frame, Y, eval_set=(new, YV))
    assert np.nanmax(fitted.history_["validation"]) == pytest.approx(fitted.score(new, YV), abs=1e-12)


# ---- control --------------------------------------------------------------------------------------------------------


class Crash(Exception):
    """Stands for whatever ends a process."""


@every_kind
def test_checkpoints_and_warm_starts_end_with_the_same_bits(kind, tmp_path):
    training = Training(checkpoint=str(tmp_path / "run"), checkpoint_seconds=0, patience=7)
    whole = made(kind, Training(patience=7)).fit(X, Y, eval_set=(XV, YV))
    rounds = []

    def crash(state) -> None:
        rounds.append(state.t)
        if rounds.count(1) == 2 and state.t == 2:
            raise Crash

    tries = made(kind, replace(training, callbacks=(lambda state: rounds.append(state.t),))).fit(
        X, Y, eval_set=(XV, YV)
    )
    assert bits(tries) == bits(whole)
    if rounds.count(1) > 1:
        rounds.clear()
        with pytest.raises(Crash):
            made(kind, replace(training, callbacks=(crash,))).fit(X, Y, eval_set=(XV, YV))
        for eval_set, other in (((XV[1:], YV[1:]), training), ((XV, YV), replace(training, patience=8))):
            with pytest.raises(ValueError, match="of a fit to other data or with other parameters"):
                made(kind, other).fit(X, Y, eval_set=eval_set)
    assert bits(made(kind, training).fit(X, Y, eval_set=(XV, YV))) == bits(whole)
    assert not list(tmp_path.iterdir())
    warm = made(kind, Training(patience=7), warm_start=True, max_iter=3).fit(X, Y, eval_set=(XV, YV))
    assert bits(warm.set_params(max_iter=40).fit(X, Y, eval_set=(XV, YV))) == bits(whole)
    save_model(whole, tmp_path / "m")
    assert np.array_equal(load_model(tmp_path / "m").decision_function(XV), whole.decision_function(XV))


@every_kind
@pytest.mark.parametrize("how", ["time", "Ctrl-C"])
def test_fits_that_are_cut_short_keep_the_best_round_so_far(kind, how, ctrl_c):
    training = Training(0.3 if how == "time" else None, patience=10**9)
    endless = made(kind, training, max_iter=10**7, learning_rate=1e-3)
    if how == "Ctrl-C":
        ctrl_c(after=0.3)
    start = time.monotonic()
    fitted = endless.fit(X, Y, eval_set=(XV, YV))
    assert time.monotonic() - start < 5
    assert ("time budget" if how == "time" else "interrupted") in fitted.status_
    assert "the best on held-out rows, was kept" in fitted.status_
    seen = fitted.history_["validation"]
    assert len(seen) > 1 and np.nanmax(seen) == pytest.approx(fitted.score(XV, YV), abs=1e-12)
    assert np.isfinite(fitted.label_noise_).all()


def test_the_bar_shows_the_held_out_score(capsys):
    made("mixture", verbose=1).fit(X, Y, eval_set=(XV, YV))
    assert "held out" in capsys.readouterr().err
