"""Categories: the best subset against brute force over all of them, codes, what is unseen, stumps beside subsets."""

from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import reference
from conftest import SETS
from dualboost import MarginBoostClassifier, diagnose, load_model, save_model
from dualboost.boosters import Corrective
from dualboost.data import MISSING, bin_columns
from dualboost.game import Game, rounds
from dualboost.learners import Matrix, Stumps, Subsets, Words
from dualboost.learners.categories import Categories, category_bins, without_features
from dualboost.learners.stumps import StumpScores
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Capped


def data(rng, m: int, n: int, categories: int, missing: float = 0.0):
    X = rng.integers(0, categories, (m, n)).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    return X, rng.choice([-1, 1], m).astype(np.int8)


def largest_edge(X: np.ndarray, y: np.ndarray, d: np.ndarray) -> float:
    """By sums over the categories, in plain NumPy."""
    best = abs(np.sum(y * d))
    for x in X.T:
        groups = [x == value for value in np.unique(x[~np.isnan(x)])] + [np.isnan(x)]
        best = max(best, sum(abs(np.sum((y * d)[group])) for group in groups))
    return best


# ---- the best subset ------------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(1, 25), st.integers(1, 3), st.integers(1, 6))
def test_no_subset_of_any_column_beats_the_answer(seed, m, n, categories):
    rng = np.random.default_rng(seed)
    X, y = data(rng, m, n, categories, rng.choice([0.0, 0.3]))
    d = rng.dirichlet(np.ones(m)) * rng.choice([1.0, 0.5])
    answer = Subsets().bind(X, y, Rows.of(m)).best(d)
    members = reference.all_subsets(X)
    edges = np.array([values * y @ d for _, values in members])
    assert abs(abs(answer.edges[0]) - np.abs(edges).max()) <= 1e-14
    assert np.abs(edges).max() - 1e-16 <= answer.bound <= np.abs(edges).max() + 1e-13
    winner = np.flatnonzero(np.abs(edges) >= np.abs(edges).max() - 1e-12)[0]
    assert answer.hypotheses == [members[winner][0]], "among equals the lowest number"
    np.testing.assert_array_equal(answer.columns[0], y * members[winner][1])


@pytest.mark.parametrize("crowded", [False, True], ids=["dense", "mostly one category"])
@pytest.mark.parametrize("threads", [1, 3])
def test_long_columns_of_many_categories(crowded, threads):
    """Packed, dense and sparse columns, tiles and threads: all give the plain sums."""
    rng = np.random.default_rng(1)
    m = 40_000
    X, y = data(rng, m, 12, 200, 0.01)
    X[:, 4:8] = rng.integers(0, 3, (m, 4))
    if crowded:
        X[rng.random(X.shape) < 0.95] = 2.0
    oracle = Subsets().bind(X, y, Rows.of(m, threads))
    assert (len(oracle.bins.sparse_features) > 0) == crowded
    d = np.full(m, 1 / m)
    for _ in range(4):
        d = 0.7 * d + 0.3 * rng.dirichlet(np.full(m, 0.1))
        answer, expected = oracle.best(d, 3), largest_edge(X, y, d)
        assert abs(abs(answer.edges[0]) - expected) <= 1e-13 and expected <= answer.bound <= expected + 1e-12
        assert abs(answer.columns[0] @ d - answer.edges[0]) <= 1e-13


def test_threads_do_not_change_a_bit():
    rng = np.random.default_rng(2)
    X, y = data(rng, 50_000, 8, 90, 0.05)
    d, w = rng.dirichlet(np.ones(50_000)), rng.normal(size=5)
    one, three = (Subsets().bind(X, y, Rows.of(50_000, threads)) for threads in (1, 3))
    a, b = one.best(d, 5), three.best(d, 5)
    assert a.hypotheses == b.hypotheses and np.array_equal(a.edges, b.edges) and a.bound == b.bound
    assert np.array_equal(one.margins(a.hypotheses, w), three.margins(a.hypotheses, w))
    assert all(np.array_equal(p, q) for p, q in zip(a.columns, b.columns, strict=True))


