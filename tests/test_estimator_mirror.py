"""The classifiers of the mirror-ascent family: limits on row weights, bounds in every round, metadata routing."""

from dataclasses import replace

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_wine, make_classification
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from dualboost import (
    MABoostClassifier,
    MadaBoostClassifier,
    MarginBoostClassifier,
    SmoothBoostClassifier,
    SparseBoostClassifier,
    load_model,
    save_model,
)
from dualboost.boosters import Euclidean, MirrorAscent

MAKERS = {
    "MABoost": lambda **o: MABoostClassifier(**o),
    "MABoost, euclidean search": lambda **o: MABoostClassifier(regularizer="euclidean", step="search", **o),
    "MABoost, smooth": lambda **o: MABoostClassifier(smoothness=3, **o),
    "SmoothBoost": lambda **o: SmoothBoostClassifier(4, **o),
    "SparseBoost": lambda **o: SparseBoostClassifier(**o),
    "SparseBoost, not projected": lambda **o: SparseBoostClassifier(0.1, project=False, **o),
    "MadaBoost": lambda **o: MadaBoostClassifier(**o),
    "MadaBoost, error": lambda **o: MadaBoostClassifier("error", **o),
}
every_maker = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


CHECKED = (MABoostClassifier, SmoothBoostClassifier, SparseBoostClassifier, MadaBoostClassifier)


@parametrize_with_checks([*(make() for make in CHECKED), MAKERS["MABoost, euclidean search"](max_iter=15)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(240, 8, n_informative=5, flip_y=0.15, random_state=3)
    return X, np.where(y == 1, "yes", "no")


def weighted_error(model, X, y, weights, rows=slice(None)) -> float:
    """By prediction, apart from ties, which are errors."""
    signs = np.where(y == model.classes_[1], 1, -1)
    wrong = signs * model.decision_function(X) <= 0
    return float((weights * wrong)[rows].sum() / weights.sum())


@every_maker
@pytest.mark.parametrize("weighted", [False, True])
def test_the_training_error_stays_below_its_bound(data, make, weighted):
    X, y = data
    weights = np.random.default_rng(0).uniform(0.5, 3, len(y)) if weighted else np.ones(len(y))
    model = make(max_iter=80).fit(X, y, sample_weight=weights if weighted else None)
    history = model.history_
    assert len({len(column) for column in history.values()}) == 1 and len(history["error"]) > 5
    assert np.all(history["error"] <= history["error_bound"] + 1e-12)
    assert history["error"][0] == pytest.approx(1.0) and history["error_bound"][0] == pytest.approx(1.0)
    assert history["error_bound"][-1] < 0.999 and history["error"][-1] < 0.35
    assert weighted_error(model, X, y, weights) == pytest.approx(history["error"][-1], abs=1e-9)
    assert model.bounds_["all"].startswith("wrong rows carry at most ")
    said = float(model.bounds_["all"].split("at most ")[1].split()[0])
    assert said == pytest.approx(history["error_bound"][-1], rel=1e-2)
    assert model.margins_.shape == y.shape and np.abs(model.margins_).max() <= 1 + 1e-12


@every_maker
def test_weights_of_zero_are_absent_rows(data, make):
    X, y = data
    weights = (np.arange(len(y)) % 4 > 0).astype(float)
    whole, part = make(max_iter=20).fit(X, y, weights), make(max_iter=20).fit(X[weights > 0], y[weights > 0])
    np.testing.assert_allclose(whole.decision_function(X), part.decision_function(X), atol=1e-12)
    assert np.all(whole.sample_distribution_[weights == 0] == 0) and np.all(np.isnan(whole.margins_[weights == 0]))


@every_maker
def test_nothing_to_learn_and_nothing_to_ask(make):
    idle = make().fit(np.zeros((4, 1)), [0, 1, 0, 1])
    assert idle.n_iter_ == 0 and idle.predict(np.zeros((2, 1))).tolist() == [0, 0] and idle.status_
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1])
    perfect = make().fit(X, y)
    assert perfect.score(X, y) == 1 and perfect.n_iter_ < 10 and perfect.history_["error"][-1] == 0


# ---- limits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("regularizer", ["entropic", "euclidean"])
@pytest.mark.parametrize("k", [1.5, 5.0])
def test_two_sources(data, regularizer, k):
    X, y = data
    rng = np.random.default_rng(1)
    secondary = rng.random(len(y)) < 0.4
    y = np.where(secondary & (rng.random(len(y)) < 0.4), np.where(y == "yes", "no", "yes"), y)
    weights = rng.uniform(0.5, 2, len(y))
    model = SmoothBoostClassifier(k, regularizer=regularizer, max_iter=100).fit(X, y, weights, secondary=secondary)
    p = weights / weights.sum()
    share = p[secondary].sum()
    caps = k * p[secondary] / share
    assert np.all(model.sample_distribution_[secondary] <= caps * (1 + 1e-9))
    assert np.all(model.history_["error"] <= model.history_["error_bound"] + 1e-12)
    for name, rows in (("primary", ~secondary), ("secondary", secondary), ("all", slice(None))):
        said = float(model.bounds_[name].split("at most ")[1].split()[0])
        assert weighted_error(model, X, y, weights, rows) <= said * (1 + 5e-3), name
    other = MABoostClassifier(smoothness=k, regularizer=regularizer, update="lazy", max_iter=100)
    other.fit(X, y, weights, secondary=secondary)
    np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))


