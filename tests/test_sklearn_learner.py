"""Any scikit-learn classifier as a learner: honest bounds, stable keys, runs that can be stored, clear refusals."""

import pickle
from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import dualboost
import reference
from conftest import OPEN_LEARNERS
from dualboost import AdaBoostClassifier, solve
from dualboost.boosters import (
    AdaBoostStar,
    Corrective,
    CorrectiveFrankWolfe,
    LPBoost,
    MLPBoost,
    ServedioSmoothBoost,
    SoftBoost,
    TotallyCorrective,
)
from dualboost.game import Game, rounds
from dualboost.learners import SklearnLearner, Stumps
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Capped, Simplex
from fitted import quick
from test_copies import LAID_OUT, pair, table

ESTIMATORS = {
    "tree": DecisionTreeClassifier(max_depth=2, random_state=0),
    "logistic": LogisticRegression(),
    "svm": LinearSVC(random_state=0),
    "bayes": GaussianNB(),
}
PLAYERS = [
    AdaBoostStar(),
    Corrective(),
    CorrectiveFrankWolfe(),
    LPBoost(),
    MLPBoost(),
    ServedioSmoothBoost(),
    SoftBoost(),
    TotallyCorrective(),
]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)


def data(seed: int = 0, m: int = 60):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 4))
    return X, np.where(X[:, 0] + 0.7 * X[:, 1] ** 2 + 0.3 * rng.normal(size=m) > 0.5, 1, -1).astype(np.int8)


def oracle_of(estimator, seed: int = 0, weights=60):
    X, y = data(seed)
    return SklearnLearner(estimator).bind(X, y, Rows.of(weights))


@every_estimator
def test_an_answer_is_the_weighted_fit(estimator):
    """Column, edge and bound by hand; rows of weight 0 have no say."""
    X, y = data()
    oracle, rng = oracle_of(estimator), np.random.default_rng(1)
    for d in (np.full(60, 1 / 60), rng.dirichlet(np.ones(60)), np.where(np.arange(60) % 2, 2 / 60, 0.0)):
        answer = oracle.best(d, 3)
        used = d > 0
        model = type(estimator)(**estimator.get_params()).fit(X[used], y[used], sample_weight=d[used] * 60)
        column = y * model.predict(X)
        assert np.mean(answer.columns[0] == column) > 0.98, "up to the solver's rounding"
        np.testing.assert_array_equal(oracle.column(answer.hypotheses[0]), answer.columns[0])
        assert answer.edges == pytest.approx([answer.columns[0] @ d]) and len(answer.hypotheses) == 1
        assert 1 <= answer.bound <= 1 + 1e-12 and abs(answer.edges[0]) > 0.3


@every_estimator
def test_margins_columns_and_scores_agree(estimator):
    X, y = data()
    oracle, rng = oracle_of(estimator), np.random.default_rng(2)
    keys = [oracle.best(rng.dirichlet(np.ones(60))).hypotheses[0] for _ in range(4)]
    w = rng.normal(size=4)
    margins = oracle.margins(keys, w)
    np.testing.assert_allclose(margins, np.array([oracle.column(key) for key in keys]).T @ w, atol=1e-14)
    predictor = oracle.predictor(keys, w)
    np.testing.assert_allclose(predictor.scores(X) * y, margins, atol=1e-14)
    importances = predictor.importances(4)
    assert importances.shape == (4,) and importances.sum() == pytest.approx(0.0 if "NB" in str(estimator) else 1.0)


@pytest.mark.parametrize("make", OPEN_LEARNERS.values(), ids=OPEN_LEARNERS)
@pytest.mark.parametrize("booster", PLAYERS, ids=str)
def test_boosters_play_with_it(make, booster):
    """z = A w every round, the true value, a bound that no ensemble of the class exceeds."""
    X, y = data(3)
    X = np.floor(2 * (X - X.min(axis=0))) if getattr(make(), "categorical", ()) else X
    rows = Rows.of(60)
    weight_set = Simplex() if isinstance(booster, AdaBoostStar) else Capped(nu=0.3)
    game = Game(SoftMargin(weight_set).bind(rows), make().bind(X, y, rows), rows, tol=1e-3)
    caps = np.full(60, 1.0 if isinstance(weight_set, Simplex) else 1 / 18)
    for state, _ in islice(rounds(game, booster), 6):
        z = np.array([game.oracle.column(key) for key in state.pool.keys[: len(state.w)]]).T @ state.w
        np.testing.assert_allclose(state.z, z if len(state.w) else np.zeros(60), atol=1e-13)
        assert state.best.objective <= state.best.bound <= 1 + 1e-9
        assert state.best.objective >= reference.average_lowest(state.z, caps) - 1e-12
    assert state.t > 0 and np.abs(state.z).max() > 0


