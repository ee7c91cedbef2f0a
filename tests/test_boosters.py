"""What every booster promises on every set and learner: the state's invariants each round, and runs that can be resumed."""

import inspect
import pickle
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

import dualboost.boosters
import reference
from conftest import BOOSTERS, LEARNERS, SETS, CountingOracle, Problem, matrix_game, problem
from dualboost.boosters import Booster, Corrective
from dualboost.boosters.corrective import rounds_needed
from dualboost.game import Game, Pool, State, rounds
from dualboost.losses import Exponential, Logistic
from dualboost.master import longest_ascent
from dualboost.sets import Capped, Simplex

every_booster = pytest.mark.parametrize("booster", BOOSTERS.values(), ids=BOOSTERS)
every_set = pytest.mark.parametrize("set_case", SETS.values(), ids=SETS)
every_learner = pytest.mark.parametrize("learner_case", LEARNERS.values(), ids=LEARNERS)
WEIGHTS = np.array([1, 3, 1, 2, 1, 1, 4, 1, 2, 1, 1, 1.0])


# ---- the checks, as functions -------------------------------------------------------------------------------------------


def check_state(made: Problem, state: State) -> None:
    """z = A w over the enumerated class, |w|_1 <= budget, d inside the set, objective <= bound."""
    w = made.weights_over_class(state.pool.keys[: len(state.w)], state.w)
    np.testing.assert_allclose(state.z, made.A @ w, atol=1e-13)
    assert np.abs(state.w).sum() <= made.game.budget * (1 + 1e-14)
    assert np.all(state.d >= 0) and np.all(state.d <= made.caps * (1 + 1e-14)) and abs(state.d.sum() - 1) <= 1e-13
    assert state.best.objective <= state.best.bound + 1e-14


def check_run(made: Problem, booster: Booster, most: int = 40) -> State:
    """Every round's state, one question a round, best values that never get worse, and a reason at the end."""
    oracle = CountingOracle(made.game.oracle)
    game = replace(made.game, oracle=oracle)
    objective, bound, state = -np.inf, np.inf, None
    for t, (state, _) in enumerate(islice(rounds(game, booster), most)):
        assert state.t == t and oracle.asked == t + 1, "one question a round"
        check_state(made, state)
        assert state.best.objective >= objective and state.best.bound <= bound
        objective, bound = state.best.objective, state.best.bound
        assert state.best.objective >= reference.average_lowest(state.z, made.caps) - 1e-13
        assert state.best.bound <= np.abs(made.A.T @ state.d).max() + 1e-13
    assert state.t == most - 1 or state.status
    return state


def check_bounds_hold(made: Problem, state: State) -> None:
    """The optimum of the linear program lies between what was reached and what was proved."""
    optimum, _ = reference.lp_largest_margin(made.A, made.caps)
    assert state.best.objective <= optimum + 1e-9 and optimum <= state.best.bound + 1e-9


# ---- the contract -----------------------------------------------------------------------------------------------------


def test_every_public_booster_is_in_the_registry():
    public = {c for c in vars(dualboost.boosters).values() if inspect.isclass(c) and issubclass(c, Booster) and not inspect.isabstract(c)}
    assert {type(booster) for booster in BOOSTERS.values()} == public and public


@every_booster
@every_set
@every_learner
def test_the_state_every_round(booster, set_case, learner_case):
    made = problem(set_case, learner_case, seed=1, tol=0.02, weights=WEIGHTS)
    state = check_run(made, booster, most=25)
    check_bounds_hold(made, state)
    assert state.t > 0, "the run did something"


@every_booster
@every_set
def test_every_run_ends_within_the_tolerance(booster, set_case):
    for seed in range(2):
        made = problem(set_case, LEARNERS["stumps, ties"], seed=seed, tol=0.1)
        for state, _ in islice(rounds(made.game, booster), 5000):
            pass
        assert state.status
        optimum, _ = reference.lp_largest_margin(made.A, made.caps)
        assert optimum - reference.average_lowest(state.z, made.caps) <= 1.5 * 0.1 or state.best.objective >= optimum - 0.1 - 1e-9
        if booster.stop == "certified":
            assert state.certificate.gap <= 0.1 and state.best.objective >= optimum - 0.1 - 1e-9
        assert state.t <= 2 * rounds_needed(made.game.loss.set.radius, 0.1, booster.stop) + 20


def snapshot(state: State) -> tuple:
    return (state.t, state.w.tobytes(), state.z.tobytes(), state.d.tobytes(), state.best.objective, state.best.bound, state.status)


@every_booster
@pytest.mark.parametrize("set_name", ["simplex", "nu 0.3", "caps"])
@pytest.mark.parametrize("learner_name", ["matrix, reals", "stumps, missing"])
@pytest.mark.parametrize("order", ["forget first", "pickle first"])
def test_resumed_is_continued_to_the_bit(booster, set_name, learner_name, order):
    def fresh():
        return problem(SETS[set_name], LEARNERS[learner_name], m=12, seed=5, tol=0.01, weights=WEIGHTS).game

    game = fresh()
    state = list(islice(rounds(game, booster), 8))[-1][0]
    assert state.t == 7 and not state.status
    if order == "forget first":
        game.forget()
    pickled = pickle.dumps(state)
    game.forget()
    continued = [snapshot(s) for s, _ in islice(rounds(game, booster, state), 60)]
    elsewhere = fresh()
    elsewhere.forget()
    resumed = [snapshot(s) for s, _ in islice(rounds(elsewhere, booster, pickle.loads(pickled)), 60)]
    assert continued == resumed and len(continued) > 5


