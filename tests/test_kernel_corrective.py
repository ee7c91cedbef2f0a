"""The compiled rounds of the corrective booster give the bits of the Python booster that calls the single kernels."""

from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp

from dualboost import kernels
from dualboost.boosters import Corrective
from dualboost.game import Game, rounds
from dualboost.learners import Stumps
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Capped, Simplex

NAN = float("nan")


@dataclass
class History:
    """What a run shows, one entry a question, and where it ended."""

    stumps: list = field(default_factory=list)
    edges: list = field(default_factory=list)
    objectives: list = field(default_factory=list)
    bounds: list = field(default_factory=list)
    w: np.ndarray | None = None
    z: np.ndarray | None = None
    d: np.ndarray | None = None
    best_w: np.ndarray | None = None
    best_d: np.ndarray | None = None
    reached: bool = False


def by_single_kernels(game, n):
    """n questions; the final state is the one after the last move."""
    history, state = History(), None
    for state, answer in islice(rounds(game, Corrective()), n):
        history.stumps += answer.hypotheses
        history.edges.append(answer.edges[0])
        history.objectives.append(state.best.objective)
        history.bounds.append(state.best.bound)
    history.best_w, history.best_d, history.reached = state.best.w, state.best.d, bool(state.status)
    if not state.status:
        state = Corrective().update(game, state, answer)
    history.w, history.z, history.d, history.pool = state.w, state.z, state.d, state.pool
    return history


def one_call(game, state, rounds, **changed):
    arguments = {
        "search": game.oracle.search,
        "z": state["z"],
        "d": state["d"],
        "eta": game.loss.smoothed(game.tol).eta,
        "caps": game.loss.set.caps,
        "offset": game.loss.set.offset,
        "warmth": state["warmth"],
        "budget": game.budget,
        "accuracy": (game.tol, game.rtol),
        "best": state["best"],
        "rounds": rounds,
        "threads": game.rows.threads,
    }
    return kernels.corrective_rounds(**(arguments | changed))


def first_state(game):
    state = Corrective().start(game)
    warmth = (game.loss.set.warmth[0], NAN, NAN)
    return {"z": state.z, "d": state.d, "warmth": warmth, "best": (-np.inf, np.inf)}


def by_compiled_rounds(game, calls):
    """The same in as many calls as there are entries, each of that many rounds."""
    history, state, pool = History(), first_state(game), {}
    history.w = history.best_w = np.zeros(0)
    for n in calls:
        result = one_call(game, state, n)
        stumps = list(zip(*(result[k].tolist() for k in ("features", "cuts", "missing_right")), strict=True))
        history.stumps += stumps
        history.edges += result["edges"].tolist()
        history.objectives += result["objectives"].tolist()
        history.bounds += result["bounds"].tolist()
        moves = len(result["keep"])
        numbers = np.array([pool.setdefault(stump, len(pool)) for stump in stumps[:moves]], dtype=np.int64)
        if result["best_objective_at"] >= 0:
            at = result["best_objective_at"]
            history.best_w = shifted(history.w, numbers[:at], result["keep"][:at], result["added"][:at])
        if result["best_bound_at"] >= 0:
            history.best_d = result["best_d"]
        history.w = shifted(history.w, numbers, result["keep"], result["added"])
        state = {**result, "best": (history.objectives[-1], history.bounds[-1])}
        history.reached = result["reached"]
        if history.reached:
            break
    history.z, history.d = state["z"], state["d"]
    return history


def shifted(w, numbers, keep, added):
    return kernels.shift_weights(w, numbers, keep, added, max(len(w), *(numbers + 1), 0))