def test_totally_corrective_trees_beat_one_tree():
    for booster in (LPBoost(), TotallyCorrective()):
        oracle = oracle_of(ESTIMATORS["tree"], 5)
        solution = solve(oracle, SoftMargin(Capped(nu=0.1)), booster, max_rounds=25)
        single = oracle.best(np.full(60, 1 / 60)).columns[0]
        assert np.count_nonzero(solution.weights) > 3
        margins = oracle.margins(solution.hypotheses, solution.weights)
        assert np.mean(margins <= 0) < np.mean(single <= 0)
        assert solution.objective == pytest.approx(reference.average_lowest(margins, np.full(60, 1 / 6)), abs=1e-12)


def test_depth_one_trees_never_beat_the_best_stump():
    """The same class as Stumps, grown greedily: its edges can only be smaller."""
    X, y = data()
    ours, theirs = Stumps().bind(X, y, Rows.of(60)), oracle_of(DecisionTreeClassifier(max_depth=1, random_state=0))
    for seed in range(5):
        d = np.random.default_rng(seed).dirichlet(np.ones(60))
        assert abs(theirs.best(d).edges[0]) <= ours.best(d).bound + 1e-12


def test_equal_columns_are_one_hypothesis():
    oracle = oracle_of(ESTIMATORS["tree"])
    one, two = (oracle.best(np.full(60, 1 / 60)).hypotheses[0] for _ in range(2))
    assert one == two and hash(one) == hash(two) and one is two, "the first of them is kept"
    other = oracle.best(np.eye(60)[:5].mean(axis=0)).hypotheses[0]
    assert other != one and one != "something else"


def test_one_class_left_is_a_constant():
    X, y = data()
    oracle = oracle_of(LogisticRegression())
    answer = oracle.best((y < 0) / (y < 0).sum())
    assert answer.edges == pytest.approx([1.0])
    np.testing.assert_array_equal(oracle.predictor(answer.hypotheses, np.ones(1)).scores(X), -np.ones(60))
    assert not oracle.predictor(answer.hypotheses, np.ones(1)).importances(4).any()


def test_a_stored_run_is_taken_up_elsewhere():
    """The pool carries the classifiers: another process can go on and predict."""
    X, _ = data()

    def game():
        rows = Rows.of(60)
        return Game(SoftMargin(Capped(nu=0.2)).bind(rows), oracle_of(ESTIMATORS["tree"]), rows, tol=1e-3)

    first = game()
    state = next(islice(rounds(first, TotallyCorrective()), 4, None))[0]
    stored = pickle.loads(pickle.dumps(state))
    first.forget()
    here, there = (
        next(islice(rounds(g, TotallyCorrective(), s), 4, None))[0] for g, s in ((first, state), (game(), stored))
    )
    np.testing.assert_array_equal(here.w, there.w)
    scores = [g.oracle.predictor(s.pool.keys[: len(s.w)], s.w).scores(X) for g, s in ((first, here), (game(), there))]
    np.testing.assert_array_equal(*scores)


def test_two_runs_are_the_same():
    weights = [solve(oracle_of(ESTIMATORS["tree"]), booster=LPBoost(), max_rounds=8).weights for _ in range(2)]
    np.testing.assert_array_equal(*weights)
    assert len(weights[0]) > 2


def with_wide_indices(X):
    table = sp.csr_array(X)
    table.indices, table.indptr = table.indices.astype(np.int64), table.indptr.astype(np.int64)
    return table


@pytest.mark.parametrize("form", [sp.csr_array, sp.coo_array, lambda X: X.tolist(), with_wide_indices])
def test_forms_of_input(form):
    X, y = data()
    dense, other = (SklearnLearner(ESTIMATORS["tree"]).bind(f(X), y, Rows.of(60)) for f in (np.asarray, form))
    d = np.random.default_rng(4).dirichlet(np.ones(60))
    np.testing.assert_array_equal(dense.best(d).columns[0], other.best(d).columns[0])


def test_sample_weight_k_is_k_copies():
    X, y = data()
    counts = np.random.default_rng(6).integers(1, 4, 60)
    copy_of = np.repeat(np.arange(60), counts)
    whole = SklearnLearner(ESTIMATORS["tree"]).bind(X, y, Rows.of(counts.astype(float)))
    copies = SklearnLearner(ESTIMATORS["tree"]).bind(X[copy_of], y[copy_of], Rows.of(len(copy_of)))
    d = np.random.default_rng(7).dirichlet(np.ones(60))
    one, two = whole.best(d), copies.best(d[copy_of] / counts[copy_of])
    assert one.edges == pytest.approx(two.edges, abs=1e-12)
    np.testing.assert_array_equal(one.columns[0][copy_of], two.columns[0])