def test_columns_that_cannot_win_are_skipped():
    rng = np.random.default_rng(3)
    X, y = data(rng, 4_000, 20, 30)
    X[:, 7] = np.where(y > 0, rng.integers(0, 5, 4_000), rng.integers(5, 10, 4_000))
    X[:400, 7] = 11
    oracle, d = Subsets().bind(X, y, Rows.of(4_000)), np.full(4_000, 1 / 4_000)
    assert oracle.best(d).hypotheses[0][0] == 7 and oracle.looked == 20
    for _ in range(5):
        d = 0.99 * d + 0.01 * rng.dirichlet(np.ones(4_000))
        fresh = Subsets().bind(X, y, Rows.of(4_000)).best(d)
        answer = oracle.best(d)
        assert answer.hypotheses == fresh.hypotheses and np.array_equal(answer.edges, fresh.edges)
        assert oracle.looked < 20


def test_refused_weights_leave_no_trace():
    rng = np.random.default_rng(4)
    X, y = data(rng, 50, 3, 4)
    oracle, d = Subsets().bind(X, y, Rows.of(50)), rng.dirichlet(np.ones(50))
    before = oracle.best(d)
    for bad in (np.full(50, np.nan), np.full(50, 1.0), -d):
        with pytest.raises(ValueError, match=r"^d must"):
            oracle.best(bad)
    after = oracle.best(d)
    assert before.hypotheses == after.hypotheses and before.bound == after.bound


def test_the_order_of_columns_and_of_categories_does_not_matter():
    rng = np.random.default_rng(5)
    X, y = data(rng, 200, 5, 7, 0.1)
    d = rng.dirichlet(np.ones(200))
    turned = np.where(np.isnan(X), np.nan, np.array([3, 9, 1, 0, 20, 5, 2.0])[np.nan_to_num(X).astype(int)])[:, ::-1]
    one, two = (Subsets().bind(table, y, Rows.of(200)).best(d, 5) for table in (X, turned))
    np.testing.assert_allclose(np.abs(one.edges), np.abs(two.edges), atol=1e-15)
    assert [f for f, _ in one.hypotheses] == [4 - f if f >= 0 else f for f, _ in two.hypotheses]


# ---- codes ----------------------------------------------------------------------------------------------------------


@settings(max_examples=10)
@given(st.integers(0, 1000), st.sampled_from([3, 255, 256, 700]), st.sampled_from([1.0, 3e6]))
def test_the_heaviest_categories_keep_a_code_of_their_own(seed, categories, stretch):
    rng = np.random.default_rng(seed)
    column = np.concatenate([np.arange(categories), rng.integers(0, categories, 300)]) * stretch
    weights = rng.integers(1, 4, len(column)).astype(float)
    found = Categories.of(column, Rows.of(weights))
    assert np.array_equal(found.values, np.unique(column)) and found.count == min(categories, 255)
    mass = np.array([weights[column == value].sum() for value in found.values])
    if categories > 255:
        own = found.codes < 254
        assert own.sum() == 254 and mass[own].min() >= mass[~own].max()
    assert np.array_equal(found.coded(found.values), found.codes)
    copies = Categories.of(np.repeat(column, weights.astype(int)), Rows.of(int(weights.sum())))
    turned = rng.permutation(len(column))
    shuffled = Categories.of(column[turned], Rows.of(weights[turned]))
    for other in (copies, shuffled):
        assert np.array_equal(found.values, other.values) and np.array_equal(found.codes, other.codes)
    strangers = np.array([np.nan, -1.0, -0.5, column.max() + 1, 1e300, np.inf])
    assert np.all(found.coded(strangers) == MISSING)
    assert np.all(found.coded(np.array([-0.4, 0.4, 0.5])) == found.codes[0]), "the nearest, and of two the lower"


