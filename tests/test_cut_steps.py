"""Steps that take long are given up: linear programs, and calls of kernels, by Ctrl-C or when the time is over."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

import dualboost.master.cutting as cutting
from dualboost import LPBoostClassifier, Training
from dualboost.boosters import Corrective
from dualboost.cutting import Cut, cut_by
from dualboost.learners import LeafTrees, Learner, Oracle, Trees
from dualboost.master import EdgeProgram
from dualboost.rows import Rows
from fitted import quick
from test_ctrl_c import X, Y, margin
from test_faults_runs import in_a_child, rows_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="signals and forks of Linux"),
]


# ---- what takes long, on a machine of any speed ---------------------------------------------------------------------


def lasting(seconds: float, make: Callable[[int], Callable[[], object]], m: int) -> int:
    """How many rows the call make(m)() needs, from m on, to take at least so long here."""
    while True:
        call = make(m)
        start = time.perf_counter()
        call()
        took = time.perf_counter() - start
        if took >= seconds:
            return m
        m = int(m * min(4.0, 1.5 * seconds / took))


# ---- linear programs ------------------------------------------------------------------------------------------------


def program(m: int, n: int) -> EdgeProgram:
    made = EdgeProgram(np.full(m, 1 / (0.3 * m)))
    made.add(np.random.default_rng(0).choice([-1.0, 1.0], (n, m), p=[0.4, 0.6]))
    return made


def program_rows(seconds: float, n: int) -> int:
    """With so many rows a program of n hypotheses takes at least so long here."""
    return lasting(seconds, lambda m: program(m, n).solve, 1500)


def test_a_program_is_cut_and_can_be_solved_again():
    made = program(program_rows(1.0, 120), 120)
    start = time.monotonic()
    with pytest.raises(Cut, match="enough"), cut_by(lambda: "enough" if time.monotonic() > start + 0.1 else ""):
        made.solve()
    assert time.monotonic() - start < 1.0
    m = program_rows(0.3, 40)
    short = program(m, 40)
    with pytest.raises(Cut), cut_by(lambda: "at once"):
        short.solve()
    for one, two in zip(short.solve(), program(m, 40).solve(), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-9)


def test_ctrl_c_cuts_a_program(ctrl_c):
    made = program(program_rows(1.0, 120), 120)
    ctrl_c(after=0.15)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        made.solve()
    assert time.monotonic() - start < 1.0
    assert not [thread for thread in threading.enumerate() if thread.name == "linear program"]


def test_a_thread_changes_no_bit_and_its_errors_are_raised(monkeypatch):
    inline = program(150, 20).solve()
    monkeypatch.setattr(cutting, "_SMALL", 0)
    for one, two in zip(inline, program(150, 20).solve(), strict=True):
        np.testing.assert_array_equal(one, two)

    class Failing:
        def run(self):
            raise MemoryError

        def setOptionValue(self, name, value):
            pass

    with pytest.raises(MemoryError):
        cutting.run_program(Failing(), 10**6)

    def no_room(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_room)
    for one, two in zip(inline, program(150, 20).solve(), strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_time_limit_cuts_a_program_and_a_first_round_is_never_cut():
    rows, labels = rows_of(20_000, 10)
    for seconds in (1e-6, 0.5):
        model = LPBoostClassifier(0.3, tol=1e-12, calibrate=False, training=Training(seconds=seconds))
        start = time.monotonic()
        model.fit(rows, labels)
        assert time.monotonic() - start < seconds + 3.0
        assert "time budget" in model.status_ and model.n_iter_ >= 1 and model.score(rows, labels) > 0.5
    assert quick("LPBoostClassifier", training=Training(seconds=60)).fit(X, Y).n_iter_ > 1


# ---- long calls of kernels ------------------------------------------------------------------------------------------

LONG = {
    "optimal": (Trees(2, search="optimal"), 60),
    "greedy": (Trees(10), 20),
    "polished": (Trees(4, search="polished"), 20),
    "leaves": (LeafTrees(100), 20),
}


def bound(learner: Learner, m: int, features: int) -> tuple[Oracle, np.ndarray]:
    """An oracle for so many rows, and equal weights."""
    rows, labels = rows_of(m, features)
    return learner.bind(rows, np.where(labels, 1, -1).astype(np.int8), Rows.of(m)), np.full(m, 1 / m)


def rows_for(seconds: float, learner: Learner, features: int) -> int:
    """With so many rows a search takes at least so long here."""

    def search(m: int) -> Callable[[], object]:
        oracle, d = bound(learner, m, features)
        return lambda: oracle.best(d)

    return lasting(seconds, search, 20_000)


def long_call(name: str) -> tuple[Oracle, np.ndarray]:
    """A search that takes some tenths of a second, and its weights."""
    learner, features = LONG[name]
    return bound(learner, rows_for(0.3, learner, features), features)


@pytest.mark.parametrize("name", LONG)
def test_a_long_search_is_cut_and_leaves_nothing_half_done(name):
    oracle, d = long_call(name)
    whole = oracle.best(d)
    with pytest.raises(Cut, match="enough"), cut_by(lambda: "enough"):
        oracle.best(d)
    again = oracle.best(d)
    assert again.hypotheses == whole.hypotheses and np.array_equal(again.edges, whole.edges)
    assert again.bound == whole.bound


def test_the_margins_of_many_trees_are_cut():
    oracle, d = long_call("greedy")
    trees = oracle.best(d).hypotheses * 100
    with pytest.raises(Cut), cut_by(lambda: "enough"):
        oracle.margins(trees, np.full(100, 0.01))


def test_a_search_hears_ctrl_c_and_others_go_on(ctrl_c):
    """Those in other threads have another run, and no signals."""
    optimal, done = Trees(2, search="optimal"), []
    oracle, d = bound(optimal, rows_for(1.0, optimal, 100), 100)
    other, e = long_call("polished")
    answer = other.best(e)
    threads = [threading.Thread(target=lambda: done.append(other.best(e))) for _ in range(3)]
    ctrl_c(after=0.2)
    with pytest.raises(KeyboardInterrupt), cut_by(lambda: ""):
        start = time.thread_time()
        for thread in threads:
            thread.start()
        oracle.best(d)
    assert time.thread_time() - start < 0.6, "of a second or more"
    for thread in threads:
        thread.join()
    assert [found.hypotheses for found in done] == [answer.hypotheses] * 3


def long_rounds() -> tuple[np.ndarray, np.ndarray]:
    """Rows that take the optimal search a second."""
    return rows_of(rows_for(1.0, Trees(2, search="optimal"), 60), 60)


def interrupted_after_a_round(rows, labels) -> tuple[float, int, float, float]:
    """CPU seconds from Ctrl-C in the second round to the model, its rounds, its score, how far the bound is missed."""
    at: list[float] = []

    def ring() -> None:
        at.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    def begin(state) -> None:
        threading.Timer(0.3, ring).start()

    signal.signal(signal.SIGINT, signal.default_int_handler)
    model = margin(
        booster=Corrective(), learner=Trees(2, search="optimal"), calibrate=False, training=Training(callbacks=(begin,))
    ).fit(rows, labels)
    took = time.process_time() - at[0]
    assert "interrupted" in model.status_
    return took, model.n_iter_, model.score(rows, labels), -model.certificate_.gap


def test_ctrl_c_in_a_round_of_seconds_and_in_what_follows():
    times = []
    while len(times) < 3 and min(times, default=1.0) >= 1.0:
        took, rounds, score, missed = in_a_child(interrupted_after_a_round, *long_rounds())
        assert rounds == 1 and score > 0.6 and missed <= 0
        times.append(took)
    assert min(times) < 1.0, times


def test_a_time_limit_cuts_a_round():
    (rows, labels), took = long_rounds(), []
    for seconds in (1e-6, 2.5):
        start = time.process_time()
        model = margin(learner=Trees(2, search="optimal"), calibrate=False, training=Training(seconds=seconds))
        model.fit(rows, labels)
        assert "time budget" in model.status_ and model.score(rows, labels) > 0.6
        assert model.certificate_.gap >= 0
        took.append(time.process_time() - start)
    assert took[1] < max(2.5, took[0]) + 1.5, "the first round is never cut"
