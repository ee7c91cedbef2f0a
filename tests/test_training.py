"""Training control: early stopping, time limits, warm starts, checkpoints, on every kind of classifier."""

import time
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.tree import DecisionTreeClassifier

import dualboost
from dualboost import (
    AdaBoostClassifier,
    ERLPBoostClassifier,
    FrankWolfeBoostClassifier,
    LogisticBoostClassifier,
    LogisticDifferenceClassifier,
    LogisticMixtureClassifier,
    LPBoostClassifier,
    MABoostClassifier,
    MadaBoostClassifier,
    MarginBoostClassifier,
    MLPBoostClassifier,
    SmoothBoostClassifier,
    SoftBoostClassifier,
    SparseBoostClassifier,
    TotalBoostClassifier,
    Training,
    load_model,
    save_model,
)
from dualboost.boosters import Corrective, TotallyCorrective
from dualboost.estimators.holding_out import held_out_rows

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X, Y = make_classification(200, 6, n_informative=4, flip_y=0.1, random_state=0)
XV, YV = make_classification(200, 6, n_informative=4, flip_y=0.1, random_state=0, shift=0.01)
XV, YV = XV[::2], YV[::2]
ROUNDS = 75

CLASSIFIERS = {
    "AdaBoost": AdaBoostClassifier(n_estimators=ROUNDS),
    "logistic": LogisticBoostClassifier(n_estimators=ROUNDS, learning_rate=0.3),
    "margin": MarginBoostClassifier(0.4, tol=1e-9, booster=Corrective(), max_iter=ROUNDS, calibrate=False),
    "margin, search": MarginBoostClassifier(
        0.4, tol=1e-9, booster=Corrective(step="search", smoothing="halving"), max_iter=ROUNDS, calibrate=False
    ),
    "margin, totally corrective": MarginBoostClassifier(
        0.3, tol=1e-9, booster=TotallyCorrective(columns=1), max_iter=36, calibrate=False
    ),
    "LPBoost": LPBoostClassifier(0.3, tol=1e-9, max_iter=ROUNDS, calibrate=False),
    "ERLPBoost": ERLPBoostClassifier(0.3, tol=1e-2, max_iter=40, calibrate=False),
    "SoftBoost": SoftBoostClassifier(0.3, tol=1e-5, max_iter=40, calibrate=False),
    "MLPBoost": MLPBoostClassifier(0.3, tol=1e-5, max_iter=40, calibrate=False),
    "TotalBoost": TotalBoostClassifier(tol=1e-5, max_iter=40, calibrate=False),
    "Frank-Wolfe": FrankWolfeBoostClassifier(0.3, tol=1e-4, max_iter=45, calibrate=False),
    "MABoost": MABoostClassifier(max_iter=ROUNDS, calibrate=False),
    "SmoothBoost": SmoothBoostClassifier(max_iter=ROUNDS, calibrate=False),
    "SparseBoost": SparseBoostClassifier(max_iter=ROUNDS, calibrate=False),
    "MadaBoost": MadaBoostClassifier(max_iter=ROUNDS, calibrate=False),
    "mixture": LogisticMixtureClassifier(bags=0, max_iter=50),
    "difference": LogisticDifferenceClassifier(bags=0, max_iter=50),
}
every_classifier = pytest.mark.parametrize("model", CLASSIFIERS.values(), ids=CLASSIFIERS)


def with_rounds(model, count: int):
    name = "n_estimators" if "n_estimators" in model.get_params() else "max_iter"
    return clone(model).set_params(**{name: count})


def bits(model) -> tuple:
    """Everything that a fit leaves, but for words."""
    parts = getattr(model, "estimators_", [model])
    arrays = [a for part in parts for a in (part.margins_, part.sample_distribution_, part.decision_function(XV))]
    arrays += [values for part in parts for values in part.history_.values()]
    return (*(a.tobytes() for a in arrays), model.certificate_, model.n_iter_, model.predict(XV).tolist())


def test_every_classifier_is_here():
    kinds = {kind for kind in vars(dualboost.estimators).values() if isinstance(kind, type) and hasattr(kind, "fit")}
    assert {type(model) for model in CLASSIFIERS.values()} == kinds


# ---- early stopping -------------------------------------------------------------------------------------------------


def logistic_loss(margins: np.ndarray) -> float:
    return float(np.mean(np.log1p(np.exp(-margins))))