def test_more_categories_than_codes_share_one():
    rng = np.random.default_rng(6)
    column = np.concatenate([np.repeat(np.arange(254), 3), np.arange(254, 600)]).astype(float)
    y = rng.choice([-1, 1], len(column)).astype(np.int8)
    oracle = Subsets().bind(column[:, None], y, Rows.of(len(column)))
    d = rng.dirichlet(np.ones(len(column)))
    answer = oracle.best(d)
    joined = np.minimum(column, 254)[:, None]
    assert abs(abs(answer.edges[0]) - largest_edge(joined, y, d)) <= 1e-14
    scores = oracle.predictor(answer.hypotheses, np.ones(1)).scores(np.array([[300.0], [599.0], [600.0], [-1.0]]))
    assert scores[0] == scores[1] in (-1.0, 1.0) and np.all(scores[2:] == 0), "others of the rest, and strangers"


@pytest.mark.parametrize("column", [[4.0] * 6, [np.nan] * 6], ids=["one category", "nothing"])
def test_a_constant_column_has_only_the_constant(column):
    y = np.array([1, 1, 1, -1, 1, 1], dtype=np.int8)
    answer = Subsets().bind(np.array(column)[:, None], y, Rows.of(6)).best(np.full(6, 1 / 6), 3)
    assert answer.hypotheses == [(-1, 0)] and answer.edges[0] == pytest.approx(2 / 3)


@pytest.mark.parametrize("bad", [-1.0, 0.5, np.inf, 2.0**31])
def test_what_is_no_category_is_refused(bad):
    X = np.array([[0.0, 1.0], [1.0, bad]])
    with pytest.raises(ValueError, match=r"^Column 1 should hold categories, that is whole numbers .*\.$"):
        Stumps(categorical=(1,)).bind(X, np.array([1, -1], dtype=np.int8), Rows.of(2))


@pytest.mark.parametrize("columns", [(-1,), (0, 0), ("a",), 3, (1.5,), (True,)])
def test_wrong_columns_are_refused(columns):
    with pytest.raises(ValueError, match=r"^categorical must be the numbers of columns.*\.$"):
        Stumps(categorical=columns)


def test_a_column_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"^Column 2 should hold categories, but X has only the columns 0 to 1\.$"):
        Stumps(categorical=[2]).bind(np.eye(2), np.array([1, -1], dtype=np.int8), Rows.of(2))


def test_labels_are_needed():
    with pytest.raises(ValueError, match=r"^Subsets need labels: .*\.$"):
        Subsets().bind(np.eye(2), None, Rows.of(2))


def test_dropping_features_is_binning_without_them():
    """Dense and sparse storage: the other columns stay as they are, under their numbers."""
    rng = np.random.default_rng(7)
    X = np.where(rng.random((2_000, 6)) < 0.9, 0.0, rng.integers(0, 5, (2_000, 6)))
    X[:, :2] = rng.normal(size=(2_000, 2))
    X[::7, 3] = np.nan
    gone = X.copy()
    gone[:, [1, 3, 4]] = 0.0
    left, expected = without_features(bin_columns(X), (1, 3, 4)), bin_columns(gone)
    for name in vars(expected):
        assert np.array_equal(getattr(left, name), getattr(expected, name)), name
    bins, _ = category_bins(np.abs(np.nan_to_num(X[:, 2:])), (1, 3), Rows.of(2_000))
    assert bins.n_features == 4 and set(np.r_[bins.dense_features, bins.sparse_features]) == {1, 3}


# ---- prediction -----------------------------------------------------------------------------------------------------


def test_unseen_categories_count_as_missing():
    X = np.array([[0.0], [2.0], [np.nan], [2.0]])
    y = np.array([1, -1, -1, -1], dtype=np.int8)
    new = np.array([[np.nan], [1.0], [3.0], [77.0], [-4.0], [2.0], [0.0]])
    for rows, unseen in ((slice(None), -1.0), ([0, 1, 3], 0.0)):
        oracle = Subsets().bind(X[rows], y[rows], Rows.of(len(X[rows])))
        answer = oracle.best(np.full(len(X[rows]), 1 / len(X[rows])))
        scores = oracle.predictor(answer.hypotheses, np.sign(answer.edges)).scores(new)
        assert scores.tolist() == [unseen] * 5 + [-1.0, 1.0]


