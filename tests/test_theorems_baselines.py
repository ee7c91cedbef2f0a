"""The linear-programming family against the exact program (ALGORITHMS 7, BASE), and the known mistakes of others."""

import numpy as np
import pytest

from dualboost import solve
from dualboost.boosters import Corrective, ERLPBoost, LPBoost, MLPBoost, SoftBoost, TotalBoost, TotallyCorrective
from dualboost.boosters.corrective import rounds_needed as corrective_rounds
from dualboost.boosters.soft import rounds_needed as soft_rounds
from dualboost.game import Game, rounds
from dualboost.learners import Matrix
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Capped, Simplex
from reference import lp_smallest_edge

TOTALLY = {
    "LPBoost": LPBoost(),
    "LPBoost, textbook": LPBoost(columns=1, stabilise=0),
    "ERLPBoost": ERLPBoost(),
    "SoftBoost": SoftBoost(),
    "MLPBoost": MLPBoost(),
    "totally corrective": TotallyCorrective(),
}


def matrix(seed, m=24, n=15):
    """+-1 with some signal, a copied column and two contradictory rows."""
    rng = np.random.default_rng(seed)
    A = np.where(rng.random((m, n)) < 0.62, 1.0, -1.0)
    A[:, 3] = A[:, 4]
    A[1] = -A[0]
    return A


@pytest.mark.parametrize("nu", [0.05, 0.21, 0.5, 0.9])
@pytest.mark.parametrize("seed", range(3))
def test_lpboost_is_the_linear_program(nu, seed):
    A = matrix(seed)
    optimum = lp_smallest_edge(A, np.full(len(A), 1 / (nu * len(A))))
    for booster in (LPBoost(), LPBoost(columns=1, stabilise=0)):
        solution = solve(A, SoftMargin(Capped(nu=nu)), booster, tol=1e-10)
        assert solution.objective == pytest.approx(optimum, abs=1e-9)
        assert optimum - 1e-9 <= solution.bound <= optimum + 1e-8


@pytest.mark.parametrize("name", TOTALLY)
@pytest.mark.parametrize("nu", [0.05, 0.21, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_within_the_accuracy_asked(name, nu, seed):
    A, tol = matrix(seed), 0.02
    caps = np.full(len(A), 1 / (nu * len(A)))
    optimum = lp_smallest_edge(A, caps)
    solution = solve(A, SoftMargin(Capped(nu=nu)), TOTALLY[name], tol=tol)
    assert solution.objective >= optimum - tol
    assert solution.objective - 1e-12 <= optimum <= solution.bound + 1e-12
    assert np.abs(solution.weights).sum() <= 1 + 1e-12
    assert np.all(solution.distribution <= caps * (1 + 1e-9)) and np.all(solution.distribution >= 0)


@pytest.mark.parametrize("seed", range(4))
def test_proved_numbers_of_rounds(seed):
    A, tol, nu = matrix(seed), 0.05, 0.3
    radius, loss = np.log(1 / nu), SoftMargin(Capped(nu=nu))
    assert solve(A, loss, SoftBoost(), tol=tol).n_rounds <= soft_rounds(radius, tol)
    for booster in (ERLPBoost(), MLPBoost()):
        assert solve(A, loss, booster, tol=tol).n_rounds <= corrective_rounds(radius, tol)
    assert solve(A, SoftMargin(Simplex()), TotalBoost(), tol=tol).n_rounds <= soft_rounds(np.log(len(A)), tol)


@pytest.mark.parametrize("booster", [MLPBoost(), ERLPBoost()], ids=["MLPBoost", "ERLPBoost"])
@pytest.mark.parametrize("seed", range(3))
def test_the_smoothed_margin_never_falls(booster, seed):
    rows = Rows.of(24)
    game = Game(SoftMargin(Capped(nu=0.2)).bind(rows), Matrix().bind(matrix(seed), None, rows), rows, tol=0.01)
    smoothed = game.loss.smoothed(game.tol)
    values = [-smoothed.value(state.z) for state, _ in rounds(game, booster)]
    assert len(values) > 5 and np.all(np.diff(values) >= -1e-9)


@pytest.mark.parametrize("name", TOTALLY)
def test_the_cap_has_an_effect(name):
    """In some public implementations it has none."""
    A = matrix(7)
    hard, soft, flat = (
        solve(A, SoftMargin(Capped(nu=nu)), TOTALLY[name], tol=1e-3).objective for nu in (1 / len(A), 0.4, 1.0)
    )
    assert hard + 0.02 < soft and soft + 0.02 < flat
    assert flat == pytest.approx(np.abs(A.mean(axis=0)).max(), abs=1e-3)  # nu = 1: the best single hypothesis
    assert hard == pytest.approx(solve(A, SoftMargin(Simplex()), TOTALLY[name], tol=1e-3).objective, abs=2e-3)


@pytest.mark.parametrize("seed", range(3))
def test_little_smoothing_is_the_linear_program(seed):
    A = matrix(seed)
    program = solve(A, SoftMargin(Capped(nu=0.3)), LPBoost(), tol=1e-10).objective
    assert solve(A, SoftMargin(Capped(nu=0.3)), ERLPBoost(), tol=1e-5).objective == pytest.approx(program, abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_the_searched_step_is_the_best_on_a_grid(seed):
    """A reversed line search, as found elsewhere, would end at the wrong end."""
    from dualboost.boosters.corrective import moved, searched_step

    rows = Rows.of(24)
    game = Game(SoftMargin(Capped(nu=0.3)).bind(rows), Matrix().bind(matrix(seed), None, rows), rows, tol=0.05)
    run = rounds(game, Corrective(step="search"))
    for _ in range(4):
        state, answer = next(run)
        target = float(np.sign(answer.edges[0]))
        step = searched_step(game, state, answer, state.loss, target)

        def value(x, state=state, answer=answer, target=target):
            return -state.loss.value(moved(game, state.z, answer.columns[0], x, target))

        grid = max(value(x) for x in np.linspace(0, 1, 401))
        assert value(step) >= grid - 0.02 * (grid - value(0.0)) - 1e-12
