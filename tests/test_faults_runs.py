"""What can happen to a run: threads, forks, Ctrl-C, little memory, a full disk, a killed process."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
import traceback
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification

from dualboost import (
    AdaBoostClassifier,
    MarginBoostClassifier,
    Training,
    load_model,
    save_model,
)
from dualboost.boosters import Corrective

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="signals, forks and limits of Linux"),
]

X, Y = make_classification(300, 8, n_informative=4, flip_y=0.1, random_state=0)

FORK = multiprocessing.get_context("fork")


def _answer(pipe, work, arguments) -> None:
    try:
        warnings.simplefilter("ignore")
        pipe.send((True, work(*arguments)))
    except BaseException:
        pipe.send((False, traceback.format_exc()))
    os._exit(0)


def in_a_child(work, *arguments, timeout: float = 90):
    """What this returns in a forked process; it must end by itself, and in time."""
    ours, theirs = FORK.Pipe(duplex=False)
    child = FORK.Process(target=_answer, args=(theirs, work, arguments))
    child.start()
    theirs.close()
    try:
        assert ours.poll(timeout), "it hangs"
        done, answer = ours.recv()
        child.join(timeout=20)
    except EOFError:
        done, answer = False, "it crashed"
    finally:
        child.kill()
    assert done, answer
    return answer


def rows_of(m: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, features))
    return X, X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=m) > 0


def test_a_fit_in_a_forked_child_after_a_threaded_fit_ends():
    rows, labels = rows_of(200_000, 6)  # enough for a pass to be worth threads

    def fitted() -> bytes:
        return AdaBoostClassifier(n_estimators=20, n_jobs=2).fit(rows, labels).decision_function(rows[:50]).tobytes()

    assert in_a_child(fitted, timeout=60) == fitted()
    assert in_a_child(fitted, timeout=60) == fitted()


# ---- memory ---------------------------------------------------------------------------------------------------------


def _size(column: int) -> int:
    """0: of the address space; 1: of what is in memory. In bytes."""
    return int(Path("/proc/self/statm").read_text().split()[column]) * os.sysconf("SC_PAGE_SIZE")


def _with_little_memory() -> tuple[int, float]:
    import resource

    warnings.simplefilter("ignore")
    MarginBoostClassifier(0.3, max_iter=5).fit(X, Y)  # what BLAS and the solvers need for themselves
    np.ones((400, 400)) @ np.ones((400, 400))
    unlimited, refused = resource.RLIM_INFINITY, 0
    rows, labels = rows_of(200_000, 40)
    margin = MarginBoostClassifier(0.3, booster=Corrective(), max_iter=5, calibrate=False, n_jobs=2)
    models = AdaBoostClassifier(n_estimators=5, n_jobs=2), margin
    for model in models:
        for room in (1, 4, 10, 14, 20, 40):
            resource.setrlimit(resource.RLIMIT_AS, (_size(0) + (room << 20), unlimited))
            try:
                model.fit(rows, labels)
            except MemoryError:
                refused += 1
            finally:
                resource.setrlimit(resource.RLIMIT_AS, (unlimited, unlimited))
    return refused, models[0].fit(rows, labels).score(rows, labels)


def test_little_memory_is_an_error_and_not_the_end():
    """In a process of its own: this one has memory to spare that it has freed."""
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_faults_runs as faults\n"
    code += "print(*faults._with_little_memory())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    refused, score = map(float, done.stdout.split())
    assert refused >= 2 and score > 0.5


# ---- files ----------------------------------------------------------------------------------------------------------


class Full(Exception):
    """Ends a fit on a full disk."""


def _on_a_full_disk(folder: Path) -> tuple[bool, bool]:
    """A disk that is full from round 40 on: whether a lost checkpoint was mentioned, and a model refused."""
    import resource

    def stop(state) -> None:
        if state.t == 40:
            resource.setrlimit(resource.RLIMIT_FSIZE, (200, resource.RLIM_INFINITY))
        if state.t == 80:
            raise Full

    training = Training(checkpoint=str(folder / "run"), checkpoint_seconds=0, callbacks=(stop,))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with suppress(Full):
            AdaBoostClassifier(n_estimators=90, training=training).fit(X, Y)
    try:
        save_model(AdaBoostClassifier(n_estimators=6).fit(X, Y), folder / "model")
    except OSError:
        return any("could not be written" in str(warning.message) for warning in told), True
    return False, False


def test_a_full_disk_leaves_the_old_model_and_the_old_checkpoint(tmp_path):
    save_model(AdaBoostClassifier(n_estimators=5).fit(X, Y), tmp_path / "model")
    old = (tmp_path / "model").read_bytes()
    assert in_a_child(_on_a_full_disk, tmp_path) == (True, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "run"], "and nothing half written"
    assert (tmp_path / "model").read_bytes() == old and load_model(tmp_path / "model").n_iter_ == 5
    seen = []
    training = Training(checkpoint=str(tmp_path / "run"), callbacks=(lambda state: seen.append(state.t),))
    AdaBoostClassifier(n_estimators=90, training=training).fit(X, Y)
    assert seen[0] == 33, "the checkpoint from before the disk was full"


def _long_fit(path: Path, slow: bool) -> tuple:
    callbacks = (lambda state: time.sleep(0.002),) if slow else ()
    training = Training(None, 0.2, 900, str(path), 0, callbacks)
    model = MarginBoostClassifier(
        0.4, booster=Corrective(), tol=1e-9, max_iter=900, calibrate=False, training=training
    ).fit(X, Y)
    return model.n_iter_, model.certificate_, model.decision_function(X).tobytes(), model.history_["bound"].tobytes()


def test_a_killed_process_is_taken_up_to_the_same_bits(tmp_path):
    whole = in_a_child(_long_fit, tmp_path / "whole", False)
    path = tmp_path / "run"
    for _ in range(2):
        child = FORK.Process(target=_long_fit, args=(path, True))
        child.start()
        before, deadline = path.stat().st_mtime_ns if path.exists() else 0, time.monotonic() + 60
        while not (path.exists() and path.stat().st_mtime_ns > before) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.1)
        assert child.is_alive(), "still running"
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        assert path.exists()
    assert in_a_child(_long_fit, path, False) == whole
    assert not path.exists()
