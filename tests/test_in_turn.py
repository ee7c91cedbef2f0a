"""Two boosters in turn: what the first reached is kept, bursts are rounds, and the choice of a solver is sound."""

from itertools import islice, pairwise

import numpy as np
import pytest

from conftest import LEARNERS, SETS, problem
from dualboost.boosters import Corrective, InTurn, LPBoost, TotallyCorrective, automatic
from dualboost.game import Game, rounds
from dualboost.learners import Stumps
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Ball, Capped
from dualboost.solve import play


def stump_game(tol: float, nu: float) -> Game:
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(300, 5)), Rows.of(300)
    y = np.where(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=300) > 0, 1, -1).astype(np.int8)
    return Game(SoftMargin(Capped(nu=nu)).bind(rows), Stumps().bind(X, y, rows), rows, tol=tol)


def test_the_second_begins_where_the_first_ends():
    game, booster = stump_game(0.002, 0.3), InTurn(Corrective(), TotallyCorrective(), 7)
    states = [state for state, _ in islice(rounds(game, booster), 12)]
    assert [state.t for state in states] == list(range(12))
    assert not np.any(states[7].w) and np.any(states[6].w) and np.any(states[8].w)
    bests = [(state.best.objective, -state.best.bound) for state in states]
    assert all(later >= earlier for a, b in pairwise(bests) for earlier, later in zip(a, b, strict=True))


@pytest.mark.parametrize("switch", [5, 128, 150, 300])
def test_bursts_are_rounds(switch):
    """The compiled rounds of the first stop at the switch, whatever the length of a burst."""
    booster = InTurn(Corrective(), TotallyCorrective(), switch)
    played = play(stump_game(1e-3, 0.3), booster, 400)
    single = [state for state, _ in islice(rounds(stump_game(1e-3, 0.3), booster), played.n_rounds + 1)]
    assert played.n_rounds == single[-1].t > switch
    assert played.status == single[-1].status
    assert played.certificate.bound == pytest.approx(single[-1].best.bound, abs=1e-12)


@pytest.mark.parametrize("nu", [0.05, 0.3, 0.8])
def test_the_choice_reaches_the_gap(nu):
    outcome = play(stump_game(0.01, nu), automatic(nu), 10_000)
    exact = play(stump_game(1e-7, nu), LPBoost(), 10_000).certificate
    assert outcome.certificate.gap <= 0.01 and outcome.n_rounds > 0
    assert outcome.certificate.objective - 1e-9 <= exact.bound and exact.objective <= outcome.certificate.bound + 1e-9


def test_what_does_not_fit_is_refused_at_the_start():
    made = problem(SETS["nu 0.3"], LEARNERS["matrix, reals"])
    game = Game(SoftMargin(Ball(2, 0.8)).bind(made.game.rows), made.game.oracle, made.game.rows)
    with pytest.raises(ValueError, match="linear program"):
        InTurn(Corrective(), LPBoost(), 3).start(game)
    with pytest.raises(ValueError, match="switch"):
        InTurn(Corrective(), LPBoost(), 0)
