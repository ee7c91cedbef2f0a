"""SoftBoost and TotalBoost: the distribution nearest to the prior under which no collected hypothesis is good enough.

Warmuth, Glocer & Raetsch: with g the smallest edge so far, d minimises the relative entropy to the prior such that
every collected hypothesis has an edge of at most g - delta. When no such d is left, the linear program over the
collected hypotheses is within delta of the optimum. On the simplex it is TotalBoost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from dualboost.boosters.base import Booster, Burst, check_columns
from dualboost.boosters.column_generation import Collected, capped_set, first_program_state, new_atoms, optimum
from dualboost.game import Game, State, reached
from dualboost.learners.base import Answer
from dualboost.master import entropy_projection

__all__ = ["SoftBoost", "TotalBoost", "rounds_needed"]


@dataclass(frozen=True)
class SoftBoost(Booster):
    """Entropy projection under edge constraints, every round; the accuracy delta is the game's `tol`.

    Parameters
    ----------
    columns : int
        How many hypotheses to add a round; 1 is the textbook method.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost import solve
    >>> from dualboost.boosters import SoftBoost
    >>> A = np.random.default_rng(0).choice([-1.0, 1.0], (60, 40))
    >>> solve(A, booster=SoftBoost(), tol=1e-2).gap <= 1e-2
    True
    """

    columns: int = 1

    def __post_init__(self):
        check_columns(self.columns)

    def start(self, game: Game, previous: State | None = None) -> State:
        return first_program_state(game, "SoftBoost", previous)

    def ask(self, game: Game, state: State) -> Answer:
        return game.oracle.best(state.d, self.columns)

    def verdict(self, game: Game, state: State, answer: Answer) -> str:
        return reached(game, state.certificate)

    def update(self, game: Game, state: State, answer: Answer) -> State:
        atoms = state.memory.atoms + new_atoms(state, answer)
        nearest, w = optimum(game, state.pool, atoms)
        z = game.oracle.margins(state.pool.keys, w)
        signs = np.array([sign for _, sign in atoms], dtype=np.float64)
        columns = game.columns_of(state.pool.keys[number] for number, _ in atoms) * signs[:, None]
        limit = state.best.bound / game.budget - game.tol / game.budget
        d = entropy_projection(capped_set(game, "SoftBoost"), columns, limit)
        # Where the projection finds none, the program's own row weights have the smallest edges there are.
        d = nearest if d is None else d
        return replace(state, w=w, z=z, d=d, t=state.t + 1, memory=Collected(atoms))

    def burst(self, game: Game, state: State, count: int) -> Burst | None:
        return None


def TotalBoost(columns: int = 1) -> SoftBoost:
    """The hard-margin form: to be used with `SoftMargin(Simplex())`.

    Examples
    --------
    >>> from dualboost.boosters import TotalBoost
    >>> TotalBoost()
    SoftBoost(columns=1)
    """
    return SoftBoost(columns)


def rounds_needed(radius: float, tol: float) -> int:
    """The proved number of rounds: 2 R / tol^2, R = log(1/nu) or log m."""
    return ceil(2 * radius / tol**2) + 1