def test_a_vote_of_stumps_and_subsets_is_one_table_a_feature():
    rng = np.random.default_rng(8)
    X, _ = data(rng, 300, 3, 5, 0.1)
    X[:, 1] = rng.normal(size=300)
    y = np.where(np.isin(X[:, 0], [1, 3]) + (X[:, 1] > 0.3) + np.isnan(X[:, 2]) > 0, "ja", "nein")
    model = MarginBoostClassifier(nu=0.1, learner=Stumps(categorical=(0, 2))).fit(X, y)
    assert isinstance(model.predictor_, StumpScores) and model.score(X, y) > 0.97
    assert model.certificate_.gap <= 0.05 and model.feature_importances_[0] > 0.1
    np.testing.assert_allclose(model.margins_, np.where(y == "nein", 1, -1) * model.decision_function(X), atol=1e-12)
    one_hot = np.column_stack([X[:, 1], *((X[:, j] == k) for j in (0, 2) for k in range(5)), np.isnan(X[:, [0, 2]])])
    plain = MarginBoostClassifier(nu=0.1).fit(one_hot, y)
    assert model.certificate_.bound >= plain.certificate_.objective - 1e-9, "single categories are subsets"


def test_sparse_input_and_files(tmp_path):
    rng = np.random.default_rng(9)
    X, _ = data(rng, 200, 4, 4)
    y = (np.isin(X[:, 1], [0, 2]) & (X[:, 3] > 0)).astype(int)
    learner = Stumps(categorical=(1,))
    model = MarginBoostClassifier(nu=0.2, learner=learner).fit(X, y)
    sparse = MarginBoostClassifier(nu=0.2, learner=learner).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(model.decision_function(X), sparse.decision_function(sp.csr_array(X)), atol=1e-12)
    save_model(model, tmp_path / "model.dualboost")
    again = load_model(tmp_path / "model.dualboost")
    assert again.learner == learner and np.array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("set_name", ["nu 0.3", "caps"])
@pytest.mark.parametrize("m", [60, 40_000])
def test_compiled_rounds_have_the_bits_of_single_ones(m, set_name):
    """Bursts of rounds on stumps and subsets side by side, cut anywhere, are the rounds played one by one."""
    rng = np.random.default_rng(11)
    X, _ = data(rng, m, 5, 7, 0.1)
    X[:, 3] = np.where(rng.random(m) < 0.9, 4.0, X[:, 3])  # stored as exceptions where m is large
    noise = rng.normal(size=m)
    y = np.where(np.isin(X[:, 0], [1, 4, 5]) + (X[:, 1] > 3) + 0.8 * noise > 0.7, 1, -1).astype(np.int8)

    def game() -> Game:
        rows = Rows.of(m)
        oracle = Stumps(categorical=(0, 3, 4)).bind(X, y, rows)
        return Game(SoftMargin(SETS[set_name].make(m)).bind(rows), oracle, rows, tol=0.001)

    one, many = game(), game()
    seen = list(islice(rounds(one, Corrective()), 31))
    single = seen[-1][0]
    state, bursts = Corrective().start(many), []
    for count in (1, 7, 22):
        bursts.append(Corrective().burst(many, state, count))
        state = bursts[-1].state
    assert {number for _, answer in seen for number, _ in answer.hypotheses} == {0, 1}, "both kinds are chosen"
    assert state.t == single.t == 30 and state.pool.keys == single.pool.keys
    assert all(np.array_equal(getattr(state, name), getattr(single, name)) for name in ("w", "z", "d"))
    for name, now in (("objectives", "objective"), ("bounds", "bound")):
        shown = np.concatenate([getattr(burst, name) for burst in bursts])
        assert shown.tolist() == [getattr(before.best, now) for before, _ in seen[:30]]
    np.testing.assert_allclose(many.oracle.margins(state.pool.keys[: len(state.w)], state.w), state.z, atol=1e-12)


