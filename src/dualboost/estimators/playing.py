"""How a classifier plays the game of its parts: watched as `training` wants it, taken up where an earlier run ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dualboost.boosters import Booster
from dualboost.estimators.calibration import unlearned
from dualboost.estimators.judge import Judge, Ranking
from dualboost.estimators.keeping import Keeper, Unfinished, check_checkpoint, fingerprint
from dualboost.estimators.progress import progress
from dualboost.estimators.selection import check_votes
from dualboost.estimators.validation import TrainingData
from dualboost.estimators.watching import Notebook, RunWatch
from dualboost.game import INTERRUPTED, Game, State
from dualboost.learners import Learner, Oracle
from dualboost.losses import Loss, SoftMargin
from dualboost.rows import Rows
from dualboost.run import Halt
from dualboost.solve import Outcome, play

__all__ = ["Parts", "Player"]


@dataclass(frozen=True)
class Parts:
    """What a classifier chooses for its data: the problem posed and how it is played."""

    learner: Learner
    loss: Loss
    booster: Booster
    budget: float = 1.0
    tol: float = 1e-3
    rtol: float = 0.0


class Player:
    """The part of a classifier that plays games. Abstract."""

    max_iter: int
    verbose: int
    _unfinished: tuple[Unfinished | None, Unfinished | None] = (None, None)
    """The last run at its last seam and at its end, for a warm start."""

    def _train(
        self, data: TrainingData, rows: Rows, parts: Parts, title: str, notebook: Notebook | None = None
    ) -> tuple[Game, Outcome]:
        """Play the game of these parts, as `training` wants it watched; the notebook sees every state."""
        control = data.control
        if control.checkpoint is not None:
            check_checkpoint(control.checkpoint, parts.learner)
        oracle = data.bound(parts.learner, rows)
        if isinstance(parts.loss, SoftMargin):
            check_votes(oracle)
        game = Game(parts.loss.bind(rows), oracle, rows, parts.budget, parts.tol, parts.rtol)
        judge = None if data.held_out is None else Judge(game, Ranking(data.held_out, control.training.patience))
        keeper = self._keeper(data, parts)
        with progress(title, self.max_iter, self.verbose) as draw:
            watch = RunWatch(control, judge, notebook, draw, keeper, self._each_round(data, oracle))
            begin = None if keeper is None else self._taken_up(game, parts.booster, keeper, watch)
            with control.ctrl_c.playing():
                outcome = play(game, parts.booster, self.max_iter, begin, watch)
        if outcome.status == INTERRUPTED:
            control.clock.interrupt()
            control.broken_off.add(control.part)
            control.stopped.add(control.part)
        watch.end(outcome)
        if keeper is not None and control.warm:
            self._unfinished = keeper.latest, keeper.last
        return game, outcome if judge is None else judge.verdict(outcome)

    def _each_round(self, data: TrainingData, oracle: Oracle) -> Callable[[State], str] | None:
        """What scikit-learn's callbacks are told: of two classes also the model as it would be."""
        hooks = data.control.hooks
        if hooks is None:
            return None
        whole = hooks.estimator is self

        def fitted(state: State) -> dict[str, Any]:
            predictor = oracle.predictor(state.pool.keys[: len(state.w)], state.w)
            return {"predictor_": predictor, "classes_": data.classes, "link_": unlearned(data)}

        return lambda state: hooks.round((lambda: fitted(state)) if whole else None)

    def _keeper(self, data: TrainingData, parts: Parts) -> Keeper | None:
        """Whoever keeps the run to be taken up again, if that is wanted."""
        control, training = data.control, data.control.training
        if control.checkpoint is None and not control.warm:
            return None
        played = (parts.learner, parts.loss, parts.booster, parts.budget, training.patience)
        return Keeper(control, fingerprint(data, *played), (parts.tol, parts.rtol))

    def _taken_up(self, game: Game, booster: Booster, keeper: Keeper, watch: RunWatch) -> Halt | None:
        """Where the run of an earlier fit, or of one that was broken off, can go on; None to begin."""
        found = keeper.read(game) or keeper.recall(self._unfinished, game, booster)
        if found is None or found.halt.state.t > self.max_iter:
            return None
        watch.resume(found)
        return found.halt
