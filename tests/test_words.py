"""Words: presence with abstention on sparse counts, through pipelines, files and a million columns."""

import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from dualboost import (
    FrankWolfeBoostClassifier,
    LogisticMixtureClassifier,
    MarginBoostClassifier,
    load_model,
    save_model,
)
from dualboost.learners import Stumps, Union, Words
from dualboost.learners.words import WordScores
from dualboost.rows import Rows

GOOD, BAD, NEUTRAL = ["good", "fine", "great"], ["bad", "dull", "poor"], ["film", "plot", "actor", "scene", "light"]


def texts(rng, count: int):
    """Texts of neutral words around one that decides."""
    y = rng.integers(0, 2, count)
    sides = [rng.choice(GOOD if label else BAD) for label in y]
    return [" ".join([*rng.choice(NEUTRAL, 4), side]) for side in sides], y


def test_a_text_pipeline(tmp_path):
    train, y = texts(np.random.default_rng(0), 200)
    test, truth = texts(np.random.default_rng(1), 100)
    model = make_pipeline(CountVectorizer(), MarginBoostClassifier(nu=0.2, learner=Words())).fit(train, y)
    assert model.score(test, truth) == 1.0
    share = dict(zip(model[0].get_feature_names_out(), model[1].feature_importances_, strict=True))
    assert sum(share[word] for word in GOOD + BAD) > 0.9 and sum(share.values()) == pytest.approx(1.0)
    counts = model[0].transform(test)
    save_model(model[1], tmp_path / "m.dualboost")
    np.testing.assert_array_equal(load_model(tmp_path / "m.dualboost").predict_proba(counts), model.predict_proba(test))


@pytest.mark.parametrize(
    "classifier",
    [
        FrankWolfeBoostClassifier(nu=0.4, tol=0.1, learner=Words()),
        LogisticMixtureClassifier(learner=Words(), bags=3, max_iter=30, random_state=0),
        MarginBoostClassifier(nu=0.3, learner=Union((Words(), Stumps()))),
        MarginBoostClassifier(nu=0.2, learner=Words(absence=True)),
    ],
    ids=["averages", "noise", "union", "absence"],
)
def test_other_boosters_take_words(classifier):
    train, y = texts(np.random.default_rng(2), 200)
    assert make_pipeline(CountVectorizer(), classifier).fit(train, y).score(train, y) > 0.95


def test_the_absence_of_a_word_speaks_too():
    counts = sp.csr_array(np.repeat([[0.0], [1.0]], 6, axis=0))
    y = np.array([1] * 6 + [-1] * 4 + [1] * 2, dtype=np.int8)
    d = np.full(12, 1 / 12)
    assert Words().bind(counts, y, Rows.of(12)).best(d).edges.tolist() == pytest.approx([1 / 3])
    oracle = Words(absence=True).bind(counts, y, Rows.of(12))
    answer = oracle.best(d)
    assert answer.hypotheses == [2] and answer.edges.tolist() == pytest.approx([0.5])
    assert oracle.predictor([2], np.ones(1)).scores(np.array([[0.0], [3.0]])).tolist() == [1.0, 0.0]
    with pytest.raises(ValueError, match="absence must be True or False"):
        Words(absence="yes")


def test_a_word_abstains_where_it_is_absent():
    X, y = sp.csr_array(np.array([[2.0, 0], [0, 1], [0, 0], [1, 1]])), np.array([1, -1, 1, -1], dtype=np.int8)
    oracle = Words((0, 1)).bind(X, y, Rows.of(4))
    assert [oracle.column(j).tolist() for j in range(5)] == [
        [1, -1, 1, -1], [1, 0, 0, -1], [0, -1, 0, -1], [1, 0, 0, 0], [0, 0, 0, 0],
    ]  # fmt: skip
    predictor = oracle.predictor([0, 1, 2, 3], np.array([0.1, 0.2, -0.3, 0.4]))
    np.testing.assert_allclose(predictor.scores(np.array([[0, 0], [1, 0], [5, 1.0]])), [0.1, 0.3, 0.4])


def test_missing_and_negative_counts_are_absent_and_repeated_cells_are_summed():
    y = np.array([1, -1], dtype=np.int8)
    oracle = Words().bind(np.array([[np.nan, 1.0], [-2.0, 0.0]]), y, Rows.of(2))
    assert oracle.column(1).tolist() == [0, 0] and oracle.column(2).tolist() == [1, 0]
    cells = sp.coo_array(([1.0, -1.0, 1.0], ([0, 0, 1], [0, 0, 0])), shape=(2, 1))
    assert Words().bind(cells, y, Rows.of(2)).column(1).tolist() == [0, -1]
    form = sp.csr_array((np.array([1.0, -1.0, 1.0]), np.array([0, 0, 0]), np.array([0, 2, 3])), shape=(2, 1))
    predictor = Words().bind(cells, y, Rows.of(2)).predictor([1], np.ones(1))
    assert predictor.scores(form).tolist() == [0.0, 1.0] and form.nnz == 3, "the caller's matrix is left alone"


@pytest.mark.parametrize("learner", [Words(), Stumps()], ids=["words", "stumps"])
def test_a_million_columns(learner):
    rng = np.random.default_rng(3)
    m, n, each = 300, 1_000_000, 20
    rows, columns = np.repeat(np.arange(m), each), rng.integers(2, n, m * each)
    y = np.arange(m) % 2
    rows, columns = np.append(rows, np.arange(m)), np.append(columns, y)
    X = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(m, n))
    began = time.perf_counter()
    model = MarginBoostClassifier(nu=0.2, learner=learner, calibrate=False).fit(X, y)
    assert model.score(X, y) == 1.0 and time.perf_counter() - began < 60
    assert model.feature_importances_[:2].sum() > 0.9


@pytest.mark.parametrize("levels", [(), (-1,), (0, 0), 2, ("a",), (np.inf,), (True,)])
def test_wrong_levels_are_refused(levels):
    with pytest.raises(ValueError, match=r"^levels must be different numbers of at least 0"):
        Words(levels)


@pytest.mark.parametrize("rows", [0, 1, 16, 17])
def test_few_rows_are_told_by_the_same_bits(rows):
    rng = np.random.default_rng(0)
    scores = WordScores(0.1, np.array([0.0, 2.0]), rng.normal(size=(2, 300)))
    X = rng.poisson(0.4, (rows, 300)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[: rows // 2, :] = 0
    assert scores.scores(X).tobytes() == scores.scores(sp.csr_array(X)).tobytes()


@pytest.mark.parametrize("level", [-1.0, np.nan])
def test_a_vote_has_no_levels_that_absent_words_exceed(level):
    """As a forged file might: sparse rows list none of these words."""
    with pytest.raises(ValueError, match="levels of words must not be negative"):
        WordScores(0.0, np.array([0.0, level]), np.ones((2, 3)))


def test_words_need_labels():
    with pytest.raises(ValueError, match=r"^Words need labels: .*\.$"):
        Words().bind(np.eye(2), None, Rows.of(2))
