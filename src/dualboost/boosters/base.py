"""What a booster must say: the first state, what to ask, when to stop, and the next state."""

from __future__ import annotations

from abc import ABC, abstractmethod

from dualboost.game import Game, State
from dualboost.learners.base import Answer

__all__ = ["Booster"]


class Booster(ABC):
    """A frozen record of parameters; whatever changes is in the `State`."""

    @abstractmethod
    def start(self, game: Game, previous: State | None = None) -> State:
        """The first state, with the ensemble of `previous` if given: another game on the same oracle, played before.

        Raises one sentence when loss, learner and booster do not fit.
        """

    @abstractmethod
    def ask(self, game: Game, state: State) -> Answer:
        """Put the round's question to the learner."""

    @abstractmethod
    def verdict(self, game: Game, state: State, answer: Answer) -> str:
        """Why to stop here, in words; empty to go on."""

    @abstractmethod
    def update(self, game: Game, state: State, answer: Answer) -> State:
        """The next state."""