def test_no_secondary_row_is_no_limit(data):
    X, y = data
    plain = MABoostClassifier(max_iter=30).fit(X, y)
    smooth = SmoothBoostClassifier(2, max_iter=30).fit(X, y, secondary=np.zeros(len(y), bool))
    np.testing.assert_allclose(plain.decision_function(X), smooth.decision_function(X), atol=1e-12)


def test_groups(data):
    X, y = data
    groups = np.array(["lab", "web", "web", "clinic"])[np.arange(len(y)) % 4]
    model = MABoostClassifier(group_caps={"web": 0.2}, max_iter=60).fit(X, y, groups=groups)
    assert model.sample_distribution_[groups == "web"].sum() <= 0.2 + 1e-9
    assert np.all(model.history_["error"] <= model.history_["error_bound"] + 1e-12)
    free = groups != "web"
    assert model.history_["error"][-1] == pytest.approx(weighted_error(model, X, y, np.ones(len(y)), free))
    assert "nothing is promised" in model.bounds_["web"] and "groups without a cap" in model.bounds_
    floors = MABoostClassifier(group_floors={"lab": 0.6}, max_iter=60).fit(X, y, groups=groups)
    assert floors.sample_distribution_[groups == "lab"].sum() >= 0.6 - 1e-9
    assert "nothing is promised" in floors.bounds_["all"]
    both = MABoostClassifier(smoothness=4, group_caps={"web": 0.2}, max_iter=60).fit(X, y, groups=groups)
    assert both.sample_distribution_.max() <= 4 / len(y) * (1 + 1e-9)


def test_caps(data):
    X, y = data
    caps = np.where(np.arange(len(y)) % 2, 3.0, 0.5) / len(y)
    model = MABoostClassifier(max_iter=60).fit(X, y, caps=caps)
    assert np.all(model.sample_distribution_ <= caps * (1 + 1e-9))
    assert np.all(model.history_["error"] <= model.history_["error_bound"] + 1e-12)


def test_several_classes_and_probabilities():
    X, y = load_wine(return_X_y=True)
    secondary = np.arange(len(y)) % 2 == 0
    model = SmoothBoostClassifier(3, max_iter=30).fit(X, y, secondary=secondary)
    assert model.score(X, y) > 0.9 and len(model.bounds_) == len(model.history_) == 3
    assert all(set(words) == {"all", "primary", "secondary"} for words in model.bounds_)
    for history in model.history_:
        assert np.all(history["error"] <= history["error_bound"] + 1e-12)
    np.testing.assert_array_equal(np.argmax(model.predict_proba(X), axis=1), model.predict(X))


def test_caps_mean_the_same_on_parts_of_the_rows(data):
    """Probabilities are learned on folds; caps that leave little room to all rows must leave as much to each fold."""
    X, y = data
    weights = 1.0 + np.arange(len(y)) % 3
    caps = np.full(len(y), 1.05 / weights.sum())
    model = MABoostClassifier(max_iter=10).fit(X, y, weights, caps=caps)
    assert np.all(model.sample_distribution_ <= caps * weights * (1 + 1e-9))
    assert model.predict_proba(X).shape == (len(y), 2)


def test_sparse_boost_takes_rows_out(data):
    X, y = data
    dense = MABoostClassifier(max_iter=60).fit(X, y)
    sparse = SparseBoostClassifier(max_iter=60).fit(X, y)
    sparser = SparseBoostClassifier(0.2, project=False, max_iter=60).fit(X, y)
    assert dense.history_["nonzero"].min() == 1.0
    assert sparser.history_["nonzero"][-1] < sparse.history_["nonzero"][-1] < 1.0


@every_maker
def test_saved_and_loaded(data, make, tmp_path):
    X, y = data
    model = make(max_iter=10).fit(X, y)
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.bounds_ == model.bounds_ and set(again.history_) == set(model.history_)


def test_a_booster_survives_as_a_parameter(data, tmp_path):
    X, y = data
    booster = MirrorAscent(Euclidean(), "lazy", "search")
    model = MarginBoostClassifier(nu=0.4, booster=booster, max_iter=20).fit(X, y)
    save_model(model, tmp_path / "model")
    assert load_model(tmp_path / "model").booster == booster == replace(booster)


