"""What the classifiers of the mirror-ascent family share: the last ensemble, its training error beside its bound."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dualboost.boosters import Booster
from dualboost.boosters.ascent import Trail, training_error
from dualboost.estimators.base import BoostedClassifier, Parts, check_learner
from dualboost.estimators.limits import Asked, Limits, Promise, check_smoothness, limits_of
from dualboost.estimators.validation import TrainingData, check_whole_number
from dualboost.game import Certificate, Game, State
from dualboost.learners import Learner
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.solve import Outcome, finish_again

__all__ = ["AscentClassifier"]

_CLOSED = 1e-6  # of the certified gap: nothing is left to gain


@dataclass(eq=False)
class Diary:
    """Training error, its bound, and the share of rows that weigh anything, for every state of a run."""

    prior: np.ndarray
    promise: Promise | None
    bound: Callable[[float], float]
    records: list[tuple[float, ...]] = field(default_factory=list)
    noted: Trail | None = None
    """A state is shown when its compiled rounds are over, and again when it is certified itself."""

    def note(self, state: State) -> None:
        rows = slice(None) if self.promise is None else self.promise.rows
        trail = state.memory.trail if state.memory.trail is not self.noted else None
        self.noted = state.memory.trail
        # Compiled rounds have no limits: there the promise is about all rows.
        gains = [state.memory.gain] if trail is None else trail.gains.tolist()
        errors = [training_error(self.prior[rows], state.z[rows])] if trail is None else trail.errors.tolist()
        nonzero = np.count_nonzero(state.d) / len(state.d)
        for gain, error in zip(gains, errors, strict=True):
            bound = 1.0 if self.promise is None else self.promise.holds_at(self.bound(gain))
            self.records.append((min(error, 1.0), bound, nonzero))

    def resume(self, records: Sequence[tuple[float, ...]], state: State) -> None:
        """Take up what was written down up to this state."""
        self.records, self.noted = list(records), state.memory.trail

    def columns(self) -> dict[str, np.ndarray]:
        error, bound, nonzero = (np.array(column) for column in zip(*self.records, strict=True))
        return {"error": error, "error_bound": bound, "nonzero": nonzero}


class AscentClassifier(BoostedClassifier):
    """A vote whose training error is bounded in every round. Abstract: a final class says how the weights ascend."""

    learner: Learner | None
    max_bins: int
    bounds_: Any
    widest = Certificate(-1.0, 1.0)

    @abstractmethod
    def _booster(self) -> Booster:
        """How the row weights move."""

    @abstractmethod
    def _error_bound(self, gain: float) -> float:
        """The bound of the theorem on the whole simplex, for the gain in the state's memory."""

    @abstractmethod
    def _asked(self) -> Asked:
        """The limits on row weights among the parameters."""

    def _ascend(self, X, y, sample_weight, extras: Mapping[str, Any] | None = None, eval_set=None):
        self._fit(X, y, sample_weight, extras, eval_set)
        if hasattr(self, "estimators_"):
            self.bounds_ = [model.bounds_ for model in self.estimators_]
        return self

    def _check_parameters(self) -> None:
        check_whole_number("max_iter", self.max_iter, 1)
        check_whole_number("max_bins", self.max_bins, 2, 255)
        check_learner(self.learner, self.max_bins)
        if self._asked().smoothness is not None:
            check_smoothness(self._asked().smoothness)
        self._booster()

    def _settled(self) -> dict[str, Any]:
        return {}

    def _fit_two(self, data: TrainingData, rows: Rows) -> None:
        learner, booster = check_learner(self.learner, self.max_bins), self._booster()
        limits = limits_of(data, rows, self._asked())
        diary = Diary(rows.prior, limits.promises[0] if limits.promises else None, self._error_bound)
        parts = Parts(learner, SoftMargin(limits.set), booster, tol=_CLOSED)
        game, outcome = self._train(data, rows, parts, type(self).__name__, diary)
        self._keep(data, game.oracle, with_the_last_ensemble(game, outcome))
        self.history_ = self.history_ | diary.columns()
        self.bounds_ = self._words(rows, limits, outcome.state)

    def _forget_proofs(self, seen: str) -> None:
        super()._forget_proofs(seen)
        self.bounds_ = dict.fromkeys(self.bounds_, f"{seen}: nothing is promised")

    def _words(self, rows: Rows, limits: Limits, state: State) -> dict[str, str]:
        bound = self._error_bound(state.memory.gain)
        return {p.name: p.words(rows.prior, bound) for p in limits.promises} | limits.silence


def with_the_last_ensemble(game: Game, outcome: Outcome) -> Outcome:
    """The bounds are about the ensemble of the last round, not about the one of the best margin."""
    return finish_again(game, outcome, outcome.state)
