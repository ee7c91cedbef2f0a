"""Compiled rounds of coordinate descent: the margins, weights and stumps of the rounds played one by one."""

from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit

from dualboost import kernels
from dualboost.boosters import CoordinateDescent
from dualboost.game import Game, rounds
from dualboost.learners import Stumps
from dualboost.losses import Exponential, Logistic
from dualboost.rows import Rows
from dualboost.solve import play

NAN = float("nan")
PLAYS = {
    "AdaBoost": (Exponential(), "adaboost"),
    "logistic": (Logistic(), "closed"),
    "logistic, Wolfe": (Logistic(), "wolfe"),
    "exponential, closed": (Exponential(), "closed"),
    "exponential, Wolfe": (Exponential(), "wolfe"),
}


# ---- functions of one number ----------------------------------------------------------------------------------------

POINTS = np.concatenate([np.linspace(-700, 700, 5001), [0.0, -0.0, 1e-300, -1e-300, 709.5, 30.0, -40.0]])


@pytest.mark.parametrize(
    "function, twin",
    [(kernels.exponential, np.exp), (kernels.sigmoid, expit), (kernels.softplus, lambda x: np.logaddexp(0, x))],
)
def test_functions_are_accurate_to_the_last_places(function, twin):
    np.testing.assert_allclose(function(POINTS), twin(POINTS), rtol=5e-16)
    assert function(np.empty(0)).shape == (0,)
    assert np.isnan(function(np.array([NAN]))[0])
    far = function(np.array([-1e5, 1e5]))
    assert (
        far[0] == 0 and far[1] == {kernels.exponential: np.inf, kernels.sigmoid: 1.0, kernels.softplus: 1e5}[function]
    )


@pytest.mark.parametrize("m", [1, 7, 40_000])
def test_weights_scaled_to_one(m):
    d = np.random.default_rng(m).random(m) * 1e-200
    shares, mass = kernels.scaled_to_one(d)
    assert mass == pytest.approx(d.sum(), rel=1e-13) and shares.sum() == pytest.approx(1, rel=1e-13)
    for threads in (2, 3):
        again = kernels.scaled_to_one(d, threads)
        assert np.array_equal(again[0], shares) and again[1] == mass
    vanished, none = kernels.scaled_to_one(np.zeros(m))
    assert none == 0 and not vanished.any()


# ---- data -----------------------------------------------------------------------------------------------------------


def labelled(rng, X, noise):
    X = np.nan_to_num(X)
    score = X[:, 0] + 0.7 * X[:, 1] - 0.5 * X[:, 2] + noise * rng.normal(size=len(X))
    return np.where(score > np.median(score), 1, -1).astype(np.int8)


def reals(m, noise=0.5):
    rng = np.random.default_rng(m)
    X = rng.normal(size=(m, 6))
    return X, labelled(rng, X, noise)


def with_missing(m):
    X, y = reals(m)
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    return X, y


def few_values(m):
    """Packed columns, a crowded one, copies (ties), a constant."""
    X, y = reals(m)
    X = np.round(X)
    X[:, 3], X[:, 4], X[:, 5] = X[:, 0], X[:, 4] > 2.5, 1.0
    return np.column_stack([X, X > 0, np.random.default_rng(2).normal(size=m)]), y


def sparse(m):
    rng = np.random.default_rng(m)
    X = np.where(rng.random((m, 30)) < 0.1, rng.integers(1, 5, (m, 30)), 0.0)
    return sp.csr_array(X), labelled(rng, X, 0.5)


def nearly_perfect(m):
    """One column that is wrong in a few rows: steps so long that the histograms are built anew."""
    X, y = reals(m)
    X[:, 0] = y
    X[:3, 0] *= -1
    return X, y


def lopsided(m):
    X, y = reals(m, noise=3.0)
    return X, np.where(np.arange(m) % 50 == 0, y, 1).astype(np.int8)


def categories(m):
    """Beside numbers: few categories, with missing values, more than there are codes, a rare one, copies (ties)."""
    X, y = reals(m)
    rng = np.random.default_rng(3)
    few, many, rare = rng.integers(0, 5, m), rng.integers(0, 300, m), rng.random(m) < 0.01
    y = np.where(rng.random(m) < np.where(few % 2, 0.2, 0.05) + 0.2 * (many % 3 == 0), -y, y).astype(np.int8)
    lost = np.where(rng.random(m) < 0.1, NAN, few)
    return np.column_stack([X, few, many, rare, lost, few]), y