def test_the_best_stage_is_kept_as_found_by_looking_at_all_stages():
    whole = AdaBoostClassifier(n_estimators=60).fit(X, Y)
    signs = np.where(YV == 1, 1, -1)
    scores = [
        (float(np.mean((v > 0) == (YV == 1))), -logistic_loss(signs * v)) for v in whole.staged_decision_function(XV)
    ]
    for patience in (1, 5, 20):
        best = 0
        for t in range(len(scores)):
            best = t if scores[t] > scores[best] else best
            if t - best >= patience:
                break
        model = AdaBoostClassifier(n_estimators=60, training=Training(patience=patience)).fit(X, Y, eval_set=(XV, YV))
        assert model.n_iter_ == best + 1 and 1 < best < 55
        stages = list(whole.staged_decision_function(XV))
        np.testing.assert_allclose(model.decision_function(XV), stages[best], atol=1e-12)
        assert len(list(model.staged_predict(XV))) == model.n_iter_
        seen = model.history_["validation"]
        assert len(seen) == len(model.history_["objective"]) == t + 2 and np.isnan(seen[0])
        np.testing.assert_allclose(seen[1:], [accuracy for accuracy, _ in scores[: t + 1]], atol=1e-12)
        assert (
            f"no better held-out score in {patience} rounds" in model.status_ and f"round {best + 1}" in model.status_
        )


@every_classifier
def test_the_certificate_is_that_of_the_ensemble_kept(model):
    fitted = clone(model).set_params(training=Training(patience=10)).fit(X, Y, eval_set=(XV, YV))
    whole = clone(model).fit(X, Y)
    scores = fitted.history_["validation"]
    if without_votes := np.isnan(scores).all():  # no positive margin within the rounds: nothing to choose from
        assert type(model).__name__ in ("SoftBoostClassifier", "TotalBoostClassifier")
    else:
        assert np.nanmax(scores) == pytest.approx(fitted.score(XV, YV), abs=1e-12)
    assert fitted.n_iter_ <= whole.n_iter_ and ("held-out rows, was kept" in fitted.status_) != without_votes
    if not hasattr(fitted, "nu_"):
        return
    margins = np.where(Y == 1, 1, -1) * fitted.decision_function(X)
    share = fitted.nu_ * len(Y)
    lowest, full = np.sort(margins), int(share)
    soft = (lowest[:full].sum() + (share - full) * (lowest[full] if full < len(Y) else 0)) / share
    assert fitted.certificate_.objective == pytest.approx(soft, abs=1e-9)
    assert fitted.certificate_.bound >= whole.certificate_.objective - 1e-9, "no vote exceeds it"


def test_a_share_of_the_rows_is_held_out_and_nothing_is_fitted_to_it():
    model = MarginBoostClassifier(0.4, calibrate=False, training=Training(validation_fraction=0.25)).fit(X, Y)
    out = np.isnan(model.margins_)
    assert 0.2 < out.mean() < 0.3 and np.all(model.sample_distribution_[out] == 0)
    assert abs(Y[out].mean() - Y.mean()) < 0.03, "of each class"
    same = MarginBoostClassifier(0.4, calibrate=False).fit(X[~out], Y[~out], eval_set=(X[out], Y[out]))
    np.testing.assert_array_equal(same.decision_function(XV), model.decision_function(XV))


def test_copies_stay_together_and_weights_are_copies():
    copies = np.random.default_rng(0).integers(0, 4, len(Y))
    index = np.repeat(np.arange(len(Y)), copies)
    training = Training(validation_fraction=0.3, patience=20)
    by_weight = AdaBoostClassifier(n_estimators=100, training=training).fit(X, Y, copies)
    by_copies = AdaBoostClassifier(n_estimators=100, training=training).fit(X[index], Y[index])
    assert by_weight.n_iter_ == by_copies.n_iter_ > 1
    np.testing.assert_allclose(by_weight.decision_function(XV), by_copies.decision_function(XV), atol=1e-9)
    out = held_out_rows(X[index], Y[index], 0.3)
    assert all(len(set(out[index == i])) <= 1 for i in range(len(Y))) and out.any()


def test_few_rows_of_a_class_stay_in_training():
    few = np.array([0, 0, 0, 0, 0, 1])
    out = held_out_rows(np.arange(6.0)[:, None], few, 0.9)
    assert not out[5] and out[:5].sum() == 4
    with pytest.raises(ValueError, match="holds none of these rows out: raise it"):
        AdaBoostClassifier(training=Training(validation_fraction=0.1)).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda X: pd.DataFrame(X).rename(columns=str)])
