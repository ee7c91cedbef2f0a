"""scikit-learn's trees, read once: the same answers for every value, by our own arrays."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from dualboost import AdaBoostClassifier, LPBoostClassifier, load_model, save_model
from dualboost.estimators.members import ReadTrees
from dualboost.learners import SklearnLearner
from dualboost.learners.leaf_scores import LeafScores
from dualboost.learners.raw_trees import RawTree, of_single_precision, scikit_tree
from dualboost.learners.sklearn import FittedScores
from dualboost.rows import Rows

LARGEST = float(np.finfo(np.float32).max)
SMALLEST = float(np.finfo(np.float32).smallest_subnormal)
CLASSIFIERS = {
    "deep": DecisionTreeClassifier(random_state=0),
    "shallow": DecisionTreeClassifier(max_depth=2, random_state=0),
    "best first": DecisionTreeClassifier(max_leaf_nodes=9, random_state=0),
    "random": ExtraTreeClassifier(max_depth=6, random_state=0),
    "a leaf": DecisionTreeClassifier(min_samples_leaf=0.9, random_state=0),
}
REGRESSORS = {"regression": DecisionTreeRegressor(max_depth=5), "random regression": ExtraTreeRegressor(random_state=0)}


def as_single(x):
    with np.errstate(over="ignore"):
        return np.asarray(x, dtype=np.float64).astype(np.float32).astype(np.float64)


@given(
    st.one_of(
        st.floats(allow_nan=False, width=32),
        st.floats(allow_nan=False),
        st.sampled_from([0.0, -0.0, LARGEST, -LARGEST, SMALLEST, -SMALLEST, SMALLEST / 2, np.inf, -np.inf, 1e300]),
    )
)
def test_a_threshold_turns_where_rounding_does(threshold):
    turn = of_single_precision(np.array([threshold]))[0]
    near = [turn, threshold, *np.nextafter([turn, threshold], np.inf), *np.nextafter([turn, threshold], -np.inf), 0.0]
    x = np.clip(near, -LARGEST, LARGEST)  # what rounds to infinity scikit-learn refuses
    np.testing.assert_array_equal(x <= turn, as_single(x) <= threshold)


def test_a_middle_is_rounded_to_the_even_one():
    """Two neighbours in single precision: the value between them belongs to the one whose last bit is 0."""
    for one in (np.float32(1), np.float32(-3.5), np.nextafter(np.float32(1), np.float32(2))):
        above = np.nextafter(one, np.float32(np.inf))
        middle = (float(one) + float(above)) / 2
        turn = of_single_precision(np.array([one], dtype=np.float64))[0]
        assert turn == (middle if np.float32(middle) == one else np.nextafter(middle, -np.inf))


def nasty_rows(tree, n_features: int) -> np.ndarray:
    """Values at all thresholds, beside them in double and in single precision, between two neighbours; and others."""
    cuts = np.append(tree.threshold[(tree.children_left >= 0) & np.isfinite(tree.threshold)], 0.0)
    singles = as_single(cuts).astype(np.float32)
    above = np.nextafter(singles, np.float32(np.inf))
    below = np.nextafter(singles, np.float32(-np.inf))
    sides = [cuts, singles, above, below, (singles + above.astype(float)) / 2, (singles + below.astype(float)) / 2]
    values = np.concatenate([*sides, *(np.nextafter(side.astype(float), way) for side in sides for way in (-9, 9))])
    rng = np.random.default_rng(0)
    return np.concatenate([rng.choice(values, (400, n_features)), rng.normal(size=(50, n_features))])


def data(missing: bool):
    rng = np.random.default_rng(1)
    X = np.round(rng.normal(size=(200, 4)), 2) / 3
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=200) > 0.2, 1, -1)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_votes_are_those_of_the_classifier(name, missing):
    X, y = data(missing)
    model = clone(CLASSIFIERS[name]).fit(X, y)
    tree = scikit_tree(model, lambda shares: np.where(shares[:, 1] > shares[:, 0], 1.0, -1.0))
    rows = nasty_rows(model.tree_, 4)
    rows[::5, 1] = np.nan  # where training had none as well
    vote = LeafScores.of_raw([tree], np.ones(1))
    np.testing.assert_array_equal(vote.scores(rows), model.predict(rows))
    np.testing.assert_array_equal(vote.scores(rows[:9]), model.predict(rows[:9]))
    assert len(vote) == (model.get_n_leaves() > 1)


@pytest.mark.parametrize("name", REGRESSORS)
def test_values_are_those_of_the_regressor(name):
    X, y = data(True)
    model = clone(REGRESSORS[name]).fit(X, 1.5 * y + np.nan_to_num(X[:, 2]))
    rows = nasty_rows(model.tree_, 4)
    vote = LeafScores.of_raw([scikit_tree(model, lambda means: means[:, 0])] * 2, np.array([1.0, -0.25]))
    np.testing.assert_array_equal(vote.scores(rows), model.predict(rows) - 0.25 * model.predict(rows))


def test_what_is_no_tree_of_scikit_learn_is_not_read():
    class Contrary(DecisionTreeClassifier):
        def predict(self, X, check_input=True):
            return -super().predict(X, check_input)

    X, y = data(False)
    for other in (Contrary(), LogisticRegression(), DecisionTreeClassifier()):
        labels = np.column_stack([y, y]) if type(other) is DecisionTreeClassifier else y
        assert scikit_tree(other.fit(X, labels), lambda shares: shares[:, 0]) is None


def test_a_vote_of_others_asks_them():
    X, y = data(False)
    oracle = SklearnLearner(LogisticRegression()).bind(X, y, Rows.of(200))
    constant = oracle.best((y > 0) / (y > 0).sum()).hypotheses[0]
    other = oracle.best(np.full(200, 1 / 200)).hypotheses[0]
    vote = oracle.predictor([constant, other], np.array([0.25, 0.5]))
    assert isinstance(vote, FittedScores)
    np.testing.assert_array_equal(vote.scores(X), 0.25 + 0.5 * LogisticRegression().fit(X, y).predict(X))


def test_trees_in_a_row_are_added_up():
    X, y = data(False)
    trees = [
        scikit_tree(clone(CLASSIFIERS[name]).fit(X[k:], y[k:]), lambda shares: shares[:, 1] - shares[:, 0])
        for k, name in enumerate(CLASSIFIERS)
    ]
    w = np.array([0.5, -0.25, 2.0, 1.0, 0.125])
    whole = LeafScores.of_raw([*trees, RawTree.constant(3.0)], np.append(w, 1.0))
    alone = [LeafScores.of_raw([tree], np.ones(1)).scores(X) for tree in trees]
    np.testing.assert_allclose(whole.scores(X), 3.0 + w @ alone, atol=1e-12)
    assert len(whole) == 4 and whole.importances(4).sum() == pytest.approx(1.0)
    nothing = LeafScores.of_raw([], np.empty(0))
    assert not nothing.scores(X).any() and len(nothing) == 0 and not nothing.importances(4).any()


@pytest.mark.parametrize("rows", [1, 7, 300])
def test_sparse_rows_are_written_out_in_pieces(rows, monkeypatch):
    monkeypatch.setattr("dualboost.sparse_tables._CELLS", 40)
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, (rows, 9)).astype(float)
    model = DecisionTreeClassifier(random_state=0).fit(rng.poisson(0.5, (200, 6)), rng.integers(0, 2, 200))
    tree = scikit_tree(model, lambda shares: shares[:, 1] - shares[:, 0])
    assert len(np.unique(tree.feature)) == 7
    for columns in (np.arange(6), np.array([8, 1, 6, 0, 2, 5])):  # the others are not asked about
        vote = LeafScores.of_raw([tree.on(columns), RawTree.constant(0.5)], np.ones(2))
        for form in (sp.csr_array, sp.csc_matrix, sp.coo_array):
            np.testing.assert_array_equal(vote.scores(form(X)), vote.scores(X))
    constant = LeafScores.of_raw([RawTree.constant(0.5)], np.ones(1))
    np.testing.assert_array_equal(constant.scores(sp.csr_array(X)), np.full(rows, 0.5))


def test_of_sparse_rows_only_what_is_asked_about_is_written_out(monkeypatch):
    written, work = [], sp.csr_array.toarray
    monkeypatch.setattr(sp.csr_array, "toarray", lambda rows: written.append(rows.shape) or work(rows))
    X = sp.random_array((50, 80_000), density=0.2, random_state=0, format="csr")
    tree = RawTree.of([70_000, -1, -1], [0.5, 0, 0], [0, 0, 0], ([1, 0, 0], [2, 0, 0]), [0, -1.0, 1.0])
    members = ReadTrees([tree, tree.on(np.full(70_001, 3))])
    expected = np.array([[1.0 if X[row, column] > 0.5 else -1.0 for row in range(50)] for column in (70_000, 3)])
    np.testing.assert_array_equal(members.votes(X), expected)
    np.testing.assert_array_equal(LeafScores.of_raw([tree], np.ones(1)).scores(X), expected[0])
    assert written == [(50, 2), (50, 1)]


@pytest.mark.parametrize("estimator", [DecisionTreeClassifier(max_depth=2), ExtraTreeClassifier(max_depth=3)], ids=str)
def test_models_of_such_trees_are_kept_in_files(estimator, tmp_path):
    X, y = data(True)
    learner = SklearnLearner(clone(estimator).set_params(random_state=0))
    model = AdaBoostClassifier(n_estimators=10, learner=learner).fit(X, np.where(y > 0, "b", "a"))
    save_model(model, tmp_path / "model")
    for again in (load_model(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert repr(again.learner) == repr(model.learner)
        refitted = again.fit(X, np.where(y > 0, "b", "a"))
        np.testing.assert_array_equal(refitted.decision_function(X), model.decision_function(X))


def test_a_file_keeps_no_classifier_that_is_fitted(tmp_path):
    X, y = data(False)
    learner = SklearnLearner(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y))
    model = LPBoostClassifier(0.3, learner=learner, max_iter=5).fit(X, y)
    with pytest.raises(ValueError, match=r"model.learner.estimator.* holds a .*cannot keep"):
        save_model(model, tmp_path / "model")
