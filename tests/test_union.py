"""The union of learners: its answers, bounds and predictors are those of its parts."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from dualboost import MarginBoostClassifier, load_model, save_model
from dualboost.learners import Matrix, SklearnLearner, Stumps, Subsets, Trees, Union, Words
from dualboost.learners.step_functions import merged
from dualboost.learners.stumps import StumpScores
from dualboost.learners.union import SumScores
from dualboost.learners.words import WordScores
from dualboost.rows import Rows


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (120, 4)).astype(float)
    X[::9, 1] = np.nan
    return X, np.where(np.isin(X[:, 0], [1, 3]) | (X[:, 2] > 2), 1, -1).astype(np.int8)


def test_the_bound_covers_every_part(data):
    X, y = data
    learners = (Stumps(), Trees(2), Subsets((0,)))
    rows, rng = Rows.of(len(y)), np.random.default_rng(1)
    union, parts = Union(learners).bind(X, y, rows), [learner.bind(X, y, rows) for learner in learners]
    for _ in range(5):
        d = rng.dirichlet(np.ones(len(y)))
        answer, alone = union.best(d, 4), [part.best(d, 4) for part in parts]
        assert answer.bound == max(a.bound for a in alone)
        every = np.sort(np.abs(np.concatenate([a.edges for a in alone])))[::-1]
        np.testing.assert_allclose(np.abs(answer.edges), every[:4], atol=1e-12)
        for (number, key), column, edge in zip(answer.hypotheses, answer.columns, answer.edges, strict=True):
            assert key in alone[number].hypotheses and abs(column @ d - edge) <= 1e-13


def test_equal_edges_go_to_the_first_part():
    X, y, d = np.array([[-1.0], [1.0]]), np.array([-1, 1], dtype=np.int8), np.full(2, 0.5)
    for learners in ((Matrix(), Stumps()), (Stumps(), Matrix())):
        answer = Union(learners).bind(X, y, Rows.of(2)).best(d, 2)
        assert [number for number, _ in answer.hypotheses] == [0, 1]


def test_step_functions_stay_one_table_a_feature(data):
    X, y = data
    rng = np.random.default_rng(2)
    oracle = Union((Stumps(), Stumps(max_bins=2), Subsets((0, 2)))).bind(X, y, Rows.of(len(y)))
    keys = [key for _ in range(12) for key in oracle.best(rng.dirichlet(np.ones(len(y))), 6).hypotheses]
    w = rng.normal(size=len(keys))
    predictor = oracle.predictor(keys, w)
    assert isinstance(predictor, StumpScores) and len(set(predictor.features)) == len(predictor.features)
    np.testing.assert_allclose(y * predictor.scores(X), oracle.margins(keys, w), atol=1e-12)
    new = np.vstack([X, np.full((1, 4), np.nan), np.full((1, 4), 9.0), np.full((1, 4), -3.0)])
    alone = [
        part.predictor([key for n, key in keys if n == j], w[[n == j for n, _ in keys]])
        for j, part in enumerate(oracle.parts)
    ]
    np.testing.assert_allclose(predictor.scores(new), np.sum([p.scores(new) for p in alone], axis=0), atol=1e-12)
    assert predictor.importances(4).sum() == pytest.approx(1.0)


def test_nothing_merges_to_nothing():
    nothing = Stumps().bind(np.eye(3), np.array([1, -1, 1], dtype=np.int8), Rows.of(3)).predictor([], np.empty(0))
    assert np.array_equal(merged([nothing, nothing]).scores(np.eye(3)), np.zeros(3))


def test_different_kinds_are_added_up(tmp_path, data):
    X, y = data
    counts = np.nan_to_num(X)
    model = MarginBoostClassifier(nu=0.3, learner=Union([Words(), Trees(2), Stumps()]), max_iter=30).fit(counts, y)
    assert isinstance(model.predictor_, SumScores) and model.score(counts, y) > 0.9
    np.testing.assert_allclose(model.margins_, y * model.decision_function(counts), atol=1e-12)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    save_model(model, tmp_path / "m.dualboost")
    again = load_model(tmp_path / "m.dualboost")
    np.testing.assert_array_equal(again.decision_function(counts), model.decision_function(counts))
    assert again.learner == model.learner


def test_parts_that_promise_nothing_leave_a_true_bound(data):
    X, y = data
    oracle = Union((Stumps(), SklearnLearner(DecisionTreeClassifier(max_depth=2, random_state=0)))).bind(
        np.nan_to_num(X), y, Rows.of(len(y))
    )
    assert oracle.best(np.full(len(y), 1 / len(y))).bound >= 1.0 - 1e-9


@pytest.mark.parametrize("wrong", [(), Stumps(), (Stumps, Matrix), [1]])
def test_what_is_no_learner_is_refused(wrong):
    with pytest.raises(ValueError, match=r"^Union takes learners, such as Union\(\(Stumps\(\), Words\(\)\)\), not"):
        Union(wrong)


def test_categories_reach_the_parts_that_read_them():
    told = Union((Words(), Stumps(categorical=(1,)))).with_categories((2,))
    assert told.learners == (Words(without=(2,)), Stumps(categorical=(1, 2)))
    with pytest.raises(ValueError, match=r"^Matrix in this Union reads numbers only, .*OneHotEncoder\.$"):
        Union((Matrix(), Stumps())).with_categories((0,))
    with pytest.raises(ValueError, match=r"^None of the learners of this Union reads categories: .*\.$"):
        Union((Words(), Matrix())).with_categories((0,))


def test_words_beside_categories_never_read_their_numbers():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    colour = pd.Categorical.from_codes(rng.integers(0, 4, 200), ["a", "b", "c", "d"])
    frame = pd.DataFrame({"colour": colour, "count": rng.integers(0, 3, 200)})
    y = np.isin(colour.codes, [1, 3])
    model = MarginBoostClassifier(nu=0.3, learner=Union((Words((0, 1)), Stumps())), max_iter=20, calibrate=False)
    model.fit(frame, y)
    assert model.score(frame, y) == 1.0
    words = next(part for part in model.predictor_.parts if isinstance(part, WordScores))
    assert not words.weights[:, 0].any()
    other = Words(without=[0]).bind(np.array([[np.nan, 1.0], [5.0, 0.0]]), np.array([1, -1]), Rows.of(2))
    assert other.best(np.array([0.5, 0.5]), 9).edges.tolist() == [0.5, 0.0, 0.0]
    with pytest.raises(ValueError, match=r"^Words should go without column 7, but X has only 2 columns\.$"):
        Words(without=(7,)).bind(np.ones((2, 2)), np.array([1, -1]), Rows.of(2))
