"""Checkpoints of bags: a fit that was killed takes up the tries that were done, and ends with the same bits."""

import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification

from dualboost import LogisticDifferenceClassifier, LogisticMixtureClassifier, Training
from dualboost.estimators.kept_tries import KeptTries
from dualboost.learners import Stumps, Trees
from dualboost.storage.container import DamagedFile
from test_faults_runs import FORK, in_a_child

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X, Y = make_classification(200, 5, n_informative=3, flip_y=0.1, random_state=0)
QUICK = {"bags": 3, "max_iter": 25, "random_state": 0}
KINDS = {
    "mixture": LogisticMixtureClassifier(**QUICK),
    "difference": LogisticDifferenceClassifier(**QUICK),
    "stumps": LogisticMixtureClassifier(**QUICK, learner=Stumps()),
    "trees": LogisticMixtureClassifier(**{**QUICK, "max_iter": 6}, learner=Trees(2)),
}


class Crash(Exception):
    """Stands for whatever ends a process."""


def fitted(kind: str, training: Training | None, labels=Y):
    return clone(KINDS[kind]).set_params(training=training).fit(X, labels)


def bits(model) -> tuple:
    names = ("margins_", "label_noise_", "sample_distribution_", "feature_importances_")
    arrays = [getattr(model, name).tobytes() for name in names]
    return (*arrays, model.decision_function(X).tobytes(), model.status_, model.noise_rate_)


def crash_in_try(number: int):
    """A callback that breaks the fit off in the try of this number."""
    seen = []

    def callback(state) -> None:
        seen.append(state.t)
        if seen.count(1) == number and state.t == 2:
            raise Crash

    return callback


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", [Y, Y + (X[:, 0] > 1)], ids=["two classes", "three classes"])
def test_a_broken_fit_is_taken_up_and_ends_with_the_same_bits(kind, labels, tmp_path):
    training = Training(checkpoint=str(tmp_path / "run"), checkpoint_seconds=0)
    seen: list[int] = []
    whole = fitted(kind, replace(training, callbacks=(lambda state: seen.append(state.t),)), labels)
    assert not list(tmp_path.iterdir()), "removed when it is done"
    assert bits(whole) == bits(fitted(kind, None, labels)), "a checkpoint changes nothing"
    with pytest.raises(Crash):
        fitted(kind, replace(training, callbacks=(crash_in_try(2),)), labels)
    assert list(tmp_path.iterdir())
    again: list[int] = []
    taken_up = fitted(kind, replace(training, callbacks=(lambda state: again.append(state.t),)), labels)
    assert bits(taken_up) == bits(whole) and len(again) < len(seen)
    assert not list(tmp_path.iterdir())


def test_checkpoints_of_other_fits_and_damaged_ones_are_refused(tmp_path):
    path = tmp_path / "run"
    training = Training(checkpoint=str(path), checkpoint_seconds=0)
    with pytest.raises(Crash):
        fitted("mixture", replace(training, callbacks=(crash_in_try(2),)))
    kept = path.read_bytes()
    with pytest.raises(ValueError, match="of a fit to other data or with other parameters"):
        fitted("mixture", training, 1 - Y)
    with pytest.raises(ValueError, match="of a fit to other data or with other parameters"):
        LogisticMixtureClassifier(**{**QUICK, "max_iter": 26}, training=training).fit(X, Y)
    assert path.read_bytes() == kept, "left alone"
    with pytest.raises(DamagedFile, match="no checkpoint of this version"):
        LogisticMixtureClassifier(**{**QUICK, "bags": 0}, training=training).fit(X, Y)
    path.write_bytes(kept[: len(kept) // 2])
    with pytest.raises(DamagedFile, match="delete it to start anew"):
        fitted("mixture", training)


def test_a_time_limit_leaves_the_file(tmp_path):
    path = tmp_path / "run"
    slow = Training(0.6, checkpoint=str(path), checkpoint_seconds=0, callbacks=(lambda state: time.sleep(0.02),))
    cut = fitted("mixture", slow)
    assert "time budget" in cut.status_ and path.exists()
    assert bits(fitted("mixture", Training(checkpoint=str(path)))) == bits(fitted("mixture", None))
    assert not path.exists()


def _long_fit(path: Path, slow: bool) -> tuple:
    callbacks = (lambda state: time.sleep(0.02),) if slow else ()
    return bits(fitted("mixture", Training(checkpoint=str(path), checkpoint_seconds=0, callbacks=callbacks)))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks and signals")
def test_a_killed_process_is_taken_up_to_the_same_bits(tmp_path):
    path = tmp_path / "run"
    child = FORK.Process(target=_long_fit, args=(path, True))
    child.start()
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert child.is_alive(), "still running"
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    assert in_a_child(_long_fit, path, False) == bits(fitted("mixture", None))
    assert not path.exists()


def test_scores_of_rows_never_seen_agree_too(tmp_path):
    new = np.random.default_rng(0).normal(size=(50, 5)) * 3
    training = Training(checkpoint=str(tmp_path / "run"), checkpoint_seconds=0)
    with pytest.raises(Crash):
        fitted("difference", replace(training, callbacks=(crash_in_try(2),)))
    taken_up = fitted("difference", training)
    np.testing.assert_array_equal(taken_up.decision_function(new), fitted("difference", None).decision_function(new))


def test_ctrl_c_while_a_try_is_kept_loses_nothing(tmp_path, monkeypatch):
    def pressed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(KeptTries, "keep", pressed)
    with pytest.warns(UserWarning, match="Ctrl-C"):
        model = fitted("mixture", Training(checkpoint=str(tmp_path / "run"), checkpoint_seconds=0))
    assert "interrupted" in model.status_ and model.score(X, Y) > 0.8
