"""AdaBoost where one row has nearly all the weight: the step is that of the exact masses, near an edge of 1 as well."""

from itertools import islice

import numpy as np
import pytest

from dualboost import AdaBoostClassifier, Training
from dualboost.boosters import CoordinateDescent
from dualboost.game import Game, rounds
from dualboost.learners import Matrix, Stumps
from dualboost.losses import Exponential
from dualboost.rows import Rows
from test_kernel_descent import assert_same, in_bursts, one_by_one

BOOSTER = CoordinateDescent("adaboost")


def heavy(m: int, weight: float, wrong: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows that one stump tells apart but for some light ones; the first row has this weight."""
    rng = np.random.default_rng(m)
    X = rng.normal(size=(m, 4))
    X[0] = 2.0
    y = np.where(X[:, 0] > 0, 1, -1).astype(np.int8)
    y[np.arange(1, 1 + wrong)] *= -1
    weights = rng.integers(1, 4, m).astype(float)
    weights[0] = weight
    return X, y, weights


def game_of(X, y, weights, learner, tol: float) -> Game:
    rows = Rows.of(weights)
    return Game(Exponential().bind(rows), learner.bind(X, y, rows), rows, budget=np.inf, tol=tol)


def never_rises(losses: list[float]) -> None:
    assert np.all(np.diff(losses) <= 1e-12 * np.array(losses[:-1]))


@pytest.mark.parametrize("weight", [1e8, 1e12, 1e16, 1e18, 1e30, 1e60])
@pytest.mark.parametrize("m", [40, 5000])
def test_the_step_is_half_the_logarithm_of_the_masses(m, weight):
    X, y, weights = heavy(m, weight)
    for tol, count in ((1e-14, 1), (1e-60, 12)):
        game = game_of(X, y, weights, Stumps(), tol)
        expected = one_by_one(game, BOOSTER, count)
        assert_same(expected, in_bursts(game_of(X, y, weights, Stumps(), tol), BOOSTER, [count]))
        if count == 1:
            state = expected[0]
            column = game.oracle.margins(state.pool.keys, np.sign(state.w))
            right, wrong = weights[column > 0].sum(), weights[column < 0].sum()
            assert abs(state.w[0]) == pytest.approx(min(60.0, 0.5 * np.log(right / wrong)), rel=1e-6)
    never_rises([state.loss.value(state.z) for state, _ in islice(rounds(game, BOOSTER), 12)])


def test_real_columns_near_one():
    A = np.array([[1.0], [1.0], [-0.5]])
    game = game_of(A, None, np.array([1e18, 1e18, 1.0]), Matrix(), 1e-300)
    state = one_by_one(game, BOOSTER, 1)[0]
    assert state.w[0] == pytest.approx(0.5 * np.log(2 / (1.5 / 2e18)), rel=1e-9)


@pytest.mark.parametrize("weight", [1e15, 1e18, 1e21, 1e300])
def test_a_model_of_one_heavy_row_does_not_oscillate(weight):
    X, y, weights = heavy(60, weight)
    losses = []
    training = Training(callbacks=(lambda state: losses.append(state.loss.value(state.z)),))
    model = AdaBoostClassifier(n_estimators=40, tol=1e-12, training=training).fit(X, y, sample_weight=weights)
    never_rises(losses)
    assert losses[-1] < 1e-6 and np.abs(model.decision_function(X)).max() < 100


def test_a_hypothesis_that_is_never_wrong_ends_the_run():
    X, y, _ = heavy(50, 1e18, wrong=0)
    model = AdaBoostClassifier().fit(X, y)
    assert model.n_iter_ == 1 and np.abs(model.steps_).tolist() == [60.0]
