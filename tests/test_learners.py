"""What every learner promises: the best hypothesis of the whole class, a true bound, consistent columns."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import dualboost.learners
from conftest import LEARNERS, OPEN_LEARNERS, SETS, LearnerCase, problem
from dualboost.learners import Learner, Matrix, Stumps
from dualboost.rows import Rows

every_learner = pytest.mark.parametrize("case", LEARNERS.values(), ids=LEARNERS)
TIE = 1e-12


def distributions(m: int, seed: int = 0) -> list[np.ndarray]:
    """Uniform (many ties), random, on few rows, on one row, not summing to one."""
    rng = np.random.default_rng(seed)
    few = np.where(np.arange(m) % 3 == 0, rng.random(m), 0.0)
    return [
        np.full(m, 1 / m),
        rng.dirichlet(np.ones(m)),
        few / few.sum(),
        np.eye(m)[m // 2],
        0.25 * rng.dirichlet(np.ones(m)),
    ]


def brute_force(edges: np.ndarray) -> int:
    """The lowest index among the largest |edges|."""
    sizes = np.abs(edges)
    return int(np.flatnonzero(sizes >= sizes.max() - TIE)[0])


# ---- the checks, as functions ---------------------------------------------------------------------------------------


def check_best(case: LearnerCase, seed: int = 0) -> None:
    """The winner of the whole class, its signed edge, its column, and a bound that no hypothesis exceeds."""
    made = problem(SETS["simplex"], case, m=14, seed=seed)
    for d in distributions(14, seed):
        answer, edges = made.game.oracle.best(d), made.A.T @ d
        assert answer.bound >= np.abs(edges).max() - 1e-16, "no hypothesis of either sign may exceed the bound"
        assert len(answer.hypotheses) == len(answer.columns) == len(answer.edges) == 1
        winner = brute_force(edges) if case.exact else made.keys.index(answer.hypotheses[0])
        if case.exact:
            assert answer.bound <= np.abs(edges).max() + 1e-13, "an exact learner has a tight bound"
        assert made.keys[winner] == answer.hypotheses[0]
        assert abs(answer.edges[0] - edges[winner]) <= 1e-14, "signed"
        np.testing.assert_array_equal(answer.columns[0], made.A[:, winner])


def check_ensemble(case: LearnerCase, seed: int = 0) -> None:
    """margins = sum of the columns = scores times labels; scores within the l1 norm of the weights."""
    made, rng = problem(SETS["simplex"], case, m=14, seed=seed), np.random.default_rng(seed)
    for count in (1, 3, len(made.keys)):
        chosen = rng.choice(len(made.keys), min(count, len(made.keys)), replace=False)
        w = rng.normal(size=len(chosen))
        w /= np.abs(w).sum()
        keys = [made.keys[j] for j in chosen]
        margins = made.game.oracle.margins(keys, w)
        np.testing.assert_allclose(margins, made.A[:, chosen] @ w, atol=1e-14)
        scores = made.game.oracle.predictor(keys, w).scores(made.X)
        np.testing.assert_allclose(scores * made.y, margins, atol=1e-14)
        assert np.abs(scores).max() <= 1 + 1e-14


# ---- the contract ---------------------------------------------------------------------------------------------------


def test_every_public_learner_is_in_the_registry():
    public = {
        c
        for c in vars(dualboost.learners).values()
        if inspect.isclass(c) and issubclass(c, Learner) and not inspect.isabstract(c)
    }
    listed = {type(case.make()) for case in LEARNERS.values()} | {type(make()) for make in OPEN_LEARNERS.values()}
    assert listed == public and public


@every_learner
@pytest.mark.parametrize("seed", range(6))
def test_the_best_of_the_whole_class(case, seed):
    check_best(case, seed)


@every_learner
@pytest.mark.parametrize("seed", range(3))
def test_margins_columns_and_scores_agree(case, seed):
    check_ensemble(case, seed)


@every_learner
@pytest.mark.parametrize("k", [1, 2, 3, 50])
def test_the_k_best_groups(case, k):
    """Each group's best hypothesis, best first, as many as there are."""
    for seed in range(3):
        made = problem(SETS["simplex"], case, m=14, seed=seed)
        for d in distributions(14, seed):
            edges = dict(zip(made.keys, made.A.T @ d, strict=True))
            best_of: dict = {}
            for key, edge in edges.items():
                best_of[case.group(key)] = max(best_of.get(case.group(key), 0.0), abs(edge))
            answer = made.game.oracle.best(d, k)
            expected = sorted(best_of.values(), reverse=True)[: min(k, len(best_of))]
            if case.grouped:
                np.testing.assert_allclose(np.abs(answer.edges), expected, atol=2 * TIE)
            count = len(expected) if case.grouped else len(answer.edges)
            assert len({case.group(key) for key in answer.hypotheses}) == count <= k, "one per group"
            for key, column, edge in zip(answer.hypotheses, answer.columns, answer.edges, strict=True):
                assert abs(edge - edges[key]) <= 1e-14
                assert abs(column @ d - edge) <= 1e-14
            assert answer.hypotheses[0] == made.game.oracle.best(d).hypotheses[0], "k does not change the winner"
            assert answer.bound >= max(expected) - 1e-16


