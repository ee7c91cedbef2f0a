"""What boosters without a budget promise: z = A w every round, a loss that never rises, runs that can be resumed."""

import pickle
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from conftest import LEARNERS, SETS, UNBOUNDED, CountingOracle, problem
from dualboost.game import Game, State, rounds
from dualboost.rows import Rows
from dualboost.solve import play

WEIGHTS = np.array([1, 3, 1, 2, 1, 1, 4, 1, 2, 1, 1, 1.0])
every_pair = pytest.mark.parametrize("booster, loss", UNBOUNDED.values(), ids=UNBOUNDED)
every_learner = pytest.mark.parametrize(
    "learner", ["matrix, signs", "matrix, reals", "matrix, sparse", "stumps, missing"]
)


def game_and_matrix(loss, learner: str, seed: int = 1):
    made = problem(SETS["simplex"], LEARNERS[learner], seed=seed, weights=WEIGHTS)
    rows = made.game.rows
    return Game(loss.bind(rows), made.game.oracle, rows, budget=np.inf, tol=1e-9), made


def snapshot(state: State) -> tuple:
    return (state.t, state.w.tobytes(), state.z.tobytes(), state.d.tobytes(), state.best.objective, state.status)


@every_pair
@every_learner
def test_the_state_every_round(booster, loss, learner):
    game, made = game_and_matrix(loss, learner)
    descended = np.inf
    for t, (state, answer) in enumerate(islice(rounds(game, booster), 30)):
        w = made.weights_over_class(state.pool.keys[: len(state.w)], state.w)
        np.testing.assert_allclose(state.z, made.A @ w, atol=1e-11)
        np.testing.assert_allclose(state.d, state.loss.weights(state.z), rtol=1e-12)
        assert state.t == t and np.all(state.d >= 0)
        assert answer.bound >= np.abs(made.A.T @ state.d).max() - 1e-15
        assert state.loss.value(state.z) <= descended + 1e-13
        descended = state.loss.value(state.z)
        assert state.best.bound == np.inf, "without a budget nothing bounds the loss from below"
    assert state.t > 0 and descended < loss.bind(game.rows).value(np.zeros(12)) - 1e-3


@every_pair
def test_the_learner_is_asked_once_a_round(booster, loss):
    if getattr(booster, "template", "") == "parallel":
        return  # it tallies the whole class instead
    game, _ = game_and_matrix(loss, "stumps, ties")
    counting = CountingOracle(game.oracle)
    *_, (state, _) = islice(rounds(replace(game, oracle=counting), booster), 12)
    assert counting.asked == state.t + 1 > 3


@every_pair
@pytest.mark.parametrize("learner", ["matrix, reals", "stumps, missing"])
def test_resumed_is_continued_to_the_bit(booster, loss, learner):
    game = game_and_matrix(loss, learner, seed=5)[0]
    state = list(islice(rounds(game, booster), 2))[-1][0]
    pickled = pickle.dumps(state)
    game.forget()
    continued = [snapshot(s) for s, _ in islice(rounds(game, booster, state), 10)]
    elsewhere = game_and_matrix(loss, learner, seed=5)[0]
    resumed = [snapshot(s) for s, _ in islice(rounds(elsewhere, booster, pickle.loads(pickled)), 10)]
    assert continued == resumed and len(continued) > 1


@every_pair
@pytest.mark.parametrize("learner", ["matrix, reals", "stumps, ties"])
def test_weight_k_is_k_copies(booster, loss, learner):
    game, made = game_and_matrix(loss, learner)
    copy_of = np.repeat(np.arange(12), WEIGHTS.astype(int))
    case = LEARNERS[learner]
    rows = Rows.of(len(copy_of))
    copies = Game(
        loss.bind(rows), case.make().bind(made.X[copy_of], made.y[copy_of], rows), rows, budget=np.inf, tol=1e-9
    )
    one, two = (list(islice(rounds(g, booster), 12))[-1][0] for g in (game, copies))
    assert one.t == two.t > 1
    np.testing.assert_allclose(one.z[copy_of], two.z, rtol=1e-9, atol=1e-9)


@every_pair
def test_a_finished_run_is_recomputed(booster, loss):
    game, made = game_and_matrix(loss, "matrix, reals")
    outcome = play(game, booster, 25)
    full = made.weights_over_class(outcome.hypotheses, outcome.weights)
    np.testing.assert_allclose(outcome.margins, made.A @ full, atol=1e-12)
    assert outcome.certificate.objective == pytest.approx(-game.loss.value(outcome.margins), rel=1e-12)
    assert outcome.certificate.bound == np.inf and len(outcome.weights)
