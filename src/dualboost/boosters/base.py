"""What a booster must say: the first state, what to ask, when to stop, and the next state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from dualboost import kernels
from dualboost.game import Game, State
from dualboost.learners.base import Answer, Hypothesis

__all__ = ["Booster", "Burst", "check_columns", "kept_columns", "price_in_use"]


@dataclass(frozen=True, eq=False)
class Burst:
    """Several rounds: the state after them, and what each of their certified states showed."""

    state: State
    objectives: np.ndarray
    bounds: np.ndarray
    edges: np.ndarray
    sizes: np.ndarray


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

    @abstractmethod
    def burst(self, game: Game, state: State, count: int) -> Burst | None:
        """`count` rounds at once, where compiled code can play them: the same bits as one by one.

        None where it cannot.
        """


def check_columns(columns: int) -> None:
    """Refuse a number of hypotheses a round that is not a whole number of at least 1."""
    if not isinstance(columns, Integral) or isinstance(columns, bool) or columns < 1:
        raise ValueError(f"columns is a number of hypotheses a round: a whole number of at least 1, not {columns!r}.")


def price_in_use(game: Game, state: State) -> float:
    """The average edge of the hypotheses in use; the edge of them all, where the weights are the best of theirs."""
    return max(game.rows.add(kernels.dot(state.d, state.z, game.rows.threads)), 0.0) / game.budget


def kept_columns(game: Game, hypotheses: list[Hypothesis], answer: Answer) -> list[np.ndarray]:
    """The columns of the hypotheses in use; those of the last round are kept, as the learner made them."""
    known = game.live.get("columns", {}) | dict(zip(answer.hypotheses, answer.columns, strict=True))
    kept = {h: known[h] if h in known else game.oracle.column(h) for h in hypotheses}
    game.live["columns"] = kept
    return list(kept.values())
