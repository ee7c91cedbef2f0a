"""Compiled rounds of MABoost: the states of the rounds played one by one, however the run is cut."""

from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp

from dualboost import MABoostClassifier
from dualboost.boosters import MirrorAscent
from dualboost.boosters.ascent import training_error
from dualboost.game import Game, rounds
from dualboost.learners import Matrix, Stumps
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Capped, Simplex
from dualboost.solve import play

BOOSTER = MirrorAscent()


def table(m: int, kind: str):
    rng = np.random.default_rng(m)
    X = rng.normal(size=(m, 6))
    y = np.where(X[:, 0] + 0.7 * X[:, 1] - 0.5 * X[:, 2] + 0.5 * rng.normal(size=m) > 0, 1, -1).astype(np.int8)
    if kind == "categories":
        X[:, 3:] = rng.integers(0, (3, 12, 280), (m, 3))
        y = np.where(rng.random(m) < 0.3 * (X[:, 4] % 2) + 0.2 * (X[:, 5] % 2), -y, y).astype(np.int8)
    if kind == "missing":
        X[rng.random(X.shape) < 0.2] = np.nan
    if kind == "sparse":
        X = sp.csr_array(np.where(rng.random((m, 300)) < 0.02, 1.0, 0.0) + sp.random(m, 300, 0.01, random_state=1))
    return X, y


def game_of(m: int, kind: str = "reals", weighted: bool = False, **options) -> Game:
    X, y = table(m, kind)
    rows = Rows.of(np.random.default_rng(0).integers(1, 5, m).astype(float) if weighted else m)
    learner = Stumps(32, categorical=(3, 4, 5) if kind == "categories" else ())
    return Game(SoftMargin(Simplex()).bind(rows), learner.bind(X, y, rows), rows, **{"tol": 1e-6} | options)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["reals", "missing", "sparse", "categories"])
@pytest.mark.parametrize("m", [300, 5000])
def test_the_states_of_the_rounds_one_by_one(m, kind, weighted):
    one = [state for state, _ in islice(rounds(game_of(m, kind, weighted), BOOSTER), 41)]
    game = game_of(m, kind, weighted)
    burst = BOOSTER.burst(game, BOOSTER.start(game), 40)
    assert burst.state.t == 40 and len(burst.edges) == 40
    for mine, theirs in ((burst.state.z, one[40].z), (burst.state.w, one[40].w)):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_allclose(burst.state.d, one[40].d, rtol=1e-12)  # a projection starts where the last one ended
    assert burst.state.memory.mass == one[40].memory.mass
    assert burst.state.memory.gain == pytest.approx(one[40].memory.gain, rel=1e-9)
    np.testing.assert_allclose(burst.objectives, [state.best.objective for state in one[:40]], atol=1e-12)
    np.testing.assert_allclose(burst.bounds, [state.best.bound for state in one[:40]], atol=1e-10)
    errors = [training_error(game.rows.prior, state.z) for state in one[:40]]
    np.testing.assert_allclose(burst.state.memory.trail.errors, errors, atol=1e-12)
    gains = [state.memory.gain for state in one[:40]]
    np.testing.assert_allclose(burst.state.memory.trail.gains, gains, rtol=1e-9)
    np.testing.assert_allclose(burst.state.best.d, one[39].best.d, atol=1e-12)
    assert -game.loss.value(game.oracle.margins(game_keys(burst), burst.state.best.w)) == pytest.approx(
        burst.state.best.objective, abs=1e-12
    )


def game_keys(burst):
    return burst.state.pool.keys[: len(burst.state.best.w)]


@pytest.mark.parametrize("m", [300, 5000])
def test_a_run_may_be_cut_anywhere_and_use_any_threads(m):
    whole, cut = game_of(m), game_of(m)
    expected = BOOSTER.burst(whole, BOOSTER.start(whole), 60).state
    state = BOOSTER.start(cut)
    for count in (1, 22, 37):
        cut.forget()
        state = BOOSTER.burst(cut, state, count).state
    X, y = table(m, "reals")
    rows = Rows.of(m, threads=3)
    threaded = Game(SoftMargin(Simplex()).bind(rows), Stumps(32).bind(X, y, rows), rows, tol=1e-6)
    for other in (state, BOOSTER.burst(threaded, BOOSTER.start(threaded), 60).state):
        np.testing.assert_array_equal(other.z, expected.z)
        np.testing.assert_array_equal(other.w, expected.w)


def test_it_stops_where_the_gap_closes():
    X = np.arange(6000.0)[:, None]
    y = np.where(X[:, 0] > 2000, 1, -1).astype(np.int8)
    rows = Rows.of(6000)

    def fresh():
        return Game(SoftMargin(Simplex()).bind(rows), Stumps(255).bind(X, y, rows), rows, tol=0.02)

    expected = [state for state, _ in islice(rounds(fresh(), BOOSTER), 3000)][-1]
    outcome = play(fresh(), BOOSTER, 3000)
    assert outcome.status.startswith("certified") and outcome.n_rounds == expected.t
    assert outcome.certificate.gap <= 0.02


def test_other_games_are_played_one_by_one():
    rows = Rows.of(300)
    X, y = table(300, "reals")
    capped = Game(SoftMargin(Capped(nu=0.5)).bind(rows), Stumps(32).bind(X, y, rows), rows, tol=1e-6)
    matrix = Game(SoftMargin(Simplex()).bind(rows), Matrix().bind(np.sign(X), None, rows), rows, tol=1e-6)
    for game in (capped, matrix):
        assert BOOSTER.burst(game, BOOSTER.start(game), 5) is None
    for booster in (MirrorAscent("euclidean"), MirrorAscent(step="search"), MirrorAscent(step="max margin")):
        game = game_of(300)
        assert booster.burst(game, booster.start(game), 5) is None


def test_the_classifier_notes_every_round_once():
    X, y = table(5000, "reals")
    model = MABoostClassifier(max_iter=200, calibrate=False).fit(X, y)
    history = model.history_
    assert model.n_iter_ == 200 and {len(values) for values in history.values()} == {201}
    assert np.all(history["error"] <= history["error_bound"]) and history["error"][0] == 1
    assert history["error"][-1] == pytest.approx(np.mean(model.margins_ <= 0))
    assert np.all(np.diff(history["error_bound"]) <= 0)