@every_learner
def test_answers_do_not_depend_on_the_past(case):
    """What is kept to answer faster may change the time, never the answer."""
    made, fresh = (problem(SETS["simplex"], case, m=30, seed=2) for _ in range(2))
    d, rng = np.full(30, 1 / 30), np.random.default_rng(5)
    for _ in range(25):
        d = 0.9 * d + 0.1 * np.eye(30)[rng.integers(30)]
        fresh.game.oracle.forget()
        one, two = made.game.oracle.best(d, 2), fresh.game.oracle.best(d, 2)
        assert list(one.hypotheses) == list(two.hypotheses)
        assert np.array_equal(one.edges, two.edges) and one.bound == two.bound


@every_learner
def test_weight_k_is_k_copies(case):
    counts = np.array([1, 3, 1, 2, 1, 1, 4, 1, 2, 1])
    rng = np.random.default_rng(3)
    X, y = case.data(rng, len(counts)), rng.choice([-1, 1], len(counts)).astype(np.int8)
    copy_of = np.repeat(np.arange(len(counts)), counts)
    whole = case.make().bind(X, y, Rows.of(counts.astype(float)))
    copies = case.make().bind(X[copy_of], y[copy_of], Rows.of(len(copy_of)))
    for d in distributions(len(counts), 1):
        one, two = whole.best(d, 2), copies.best(d[copy_of] / counts[copy_of], 2)
        assert list(one.hypotheses) == list(two.hypotheses)
        np.testing.assert_allclose(one.edges, two.edges, atol=1e-14)
        np.testing.assert_array_equal(one.columns[0][copy_of], two.columns[0])


@every_learner
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix])
def test_sparse_is_dense(case, form):
    made = problem(SETS["simplex"], case, m=14, seed=1)
    dense = made.X.toarray() if sp.issparse(made.X) else made.X
    oracle = case.make().bind(form(dense), made.y, made.game.rows)
    full = case.make().bind(dense, made.y, made.game.rows)
    for d in distributions(14):
        one, two = oracle.best(d), full.best(d)
        assert one.hypotheses == two.hypotheses
        assert abs(one.edges[0] - two.edges[0]) <= 1e-15
        np.testing.assert_array_equal(one.columns[0], two.columns[0])
    keys, w = made.keys[:4], np.array([0.4, -0.3, 0.2, -0.1])[: len(made.keys[:4])]
    np.testing.assert_allclose(
        oracle.predictor(keys, w).scores(form(dense)), full.predictor(keys, w).scores(dense), atol=1e-15
    )


@every_learner
def test_importances_are_shares(case):
    made = problem(SETS["simplex"], case, m=14, seed=1)
    n_features = made.X.shape[1]
    for seed in range(4):
        rng = np.random.default_rng(seed)
        chosen = rng.choice(len(made.keys), min(4, len(made.keys)), replace=False)
        keys, w = [made.keys[j] for j in chosen], rng.normal(size=len(chosen))
        share = made.game.oracle.predictor(keys, w).importances(n_features)
        used = [key for key in keys if key not in case.constants]
        assert share.shape == (n_features,) and np.all(share >= 0)
        assert share.sum() == pytest.approx(1.0 if used else 0.0, abs=1e-14)
    nothing = made.game.oracle.predictor([], np.zeros(0)).importances(n_features)
    assert nothing.tolist() == [0.0] * n_features


@every_learner
def test_an_empty_ensemble_scores_zero(case):
    made = problem(SETS["simplex"], case, m=14, seed=1)
    assert np.array_equal(made.game.oracle.margins([], np.zeros(0)), np.zeros(14))
    assert np.array_equal(made.game.oracle.predictor([], np.zeros(0)).scores(made.X), np.zeros(14))


@every_learner
def test_inputs_are_left_alone(case):
    rng = np.random.default_rng(0)
    X, y = case.data(rng, 12), rng.choice([-1, 1], 12).astype(np.int8)
    before = X.copy(), y.copy()
    d = np.full(12, 1 / 12)
    d.flags.writeable = False
    oracle = case.make().bind(X, y, Rows.of(12))
    oracle.predictor(oracle.best(d, 2).hypotheses, np.array([0.5, -0.5])).scores(X)
    same = (abs(X - before[0])).max() == 0 if sp.issparse(X) else np.array_equal(X, before[0], equal_nan=True)
    assert same and np.array_equal(y, before[1])