def test_eval_sets_of_every_form_with_weights_and_labels(form):
    labels = np.array(["no", "yes"])
    given = AdaBoostClassifier(n_estimators=40).fit(form(X), labels[Y], eval_set=[(form(XV), labels[YV])])
    weights = np.ones(len(YV))
    weights[:20] = 0
    weighted = AdaBoostClassifier(n_estimators=40).fit(form(X), labels[Y], eval_set=(form(XV), labels[YV], weights))
    part = AdaBoostClassifier(n_estimators=40).fit(form(X), labels[Y], eval_set=(form(XV[20:]), labels[YV[20:]]))
    assert weighted.n_iter_ == part.n_iter_ and given.n_iter_ > 1
    np.testing.assert_allclose(weighted.history_["validation"], part.history_["validation"], atol=1e-12)


def test_frames_with_categories_are_held_out_and_taken_up(tmp_path):
    def frame(X):
        return (
            pd.DataFrame(X)
            .rename(columns=str)
            .assign(kind=pd.Categorical(np.array(["a", "b", "c"])[X[:, 0].astype(int) % 3]))
        )

    training = Training(validation_fraction=0.2, checkpoint=str(tmp_path / "run"), checkpoint_seconds=0)
    whole = AdaBoostClassifier(n_estimators=40, training=training).fit(frame(X), Y)
    with pytest.raises(Crash):
        crashing = replace(training, callbacks=(crash_at(20),))
        AdaBoostClassifier(n_estimators=40, training=crashing).fit(frame(X), Y)
    again = AdaBoostClassifier(n_estimators=40, training=training).fit(frame(X), Y)
    assert again.n_iter_ == whole.n_iter_
    np.testing.assert_array_equal(again.decision_function(frame(XV)), whole.decision_function(frame(XV)))
    given = AdaBoostClassifier(n_estimators=40).fit(frame(X), Y, eval_set=(frame(XV), YV))
    assert np.nanmax(given.history_["validation"]) == pytest.approx(given.score(frame(XV), YV))


def test_several_classes_stop_each_on_their_own():
    data, target = load_iris(return_X_y=True)
    noisy = target.copy()
    noisy[::7] = (noisy[::7] + 1) % 3
    training = Training(validation_fraction=0.3, patience=5)
    model = AdaBoostClassifier(n_estimators=200, training=training).fit(data, noisy)
    assert all("validation" in history for history in model.history_) and "held-out" in model.status_
    assert all(part.n_iter_ < 200 for part in model.estimators_) and model.score(data, target) > 0.9
    calibrated = MarginBoostClassifier(0.3, training=training).fit(data, noisy)
    assert calibrated.predict_proba(data).shape == (150, 3) and calibrated.score(data, target) > 0.9


@pytest.mark.parametrize(
    "eval_set, words",
    [
        ((XV,), "eval_set must be"),
        ("rows", "eval_set must be"),
        ((XV, np.where(YV == 1, 7, 0)), "eval_set: the label 7 is not among the classes"),
        ((XV[:, :3], YV), "features"),
        ((XV, YV, -np.ones(len(YV))), "Negative values"),
        ((XV, YV[:-1]), "inconsistent numbers of samples"),
    ],
)
def test_wrong_eval_sets_are_refused(eval_set, words):
    with pytest.raises(ValueError, match=words):
        AdaBoostClassifier().fit(X, Y, eval_set=eval_set)


# ---- time -----------------------------------------------------------------------------------------------------------


def seconds_of(work, *arguments) -> float:
    """The shortest of three tries: others may be busy on this machine."""
    times = []
    for _ in range(3):
        start = time.monotonic()
        work(*arguments)
        times.append(time.monotonic() - start)
        if times[-1] < 1.5:
            break
    return min(times)


def test_a_time_limit_ends_everything_and_proves_what_it_reached():
    big, labels = make_classification(4000, 15, n_informative=8, flip_y=0.2, random_state=1)
    for calibrate in (False, True):
        model = MarginBoostClassifier(
            0.5, booster=Corrective(), tol=1e-12, max_iter=10**8, calibrate=calibrate, training=Training(seconds=0.8)
        )
        assert 0.2 < seconds_of(model.fit, big, labels) < 6  # without a limit: hours
        assert model.status_.startswith("stopped after 0.8 s (time budget)") and model.n_iter_ > 10
        assert model.certificate_.objective <= model.certificate_.bound
        margins = np.sort(np.where(labels == 1, 1, -1) * model.decision_function(big))
        assert model.certificate_.objective == pytest.approx(margins[:2000].mean(), abs=1e-9)