def test_a_pickled_state_is_data_only():
    game = problem(SETS["nu 0.3"], LEARNERS["stumps, reals"], m=12, seed=5, tol=0.01).game
    state = list(islice(rounds(game, Corrective()), 5))[-1][0]
    assert b"Oracle" not in pickle.dumps(state) and b"Search" not in pickle.dumps(state)


@every_booster
def test_rounds_can_be_sliced_and_zipped(booster):
    """Two runs side by side are the two runs apart; a slice is a prefix."""

    def play(count):
        game = problem(SETS["nu 0.3"], LEARNERS["matrix, signs"], seed=4, tol=0.01).game
        return [snapshot(s) for s, _ in islice(rounds(game, booster), count)]

    one, two = (problem(SETS["nu 0.3"], LEARNERS["matrix, signs"], seed=4, tol=0.01).game for _ in range(2))
    pairs = list(islice(zip(rounds(one, booster), rounds(two, booster), strict=False), 10))
    assert [snapshot(a[0]) for a, _ in pairs] == [snapshot(b[0]) for _, b in pairs] == play(10)
    assert play(4) == play(10)[:4]


def test_states_that_were_yielded_do_not_change():
    game = problem(SETS["nu 0.3"], LEARNERS["matrix, reals"], seed=4, tol=0.01).game
    states, seen = [], []
    for state, _ in islice(rounds(game, Corrective()), 12):
        states.append(state)
        seen.append(snapshot(state))
    assert seen == [snapshot(state) for state in states]


def test_an_old_state_can_be_taken_up_again():
    """The pool has grown since; the run is the same but for hypotheses of weight 0."""
    made = problem(SETS["nu 0.3"], LEARNERS["matrix, reals"], seed=4, tol=0.01)
    run = [state for state, _ in islice(rounds(made.game, Corrective()), 15)]
    made.game.forget()
    again = [state for state, _ in islice(rounds(made.game, Corrective(), run[3]), 12)]
    for old, new in zip(run[3:], again, strict=True):
        np.testing.assert_allclose(old.z, new.z, atol=1e-12)
        check_state(made, new)


@every_booster
@pytest.mark.parametrize("kind", [Logistic, Exponential])
@pytest.mark.parametrize("budget", [0.5, 3.0])
def test_other_losses_with_a_budget(booster, kind, budget):
    made = problem(SETS["simplex"], LEARNERS["stumps, ties"], seed=2, weights=WEIGHTS)
    game = Game(kind().bind(made.game.rows), made.game.oracle, made.game.rows, budget=budget, tol=0.05)
    best = np.inf
    for state, _ in islice(rounds(game, booster), 300):
        w = made.weights_over_class(state.pool.keys[: len(state.w)], state.w)
        np.testing.assert_allclose(state.z, made.A @ w, atol=1e-12)
        assert np.abs(state.w).sum() <= budget * (1 + 1e-14)
        assert game.loss.value(state.z) <= best + 1e-13, "each step descends"
        best = game.loss.value(state.z)
    optimum = reference.conic_loss(made.A, made.prior, budget, kind.__name__.lower())
    assert -state.best.bound - 1e-7 <= optimum <= -state.best.objective + 1e-7
    assert state.t > 0


# ---- the small parts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("peak", [1e-6, 1e-3, 0.2, 0.9, 1.0, 3.0])
def test_longest_ascent_stays_on_the_rising_side(peak):
    step = longest_ascent(lambda x: peak - x, sure=min(1.0, peak / 50))
    assert min(1.0, peak / 50) <= step <= min(1.0, peak)
    assert step >= 0.9 * min(1.0, peak)


def test_the_pool_numbers_in_order_of_meeting():
    pool = Pool()
    assert [pool.number(key) for key in ("b", "a", "b", "c", "a")] == [0, 1, 0, 2, 1]
    assert pool.keys == ["b", "a", "c"] and len(pool) == 3


@pytest.mark.parametrize("field", ["step", "stop", "smoothing"])
def test_unknown_choices_are_refused(field):
    with pytest.raises(ValueError, match=field):
        Corrective(**{field: "other"})


@pytest.mark.parametrize("weight_set", [Simplex(), Capped(nu=0.5)])
def test_a_perfect_column_ends_at_once(weight_set):
    A = np.column_stack([np.ones(6), np.array([1, -1, 1, -1, 1, -1.0])])
    run = list(islice(rounds(matrix_game(A, weight_set, 0.01), Corrective()), 5000))
    assert run[-1][0].best.bound == pytest.approx(1, abs=1e-12) and run[-1][0].best.objective >= 0.99
    zero = list(rounds(matrix_game(np.zeros((4, 3)), weight_set, 0.01), Corrective()))
    assert len(zero) == 1 and zero[0][0].status
