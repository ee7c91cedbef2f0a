"""dualboost behind the same three methods: the bare loop (for the rounds) and the estimator (for users' figures)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.peers import MAX_BINS
from benchmarks.timing import Clock, time_each

NU = 0.1
TOL = 0.01


class Dualboost:
    """The loop itself: corrective soft-margin boosting; a round asks, certifies, projects and moves."""

    name = "dualboost"
    binning: float | None = None
    mode = ""

    def prepare(self, X: Any, y: np.ndarray, threads: int = 1) -> None:
        from dualboost.game import Game
        from dualboost.learners import Stumps
        from dualboost.losses import SoftMargin
        from dualboost.rows import Rows
        from dualboost.sets import Capped

        rows = Rows.of(len(y))

        def bind() -> None:
            self._oracle = Stumps(max_bins=MAX_BINS, n_jobs=threads).bind(X, y, rows)

        self.binning = time_each(bind, 1)[0]
        self._game = Game(SoftMargin(Capped(nu=NU)).bind(rows), self._oracle, rows, tol=TOL)
        self._loop = self._start()

    def _start(self) -> Iterator[Any]:
        from dualboost.boosters import Corrective
        from dualboost.game import rounds

        return iter(rounds(self._game, Corrective()))

    def _step(self) -> None:
        """One round; a loop that has ended (nothing left to improve) begins again."""
        if next(self._loop, None) is None:
            self._loop = self._start()
            next(self._loop)

    def rounds(self, n: int, clock: Clock = time.process_time) -> list[float]:
        return time_each(self._step, n, clock)

    def predict(self, X: Any) -> np.ndarray:
        raise NotImplementedError("the loop has no predictor: see DualboostEstimator")


class DualboostEstimator:
    """MarginBoostClassifier as a user calls it; `tol` is tiny so that it runs all the rounds asked for."""

    name = "dualboost"
    binning: float | None = None
    mode = "estimator"

    def prepare(self, X: Any, y: np.ndarray, threads: int = 1) -> None:
        import dualboost  # noqa: F401  (imported here so that a child measures the fit alone)

        self._X, self._y, self._threads = X, y, threads

    def rounds(self, n: int, clock: Clock = time.process_time) -> list[float]:
        from dualboost import MarginBoostClassifier

        self._model = MarginBoostClassifier(
            nu=NU, tol=1e-9, max_iter=n, max_bins=MAX_BINS, n_jobs=self._threads
        )
        whole = time_each(lambda: self._model.fit(self._X, self._y), 1, clock)[0]
        return [whole / n] * n

    def predict(self, X: Any) -> np.ndarray:
        return self._model.decision_function(X)
