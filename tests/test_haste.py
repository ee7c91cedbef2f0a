"""Classes whose turn comes when the time is over: fitted to a sample, and what is said about all rows is true."""

import importlib
import sys
from itertools import count
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

import dualboost.estimators.clock as clock
import dualboost.estimators.haste as haste
from dualboost import (
    AdaBoostClassifier,
    LogisticMixtureClassifier,
    MABoostClassifier,
    MarginBoostClassifier,
    Training,
)
from dualboost.boosters import Corrective
from dualboost.estimators.clock import Clock
from dualboost.estimators.haste import sampled
from dualboost.estimators.validation import TrainingData
from dualboost.learners import SklearnLearner, Stumps, Trees, Union
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Capped
from test_ctrl_c import press, python_s_own_handler  # noqa: F401

pytestmark = [
    pytest.mark.usefixtures("python_s_own_handler"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="signals of Linux"),
]

X, Y = make_classification(3000, 6, n_informative=5, n_redundant=0, n_classes=5, n_clusters_per_class=1, random_state=0)
X[:40] = X[40:80]  # copies, which a margin merges
Y[:40] = Y[40:80]
WEIGHTS = np.random.default_rng(0).integers(0, 4, len(Y)).astype(float)
SAMPLE = 300

MODELS = {
    "AdaBoost": lambda **given: AdaBoostClassifier(n_estimators=20, **given),
    "trees": lambda **given: AdaBoostClassifier(n_estimators=20, learner=Trees(3), **given),
    "margin": lambda **given: MarginBoostClassifier(0.2, booster=Corrective(), max_iter=50, **given),
    "nu chosen": lambda **given: MarginBoostClassifier(random_state=0, max_iter=50, **given),
    "mirror ascent": lambda **given: MABoostClassifier(max_iter=50, **given),
    "bags": lambda **given: LogisticMixtureClassifier(bags=3, max_iter=20, random_state=0, **given),
    "one noise fit": lambda **given: LogisticMixtureClassifier(bags=0, max_iter=20, random_state=0, **given),
}


@pytest.fixture(autouse=True)
def small_samples(monkeypatch):
    monkeypatch.setattr(haste, "_FEWEST", SAMPLE)
    monkeypatch.setattr(haste, "_MOST", SAMPLE)


def interrupted(monkeypatch, make, k: int = 1, grace: float = 10.0, **given):
    """A model whose fit got Ctrl-C as class k began, and how many rows each game had that was played from there on.

    With ten seconds for the rest of its few rounds, the model does not depend on how busy the machine is.
    """
    monkeypatch.setattr(clock, "_GRACE", grace)
    classes = press(monkeypatch, TrainingData, "against_rest", k + 1)
    played, work = [], TrainingData.rows

    def noted(data, threads):
        played.append((len(classes) > k, len(data.codes)))
        return work(data, threads)

    monkeypatch.setattr(TrainingData, "rows", noted)
    model = make(**given).fit(X, Y, sample_weight=WEIGHTS)
    return model, [count for late, count in played if late]


@pytest.mark.parametrize("name", MODELS)
def test_classes_that_are_left_are_fitted_to_a_sample(monkeypatch, name):
    model, played = interrupted(monkeypatch, MODELS[name])
    assert len(played) >= 4 and max(played) <= 1.1 * SAMPLE
    assert "in haste" not in model.estimators_[0].status_
    for k, part in enumerate(model.estimators_[1:], 1):
        assert part.status_.startswith("fitted in haste to 3") and f"{k}: {part.status_}" in model.status_
        assert roc_auc_score(k == Y, part.decision_function(X)) > 0.6, "a vote that says something"
    odds = model.predict_proba(X)
    assert np.isfinite(odds).all() and np.allclose(odds.sum(axis=1), 1)
    assert model.score(X, Y) > 0.4


