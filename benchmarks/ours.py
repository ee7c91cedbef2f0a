"""dualboost behind the same three methods: the bare loop (for the rounds) and the estimator (for users' figures)."""

from __future__ import annotations

import statistics
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.peers import MAX_BINS
from benchmarks.timing import Clock, time_each

NU = 0.1
TOL = 0.01


class Dualboost:
    """The loop itself: corrective soft-margin boosting; a round asks, certifies, projects and moves.

    The learner rules out columns whose edge cannot have grown enough since they were last summed; `mode` says which
    share of the columns it looked at, because that share depends on the steps of the booster, not on the data alone.
    """

    name = "dualboost"
    binning: float | None = None
    mode = ""

    def prepare(self, X: Any, y: np.ndarray, threads: int = 1) -> None:
        from dualboost.game import Game
        from dualboost.learners import Stumps
        from dualboost.losses import SoftMargin
        from dualboost.rows import Rows
        from dualboost.sets import Capped

        rows = Rows.of(len(y), threads)
        self._columns, self._looked = X.shape[1], []

        def bind() -> None:
            self._oracle = Stumps(max_bins=MAX_BINS).bind(X, y, rows)

        self.binning = time_each(bind, 1)[0]
        self._game = Game(SoftMargin(Capped(nu=NU)).bind(rows), self._oracle, rows, tol=TOL)
        self._restart()

    def _restart(self) -> None:
        from dualboost.boosters import Corrective

        self._booster = Corrective()
        self._state = self._booster.start(self._game)

    def _burst(self, n: int) -> int:
        """Up to n rounds as `play` makes them; a run that has ended (the gap is closed) begins again."""
        if self._state.status:
            self._restart()
        before = self._state.t
        self._state = self._booster.burst(self._game, self._state, n).state
        self._looked.append(self._oracle.looked)
        return max(self._state.t - before, 1)

    def rounds(self, n: int, clock: Clock = time.process_time) -> list[float]:
        """Compiled rounds come in bursts: each counts as the mean of its burst."""
        taken: list[float] = []
        while len(taken) < n:
            began = clock()
            played = self._burst(n - len(taken))
            taken += [(clock() - began) / played] * played
        self.mode = f"looked at {statistics.mean(self._looked) / self._columns:.0%} of the columns"
        return taken

    def predict(self, X: Any) -> np.ndarray:
        raise NotImplementedError("the loop has no predictor: see DualboostEstimator")


class DualboostEveryColumn(Dualboost):
    """The same with the learner's memory dropped before each round: every column is summed, as the peers do."""

    name = "dualboost, every column"

    def _burst(self, n: int) -> int:
        self._oracle.forget()
        return super()._burst(1)

    def rounds(self, n: int, clock: Clock = time.process_time) -> list[float]:
        taken = super().rounds(n, clock)
        self.mode = ""
        return taken


class DualboostAdaBoost(Dualboost):
    """The loop with AdaBoost's rounds: coordinate descent on the exponential loss, in bursts as `play` makes them."""

    name = "dualboost, AdaBoost"

    def _restart(self) -> None:
        from dualboost.boosters import CoordinateDescent
        from dualboost.game import Game
        from dualboost.losses import Exponential

        rows = self._game.rows
        self._game = Game(Exponential().bind(rows), self._oracle, rows, budget=np.inf, tol=1e-7)
        self._booster = CoordinateDescent("adaboost")
        self._state = self._booster.start(self._game)

    def rounds(self, n: int, clock: Clock = time.process_time) -> list[float]:
        """One burst of the length that `play` uses; all of its rounds count as its mean."""
        from dualboost.run import rounds_at_once

        length = rounds_at_once(self._game)
        began, played = clock(), self._burst(length)
        return [(clock() - began) / played] * n


class DualboostLogistic(DualboostAdaBoost):
    """The loop with rounds on the logistic loss, as the peers': all weights anew each round."""

    name = "dualboost, logistic"

    def _restart(self) -> None:
        from dualboost.boosters import CoordinateDescent
        from dualboost.game import Game
        from dualboost.losses import Logistic

        rows = self._game.rows
        self._game = Game(Logistic().bind(rows), self._oracle, rows, budget=np.inf, tol=1e-7)
        self._booster = CoordinateDescent("closed")
        self._state = self._booster.start(self._game)


class DualboostEstimator:
    """MarginBoostClassifier with the loop's booster; `tol` is tiny so that it runs all the rounds asked for."""

    name = "dualboost"
    binning: float | None = None
    mode = ""

    def prepare(self, X: Any, y: np.ndarray, threads: int = 1) -> None:
        import dualboost  # noqa: F401  (a missing package is found here, before anything is timed)

        self._X, self._y, self._threads = X, y, threads

    def rounds(self, n: int, clock: Clock = time.process_time) -> list[float]:
        """The mean of a whole fit, binning included: an estimator does not show its rounds."""
        from dualboost import MarginBoostClassifier
        from dualboost.boosters import Corrective

        self._model = MarginBoostClassifier(
            nu=NU, booster=Corrective(), tol=1e-9, max_iter=n, max_bins=MAX_BINS, n_jobs=self._threads
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says that it stopped before the tiny tolerance: that is the intention
            whole = time_each(lambda: self._model.fit(self._X, self._y), 1, clock)[0]
        return [whole / n] * n

    def predict(self, X: Any) -> np.ndarray:
        return self._model.decision_function(X)
