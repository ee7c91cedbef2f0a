"""What every booster promises on every set and learner: invariants each round, runs that can be resumed."""

import inspect
import pickle
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

import dualboost.boosters
import reference
from conftest import (
    ASCENTS,
    BOOSTERS,
    LEARNERS,
    OTHER_ENDS,
    SETS,
    UNBOUNDED,
    CountingOracle,
    Problem,
    matrix_game,
    most_questions,
    problem,
    refused,
    suited,
)
from dualboost.boosters import Booster, Corrective
from dualboost.boosters.corrective import rounds_needed
from dualboost.game import Game, Pool, State, rounds
from dualboost.losses import Exponential, Logistic
from dualboost.master import longest_ascent
from dualboost.sets import Capped, Simplex

every_booster = pytest.mark.parametrize("booster", BOOSTERS.values(), ids=BOOSTERS)
every_set = pytest.mark.parametrize("set_case", SETS.values(), ids=SETS)
WEIGHTS = np.array([1, 3, 1, 2, 1, 1, 4, 1, 2, 1, 1, 1.0])


# ---- the checks, as functions ---------------------------------------------------------------------------------------


def check_state(made: Problem, state: State) -> None:
    """z = A w over the enumerated class, |w|_1 <= budget, d inside the set, objective <= bound."""
    w = made.weights_over_class(state.pool.keys[: len(state.w)], state.w)
    np.testing.assert_allclose(state.z, made.A @ w, atol=1e-13)
    assert np.abs(state.w).sum() <= made.game.budget * (1 + 1e-14)
    assert made.model.inside(state.d, atol=1e-13)
    assert state.best.objective <= state.best.bound + 1e-13
    best = made.weights_over_class(state.pool.keys[: len(state.best.w)], state.best.w)
    assert abs(state.best.objective - made.model.relaxed_margin(made.A @ best)) <= 1e-12, "attained by best.w"
    proof = made.game.budget * np.abs(made.A.T @ state.best.d).max() + made.model.price(state.best.d)
    assert state.best.bound >= proof - 1e-13, "proved by best.d"
    assert state.best.bound <= proof + 1e-13 or not made.exact


def check_run(made: Problem, booster: Booster, most: int = 40) -> State:
    """Every round's state, one question a round, best values that never get worse, and a reason at the end."""
    oracle = CountingOracle(made.game.oracle)
    game = replace(made.game, oracle=oracle)
    objective, bound, state = -np.inf, np.inf, None
    for t, (state, _) in enumerate(islice(rounds(game, booster), most)):
        assert state.t == t and t < oracle.asked <= most_questions(booster, t), "one question a round"
        check_state(made, state)
        assert state.best.objective >= objective and state.best.bound <= bound
        objective, bound = state.best.objective, state.best.bound
        assert state.best.objective >= made.model.relaxed_margin(state.z) - 1e-12
        now = np.abs(made.A.T @ state.d).max() + made.model.price(state.d)
        assert state.best.bound <= now + 1e-13 or not made.exact
    assert state.t == most - 1 or state.status
    return state


def check_bounds_hold(made: Problem, state: State) -> None:
    """The optimum of the linear or conic program lies between what was reached and what was proved."""
    optimum, slack = made.model.game_value(made.A), 1e-9 if made.model.exact else 1e-6
    assert state.best.objective <= optimum + slack and optimum <= state.best.bound + slack


# ---- the contract ---------------------------------------------------------------------------------------------------


def test_every_public_booster_is_in_the_registry():
    public = {
        c
        for c in vars(dualboost.boosters).values()
        if inspect.isclass(c) and issubclass(c, Booster) and not inspect.isabstract(c)
    }
    known = {type(booster) for booster in BOOSTERS.values()} | {type(booster) for booster, _ in UNBOUNDED.values()}
    assert known == public and public


# Relaxations other than caps have slow references: each meets one learner of either kind.
COMBINATIONS = [
    (s, l)
    for s in SETS
    for l in LEARNERS
    if SETS[s].model(np.ones(6)).exact or l in ("matrix, reals", "stumps, missing")
]


@every_booster
@pytest.mark.parametrize("set_name, learner_name", COMBINATIONS)
def test_the_state_every_round(booster, set_name, learner_name):
    made = problem(SETS[set_name], LEARNERS[learner_name], seed=1, tol=0.02, weights=WEIGHTS)
    if refused(booster, made.game, linear=made.model.exact):
        return
    state = check_run(made, booster, most=16)
    check_bounds_hold(made, state)
    assert state.t > 0 or np.any(state.w), "the run did something"


