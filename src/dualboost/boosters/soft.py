"""SoftBoost and TotalBoost: the distribution nearest to the prior under which no collected hypothesis is good enough.

Warmuth, Glocer & Raetsch: with g the smallest edge so far, d minimises the relative entropy to the prior such that
every collected hypothesis has an edge of at most g - delta. When no such d is left, the linear program over the
collected hypotheses is within delta of the optimum. On the simplex it is TotalBoost.

A round that brought nothing new would only lower g by delta. It is followed by a question at the row weights of the
linear program: either they bring something new, or they prove the ensemble.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from dualboost.boosters.base import Booster, Burst, check_columns
from dualboost.boosters.column_generation import (
    Atom,
    Collected,
    capped_set,
    first_program_state,
    new_atoms,
    optimum,
    proved_by_program,
    signed_columns,
)
from dualboost.game import Game, Pool, State
from dualboost.learners.base import Answer
from dualboost.master import entropy_projection

__all__ = ["SoftBoost", "TotalBoost", "rounds_needed"]

_ROOM = 1e-7  # less room than this below the limit is none


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
        return proved_by_program(game, state, answer)

    def update(self, game: Game, state: State, answer: Answer) -> State:
        fresh = new_atoms(state, answer)
        atoms = state.memory.atoms + fresh
        own, w = optimum(game, state.pool, atoms)
        z = game.oracle.margins(state.pool.keys, w)
        exact = not fresh and not state.memory.exact
        limit = (state.best.bound - game.tol) / game.budget
        d = None if exact else projected(game, state.pool, atoms, limit, own)
        # Where no d is left below the limit, the program's own has the smallest edges there are.
        memory = Collected(atoms, exact=d is None)
        return replace(state, w=w, z=z, d=own if d is None else d, t=state.t + 1, memory=memory)

    def burst(self, game: Game, state: State, count: int) -> Burst | None:
        return None


def projected(game: Game, pool: Pool, atoms: tuple[Atom, ...], limit: float, own: np.ndarray) -> np.ndarray | None:
    """The d nearest to the prior under which no atom has an edge above the limit; None where there is none.

    `own` has the smallest edges there are: it says whether the limit can be met.
    """
    columns = signed_columns(game, pool, atoms)
    if (columns @ own).max() > limit - _ROOM:
        return None
    start = np.zeros(len(atoms))
    last = game.live.get("multipliers", start)[: len(atoms)]
    start[: len(last)] = last
    d, game.live["multipliers"] = entropy_projection(capped_set(game, "SoftBoost"), columns, limit, start)
    return d if (columns @ d).max() <= limit + _ROOM else None


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
    """The proved number of rounds: twice 2 R / tol^2, R = log(1/nu) or log m.

    Each projection lies at least tol^2 / 2 further from the prior than the last, and none further than R. Every other
    round may ask at the program's d.
    """
    return 2 * (ceil(2 * radius / tol**2) + 1)