@pytest.mark.parametrize("name", MODELS)
def test_what_is_said_of_rows_is_true(monkeypatch, name):
    """Margins and weights of the rows that were fitted to, and a certificate for all of them."""
    model, _ = interrupted(monkeypatch, MODELS[name])
    assert model.margins_.shape == model.sample_distribution_.shape == (len(Y), 5)
    for k, part in enumerate(model.estimators_):
        seen = ~np.isnan(part.margins_)
        assert not seen[WEIGHTS == 0].any()
        assert (SAMPLE / 2 < seen.sum() < 1.2 * SAMPLE) == (k > 0)
        signed = np.where(k == Y, 1, -1) * part.decision_function(X)
        np.testing.assert_allclose(part.margins_[seen], signed[seen], atol=1e-9)
        assert part.sample_distribution_[seen].any() and not part.sample_distribution_[~seen].any()
        assert np.array_equal(model.margins_[:, k], part.margins_, equal_nan=True)
        assert part.certificate_.objective - 1e-12 <= true_value(part, k) <= part.certificate_.bound
    assert model.certificate_.objective == min(part.certificate_.objective for part in model.estimators_)
    assert all("nothing is promised" in words for said in getattr(model, "bounds_", [])[1:] for words in said.values())


def test_margins_that_are_not_known_are_not_drawn(monkeypatch):
    pytest.importorskip("matplotlib")
    from dualboost.plots import ConvergenceDisplay, MarginDisplay

    for name in ("AdaBoost", "margin"):
        with monkeypatch.context() as patch:
            first, *_, last = interrupted(patch, MODELS[name])[0].estimators_
        MarginDisplay.from_estimator(first, sample_weight=WEIGHTS)
        ConvergenceDisplay.from_estimator(last)  # of the run on the sample
        with pytest.raises(ValueError, match=r"was fitted in haste to 3.* fit it again"):
            MarginDisplay.from_estimator(last, sample_weight=WEIGHTS)


def true_value(part, k: int) -> float:
    """The soft margin of a part on all rows, where it maximises one."""
    if not hasattr(part, "nu_"):
        return part.certificate_.objective
    kept = WEIGHTS > 0
    loss = SoftMargin(Capped(nu=part.nu_)).bind(Rows.of(WEIGHTS[kept]))
    return -loss.value((np.where(k == Y, 1, -1) * part.decision_function(X))[kept])


def test_what_a_class_has_chosen_is_not_chosen_in_haste(monkeypatch):
    model, _ = interrupted(monkeypatch, MODELS["nu chosen"], 2)
    assert [part.nu_ for part in model.estimators_[2:]] == [model.estimators_[0].nu_] * 3
    assert {part.nu for part in model.estimators_} == {"auto"}


def test_labels_are_not_blamed_for_lack_of_time(monkeypatch):
    monkeypatch.setattr(clock, "_TURN", 1e-9)
    model, _ = interrupted(monkeypatch, MODELS["bags"], grace=0.0)
    assert "interrupted: cut short; 1 rounds" in model.status_ and "no signal" not in model.status_
    judged = ~np.isnan(model.label_noise_)
    assert judged[Y == 0].sum() == np.sum((Y == 0) & (WEIGHTS > 0)) and judged[Y != 0].sum() < 1.2 * SAMPLE
    assert 0 < model.noise_rate_ < 0.5


@pytest.mark.parametrize("name", ["AdaBoost", "margin"])
@pytest.mark.parametrize("kept", ["checkpoint", "warm_start"])
def test_a_further_fit_goes_on_with_all_rows(monkeypatch, tmp_path, name, kept):
    path = tmp_path / "run"
    given = {"training": Training(checkpoint=str(path))} if kept == "checkpoint" else {"warm_start": True}
    with monkeypatch.context() as patch:
        model, _ = interrupted(patch, MODELS[name], 2, **given)
    files = sorted(Path(tmp_path).iterdir())
    assert [file.name for file in files] == (["run.0", "run.1"] if kept == "checkpoint" else [])
    again = model.fit(X, Y, sample_weight=WEIGHTS)
    assert not list(Path(tmp_path).iterdir()) and "in haste" not in again.status_
    never = MODELS[name](**given).fit(X, Y, sample_weight=WEIGHTS)
    assert np.array_equal(again.decision_function(X), never.decision_function(X))
    assert again.certificate_ == never.certificate_