def test_the_limit_is_shared_by_classes_and_the_choice_of_nu():
    big, labels = make_classification(3000, 12, n_informative=8, n_classes=4, flip_y=0.2, random_state=1)
    model = MarginBoostClassifier(tol=1e-12, max_iter=10**6, training=Training(seconds=1.0), random_state=0)
    assert seconds_of(model.fit, big, labels) < 6
    assert model.predict_proba(big).shape == (3000, 4) and model.score(big, labels) > 0.3
    bags = LogisticMixtureClassifier(max_iter=10**6, training=Training(seconds=0.5), random_state=0)
    assert seconds_of(bags.fit, big, labels > 1) < 6
    assert "(time budget)" in bags.status_ and bags.score(big, labels > 1) > 0.6


def test_limits_that_are_not_reached_change_no_bit():
    """Nor do callbacks that do not stop; probabilities included."""
    kind = MarginBoostClassifier(0.3, max_iter=30, random_state=0)
    alone = clone(kind).fit(X, Y)
    training = Training(seconds=600, callbacks=(lambda state: None,))
    for model in (kind, clone(kind).set_params(booster=Corrective()), MABoostClassifier(max_iter=40)):
        alone = clone(model).fit(X, Y)
        watched = clone(model).set_params(training=training).fit(X, Y)
        assert bits(watched) == bits(alone) and watched.status_ == alone.status_
        np.testing.assert_array_equal(watched.predict_proba(XV), alone.predict_proba(XV))


def test_probabilities_are_learned_by_models_of_as_many_rounds():
    stop = Training(callbacks=(lambda state: "enough" if state.t == 5 else None,))
    model = MarginBoostClassifier(0.3, booster=Corrective(), tol=1e-12, max_iter=10**9, training=stop).fit(X, Y)
    assert model.n_iter_ == 5 and model.predict_proba(X).shape == (len(Y), 2)


# ---- warm starts ----------------------------------------------------------------------------------------------------


@every_classifier
def test_warm_starts_end_with_the_bits_of_one_run(model):
    whole = with_rounds(model, 70).set_params(warm_start=True).fit(X, Y)
    steps = with_rounds(model, 1).set_params(warm_start=True)
    for count in (40, 70):
        name = "n_estimators" if "n_estimators" in model.get_params() else "max_iter"
        steps.set_params(**{name: count}).fit(X, Y)
    assert bits(steps) == bits(whole) and steps.status_ == whole.status_


def test_a_warm_start_plays_only_what_is_missing():
    seen = []
    training = Training(callbacks=(lambda state: seen.append(state.t),))
    model = AdaBoostClassifier(n_estimators=100, warm_start=True, training=training).fit(X, Y)
    assert seen == list(range(1, 101))
    seen.clear()
    model.set_params(n_estimators=110).fit(X, Y)
    assert seen == list(range(97, 111))


def test_other_data_or_parameters_begin_anew():
    cold = AdaBoostClassifier(n_estimators=50).fit(XV, YV)
    warm = AdaBoostClassifier(n_estimators=50, warm_start=True).fit(X, Y).fit(XV, YV)
    assert warm.n_iter_ == cold.n_iter_ and np.array_equal(warm.decision_function(X), cold.decision_function(X))
    for change in ({"learning_rate": 0.5}, {"max_bins": 8}):
        model = AdaBoostClassifier(n_estimators=50, warm_start=True).fit(X, Y).set_params(**change).fit(X, Y)
        fresh = AdaBoostClassifier(n_estimators=50, **change).fit(X, Y)
        np.testing.assert_array_equal(model.steps_, fresh.steps_)
    fewer = AdaBoostClassifier(n_estimators=50, warm_start=True).fit(X, Y).set_params(n_estimators=20).fit(X, Y)
    assert fewer.n_iter_ == 20
    other = AdaBoostClassifier(n_estimators=50, warm_start=True).fit(X, Y).fit(X, Y + (np.arange(len(Y)) % 3 == 0))
    assert len(other.classes_) == 3