# ---- metadata routing -----------------------------------------------------------------------------------------------


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_routed_through_a_pipeline(data, routing):
    X, y = data
    secondary = np.arange(len(y)) % 3 == 0
    alone = SmoothBoostClassifier(2, max_iter=20).fit(X, y, secondary=secondary)
    pipe = make_pipeline(StandardScaler(), SmoothBoostClassifier(2, max_iter=20).set_fit_request(secondary=True))
    pipe.fit(X, y, secondary=secondary)
    assert set(pipe[-1].bounds_) == {"all", "primary", "secondary"} == set(alone.bounds_)
    assert np.mean(pipe.predict(X) == alone.predict(X)) > 0.95


def test_routed_through_cross_validation(data, routing):
    X, y = data
    groups = np.where(np.arange(len(y)) % 3 == 0, "web", "lab")
    model = MABoostClassifier(group_caps={"web": 0.1}, max_iter=20)
    model.set_fit_request(groups=True, sample_weight=True).set_score_request(sample_weight=True)
    weights = 1.0 + (groups == "lab")
    scores = cross_validate(model, X, y, params={"groups": groups, "sample_weight": weights}, return_estimator=True)
    assert np.mean(scores["test_score"]) > 0.6
    assert all("web" in fitted.bounds_ for fitted in scores["estimator"]), "the groups arrived"
    search = GridSearchCV(
        SmoothBoostClassifier(max_iter=20).set_fit_request(secondary=True), {"smoothness": [1.5, 4]}, cv=3
    )
    search.fit(X, y, secondary=groups == "web")
    assert set(search.best_estimator_.bounds_) == {"all", "primary", "secondary"}


def test_metadata_that_was_not_asked_for_is_refused(data, routing):
    X, y = data
    with pytest.raises(ValueError, match="secondary"):
        make_pipeline(StandardScaler(), SmoothBoostClassifier(2)).fit(X, y, secondary=np.ones(len(y), bool))


# ---- words ----------------------------------------------------------------------------------------------------------

MASK, LABELS = np.arange(240) % 3 == 0, np.where(np.arange(240) % 3 == 0, "web", "lab")
REFUSED = {
    "smoothness": (SmoothBoostClassifier(0.5), {}, "smoothness"),
    "smoothness is missing": (MABoostClassifier(), {"secondary": MASK}, "needs a smoothness"),
    "mask of numbers": (SmoothBoostClassifier(2), {"secondary": MASK.astype(int)}, "mask"),
    "short mask": (SmoothBoostClassifier(2), {"secondary": MASK[1:]}, "one value for each"),
    "groups without limits": (MABoostClassifier(), {"groups": LABELS}, "groups need limits"),
    "both": (
        MABoostClassifier(smoothness=2, group_caps={"web": 0.5}), {"groups": LABELS, "secondary": MASK},
        "either secondary or groups"),
    "caps and smoothness": (MABoostClassifier(smoothness=2), {"caps": np.ones(240)}, "either caps"),
    "caps too small": (MABoostClassifier(), {"caps": np.full(240, 1e-3)}, "at least 1"),
    "no such group": (MABoostClassifier(group_caps={"wbe": 0.1}), {"groups": LABELS}, "wbe"),
    "no groups": (MABoostClassifier(group_caps={"web": 0.1}), {}, "group of each row"),
    "caps of zero": (MABoostClassifier(), {"caps": np.zeros(240)}, "positive"),
    "caps of words": (MABoostClassifier(), {"caps": LABELS}, "number"),
    "shares": (MABoostClassifier(group_caps={"web": 1.5}), {"groups": LABELS}, "share"),
    "not a dict": (MABoostClassifier(group_caps=0.5), {"groups": LABELS}, "dict"),
    "caps that leave too little": (
        MABoostClassifier(group_caps={"web": 0.2, "lab": 0.3}), {"groups": LABELS}, "raise their caps"),
    "floors that ask too much": (
        MABoostClassifier(group_floors={"web": 0.7, "lab": 0.7}), {"groups": LABELS}, "lower them"),
    "alpha": (SparseBoostClassifier(1.0), {}, "alpha"),
    "step": (MadaBoostClassifier("other"), {}, "step"),
    "update": (MABoostClassifier(update="other"), {}, "update"),
    "regularizer": (MABoostClassifier(regularizer="other"), {}, "regularizer"),
    "max_iter": (MABoostClassifier(max_iter=0), {}, "max_iter"),
}  # fmt: skip


@pytest.mark.parametrize("model, given, words", REFUSED.values(), ids=REFUSED)
def test_bad_input_is_one_sentence(data, model, given, words):
    with pytest.raises(ValueError, match=words) as caught:
        model.fit(*data, **given)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
