"""Trees of other libraries are read: votes are theirs, at thresholds and for missing values too."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from dualboost import explain, load_model, reweight, save_model, shapes
from dualboost.estimators.foreign_trees import raw_trees
from dualboost.estimators.members import AskedMembers, MemberScores, ReadTrees, _asked, members_of
from dualboost.learners.leaf_scores import LeafScores

X, Y = make_classification(500, 6, n_informative=4, flip_y=0.05, random_state=0)
X = np.round(X, 2) / 3  # thresholds between values that single precision does not hold
PATCHY = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
TOWNS = np.column_stack([np.digitize(X[:, 0], [-0.4, -0.1, 0.2, 0.5]) * 2 % 5, X[:, 1:]]).astype(float)


def lightgbm(**options):
    library = pytest.importorskip("lightgbm")
    return library.LGBMClassifier(**{"n_estimators": 12, "verbose": -1, **options})


def xgboost(**options):
    library = pytest.importorskip("xgboost")
    return library.XGBClassifier(**{"n_estimators": 12, **options})


READ = {
    "forest": lambda: RandomForestClassifier(15, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(15, max_depth=6, random_state=0),
    "bagging": lambda: BaggingClassifier(n_estimators=15, max_features=0.5, random_state=0),
    "bagging, one class in some": lambda: BaggingClassifier(n_estimators=15, max_samples=2, random_state=0),
    "AdaBoost": lambda: AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=12, random_state=0),
    "gradient boosting": lambda: GradientBoostingClassifier(n_estimators=12, random_state=0),
    "histogram boosting": lambda: HistGradientBoostingClassifier(max_iter=12),
    "lightgbm": lightgbm,
    "lightgbm, forest": lambda: lightgbm(boosting_type="rf", bagging_freq=1, bagging_fraction=0.5),
    "xgboost": xgboost,
    "xgboost, many leaves": lambda: xgboost(grow_policy="lossguide", max_leaves=40, max_depth=0),
}
ASKED = {
    "bagging without trees": lambda: BaggingClassifier(RidgeClassifier(), n_estimators=8, random_state=0),
    "a vote": lambda: VotingClassifier([("ridge", RidgeClassifier()), ("tree", DecisionTreeClassifier(max_depth=3))]),
    "histogram boosting, categories": lambda: HistGradientBoostingClassifier(max_iter=12, categorical_features=[0]),
    "histogram boosting, unused categories": lambda: HistGradientBoostingClassifier(
        max_iter=3, max_leaf_nodes=3, categorical_features=[5]
    ),
    "lightgbm, zeros": lambda: lightgbm(zero_as_missing=True),
    "lightgbm, lines": lambda: lightgbm(linear_tree=True),
    "xgboost, dart": lambda: xgboost(booster="dart", rate_drop=0.5),
}
PATCHY_TOO = [name for name in READ if name not in ("AdaBoost", "gradient boosting")]  # these refuse missing values


ZERO = float(np.float32(1e-35))  # of LightGBM
TINY = [ZERO, np.nextafter(ZERO, 1), np.nextafter(ZERO, 0), 1e-35, 1e-40, 5e-324]
OTHERS = np.array([0.0, -0.0, *TINY, *np.negative(TINY), 3e38, -3e38])
"""Values that some libraries take for others."""


def near_thresholds(members: ReadTrees) -> np.ndarray:
    """Rows of values at the thresholds of all trees and right beside them, in double and in single precision."""
    cuts = np.concatenate([tree.threshold[tree.feature >= 0] for tree in members.trees])
    cuts = np.append(cuts[np.isfinite(cuts)], 0.0)
    singles = cuts.astype(np.float32)
    steps = [np.nextafter(singles, np.float32(way)).astype(float) for way in (-9, 9)]
    values = np.concatenate([cuts, np.nextafter(cuts, -9), np.nextafter(cuts, 9), singles, *steps, OTHERS])
    rng = np.random.default_rng(1)
    rows = rng.choice(values, (600, X.shape[1]))
    return rows


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("table", ["whole", "patchy"])
def test_votes_are_those_of_the_library(name, table):
    if table == "patchy" and name not in PATCHY_TOO:
        pytest.skip("it refuses missing values")
    given = PATCHY if table == "patchy" else X
    model = READ[name]().fit(given, Y)
    members = members_of(model)
    assert isinstance(members, ReadTrees) and len(members.trees) >= 12
    rows = near_thresholds(members)
    if name in PATCHY_TOO:  # also where training had none
        rows[::4, 2] = np.nan
    booster = getattr(model, "booster_", None) or (model.get_booster() if hasattr(model, "get_booster") else model)
    if name in ("gradient boosting", "histogram boosting"):
        stages = np.array([np.ravel(stage) for stage in model.staged_decision_function(rows)])
        rate = model.learning_rate if name == "gradient boosting" else 1.0
        own = rate * members.votes(rows)
        np.testing.assert_allclose(np.diff(stages, axis=0), own[1:], atol=1e-9)
        first = stages[0] - own[0]  # what is left is the base score
        np.testing.assert_allclose(first, first[0], atol=1e-9)
        return
    np.testing.assert_allclose(members.votes(rows), _asked(booster).votes(rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ASKED)
def test_what_cannot_be_read_is_asked(name):
    given = TOWNS if "categories" in name else X
    if "unused" in name:  # the columns are in another order all the same
        given = np.column_stack([X[:, :5], np.arange(len(X)) % 2])
    model = ASKED[name]().fit(given, Y)
    members = members_of(model)
    assert isinstance(members, AskedMembers)
    small = reweight(model, given, Y, nu=0.4)
    assert isinstance(small.predictor_, MemberScores) and small.score(given, Y) > 0.65
    signs = np.where(Y == 1, 1.0, -1.0)
    np.testing.assert_allclose(small.margins_, signs * small.decision_function(given), atol=1e-12)
    if "lightgbm" in name:
        np.testing.assert_allclose(members.votes(given).sum(axis=0), model.predict(given, raw_score=True), atol=1e-9)


def test_categories_of_lightgbm_and_xgboost_are_asked():
    labels = np.isin(TOWNS[:, 0], [0, 3])
    light = lightgbm().fit(TOWNS, labels, categorical_feature=[0])
    extreme = xgboost(enable_categorical=True, feature_types=["c", *"qqqqq"], max_cat_to_onehot=1).fit(TOWNS, labels)
    assert raw_trees(light.booster_) is None and raw_trees(extreme.get_booster()) is None
    assert isinstance(members_of(light), AskedMembers) and isinstance(members_of(extreme), AskedMembers)


@pytest.mark.parametrize("name", READ)
def test_a_small_ensemble_stands_alone(name, tmp_path):
    """Explained, drawn, kept in a file: the library that grew it is not needed any more."""
    model = READ[name]().fit(X[:250], Y[:250])
    small = reweight(model, X[250:], Y[250:], nu=0.4)
    assert isinstance(small.predictor_, LeafScores) and 0 < len(small.predictor_) <= 15
    assert small.feature_importances_.sum() == pytest.approx(1.0)
    explanation = explain(small, X[:20])
    np.testing.assert_allclose(
        explanation.base + explanation.contributions.sum(axis=1), small.decision_function(X[:20]), atol=1e-12
    )
    save_model(small, tmp_path / "small")
    for again in (load_model(tmp_path / "small"), pickle.loads(pickle.dumps(small))):
        np.testing.assert_array_equal(again.decision_function(X), small.decision_function(X))
        np.testing.assert_array_equal(again.predict_proba(X), small.predict_proba(X))
        refitted = again.fit(X[250:], Y[250:])
        np.testing.assert_array_equal(refitted.decision_function(X), small.decision_function(X))


def test_curves_of_boosted_stumps():
    model = GradientBoostingClassifier(n_estimators=60, max_depth=1, random_state=0).fit(X[:250], Y[:250])
    small = reweight(model, X[250:], Y[250:], nu=0.6)
    curves = shapes(small)
    rest = small.decision_function(X) - sum(curve(X[:, curve.feature]) for curve in curves)
    assert len(curves) > 1 and np.ptp(rest) < 1e-12


def test_a_small_ensemble_is_exported():
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    from dualboost import to_onnx

    for name in ("forest", "gradient boosting", "histogram boosting"):
        small = reweight(READ[name]().fit(X[:250], Y[:250]), X[250:], Y[250:], nu=0.4)
        session = runtime.InferenceSession(to_onnx(small).SerializeToString(), providers=["CPUExecutionProvider"])
        label, score, chances = session.run(None, {"X": X})
        np.testing.assert_array_equal(label, small.predict(X))
        np.testing.assert_allclose(score, small.decision_function(X), atol=1e-9)
        np.testing.assert_allclose(chances, small.predict_proba(X), atol=1e-9)


# ---- what must not be read otherwise than it was written ------------------------------------------------------------


def sparse_table() -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """A table, the same with NaN for what it does not list, and labels that follow from what is listed."""
    table = sp.random_array((600, 4), density=0.4, rng=np.random.default_rng(0), format="csr")
    dense = table.toarray()
    return table, np.where(dense == 0, np.nan, dense), (dense[:, 0] == 0) | (dense[:, 0] > 0.5)


def test_absent_entries_of_a_sparse_table_are_missing_to_xgboost():
    table, dense, labels = sparse_table()
    model = xgboost(n_estimators=5, max_depth=2).fit(table, labels)
    members = members_of(model, sparse=True)
    assert isinstance(members, AskedMembers)
    np.testing.assert_array_equal(members.votes(table), members_of(model).votes(dense))
    signs = np.where(labels, 1.0, -1.0)
    for rows in (table, dense):
        small = reweight(model, rows, labels, nu=0.1)
        np.testing.assert_allclose(small.margins_, signs * small.decision_function(rows), atol=1e-12)
        assert small.score(rows, labels) > 0.95


def test_sparse_tables_that_xgboost_reads_otherwise_are_refused():
    table, dense, labels = sparse_table()
    model = xgboost(n_estimators=5, max_depth=2).fit(dense, labels)
    small = reweight(model, dense, labels, nu=0.1)
    for judge in (
        small.predict,
        small.predict_proba,
        lambda rows: explain(small, rows),
        lambda rows: small.fit(rows, labels),
    ):
        with pytest.raises(ValueError, match="does not list is missing to XGBoost and 0 here: give a dense table"):
            judge(table)
    assert reweight(RandomForestClassifier(5).fit(table, labels), table, labels, nu=0.4).predict(table).any()
    listed = table.copy()
    listed.data[::7] = 0.0
    with pytest.raises(ValueError, match=r"X lists zeros, which are values to XGBoost.*call X.eliminate_zeros\(\)"):
        reweight(model, listed, labels, nu=0.1)


def test_lightgbm_reads_sparse_tables_as_they_are_here():
    table, _, labels = sparse_table()
    light = lightgbm(n_estimators=5).fit(table, labels)
    np.testing.assert_allclose(
        members_of(light, sparse=True).votes(table).sum(axis=0), light.predict(table, raw_score=True), atol=1e-9
    )


def test_members_that_are_ensembles_are_asked():
    bags = [
        (name, BaggingClassifier(DecisionTreeClassifier(max_depth=3), 6, max_features=0.5, random_state=k))
        for k, name in enumerate("ab")
    ]
    piped = BaggingClassifier(make_pipeline(StandardScaler(), LogisticRegression()), n_estimators=5, random_state=0)
    for model in (VotingClassifier(bags, voting="soft").fit(X, Y), piped.fit(X, Y)):
        votes, shares = members_of(model).votes(X), model.predict_proba(X)
        assert len(votes) == len(model.estimators_)
        np.testing.assert_allclose(votes.mean(axis=0), shares[:, 1] - shares[:, 0], atol=1e-12)


@pytest.mark.parametrize("name", ["forest", "histogram boosting", "lightgbm", "xgboost"])
def test_the_columns_must_be_those_of_the_ensemble(name):
    model = READ[name]().fit(X, Y)
    for wrong in (X[:, :5], np.column_stack([X, X[:, 0]])):
        with pytest.raises(ValueError, match=rf"X has {wrong.shape[1]} columns, but the ensemble was fitted to 6"):
            reweight(model, wrong, Y, nu=0.4)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    named = READ[name]().fit(frame, Y)
    with pytest.raises(ValueError, match=r"X has the columns \['f', .*but the ensemble was fitted to \['a', "):
        reweight(named, frame[list("fedcba")], Y, nu=0.4)
    assert reweight(named, frame, Y, nu=0.4).score(frame, Y) > 0.7
    assert reweight(model, frame, Y, nu=0.4).score(frame, Y) > 0.7, "fitted to an array, it knows no names"


def test_columns_of_native_boosters_have_names_too():
    light, extreme = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    frame = pd.DataFrame(X, columns=["mean a", "mean b", *"cdef"])  # LightGBM writes mean_a
    boosters = [
        light.train({"objective": "binary", "verbose": -1}, light.Dataset(frame, Y), 5),
        extreme.train({"objective": "binary:logistic"}, extreme.DMatrix(frame, Y), 5),
        lightgbm().fit(frame, Y),
    ]
    for booster in boosters:
        assert reweight(booster, frame, Y, nu=0.4).score(frame, Y) > 0.7
        with pytest.raises(ValueError, match=r"X has the columns \['f', .*but the ensemble was fitted to \['mean"):
            reweight(booster, frame[frame.columns[::-1]], Y, nu=0.4)
    nameless = extreme.train({"objective": "binary:logistic"}, extreme.DMatrix(X, Y), 5)
    assert reweight(nameless, frame, Y, nu=0.4).score(frame, Y) > 0.7


def test_boosters_of_several_classes_and_lines_are_refused():
    light, extreme = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    three, both = np.arange(len(X)) % 3, np.column_stack([Y, Y])
    many = [
        light.train({"objective": "multiclass", "num_class": 3, "verbose": -1}, light.Dataset(X, three), 3),
        extreme.train({"objective": "multi:softprob", "num_class": 2}, extreme.DMatrix(X, Y), 3),
        xgboost().fit(X, both),
        xgboost(multi_strategy="multi_output_tree").fit(X, both),
        RandomForestClassifier(3).fit(X, both),
    ]
    for ensemble in many:
        with pytest.raises(ValueError, match=r"for a single vote on two classes; the ensemble has [23], of several"):
            reweight(ensemble, X, Y, nu=0.4)
    with pytest.raises(ValueError, match="gblinear has none"):
        reweight(xgboost(booster="gblinear").fit(X, Y), X, Y, nu=0.4)
    with pytest.raises(ValueError, match=r"takes -999 for missing: fit it, and give reweight X, with NaN"):
        reweight(xgboost(missing=-999).fit(X, Y), X, Y, nu=0.4)


def test_a_threshold_of_lightgbm_may_be_infinite():
    rows = np.where(np.arange(500) % 3 == 0, np.nan, 1.0)[:, None]
    model = lightgbm(n_estimators=3, max_bin=3).fit(rows, np.isnan(rows[:, 0]))
    far = np.array([[np.nan], [1.0], [1e299], [1e305], [np.inf]])
    np.testing.assert_allclose(members_of(model).votes(far).sum(axis=0), model.predict(far, raw_score=True), atol=1e-9)


def test_leaves_that_say_nothing_are_refused(monkeypatch):
    """LightGBM lists them as NaN, which its own reader refuses."""
    model = lightgbm().fit(X, Y)
    monkeypatch.setattr(type(model.booster_), "dump_model", lambda *_, **__: json.loads('{"tree_info": nan}'))
    with pytest.raises(ValueError, match=r"LightGBM cannot list its trees, .*: fit it without linear_tree"):
        reweight(model, X, Y, nu=0.4)