def only_categories(m):
    X, y = categories(m)
    return X[:, 6:], y


def sparse_categories(m):
    rng = np.random.default_rng(m)
    X = np.where(rng.random((m, 12)) < 0.2, rng.integers(1, 7, (m, 12)), 0.0)
    effect = rng.normal(size=(7, 6))[X[:, :6].astype(int), np.arange(6)].sum(axis=1)
    return sp.csr_array(X), np.where(effect + rng.normal(size=m) > 0, 1, -1).astype(np.int8)


DATA = {
    "reals": reals,
    "missing": with_missing,
    "few values": few_values,
    "sparse": sparse,
    "nearly perfect": nearly_perfect,
    "lopsided": lopsided,
    "categories": categories,
    "only categories": only_categories,
    "sparse categories": sparse_categories,
}
NAMED = {"categories": tuple(range(6, 11)), "only categories": tuple(range(5)), "sparse categories": tuple(range(6))}


def game_of(data, m, kind="AdaBoost", threads=1, weighted=False, tol=1e-9):
    X, y = DATA[data](m)
    rows = Rows.of(np.random.default_rng(m).integers(1, 5, m).astype(float) if weighted else m, threads)
    return Game(
        PLAYS[kind][0].bind(rows),
        Stumps(categorical=NAMED.get(data, ())).bind(X, y, rows),
        rows,
        budget=np.inf,
        tol=tol,
    )


def booster_of(kind, rate=1.0):
    return CoordinateDescent(PLAYS[kind][1], rate)


def one_by_one(game, booster, count):
    """States and edges of `count` questions, then the move after them."""
    run = list(islice(rounds(game, booster), count))
    state = run[-1][0] if run[-1][0].status else booster.update(game, *run[-1])
    return state, np.array([abs(a.edges[0]) for _, a in run]), np.array([s.best.objective for s, _ in run])


def in_bursts(game, booster, counts):
    state, edges, objectives = booster.start(game), [], []
    for count in counts:
        burst = booster.burst(game, state, count)
        state = burst.state
        edges.append(burst.edges)
        objectives.append(burst.objectives)
        if state.status:
            break
    return state, np.concatenate(edges), np.concatenate(objectives)