@pytest.mark.parametrize("kind", [ERLPBoostClassifier, LPBoostClassifier, MarginBoostClassifier])
def test_a_smaller_tolerance_goes_on_from_the_ensemble(kind):
    model = kind(0.3, tol=0.1, warm_start=True, calibrate=False, max_iter=5000).fit(X, Y)
    coarse, first, seen = model.certificate_, model.n_iter_, []
    model.set_params(tol=0.02, training=Training(callbacks=(lambda state: seen.append(state.t),))).fit(X, Y)
    assert seen[0] == first + 1 > 4, "from the end of the first"
    cold = kind(0.3, tol=0.02, calibrate=False, max_iter=5000).fit(X, Y)
    assert "certified" in model.status_ and model.certificate_.gap <= coarse.gap
    assert model.certificate_.objective <= cold.certificate_.bound + 1e-9
    assert cold.certificate_.objective <= model.certificate_.bound + 1e-9


def test_several_classes_and_early_stopping_are_warm_too():
    data, target = load_iris(return_X_y=True)
    target = (target + (np.arange(150) % 9 == 0)) % 3
    training = Training(validation_fraction=0.3, patience=40)
    whole = AdaBoostClassifier(n_estimators=90, warm_start=True, training=training).fit(data, target)
    steps = AdaBoostClassifier(n_estimators=50, warm_start=True, training=training).fit(data, target)
    steps.set_params(n_estimators=90).fit(data, target)
    for one, two in zip(whole.estimators_, steps.estimators_, strict=True):
        np.testing.assert_array_equal(one.steps_, two.steps_)
        np.testing.assert_array_equal(one.history_["validation"], two.history_["validation"])


def test_what_is_kept_for_a_warm_start_stays_out_of_files(tmp_path):
    model = AdaBoostClassifier(n_estimators=50, warm_start=True, training=Training(seconds=60)).fit(X, Y)
    save_model(model, tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.training == Training(seconds=60) and again.warm_start
    again.set_params(n_estimators=70).fit(X, Y)
    assert bits(again) == bits(model.set_params(n_estimators=70).fit(X, Y))


# ---- checkpoints ----------------------------------------------------------------------------------------------------


class Crash(Exception):
    """Stands for whatever ends a process."""


def crash_at(round_number: int):
    def callback(state) -> None:
        if state.t == round_number:
            raise Crash

    return callback


@every_classifier
def test_a_broken_fit_is_taken_up_and_ends_with_the_same_bits(model, tmp_path):
    training = Training(checkpoint=str(tmp_path / "run"), checkpoint_seconds=0, patience=200)
    whole = clone(model).set_params(training=training).fit(X, Y, eval_set=(XV, YV))
    assert not list(tmp_path.iterdir()), "removed when it is done"
    stop, seam = (35, 32) if len(whole.history_["validation"]) > 36 else (6, 4)
    with pytest.raises(Crash):
        clone(model).set_params(training=replace(training, callbacks=(crash_at(stop),))).fit(X, Y, eval_set=(XV, YV))
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    seen = []
    training = replace(training, callbacks=(lambda state: seen.append(state.t),))
    again = clone(model).set_params(training=training).fit(X, Y, eval_set=(XV, YV))
    assert bits(again) == bits(whole) and again.status_ == whole.status_
    assert seen[0] == seam + 1 and not list(tmp_path.iterdir())


def test_several_classes_are_taken_up_where_they_were(tmp_path):
    data, target = load_iris(return_X_y=True)
    target = (target + (np.arange(150) % 9 == 0)) % 3
    training = Training(checkpoint=str(tmp_path / "run"), checkpoint_seconds=0)
    kind = MarginBoostClassifier(0.4, booster=Corrective(), tol=1e-9, max_iter=80)
    whole = clone(kind).set_params(training=training).fit(data, target)
    calls = []

    def crash(state) -> None:
        calls.append(state.t)
        if len(calls) == 120:
            raise Crash

    with pytest.raises(Crash):
        clone(kind).set_params(training=replace(training, callbacks=(crash,))).fit(data, target)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.0", "run.1"]
    again = clone(kind).set_params(training=training).fit(data, target)
    np.testing.assert_array_equal(again.predict_proba(data), whole.predict_proba(data))
    assert not list(tmp_path.iterdir())


@pytest.fixture
def broken(tmp_path):
    path = tmp_path / "run"
    training = Training(checkpoint=str(path), checkpoint_seconds=0)
    model = AdaBoostClassifier(n_estimators=90, training=replace(training, callbacks=(crash_at(70),)))
    with pytest.raises(Crash):
        model.fit(X, Y)
    return AdaBoostClassifier(n_estimators=90, training=training), path


def test_a_checkpoint_of_another_fit_is_refused_and_left_alone(broken):
    model, path = broken
    before = path.read_bytes()
    for change in ({"learning_rate": 0.5}, {"tol": 1e-3}, {"max_bins": 9}):
        with pytest.raises(ValueError, match="of a fit to other data or with other parameters"):
            clone(model).set_params(**change).fit(X, Y)
    for rows, labels, weights in ((X + 1, Y, None), (X, 1 - Y, None), (X, Y, 1.0 + Y), (X[:-1], Y[:-1], None)):
        with pytest.raises(ValueError, match="of a fit to other data or with other parameters"):
            clone(model).fit(rows, labels, weights)
    assert path.read_bytes() == before
    assert clone(model).set_params(n_estimators=95, n_jobs=2).fit(X, Y).n_iter_ == 95, "more rounds are the same run"


def test_a_damaged_checkpoint_is_refused(broken):
    model, path = broken
    good = path.read_bytes()
    for bad in (b"", good[:100], good[:-30], good.replace(b"header", b"footer"), b"PK" + good[2:300] + good[304:]):
        path.write_bytes(bad)
        with pytest.raises(ValueError, match=r"delete it to start anew"):
            clone(model).fit(X, Y)


def test_what_cannot_be_kept_is_refused_before_computing(tmp_path):
    training = Training(checkpoint=str(tmp_path / "run"))
    with pytest.raises(ValueError, match="not fitted estimators"):
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), training=training).fit(X, Y)
    with pytest.raises(ValueError, match="give random_state"):
        MarginBoostClassifier(training=training).fit(X, Y)
    with pytest.raises(ValueError, match="no directory that we may write to"):
        AdaBoostClassifier(training=Training(checkpoint=str(tmp_path / "no" / "run"))).fit(X, Y)
    with pytest.raises(ValueError, match="needs a random_state"):
        LogisticMixtureClassifier(training=training).fit(X, Y)


