"""The tries of a fit to bags in a file: one that is done is kept, and not made again by the fit that takes it up.

Tries are compared one after the other and depend on nothing but the data and the tries before: a fit that reads the
first ones from a file goes on to the same bits.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from time import monotonic
from typing import Any

import numpy as np

from dualboost.estimators.bag_fits import Bags, Fit
from dualboost.estimators.bagging import LeftOut, Trial
from dualboost.estimators.checkpoint_files import (
    broken_checkpoint,
    check_same_fit,
    read_checkpoint,
    write_checkpoint,
)
from dualboost.estimators.control import Control
from dualboost.estimators.judge import Score
from dualboost.estimators.keeping import fingerprint
from dualboost.estimators.validation import TrainingData
from dualboost.storage.records import decode, encode
from dualboost.storage.state import BROKEN, TYPES

__all__ = ["KeptTries"]

_FORMAT, _VERSION = "dualboost tries", 2  # 2: with the scores on held-out rows


class KeptTries:
    """In the file of a checkpoint, where one is wanted; else nowhere."""

    def __init__(self, control: Control, data: TrainingData, bags: Bags, parts: Sequence[object]):
        self._path, self._every = control.checkpoint, control.training.checkpoint_seconds
        self._tries: list[dict[str, Any]] = []
        self._last = monotonic()
        if self._path is not None:
            self._problem = fingerprint(data, bags.inside, *parts)
            if os.path.exists(self._path):
                self._tries = self._read(self._path)

    def _read(self, path: str) -> list[dict[str, Any]]:
        header, arrays = read_checkpoint(path, (_FORMAT, _VERSION))
        check_same_fit(path, header.get("problem") == self._problem)
        try:
            tries = decode(header["tries"], arrays, TYPES)
            return [{name: found[name] for name in _NAMES} for found in tries]
        except BROKEN as error:
            raise broken_checkpoint(path, error) from error

    def holds(self, number: int) -> bool:
        """Whether the try of this number, from 1 on, was made before."""
        return number <= len(self._tries)

    def taken_up(self, number: int, fits: Sequence[Fit], parts) -> Trial:
        """That try again: the fits have their votes, and play no more rounds."""
        kept = self._tries[number - 1]
        for fit, moves in zip(fits, kept["moves"], strict=True):
            fit.restore(moves)
        left_out = LeftOut(kept["out_loss"], kept["best_out"])
        values = (kept["out_margins"], left_out, kept["history"], kept["rounds"])
        scores = tuple(Score(int(t), accuracy, loss) for t, accuracy, loss in kept["scores"].tolist())
        return Trial(tuple(fits), *values, parts, end=kept["end"], scores=scores)

    def keep(self, trial: Trial) -> None:
        """One more that is done."""
        if self._path is None or trial.cut:
            return
        moves = [fit.moves(trial.rounds) for fit in trial.fits]
        scores = np.array(trial.scores, dtype=np.float64).reshape(-1, 3)
        best = trial.left_out
        values = (moves, trial.out_margins, best.loss, best.margins, trial.history, trial.rounds, trial.end, scores)
        self._tries.append(dict(zip(_NAMES, values, strict=True)))
        if monotonic() - self._last >= self._every:
            self._last = monotonic()
            arrays: dict[str, np.ndarray] = {}
            code = encode(self._tries, arrays, TYPES, "tries")
            header = {"format": _FORMAT, "version": _VERSION, "problem": self._problem, "tries": code}
            write_checkpoint(self._path, header, arrays)


_NAMES = ("moves", "out_margins", "out_loss", "best_out", "history", "rounds", "end", "scores")