def assert_same(one, other):
    (a, edges, objectives), (b, other_edges, other_objectives) = one, other
    assert a.t == b.t > 0 and a.status == b.status
    assert a.pool.keys == b.pool.keys
    for name in ("w", "z", "d"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    np.testing.assert_allclose(edges, other_edges, rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(objectives, other_objectives, rtol=1e-11)


# ---- the same run ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [1.0, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", PLAYS)
@pytest.mark.parametrize("data", DATA)
def test_bursts_are_the_rounds_one_by_one(data, kind, weighted, rate):
    """300 rows are summed anew each round, 5,000 dense ones incrementally."""
    booster = booster_of(kind, rate)
    for m, count in ((300, 40), (5000, 25)):
        expected = one_by_one(game_of(data, m, kind, weighted=weighted), booster, count)
        assert expected[0].w.any() and (expected[0].t == count or expected[0].status)
        for counts in ([count], [1, 7, count - 8]):
            assert_same(expected, in_bursts(game_of(data, m, kind, weighted=weighted), booster, counts))


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("data", ["reals", "few values", "nearly perfect", "categories"])
def test_many_rows_and_any_threads(data, threads):
    """Above 2^17 rows a task is a tile of rows; below it is a group of columns."""
    for m in (70_001, 140_001):
        expected = one_by_one(game_of(data, m), booster_of("AdaBoost"), 6)
        assert_same(expected, in_bursts(game_of(data, m, threads=threads), booster_of("AdaBoost"), [4, 2]))


@pytest.mark.parametrize("m", [1, 2, 3, 33, 4096, 4097])
@pytest.mark.parametrize("kind", PLAYS)
@pytest.mark.parametrize("data", ["few values", "categories"])
def test_odd_sizes(m, kind, data):
    expected = one_by_one(game_of(data, m, kind), booster_of(kind), 12)
    assert_same(expected, in_bursts(game_of(data, m, kind), booster_of(kind), [5, 7]))


@pytest.mark.parametrize("kind", PLAYS)
@pytest.mark.parametrize("m", [300, 5000])
def test_stumps_and_subsets_are_met_in_compiled_rounds(m, kind):
    game, booster = game_of("categories", m, kind), booster_of(kind)
    burst = booster.burst(game, booster.start(game), 25)
    assert len(burst.edges) == 25
    assert {number for number, _ in burst.state.pool.keys} == {0, 1}


def test_subsets_that_are_gone_do_not_harm_what_is_remembered():
    """The search of the stumps keeps sums of both; it may meet other subsets, or none, later."""
    game = game_of("categories", 5000)
    stumps, subsets = (part.search for part in game.oracle.parts)
    first = one_call(game, search=stumps, subsets=subsets)
    del game, subsets
    others = [game_of("only categories", 5000).oracle.parts[1].search for _ in range(20)]
    for other in (None, *others):
        result = one_call(None, search=stumps, subsets=other, z=first["z"], prior=np.full(1, 1 / 5000))
        fresh = game_of("categories", 5000).oracle.parts[0].search
        again = one_call(None, search=fresh, subsets=other, z=first["z"], prior=np.full(1, 1 / 5000))
        assert np.array_equal(result["z"], again["z"])


def test_one_class_only():
    X, _ = reals(5000)
    y, rows = np.ones(5000, dtype=np.int8), Rows.of(5000)
    game = Game(Exponential().bind(rows), Stumps().bind(X, y, rows), rows, budget=np.inf, tol=1e-9)
    state, _, objectives = in_bursts(game, booster_of("AdaBoost"), [10])
    assert state.status.startswith("the loss") and state.pool.keys == [(-1, 0, 0)] and len(objectives) == 2


def test_a_long_run_drifts_nowhere():
    """After hundreds of rounds the remembered sums still give the edges of weights computed from scratch."""
    game, booster = game_of("reals", 5000, tol=1e-6), booster_of("AdaBoost")
    state, _, objectives = in_bursts(game, booster, [128] * 5)
    fresh = game_of("reals", 5000, tol=1e-6)
    answer = booster.ask(fresh, state)
    burst = booster.burst(game, state, 1)
    assert state.t == 640 and burst.edges[0] == pytest.approx(abs(answer.edges[0]), rel=1e-11)
    assert burst.objectives[0] == pytest.approx(-fresh.loss.value(state.z), rel=1e-12)
    np.testing.assert_array_equal(state.z, fresh.oracle.margins(state.pool.keys, state.w))
    assert np.all(np.diff(objectives) > 0)


def test_what_is_remembered_is_only_used_where_it_belongs():
    """Another state, another prior, a forgotten cache, another user of the search: all give the same run."""
    booster, game = booster_of("AdaBoost"), game_of("reals", 5000)
    first = booster.start(game)
    expected = in_bursts(game_of("reals", 5000), booster, [9, 8])
    half = booster.burst(game, first, 9).state
    booster.burst(game, half, 30)
    game.oracle.best(np.random.default_rng(0).dirichlet(np.ones(5000)), 3)
    again = booster.burst(game, half, 8).state
    game.forget()
    forgotten = booster.burst(game, half, 8).state
    for state in (again, forgotten):
        assert np.array_equal(state.z, expected[0].z)
    settings = (1.0, 1e-9, 1e-9, False)
    other = kernels.descent_rounds(
        game.oracle.search, ("exponential", "adaboost"), again.z, np.full(1, 1e-3), settings, 3
    )
    game.forget()
    clean = kernels.descent_rounds(
        game.oracle.search, ("exponential", "adaboost"), again.z, np.full(1, 1e-3), settings, 3
    )
    assert np.array_equal(other["z"], clean["z"])
    np.testing.assert_allclose(other["values"], clean["values"], rtol=1e-12)


@pytest.mark.parametrize("kind", PLAYS)
@pytest.mark.parametrize("m", [200, 5000])
def test_it_stops_where_the_booster_stops(kind, m):
    for data, tol, words in (("nearly perfect", 0.3, "the loss"), ("lopsided", 0.05, "no hypothesis")):
        expected = one_by_one(game_of(data, m, kind, tol=tol), booster_of(kind), 3000)
        assert expected[0].status.startswith((words, "no hyp", "the loss"))
        assert_same(expected, in_bursts(game_of(data, m, kind, tol=tol), booster_of(kind), [3000]))
        assert_same(expected, in_bursts(game_of(data, m, kind, tol=tol), booster_of(kind), [2] * 1500))


@pytest.mark.parametrize("kind", PLAYS)
def test_play_uses_them_and_recomputes(kind):
    game = game_of("missing", 5000, kind, tol=1e-6)
    outcome = play(game, booster_of(kind), 200)
    assert outcome.n_rounds == 200 and len(outcome.history["edge"]) == 201
    assert -outcome.certificate.objective == pytest.approx(
        PLAYS[kind][0].bind(game.rows).value(outcome.margins), rel=1e-13
    )
    assert outcome.certificate.bound == np.inf and np.all(np.diff(outcome.history["objective"]) >= 0)
    assert outcome.distribution.sum() > 0


# ---- the boundary ---------------------------------------------------------------------------------------------------


def one_call(game, **changed):
    arguments = {"kind": ("exponential", "adaboost"), "settings": (1.0, 1e-9, 1e-9, False), "rounds": 4, "threads": 1}
    if game is not None:
        m = len(game.rows)
        arguments |= {"z": np.zeros(m), "prior": np.full(1, 1 / m)}
    if "search" not in changed:
        arguments["search"] = game.oracle.search
    return kernels.descent_rounds(**(arguments | changed))


def test_an_interrupt_returns_what_is_done(ctrl_c):
    game = game_of("reals", 5000, tol=1e-12)
    ctrl_c(after=0.2)
    result = one_call(game, rounds=10**6, settings=(1e-6, 0.0, 0.0, False))
    assert isinstance(result["interrupt"], KeyboardInterrupt) and not result["reached"]
    done = len(result["steps"])
    assert done == len(result["edges"]) > 0
    again = one_call(game_of("reals", 5000), rounds=done, settings=(1e-6, 0.0, 0.0, False))
    assert again["interrupt"] is None and np.array_equal(again["z"], result["z"])


BAD = {
    "z too short": {"z": np.zeros(99)},
    "z not finite": {"z": np.full(5000, NAN)},
    "z of floats": {"z": np.zeros(5000, np.float32)},
    "prior of other rows": {"prior": np.full(2, 0.5)},
    "no prior": {"prior": np.zeros(0)},
    "prior zero": {"prior": np.zeros(1)},
    "prior above one": {"prior": np.full(5000, 1.5)},
    "prior not a number": {"prior": np.full(5000, NAN)},
    "loss": {"kind": ("hinge", "closed")},
    "line search": {"kind": ("logistic", "exact")},
    "line search of another loss": {"kind": ("logistic", "adaboost")},
    "rate": {"settings": (0.0, 0.1, 0.1, False)},
    "rate above one": {"settings": (1.1, 0.1, 0.1, False)},
    "rate not a number": {"settings": (NAN, 0.1, 0.1, False)},
    "tolerance": {"settings": (1.0, NAN, 0.1, False)},
    "negative tolerance": {"settings": (1.0, -1.0, 0.1, False)},
    "least loss": {"settings": (1.0, 0.1, NAN, False)},
    "no rounds": {"rounds": 0},
    "no threads": {"threads": 0},
    "another search": {"search": None},
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_refused_and_leave_the_search_sound(name):
    game = game_of("reals", 5000)
    z = one_call(game)["z"]
    with pytest.raises((ValueError, TypeError)):
        one_call(game, **BAD[name])
    assert np.array_equal(one_call(game)["z"], z) and z.any()


def test_subsets_of_other_rows_are_refused():
    with pytest.raises(ValueError, match="same rows"):
        one_call(game_of("reals", 5000), subsets=game_of("only categories", 300).oracle.parts[1].search)


def test_a_loss_that_is_infinite_is_refused():
    with pytest.raises(ValueError, match="finite"):
        one_call(game_of("reals", 300), z=np.full(300, -1e4))


def test_inputs_stay():
    game = game_of("reals", 5000)
    z = np.zeros(5000)
    result = one_call(game, z=z)
    assert not z.any() and not np.shares_memory(z, result["z"])
