"""States in files: every booster and learner, resumed to the same bits; damage and other games are refused."""

import os
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from conftest import BOOSTERS, LEARNERS, OPEN_LEARNERS, SETS, UNBOUNDED, learnable_labels, problem, refused, suited
from dualboost.boosters import Corrective, CorrectiveFrankWolfe, Leveraging, LPBoost
from dualboost.game import Game, rounds
from dualboost.losses import LogisticMixture, SoftMargin
from dualboost.rows import Rows
from dualboost.run import SEAM, Halt, Watch, next_seam
from dualboost.sets import Capped
from dualboost.solve import play
from dualboost.storage import load_state, save_state
from dualboost.storage.container import DamagedFile
from test_boosters import WEIGHTS, snapshot


def check_taken_up(fresh, booster, path) -> None:
    """A run that goes on after `forget` and one that is loaded elsewhere agree to the bit, memory and pool included."""
    half = min(8, len(list(islice(rounds(fresh(), booster), 16))) // 2)
    game = fresh()
    state = list(islice(rounds(game, booster), half))[-1][0]
    assert half > 0 and not state.status
    save_state(state, path)
    game.forget()
    continued = [s for s, _ in islice(rounds(game, booster, state), 40)]
    elsewhere = fresh()
    elsewhere.forget()
    resumed = [s for s, _ in islice(rounds(elsewhere, booster, load_state(path, elsewhere)), 40)]
    assert [snapshot(s) for s in continued] == [snapshot(s) for s in resumed] and len(continued) > 1
    assert continued[-1].pool.keys == resumed[-1].pool.keys
    save_state(continued[-1], path)
    twin = path.with_suffix(".twin")
    save_state(resumed[-1], twin)
    assert path.read_bytes() == twin.read_bytes(), "what a booster remembers is the same too"


@pytest.mark.parametrize("booster", BOOSTERS.values(), ids=BOOSTERS)
@pytest.mark.parametrize("set_name", ["simplex", "nu 0.3"])
@pytest.mark.parametrize("learner_name", ["matrix, reals", "stumps, missing"])
def test_every_booster_is_taken_up_from_a_file(booster, set_name, learner_name, tmp_path):
    def fresh():
        made = problem(SETS[set_name], LEARNERS[learner_name], m=12, seed=2, tol=0.01, weights=WEIGHTS)
        return suited(booster, made.game)

    if not refused(booster, fresh(), linear=True):
        check_taken_up(fresh, booster, tmp_path / "state")


@pytest.mark.parametrize("booster, loss", UNBOUNDED.values(), ids=UNBOUNDED)
def test_boosters_without_a_budget_too(booster, loss, tmp_path):
    def fresh():
        game = problem(SETS["simplex"], LEARNERS["matrix, signs"], m=40, seed=3, tol=1e-6).game
        return replace(game, loss=loss.bind(game.rows), budget=np.inf)

    check_taken_up(fresh, booster, tmp_path / "state")


@pytest.mark.parametrize("case", LEARNERS.values(), ids=LEARNERS)
def test_hypotheses_of_every_kind(case, tmp_path):
    check_taken_up(lambda: problem(SETS["nu 0.3"], case, m=14, seed=2, tol=1e-3).game, Corrective(), tmp_path / "state")


@pytest.mark.parametrize("name", ["leaf trees", "leaf trees, categories"])
def test_trees_of_real_values(tmp_path, name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = learnable_labels(rng, np.sign(X))
    X[:, [0, 2]] = np.floor(np.abs(X[:, [0, 2]]) * 3)

    def fresh():
        rows = Rows.of(len(y))
        oracle = OPEN_LEARNERS[name]().bind(X, y, rows)
        return Game(LogisticMixture(0.1).bind(rows), oracle, rows, budget=np.inf, tol=1e-9)

    check_taken_up(fresh, Leveraging("difference", estimate=2), tmp_path / "state")


# ---- what is refused ------------------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    game = problem(SETS["nu 0.3"], LEARNERS["stumps, ties"], m=12, seed=1, tol=0.01).game
    state = list(islice(rounds(game, Corrective()), 6))[-1][0]
    save_state(state, tmp_path / "state")
    return game, tmp_path / "state"


def test_a_changed_byte_anywhere_is_refused(saved):
    game, path = saved
    good = path.read_bytes()
    for at in range(0, len(good), max(1, len(good) // 60)):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0x20]) + good[at + 1 :])
        try:
            state = load_state(path, game)
        except DamagedFile:
            continue
        assert state.t == 5, "a byte that nobody reads"
    path.write_bytes(good[: len(good) // 2])
    with pytest.raises(DamagedFile):
        load_state(path, game)


def test_another_game_is_refused(saved):
    _, path = saved
    with pytest.raises(DamagedFile, match="other rows"):
        load_state(path, problem(SETS["nu 0.3"], LEARNERS["stumps, ties"], m=13, seed=1).game)
    game = problem(SETS["nu 0.3"], LEARNERS["stumps, ties"], m=12, seed=1).game
    with pytest.raises(DamagedFile, match="its loss is SoftMargin"):
        load_state(path, replace(game, loss=LogisticMixture(0.1).bind(game.rows), budget=np.inf))


def test_fitted_estimators_are_refused_in_one_sentence(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    rows = Rows.of(30)
    oracle = OPEN_LEARNERS["sklearn"]().bind(X, learnable_labels(rng, np.sign(X)), rows)
    game = Game(SoftMargin(Capped(nu=0.3)).bind(rows), oracle, rows)
    state = list(islice(rounds(game, Corrective()), 4))[-1][0]
    with pytest.raises(ValueError, match="only numbers, strings and our own records"):
        save_state(state, tmp_path / "state")
    assert not os.listdir(tmp_path)


# ---- stretches and seams --------------------------------------------------------------------------------------------


class Looker(Watch):
    """Looks at given rounds, keeps every seam, and stops where it is told to."""

    def __init__(self, steps: int, seams: bool, stop: int = -1):
        self.steps, self.seams, self.stop = steps, seams, stop
        self.seen, self.halts = [], []

    def wait(self, t):
        return self.steps

    def look(self, state):
        self.seen.append(state.t)
        return "enough" if state.t == self.stop else ""

    def cut(self):
        return ""

    def seam(self, halt):
        self.halts.append(halt)


def stump_game(tol=1e-9, m=60, nu=0.3):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(m, 4))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=m) > 0, 1, -1).astype(np.int8)
    rows = Rows.of(m)
    return Game(SoftMargin(Capped(nu=nu)).bind(rows), LEARNERS["stumps, reals"].make().bind(X, y, rows), rows, tol=tol)


def outcome_bits(outcome) -> tuple:
    history = tuple(values.tobytes() for values in outcome.history.values())
    return (*snapshot(outcome.state), outcome.weights.tobytes(), outcome.margins.tobytes(), *history)


RUNS = {name: BOOSTERS[name] for name in ("corrective", "AdaBoost", "in turn", "mirror ascent", "MLPBoost")}
RUNS["LPBoost"] = LPBoost(columns=3)  # with more it is done before there is a second seam
every_run = pytest.mark.parametrize("booster", RUNS.values(), ids=RUNS)


@every_run
def test_the_length_of_stretches_changes_no_bit(booster):
    runs = []
    for steps in (1, 3, 7, 128):
        watch = Looker(steps, seams=False)
        runs.append(outcome_bits(play(suited(booster, stump_game()), booster, 75, watch=watch)))
        assert watch.seen == sorted(watch.seen)
    assert runs[0] == runs[1] == runs[2] == runs[3]


def test_stretches_of_the_mirror_ascent_on_the_whole_simplex_too():
    runs = []
    for steps in (1, 7, 128):
        outcome = play(stump_game(nu=1e-9), BOOSTERS["mirror ascent"], 150, watch=Looker(steps, seams=False))
        assert outcome.n_rounds == 150
        runs.append((*outcome_bits(outcome), outcome.state.memory.gain, outcome.state.memory.mass))
    assert runs[0] == runs[1] == runs[2]


@every_run
@pytest.mark.parametrize("steps", [5, 128])
def test_a_run_taken_up_at_any_seam_ends_with_the_same_bits(booster, steps):
    whole = Looker(steps, seams=True)
    outcome = play(suited(booster, stump_game()), booster, 3 * SEAM + 9, watch=whole)
    wanted = [t for t in (4, 8, 16, 32, 64, 96) if t < outcome.n_rounds]
    assert [halt.state.t for halt in whole.halts if halt.state.t < outcome.n_rounds] == wanted and len(wanted) > 1
    for halt in whole.halts:
        elsewhere = suited(booster, stump_game())
        again = Looker(steps, seams=True)
        resumed = play(elsewhere, booster, 3 * SEAM + 9, Halt(halt.resumed(), halt.log, halt.known), again)
        assert outcome_bits(resumed) == outcome_bits(outcome) and resumed.status == outcome.status
        after = halt.state.t
        assert [t for t in again.seen if t > after] == [t for t in whole.seen if t > after], "the same is shown"


@every_run
@pytest.mark.parametrize("stop", [1, 9, SEAM, SEAM + 1])
def test_every_state_is_recorded_once_wherever_a_run_stops(booster, stop):
    watch = Looker(1, seams=True, stop=stop)
    outcome = play(suited(booster, stump_game()), booster, 200, watch=watch)
    assert len(outcome.history["objective"]) == outcome.n_rounds + 1
    assert outcome.n_rounds == stop or outcome.status != "enough"


def test_seams_are_early_and_then_even():
    seams = [0]
    while seams[-1] < 150:
        seams.append(next_seam(seams[-1]))
    assert seams == [0, 4, 8, 16, 32, 64, 96, 128, 160] and next_seam(5) == 8 and next_seam(33) == 64
    assert next_seam(2047) == 2048 and next_seam(2048) == 2112 and next_seam(4095) == 4096 and next_seam(4100) == 4224


def test_seams_are_where_warm_starts_are_dropped():
    """Without `forget` at the seam the bits would differ somewhere: the test above can fail."""
    booster, differ = CorrectiveFrankWolfe(), False
    for seed in range(6):
        made = problem(SETS["caps"], LEARNERS["stumps, reals"], m=50, seed=seed, tol=1e-9).game
        cold = problem(SETS["caps"], LEARNERS["stumps, reals"], m=50, seed=seed, tol=1e-9).game
        warm = [snapshot(s) for s, _ in islice(rounds(made, booster), 120)]
        state = list(islice(rounds(cold, booster), 40))[-1][0]
        cold.forget()
        differ |= warm[39:] != [snapshot(s) for s, _ in islice(rounds(cold, booster, state), 81)][: len(warm) - 39]
    assert differ