# ---- particular learners --------------------------------------------------------------------------------------------


def test_missing_values_can_go_to_either_side():
    X = np.array([[0.0], [1.0], [np.nan], [np.nan]])
    d = np.full(4, 0.25)
    right = Stumps().bind(X, np.array([-1, 1, 1, 1], dtype=np.int8), Rows.of(4)).best(d)
    left = Stumps().bind(X, np.array([-1, 1, -1, -1], dtype=np.int8), Rows.of(4)).best(d)
    alone = Stumps().bind(X, np.array([-1, -1, 1, 1], dtype=np.int8), Rows.of(4)).best(d)
    assert (right.hypotheses, left.hypotheses, alone.hypotheses) == ([(0, 0, 1)], [(0, 0, 0)], [(0, 1, 1)])
    assert right.edges[0] == left.edges[0] == alone.edges[0] == 1.0


def test_stumps_abstain_on_values_that_were_never_missing():
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0]]), np.array([-1, 1, 1], dtype=np.int8)
    predictor = Stumps().bind(X, y, Rows.of(3)).predictor([(0, 0, 0), (1, 1, 0)], np.array([0.75, 0.25]))
    assert predictor.scores(np.array([[np.nan, 9.0], [7.0, np.nan], [np.nan, np.nan]])).tolist() == [0.25, 0.75, 0.0]


def test_a_value_on_the_cut_goes_left():
    oracle = Stumps().bind(np.array([[0.0], [1.0], [3.0]]), np.array([-1, 1, 1], dtype=np.int8), Rows.of(3))
    scores = oracle.predictor([(0, 0, 0)], np.array([1.0])).scores(
        np.array([[0.5], [np.nextafter(0.5, 1)], [-1e9], [1e9]])
    )
    assert scores.tolist() == [-1.0, 1.0, -1.0, 1.0]


@pytest.mark.parametrize("max_bins", [2, 3, 8])
def test_binned_stumps_are_a_true_subclass(max_bins):
    """Fewer bins: the bound covers the cuts that exist, and weights still equal copies."""
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(60, 2)), rng.choice([-1, 1], 60).astype(np.int8)
    counts = rng.integers(1, 4, 60)
    copy_of = np.repeat(np.arange(60), counts)
    whole = Stumps(max_bins).bind(X, y, Rows.of(counts.astype(float)))
    copies = Stumps(max_bins).bind(X[copy_of], y[copy_of], Rows.of(len(copy_of)))
    assert np.array_equal(whole.bins.cuts, copies.bins.cuts)
    assert np.all(whole.bins.cut_counts <= max_bins - 1)
    d = rng.dirichlet(np.ones(60))
    values = [
        y * np.where(X[:, f] > cut, 1, -1)
        for f in range(2)
        for cut in whole.bins.cuts[whole.bins.cut_start[f] : whole.bins.cut_start[f + 1]]
    ]
    edges = np.array([y, *values]) @ d
    answer = whole.best(d)
    assert abs(abs(answer.edges[0]) - np.abs(edges).max()) <= 1e-14 and answer.bound >= np.abs(edges).max()


def test_stumps_without_labels_are_refused():
    with pytest.raises(ValueError, match=r"^Stumps need labels: .*\.$"):
        Stumps().bind(np.eye(3), None, Rows.of(3))


def test_ties_within_rounding_go_to_the_lowest_column_whatever_k():
    a = np.array([0.5, -0.25, 1.0])
    A = np.column_stack([a * (1 - 4e-16), a, -a])
    oracle, d = Matrix().bind(A, None, Rows.of(3)), np.full(3, 1 / 3)
    assert oracle.best(d, 1).hypotheses == [0]
    assert list(oracle.best(d, 3).hypotheses) == [0, 1, 2]


@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(1, 6))
def test_stumps_on_any_small_data(seed, m, n_features):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, rng.integers(1, 6), (m, n_features)).astype(float)
    X[rng.random(X.shape) < rng.choice([0, 0.3])] = np.nan
    case = LearnerCase(Stumps, lambda *_: X, LEARNERS["stumps, ties"].members, LEARNERS["stumps, ties"].group)
    made = problem(SETS["simplex"], case, m=m, seed=seed)
    d = rng.dirichlet(np.ones(m))
    answer, edges = made.game.oracle.best(d), made.A.T @ d
    assert made.keys[brute_force(edges)] == answer.hypotheses[0]
    assert answer.bound >= np.abs(edges).max() - 1e-16
