"""Runs that can be taken up again: what is kept of one at a seam, in memory for a warm start, in a file for a crash.

A file belongs to one problem. A fingerprint of data, labels, weights and parts tells another one apart.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from joblib import hash as joblib_hash
from scipy.sparse import issparse

from dualboost.boosters import Booster
from dualboost.estimators.checkpoint_files import (
    OtherFit,
    broken_checkpoint,
    check_same_fit,
    read_checkpoint,
    write_checkpoint,
)
from dualboost.estimators.control import Control
from dualboost.estimators.judge import Score
from dualboost.estimators.validation import TrainingData
from dualboost.game import Game, State
from dualboost.learners import Learner, SklearnLearner
from dualboost.run import Halt
from dualboost.storage.state import BROKEN, rebound, state_code, state_of

__all__ = ["Keeper", "Unfinished", "check_checkpoint", "fingerprint", "remove_checkpoints"]

_FORMAT, _VERSION = "dualboost checkpoint", 1


@dataclass(frozen=True, eq=False)
class Unfinished:
    """A run at a seam, and what those who watch it know by then."""

    halt: Halt
    notes: tuple[tuple[float, ...], ...] = ()
    scores: tuple[Score, ...] = ()
    kept: State | None = None
    """The state of the best held-out score."""
    problem: str = ""
    """The fingerprint of what is played."""
    accuracy: tuple[float, float] = (0.0, 0.0)
    """The absolute and relative gap asked for."""


def fingerprint(data: TrainingData, *parts: object) -> str:
    """Of everything that a run depends on: equal problems have equal ones, in any process."""
    tables = [data] if data.held_out is None else [data, data.held_out]
    content = [(_plain(d.X), d.codes, d.weights, dict(d.extras), d.categorical) for d in tables]
    return joblib_hash((content, parts), "sha1")


def _plain(X) -> Any:
    """Without what a sparse matrix remembers about itself."""
    return (X.data, X.indices, X.indptr, X.shape, X.format) if issparse(X) else np.asarray(X)


def check_checkpoint(path: str, learner: Learner) -> None:
    """Refuse, before anything is computed, what could not be kept."""
    if isinstance(learner, SklearnLearner):
        raise ValueError(
            "A checkpoint keeps numbers, not fitted estimators: leave checkpoint out, or take a learner of dualboost."
        )
    folder = Path(path).parent
    if Path(path).is_dir():
        raise ValueError(f"The checkpoint {path!r} is a directory: give the path of a file.")
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise ValueError(f"The checkpoint {path!r} cannot be written: {folder} is no directory that we may write to.")


class Keeper:
    """Keeps the run at its last seam, and now and then in the file."""

    def __init__(self, control: Control, problem: str, accuracy: tuple[float, float]):
        self.latest: Unfinished | None = None
        self.last: Unfinished | None = None
        self._path, self._every = control.checkpoint, control.training.checkpoint_seconds
        self._problem, self._accuracy = problem, accuracy
        self._written: Unfinished | None = None
        self._last = monotonic()

    def keep(self, unfinished: Unfinished) -> None:
        self.latest = replace(unfinished, problem=self._problem, accuracy=self._accuracy)
        if self._path is not None and monotonic() - self._last >= self._every:
            self.write()

    def end(self, unfinished: Unfinished) -> None:
        """The run is over: what another accuracy could go on from; and the last seam goes to the file."""
        self.last = replace(unfinished, problem=self._problem, accuracy=self._accuracy)
        self.write()

    def write(self) -> None:
        """The last seam, if the file does not have it yet. A full disk is no reason to lose the run."""
        if self._path is None or self.latest is None or self.latest is self._written:
            return
        arrays: dict[str, np.ndarray] = {}
        code = {"format": _FORMAT, "version": _VERSION, **_code(self.latest, arrays)}
        self._last = monotonic()
        if write_checkpoint(self._path, code, arrays):
            self._written = self.latest

    def read(self, game: Game) -> Unfinished | None:
        """What the file holds, None without one; one sentence if it is damaged or of another fit."""
        if self._path is None or not os.path.exists(self._path):
            return None
        header, arrays = read_checkpoint(self._path, (_FORMAT, _VERSION))
        try:
            same = header["problem"] == self._problem and tuple(header["accuracy"]) == self._accuracy
            check_same_fit(self._path, same)
            found = _decoded(header, arrays, game)
        except OtherFit:
            raise
        except BROKEN as error:
            raise broken_checkpoint(self._path, error) from error
        self.latest = self._written = found
        return found

    def recall(
        self, earlier: tuple[Unfinished | None, Unfinished | None], game: Game, booster: Booster
    ) -> Unfinished | None:
        """An earlier run of the same problem, ready to go on; None if there is none, or it was of another problem.

        It goes on from its last seam; for another accuracy from its end, and where the smoothing was made for the old
        one the ensemble is taken over and the booster starts anew.
        """
        seam, end = earlier
        same = end is not None and end.accuracy == self._accuracy
        found = seam if same else end
        if found is None or found.problem != self._problem:
            return None
        state = rebound(found.halt.resumed(), game)
        if not same and getattr(booster, "smoothing", "") == "fixed":
            state = replace(booster.start(game, state), t=state.t, best=state.best)
        return replace(found, halt=Halt(state, found.halt.log, found.halt.known))


def remove_checkpoints(control: Control, models: int) -> None:
    """After a fit that came to its end: of one game, or of one for each class."""
    path = control.training.checkpoint
    if path is None or control.broken_off:
        return
    for part in [control.of_class(k, models).part for k in range(models)] if models > 1 else [""]:
        Path(path + part).unlink(missing_ok=True)


def _code(run: Unfinished, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    tables: dict[str, Sequence] = {"log": run.halt.log, "notes": run.notes, "scores": run.scores}
    arrays.update({name: np.array(table, dtype=np.float64) for name, table in tables.items()})
    seam = run.halt.resumed()
    return {
        "problem": run.problem,
        "accuracy": list(run.accuracy),
        "state": state_code(seam, arrays, "state"),
        "kept": None if run.kept is None else state_code(run.kept, arrays, "kept"),
    }


def _decoded(header: dict[str, Any], arrays: dict[str, np.ndarray], game: Game) -> Unfinished:
    state = state_of(header["state"], arrays, game)
    kept = None if header["kept"] is None else state_of(header["kept"], arrays, game)
    log = [(objective, bound, edge, int(size)) for objective, bound, edge, size in arrays["log"].tolist()]
    notes = tuple(tuple(note) for note in arrays["notes"].tolist())
    scores = tuple(Score(int(t), accuracy, loss) for t, accuracy, loss in arrays["scores"].tolist())
    accuracy = (float(header["accuracy"][0]), float(header["accuracy"][1]))
    return Unfinished(Halt.at(state, log), notes, scores, kept, str(header["problem"]), accuracy)
