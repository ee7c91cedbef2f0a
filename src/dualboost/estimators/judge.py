"""Early stopping: the ensemble is scored on rows that it is not fitted to, and the best one is kept."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from dualboost.estimators.validation import TrainingData
from dualboost.game import Game, State
from dualboost.solve import Outcome, finish_again

__all__ = ["Judge", "Score"]

_EVERY_ROUND = 64  # up to this round; then every 64th part of the rounds so far


class Score(NamedTuple):
    """Of the ensemble of one round, on the held-out rows."""

    t: int
    accuracy: float
    loss: float

    def beats(self, other: Score) -> bool:
        return (self.accuracy, -self.loss) > (other.accuracy, -other.loss)


@dataclass(eq=False)
class Judge:
    """Scores states as they come, at rounds that depend on nothing else; remembers the state of the best."""

    game: Game
    held_out: TrainingData
    patience: int
    scores: list[Score] = field(default_factory=list)
    best: Score | None = None
    kept: State | None = None

    def wait(self, t: int) -> int:
        """Rounds until the next score."""
        return max(1, self._due() - t) if self.scores else 1

    def look(self, state: State) -> str:
        """Score the state if it is time to; a reason to stop, or nothing."""
        if state.t == 0 or (self.scores and state.t < self._due()):
            return ""
        waited = state.t - self._weigh(state).t
        return f"no better held-out score in {self.patience} rounds" if waited >= self.patience else ""

    def _due(self) -> int:
        last = self.scores[-1].t
        return last + max(1, last // _EVERY_ROUND)

    def _weigh(self, state: State) -> Score:
        """The best score, with this state's."""
        score = self._score(state)
        self.scores.append(score)
        if self.best is None or score.beats(self.best):
            self.best, self.kept = score, state
        return self.best

    def _score(self, state: State) -> Score:
        data, threads = self.held_out, self.game.rows.threads
        votes = self.game.oracle.predictor(state.pool.keys[: len(state.w)], state.w).scores(data.X, threads)
        loss = float(data.shares @ np.logaddexp(0.0, -data.leads(votes)))
        return Score(state.t, float(data.shares[data.right(votes)].sum()), loss)

    def resume(self, scores: list[Score], kept: State | None) -> None:
        """Take up what another judge of the same run knew."""
        self.scores, self.kept = list(scores), kept
        self.best = None if kept is None else next(score for score in scores if score.t == kept.t)

    def words(self) -> str:
        """For a progress bar."""
        return f", held out {self.scores[-1].accuracy:.1%}" if self.scores else ""

    def verdict(self, outcome: Outcome) -> Outcome:
        """The run with its best ensemble on held-out rows, certified from scratch; the scores are in its history."""
        if outcome.state.t > (self.scores[-1].t if self.scores else 0):
            self._weigh(outcome.state)
        if self.best is None or self.kept is None:
            return outcome
        status = f"{outcome.status}; round {self.best.t}, the best on held-out rows, was kept"
        last = outcome.state
        kept = replace(self.kept, best=replace(last.best, w=self.kept.w), status=last.status)
        outcome = replace(finish_again(self.game, outcome, kept), status=status)
        return replace(outcome, history=outcome.history | self._columns(len(outcome.history["objective"])))

    def _columns(self, length: int) -> dict[str, np.ndarray]:
        accuracy, loss = np.full(length, np.nan), np.full(length, np.nan)
        for score in self.scores:
            accuracy[score.t], loss[score.t] = score.accuracy, score.loss
        return {"validation": accuracy, "validation_loss": loss}