@pytest.mark.parametrize("run, left", [(3, 4), (5, 4), (6, 3)])
def test_a_first_round_that_is_broken_off_loses_no_class(monkeypatch, run, left):
    """Of the second model behind the probabilities of the first class, of the second class, of a model behind that."""
    press(monkeypatch, Corrective, "start", run)
    model = MODELS["margin"]().fit(X, Y)
    assert sum("in haste" in part.status_ for part in model.estimators_) == left
    assert model.score(X, Y) > 0.4


def test_probabilities_that_are_broken_off_lose_no_vote(monkeypatch):
    whole = MODELS["margin"]().fit(X, Y > 1)
    press(monkeypatch, Corrective, "start", 2)
    model = MODELS["margin"]().fit(X, Y > 1)
    assert np.array_equal(model.decision_function(X), whole.decision_function(X))
    assert np.isfinite(model.predict_proba(X)).all()


def test_the_second_ctrl_c_does_not_begin_anything_anew(monkeypatch):
    press(monkeypatch, TrainingData, "against_rest", 2)
    press(monkeypatch, importlib.import_module("dualboost.estimators.against_rest"), "sample_of", 1)
    with pytest.raises(KeyboardInterrupt):
        MODELS["margin"]().fit(X, Y)


def test_a_time_limit_leaves_a_sample_too():
    model = AdaBoostClassifier(n_estimators=10**6, tol=1e-12, training=Training(seconds=1e-6)).fit(X, Y)
    assert "in haste" not in model.estimators_[0].status_ and "time budget" in model.status_
    assert all("in haste to 3" in part.status_ for part in model.estimators_[1:]) and model.score(X, Y) > 0.3


def test_small_tables_need_no_sample(monkeypatch):
    monkeypatch.setattr(haste, "_WORTH", len(X))
    model, _ = interrupted(monkeypatch, MODELS["AdaBoost"])
    assert "in haste" not in model.status_ and np.isfinite(model.margins_[WEIGHTS > 0]).all()


# ---- the sample -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sample_weighs_what_all_rows_do(weighted):
    random = np.random.default_rng(0)
    codes = random.choice(5, 20_000, p=[0.6, 0.3, 0.0995, 0.0003, 0.0002]).astype(np.int8)
    weights = random.exponential(size=len(codes)) if weighted else None
    given = np.ones(len(codes)) if weights is None else weights
    mask, stands_for = sampled(codes, weights, 1000)
    assert 600 < mask.sum() < 1010 and (stands_for > 0).all()
    for k in range(5):
        assert stands_for[codes[mask] == k].sum() == pytest.approx(given[codes == k].sum())
    rare = codes >= 3
    assert mask[rare].all() and np.allclose(stands_for[rare[mask]], given[rare]), "all rows of a rare class"


def test_weight_k_is_k_copies():
    random = np.random.default_rng(1)
    codes, weights = random.integers(0, 3, 2000).astype(np.int8), random.integers(1, 9, 2000)
    mask, stands_for = sampled(codes, weights.astype(float), 200)
    copies = np.repeat(np.arange(2000), weights)
    drawn, each = sampled(codes[copies], None, 200)
    of_rows = np.bincount(copies[drawn], each, minlength=2000)
    np.testing.assert_allclose(of_rows[mask], stands_for)
    assert not of_rows[~mask].any()


# ---- the time -------------------------------------------------------------------------------------------------------