@given(st.integers(0, 10_000), st.integers(2, 40), st.integers(1, 3))
def test_in_compiled_rounds_stumps_and_subsets_tie_as_in_single_ones(seed, m, n):
    """Two-valued columns, each also as categories: every stump has its twin, and columns repeat."""
    rng = np.random.default_rng(seed)
    X = np.tile(rng.integers(0, 2, (m, n)), 4).astype(float)
    X[:, -1] = rng.integers(0, 4, m)
    y = rng.choice([-1, 1], m).astype(np.int8)

    def game() -> Game:
        rows = Rows.of(m)
        oracle = Stumps(categorical=tuple(range(2 * n, 4 * n))).bind(X, y, rows)
        return Game(SoftMargin(Capped(nu=0.5)).bind(rows), oracle, rows, tol=1e-6)

    one, many = game(), game()
    single = list(islice(rounds(one, Corrective()), 13))[-1][0]
    state = Corrective().burst(many, Corrective().start(many), 12).state
    assert state.t == single.t and state.pool.keys == single.pool.keys[: len(state.pool.keys)]
    assert all(np.array_equal(getattr(state, name), getattr(single, name)) for name in ("w", "z", "d"))


def test_eight_fits_at_once():
    """One oracle asked from many threads, and many fits side by side: as one after the other."""
    rng = np.random.default_rng(10)
    X, _ = data(rng, 3_000, 4, 9, 0.1)
    y = np.where(np.isin(X[:, 0], [1, 3, 5]), 1, -1).astype(np.int8)
    learner = Stumps(categorical=(0, 2))
    oracle = learner.bind(X, y, Rows.of(3_000))
    ds = [rng.dirichlet(np.ones(3_000)) for _ in range(8)]
    expected = [learner.bind(X, y, Rows.of(3_000)).best(d) for d in ds]
    model = MarginBoostClassifier(nu=0.4, learner=learner, max_iter=30, calibrate=False)
    alone = model.fit(X, y).decision_function(X)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(oracle.best, ds))
        fits = list(pool.map(lambda _: clone(model).fit(X, y).decision_function(X), range(8)))
    assert all(a.hypotheses == b.hypotheses and a.bound == b.bound for a, b in zip(answers, expected, strict=True))
    assert all(np.array_equal(scores, alone) for scores in fits)


def test_other_learners_say_what_to_do():
    import pandas as pd

    X = pd.DataFrame({"a": pd.Categorical(["u", "v"] * 5)})
    with pytest.raises(ValueError, match=r"^Matrix reads numbers only, and X has columns of categories: .*\.$"):
        MarginBoostClassifier(nu=0.5, learner=Matrix()).fit(X, [0, 1] * 5)


def test_a_diagnosis_reads_the_categories_of_a_frame():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 5, 60)
    y = np.isin(codes, [0, 2, 4])
    y[:2] = ~y[:2]
    frame = pd.DataFrame({"name": pd.Categorical.from_codes(codes, list("abcde")), "number": np.arange(60) % 7})
    weights = np.where(np.arange(60) == 5, 0.0, 1.0)
    found = diagnose(frame, y, sample_weight=weights)
    table = np.column_stack([codes, np.arange(60) % 7]).astype(float)
    wanted = diagnose(table, y, Stumps(categorical=(0,)), sample_weight=weights)
    assert found.regime == wanted.regime and 0 < found.hard_core.sum() < 60
    np.testing.assert_array_equal(found.hard_core, wanted.hard_core)
    assert found.hypotheses == wanted.hypotheses != diagnose(table, y, sample_weight=weights).hypotheses
    with pytest.raises(ValueError, match=r"^Words reads numbers only, and X has columns of categories: .*\.$"):
        diagnose(frame, y, Words())
    with pytest.raises(ValueError, match=r"^Column 'name' holds text: .*\.$"):
        diagnose(frame.astype({"name": str}), y)