@every_booster
@every_set
def test_every_run_ends_within_the_tolerance(booster, set_case):
    for seed in range(2):
        made = problem(set_case, LEARNERS["stumps, ties"], seed=seed, tol=0.1)
        if isinstance(booster, ASCENTS) or refused(booster, made.game, linear=made.model.exact):
            return
        for state, _ in islice(rounds(made.game, booster), 5000):  # noqa: B007
            pass
        assert state.status
        if isinstance(booster, OTHER_ENDS):
            check_bounds_hold(made, state)
            continue
        optimum, certified = made.model.game_value(made.A), getattr(booster, "stop", "certified") == "certified"
        reached = state.best.objective if certified else made.model.relaxed_margin(state.z)
        assert optimum - reached <= (0.1 if certified else 0.15) + 1e-6
        assert state.certificate.gap <= 0.1 or not certified
        # Halving plays a geometric series of such runs: at most 4/3 of the last one in all, and a few rounds more.
        assert (
            state.t <= 1.5 * rounds_needed(made.game.loss.set.radius, 0.1, "certified" if certified else "printed") + 20
        )


def snapshot(state: State) -> tuple:
    return (
        state.t,
        state.w.tobytes(),
        state.z.tobytes(),
        state.d.tobytes(),
        state.best.objective,
        state.best.bound,
        state.status,
    )


@every_booster
@pytest.mark.parametrize("set_name", ["simplex", "nu 0.3", "caps"])
@pytest.mark.parametrize("learner_name", ["matrix, reals", "stumps, missing"])
@pytest.mark.parametrize("order", ["forget first", "pickle first"])
def test_resumed_is_continued_to_the_bit(booster, set_name, learner_name, order):
    def fresh():
        made = problem(SETS[set_name], LEARNERS[learner_name], m=12, seed=2, tol=0.01, weights=WEIGHTS)
        return suited(booster, made.game)

    if refused(booster, fresh(), linear=True):
        return
    half = min(8, len(list(islice(rounds(fresh(), booster), 16))) // 2)
    game = fresh()
    state = list(islice(rounds(game, booster), half))[-1][0]
    assert half > 0 and not state.status
    if order == "forget first":
        game.forget()
    pickled = pickle.dumps(state)
    game.forget()
    continued = [snapshot(s) for s, _ in islice(rounds(game, booster, state), 60)]
    elsewhere = fresh()
    elsewhere.forget()
    resumed = [snapshot(s) for s, _ in islice(rounds(elsewhere, booster, pickle.loads(pickled)), 60)]
    assert continued == resumed and len(continued) > 1


def test_a_pickled_state_is_data_only():
    game = problem(SETS["nu 0.3"], LEARNERS["stumps, reals"], m=12, seed=5, tol=0.01).game
    state = list(islice(rounds(game, Corrective()), 5))[-1][0]
    assert b"Oracle" not in pickle.dumps(state) and b"Search" not in pickle.dumps(state)


@every_booster
def test_rounds_can_be_sliced_and_zipped(booster):
    """Two runs side by side are the two runs apart; a slice is a prefix."""

    def fresh(name):
        return suited(booster, problem(SETS[name], LEARNERS["matrix, signs"], seed=4, tol=0.01).game)

    name = "simplex" if refused(booster, fresh("nu 0.3"), linear=True) else "nu 0.3"

    def play(count):
        return [snapshot(s) for s, _ in islice(rounds(fresh(name), booster), count)]

    one, two = fresh(name), fresh(name)
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
    if refused(booster, game, linear=False):
        return
    best = np.inf
    for state, _ in islice(rounds(game, booster), 300):
        w = made.weights_over_class(state.pool.keys[: len(state.w)], state.w)
        np.testing.assert_allclose(state.z, made.A @ w, atol=1e-12)
        assert np.abs(state.w).sum() <= budget * (1 + 1e-14)
        if state.t == getattr(booster, "switch", -1):
            best = np.inf  # a second booster begins
        assert game.loss.value(state.z) <= best + 1e-13, "each step descends"
        best = game.loss.value(state.z)
    optimum = reference.conic_loss(made.A, made.model.prior, budget, kind.__name__.lower())
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