def stopped(monkeypatch, at: float = 0.0) -> None:
    """A clock that stands still."""
    monkeypatch.setattr(clock, "monotonic", lambda: at)


def test_a_class_leaves_time_to_those_that_follow(monkeypatch):
    stopped(monkeypatch)
    whole = Clock()
    first, last = whole.turn(10), whole.turn(1)
    assert first.left() == last.left() == float("inf")
    whole.interrupt()
    assert first.left() == pytest.approx(0.05) and last.left() == pytest.approx(0.5)
    assert whole.turn(2).left() == pytest.approx(0.125), "half a share"
    assert whole.turn(10).left() == pytest.approx(0.04), "at least"


def test_who_comes_late_has_some_time_but_not_for_ever(monkeypatch):
    stopped(monkeypatch)
    whole = Clock(1.0)
    assert not whole.over
    stopped(monkeypatch, 1.1)
    assert whole.over and whole.turn(10).left() == pytest.approx(0.04)
    stopped(monkeypatch, 1.3)
    assert "time budget" in whole.turn(10).reason()


def test_a_class_says_which_share_it_had(monkeypatch):
    stopped(monkeypatch)
    whole = Clock(20.0)
    turn = whole.turn(7)
    vote, alone = turn.part(1 / 3), whole.part(1 / 3)
    stopped(monkeypatch, 1.0)
    assert vote.reason() == "stopped after its share of the 20 s, 2.9 s (time budget)" and not turn.reason()
    assert whole.turn(6).left() == pytest.approx(19 / 6), "what it left over is for all others"
    stopped(monkeypatch, 7.0)
    assert alone.reason() == "stopped after 20 s (time budget)", "of two classes"
    stopped(monkeypatch, 20.0)
    assert vote.reason() == turn.reason() == whole.reason() == "stopped after 20 s (time budget)"
    whole.interrupt()
    assert vote.reason() == "interrupted: cut short"


def test_of_several_classes_only_the_last_can_see_the_limit_itself(monkeypatch):
    """By a clock that goes on a thousandth of a second whenever somebody looks."""
    looks = count()
    monkeypatch.setattr(clock, "monotonic", lambda: 1e-3 * next(looks))
    model = AdaBoostClassifier(n_estimators=10**9, calibrate=False, training=Training(seconds=0.6)).fit(X, Y % 3)
    first, second, last = (part.status_ for part in model.estimators_)
    for status in (first, second):
        assert status.startswith("stopped after its share of the 0.6 s, 0.") and status.endswith(" s (time budget)")
    assert last == "stopped after 0.6 s (time budget)"


class Counting(DecisionTreeClassifier):
    """Notes how many rows each fit has."""

    rows: ClassVar[list[int]] = []

    def fit(self, X, y, sample_weight=None, check_input=True):
        self.rows.append(len(y))
        return super().fit(X, y, sample_weight=sample_weight, check_input=check_input)


@pytest.mark.parametrize("union", [False, True])
@pytest.mark.parametrize("calibrate", [False, True])
def test_fits_of_scikit_learn_have_few_rows_when_the_time_is_over(calibrate, union):
    """They cannot be cut short, so what is left must be small however long the table is."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(1_000, 3)), rng.integers(0, 4, 1_000)  # too few to be sampled for other learners
    Counting.rows.clear()
    learner = SklearnLearner(Counting(max_depth=2, random_state=0))
    model = AdaBoostClassifier(
        learner=Union((learner, Stumps())) if union else learner, calibrate=calibrate, training=Training(seconds=1e-6)
    ).fit(rows, labels)
    few = [count <= SAMPLE + 4 for count in Counting.rows]
    assert not few[0] and sum(few) >= 3 and all(few[few.index(True) :]), Counting.rows
    assert f"fitted in haste to {SAMPLE}" in model.status_.replace(f"{SAMPLE + 1}", f"{SAMPLE}")
    assert model.predict(rows).shape == labels.shape