def assert_same(a, b):
    assert a.stumps == b.stumps and a.edges == b.edges
    assert a.objectives == b.objectives and a.bounds == b.bounds
    assert a.reached == b.reached
    for name in ("w", "z", "d", "best_w", "best_d"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name


def labelled(rng, X, noise=0.2):
    score = X[:, 0] + 0.7 * X[:, 1] - 0.5 * X[:, 2] + noise * rng.normal(size=len(X))
    return np.where(score > np.median(score), 1, -1).astype(np.int8)


def reals(m, features=10):
    rng = np.random.default_rng(m)
    X = rng.normal(size=(m, features))
    return X, labelled(rng, X)


def with_missing(m):
    X, y = reals(m)
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    return X, y


def few_values(m):
    X, y = reals(m)
    return np.round(X), y


def sparse(m):
    rng = np.random.default_rng(m)
    X = np.where(rng.random((m, 40)) < 0.1, rng.integers(1, 5, (m, 40)), 0.0)
    return sp.csr_array(X), labelled(rng, X, 0.5)


DATA = {"reals": reals, "missing": with_missing, "few values": few_values, "sparse": sparse}


def uneven(m):
    return np.random.default_rng(m).integers(1, 5, m).astype(float)


SETS = {
    "one cap": lambda m: (Capped(nu=0.1), m),
    "hard": lambda m: (Simplex(), m),
    "half": lambda m: (Capped(nu=0.5), m),
    "weights": lambda m: (Capped(nu=0.2), uneven(m)),
    "caps": lambda m: (Capped(caps=8 * np.random.default_rng(m).random(m) / m + 1e-3 / m), m),
    "caps and weights": lambda m: (Capped(caps=5 * np.random.default_rng(m).random(m) / m + 1e-3 / m), uneven(m)),
    "hard, weights": lambda m: (Simplex(), uneven(m)),
}


def game_of(data, set_name, m, tol=0.02, threads=1, **more):
    X, y = DATA[data](m)
    weight_set, weights = SETS[set_name](m)
    rows = Rows.of(weights, threads)
    return Game(SoftMargin(weight_set).bind(rows), Stumps().bind(X, y, rows), rows, tol=tol, **more)


@pytest.mark.parametrize("set_name", SETS)
@pytest.mark.parametrize("data", DATA)
def test_the_same_bits_as_the_python_booster(data, set_name):
    expected = by_single_kernels(game_of(data, set_name, 300), 60)
    assert len(expected.edges) > 5 and expected.w.any()
    for calls in ([60], [1] * 60, [7, 1, 30, 22]):
        assert_same(by_compiled_rounds(game_of(data, set_name, 300), calls), expected)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(
    ("data", "set_name"), [("reals", "one cap"), ("missing", "caps and weights"), ("sparse", "half")]
)
def test_the_same_bits_on_many_rows_with_any_threads(data, set_name, threads):
    m = 70_001
    expected = by_single_kernels(game_of(data, set_name, m, tol=0.05), 12)
    assert_same(by_compiled_rounds(game_of(data, set_name, m, tol=0.05, threads=threads), [12]), expected)


@pytest.mark.parametrize("m", [1, 2, 3, 33, 64, 2_049])
@pytest.mark.parametrize("set_name", ["one cap", "hard", "weights", "caps"])
def test_odd_sizes(m, set_name):
    game = game_of("few values", set_name, m, tol=0.1)
    if game.loss.set.radius == 0:
        pytest.skip("one feasible point: the loss is linear and has no smoothing")
    expected = by_single_kernels(game, 25)
    assert_same(by_compiled_rounds(game_of("few values", set_name, m, tol=0.1), [10, 15]), expected)


@pytest.mark.parametrize(("tol", "rtol"), [(0.3, 0.0), (1e-3, 2.0), (0.15, 0.0)])
def test_it_stops_where_the_booster_stops(tol, rtol):
    expected = by_single_kernels(game_of("reals", "half", 400, tol=tol, rtol=rtol), 5_000)
    assert expected.reached and 1 < len(expected.edges) < 5_000
    for calls in ([5_000], [3] * 5_000):
        assert_same(by_compiled_rounds(game_of("reals", "half", 400, tol=tol, rtol=rtol), calls), expected)


def test_another_budget():
    expected = by_single_kernels(game_of("reals", "one cap", 200, budget=0.7), 40)
    assert_same(by_compiled_rounds(game_of("reals", "one cap", 200, budget=0.7), [40]), expected)


def test_a_long_run_and_a_search_that_others_used():
    game = game_of("reals", "weights", 569, tol=1e-3)
    expected = by_single_kernels(game_of("reals", "weights", 569, tol=1e-3), 1_500)
    game.oracle.best(np.random.default_rng(0).dirichlet(np.ones(569)), 3)
    assert_same(by_compiled_rounds(game, [700, 800]), expected)


def test_inputs_stay_and_results_are_separate():
    game = game_of("reals", "one cap", 100)
    state = first_state(game)
    before = [state["z"].copy(), state["d"].copy()]
    results = [one_call(game, state, n) for n in (1, 2, 5)]
    assert np.array_equal(state["z"], before[0]) and np.array_equal(state["d"], before[1])
    again = one_call(game, state, 5)
    assert all(np.array_equal(results[2][k], again[k]) for k in ("z", "d", "keep", "added", "best_d"))
    stopped = one_call(game, state, 5, accuracy=(10.0, 0.0))
    assert stopped["reached"] and len(stopped["edges"]) == 1 and len(stopped["keep"]) == 0
    assert np.array_equal(stopped["d"], before[1]) and not np.shares_memory(stopped["d"], state["d"])
    assert np.array_equal(stopped["best_d"], before[1])


def test_no_improvement_is_told():
    game = game_of("reals", "one cap", 100)
    result = one_call(game, first_state(game), 3, best=(2.0, -2.0), accuracy=(-9.0, -9.0))
    assert result["best_d"] is None and result["best_objective_at"] == result["best_bound_at"] == -1
    assert result["objectives"].tolist() == [2.0] * 3 and result["bounds"].tolist() == [-2.0] * 3


def test_an_interrupt_returns_what_is_done(ctrl_c):
    game = game_of("reals", "one cap", 2_000, tol=1e-4)
    state = first_state(game)
    ctrl_c(after=0.2)
    result = one_call(game, state, 10**6, accuracy=(0.0, 0.0))
    assert isinstance(result["interrupt"], KeyboardInterrupt) and not result["reached"]
    done = len(result["keep"])
    assert done == len(result["edges"]) > 0
    again = one_call(game_of("reals", "one cap", 2_000, tol=1e-4), state, done, accuracy=(0.0, 0.0))
    assert (
        again["interrupt"] is None
        and np.array_equal(again["z"], result["z"])
        and np.array_equal(again["d"], result["d"])
    )
    assert again["warmth"] == result["warmth"]


BAD = {
    "z too short": {"z": np.zeros(99)},
    "z not finite": {"z": np.full(100, NAN)},
    "z of floats": {"z": np.zeros(100, np.float32)},
    "d too long": {"d": np.full(101, 1 / 101)},
    "d negative": {"d": np.full(100, -0.01)},
    "d too heavy": {"d": np.full(100, 0.02)},
    "d not a number": {"d": np.full(100, NAN)},
    "eta zero": {"eta": 0.0},
    "eta infinite": {"eta": np.inf},
    "caps of other rows": {"caps": np.ones(2)},
    "caps too small": {"caps": np.full(1, 1e-3)},
    "caps negative": {"caps": np.full(100, -1.0)},
    "caps not finite": {"caps": np.full(100, np.inf)},
    "offset of other rows": {"offset": np.zeros(7)},
    "offset not finite": {"offset": np.full(100, NAN)},
    "no caps": {"caps": np.zeros(0)},
    "warmth too short": {"warmth": (0.0, 0.0)},
    "budget": {"budget": 0.0},
    "tolerance": {"accuracy": (NAN, 0.0)},
    "no rounds": {"rounds": 0},
    "no threads": {"threads": 0},
    "another search": {"search": None},
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_refused_and_leave_the_search_sound(name):
    game = game_of("reals", "one cap", 100)
    state = first_state(game)
    expected = one_call(game, state, 4)
    with pytest.raises((ValueError, TypeError)):
        one_call(game, state, **({"rounds": 4} | BAD[name]))
    assert np.array_equal(one_call(game, state, 4)["z"], expected["z"])


@pytest.mark.parametrize(
    "change", [{"numbers": np.array([5])}, {"numbers": np.array([-1])}, {"keep": np.ones(2)}, {"size": 1}]
)
def test_shift_weights_refuses(change):
    fine = {"w": np.ones(2), "numbers": np.array([2]), "keep": np.ones(1), "added": np.ones(1), "size": 3}
    assert kernels.shift_weights(**fine).tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ValueError):
        kernels.shift_weights(**(fine | change))