CLASSIFIERS = [
    name
    for name in dualboost.__all__
    if name.endswith("Classifier") and name != "FrankWolfeBoostClassifier"  # which averages over a class
]


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize(
    "estimator",
    [DecisionTreeClassifier(max_depth=2, random_state=0), DecisionTreeClassifier(random_state=0), LogisticRegression()],
    ids=["tree", "deep tree", "logistic"],
)
def test_weights_are_copies_in_every_classifier(kind, estimator):
    """Many splits of such tables are equally good, and a regularised fit follows how many rows there are."""
    others = {"learner": SklearnLearner(estimator), "max_iter": 20, "n_estimators": 20, "bags": 0, "calibrate": False}
    for seed, layout in enumerate([*LAID_OUT, *LAID_OUT]):
        X, y, counts = table(seed)
        weighted, copied, _ = pair(lambda: quick(kind, **others), X, y, counts, layout)
        np.testing.assert_allclose(copied.decision_function(X), weighted.decision_function(X), atol=1e-9)
        assert np.ptp(weighted.decision_function(X)) > 0


@pytest.mark.parametrize("size", [1e-300, 7.0, 1e300])
def test_weights_are_only_a_scale_for_a_regularised_fit_too(size):
    X, y = data()
    plain, scaled = (
        quick("AdaBoostClassifier", learner=SklearnLearner(LogisticRegression()), max_iter=5).fit(X, y, w)
        for w in (None, np.full(60, size))
    )
    np.testing.assert_allclose(scaled.decision_function(X), plain.decision_function(X), atol=1e-9)


def test_parameters_of_the_estimator_are_searched():
    X, _ = data()
    labels = np.where(X[:, 0] * X[:, 1] > 0, 1, 0)
    model = AdaBoostClassifier(
        n_estimators=3, learner=SklearnLearner(DecisionTreeClassifier(max_depth=1, random_state=0))
    )
    name = "learner__estimator__max_depth"
    assert model.get_params()[name] == 1 and name not in model.get_params(deep=False)
    other = clone(model).set_params(**{name: 3, "n_estimators": 4})
    assert other.learner.estimator.max_depth == 3 and model.learner.estimator.max_depth == 1
    given = clone(model).set_params(learner__estimator=LogisticRegression(), learner__estimator__C=0.5)
    assert given.learner.estimator.C == 0.5
    search = GridSearchCV(model, {name: [1, 4]}, cv=3, error_score="raise").fit(X, labels)
    assert search.best_params_ == {name: 4}
    with pytest.raises(ValueError, match="Invalid parameter 'depth' for estimator DecisionTree"):
        model.set_params(learner__estimator__depth=3)
    with pytest.raises(ValueError, match="Invalid parameter '' for learner"):
        model.set_params(learner__=5)
    with pytest.raises(ValueError, match=r"Invalid parameter 'tree' for learner = SklearnLearner.*it has estimator"):
        model.set_params(learner__tree__max_depth=3)


@pytest.mark.parametrize("estimator", [DecisionTreeRegressor(max_depth=2), LinearRegression()], ids=["tree", "line"])
def test_regressors_vote_by_their_sign(estimator):
    X, y = data()
    model = AdaBoostClassifier(n_estimators=5, learner=SklearnLearner(estimator)).fit(X, y)
    assert model.score(X, y) > 0.7
    np.testing.assert_allclose(model.margins_ * y, model.decision_function(X), atol=1e-12)


def test_rows_too_light_for_single_precision_still_count():
    X, y = data()
    model = AdaBoostClassifier(n_estimators=3, learner=SklearnLearner(SVC()))
    assert np.isfinite(model.fit(X, y, sample_weight=np.where(y > 0, 1.0, 1e-60)).decision_function(X)).all()


class Praise(BaseEstimator):
    """Reads text."""

    def fit(self, X, y, sample_weight=None):
        return self

    def predict(self, X):
        return np.where(np.char.find(X[:, 0], "good") >= 0, 1, -1)


def test_copies_of_text_are_not_looked_for():
    X = np.array([["a good film"], ["a bad film"], ["good"], ["bad"]] * 3)
    y = np.array([1, -1, 1, -1] * 3, dtype=np.int8)
    answer = SklearnLearner(Praise()).bind(X, y, Rows.of(12)).best(np.full(12, 1 / 12))
    assert answer.edges == pytest.approx([1.0])


@pytest.mark.parametrize(
    "wrong, match", [(KNeighborsClassifier(), "sample_weight"), ("tree", "fit and predict"), (None, "fit and predict")]
)
def test_what_cannot_be_boosted_is_refused(wrong, match):
    with pytest.raises(ValueError, match=match):
        SklearnLearner(wrong)


def test_labels_are_needed():
    with pytest.raises(ValueError, match="labels"):
        SklearnLearner(GaussianNB()).bind(data()[0], None, Rows.of(60))
