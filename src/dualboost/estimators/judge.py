"""Early stopping: the ensemble is scored on rows that it is not fitted to, and the best one is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from dualboost.estimators.validation import TrainingData
from dualboost.game import Game, State
from dualboost.solve import Outcome, finish_again

__all__ = ["Judge", "Ranking", "Score", "kept_in_words", "score_columns"]

_EVERY_ROUND = 64  # up to this round; then every 64th part of the rounds so far


class Score(NamedTuple):
    """Of the ensemble of one round, on the held-out rows."""

    t: int
    accuracy: float
    loss: float

    def beats(self, other: Score) -> bool:
        return (self.accuracy, -self.loss) > (other.accuracy, -other.loss)


@dataclass(eq=False)
class Ranking:
    """The scores of a run on the held-out rows, taken at rounds that depend on nothing else."""

    held_out: TrainingData
    patience: int
    scores: list[Score] = field(default_factory=list)
    best: Score | None = None

    def wait(self, t: int) -> int:
        """Rounds until the next score."""
        return max(1, self._next() - t)

    def due(self, t: int) -> bool:
        """Whether it is time for another score."""
        return t >= self._next()

    def _next(self) -> int:
        last = self.scores[-1].t if self.scores else 0
        return last + max(1, last // _EVERY_ROUND)

    def weigh(self, t: int, votes: np.ndarray) -> bool:
        """Score the votes of this round on the held-out rows; whether they are the best so far."""
        data = self.held_out
        loss = float(data.shares @ np.logaddexp(0.0, -data.leads(votes)))
        score = Score(t, float(data.shares[data.right(votes)].sum()), loss)
        self.scores.append(score)
        better = self.best is None or score.beats(self.best)
        self.best = score if better else self.best
        return better

    def reason(self, t: int) -> str:
        """Why to stop after round t, or nothing."""
        waited = 0 if self.best is None else t - self.best.t
        return f"no better held-out score in {self.patience} rounds" if waited >= self.patience else ""

    def words(self) -> str:
        """For a progress bar."""
        return f", held out {self.scores[-1].accuracy:.1%}" if self.scores else ""

    def columns(self, length: int) -> dict[str, np.ndarray]:
        """For a history: by round, NaN where there is no score."""
        return score_columns(self.scores, length)


def score_columns(scores: Sequence[Score], length: int) -> dict[str, np.ndarray]:
    """The scores by round; NaN where there is none."""
    accuracy, loss = np.full(length, np.nan), np.full(length, np.nan)
    for score in scores:
        accuracy[score.t], loss[score.t] = score.accuracy, score.loss
    return {"validation": accuracy, "validation_loss": loss}


def kept_in_words(t: int) -> str:
    """For the status of a fit."""
    return f"round {t}, the best on held-out rows, was kept"


@dataclass(eq=False)
class Judge:
    """Scores states as they come; remembers the state of the best."""

    game: Game
    ranking: Ranking
    kept: State | None = None

    @property
    def scores(self) -> list[Score]:
        return self.ranking.scores

    def wait(self, t: int) -> int:
        """Rounds until the next score."""
        return self.ranking.wait(t)

    def look(self, state: State) -> str:
        """Score the state if it is time to; a reason to stop, or nothing."""
        if not self.ranking.due(state.t):
            return ""
        self._weigh(state)
        return self.ranking.reason(state.t)

    def _weigh(self, state: State) -> None:
        if not state.w.any():  # as before the first positive margin of a linear program: there is no vote to score
            return
        predictor = self.game.oracle.predictor(state.pool.keys[: len(state.w)], state.w)
        if self.ranking.weigh(state.t, predictor.scores(self.ranking.held_out.X, self.game.rows.threads)):
            self.kept = state

    def resume(self, scores: list[Score], kept: State | None) -> None:
        """Take up what another judge of the same run knew."""
        self.ranking.scores, self.kept = list(scores), kept
        self.ranking.best = None if kept is None else next(score for score in scores if score.t == kept.t)

    def words(self) -> str:
        """For a progress bar."""
        return self.ranking.words()

    def verdict(self, outcome: Outcome) -> Outcome:
        """The run with its best ensemble on held-out rows, certified from scratch; the scores are in its history."""
        if outcome.state.t > (self.scores[-1].t if self.scores else 0):
            self._weigh(outcome.state)
        if self.kept is not None:
            status = f"{outcome.status}; {kept_in_words(self.kept.t)}"
            last = outcome.state
            kept = replace(self.kept, best=replace(last.best, w=self.kept.w), status=last.status)
            outcome = replace(finish_again(self.game, outcome, kept), status=status)
        return replace(outcome, history=outcome.history | self.ranking.columns(len(outcome.history["objective"])))