def test_a_checkpoint_that_finds_no_memory_costs_a_warning(tmp_path, monkeypatch):
    training = Training(checkpoint=str(tmp_path / "run"), checkpoint_seconds=0)
    whole, compressor, calls = AdaBoostClassifier(n_estimators=40).fit(X, Y), zipfile._get_compressor, []

    def full(*given):
        calls.append(given)
        if len(calls) == 5:
            raise MemoryError
        return compressor(*given)

    monkeypatch.setattr(zipfile, "_get_compressor", full)
    with pytest.warns(RuntimeWarning, match=r"could not be written \(there is no memory left\): the run goes on"):
        model = AdaBoostClassifier(n_estimators=40, training=training).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-12)
    assert model.n_iter_ == 40 and len(calls) > 5 and not list(tmp_path.iterdir())


def test_a_run_stopped_by_the_clock_can_go_on(tmp_path):
    path = tmp_path / "run"
    training = Training(seconds=0.3, checkpoint=str(path))
    kind = MarginBoostClassifier(0.4, booster=Corrective(), tol=1e-12, max_iter=10**8, calibrate=False)
    first = clone(kind).set_params(training=training).fit(X, Y)
    assert path.exists() and "(time budget)" in first.status_
    seen = []

    def a_little_further(state):
        seen.append(state.t)
        return "further than the first" if state.t > first.n_iter_ else None

    further = Training(checkpoint=str(path), callbacks=(a_little_further,))
    second = clone(kind).set_params(training=further).fit(X, Y)
    assert seen[0] > first.n_iter_ // 2 and len(seen) < first.n_iter_  # it did not begin anew
    assert second.n_iter_ > first.n_iter_ and second.certificate_.gap <= first.certificate_.gap + 1e-12


def test_every_class_stays_in_training():
    """Rows of a rare class that are equal to rows of another are held out together with these, but never all."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        table = rng.integers(0, 2, (400, 3)).astype(float)
        labels = np.where((table == rng.integers(0, 2, 3)).all(axis=1) & (rng.random(400) < 0.9), "rare", "common")
        model = MarginBoostClassifier(0.1, calibrate=False, training=Training(validation_fraction=0.25))
        fitted = model.fit(table, labels)
        for label in ("rare", "common"):
            assert np.isfinite(fitted.margins_[labels == label]).any()
    codes = np.array([0, 1, 0, 1, 2, 0])
    same = np.zeros((6, 1))
    assert not held_out_rows(same, codes, 0.9).any(), "all rows are one"


def test_a_path_is_as_good_as_its_name(tmp_path):
    assert Training(checkpoint=tmp_path / "run") == Training(checkpoint=str(tmp_path / "run"))
