"""MLPBoost: Frank-Wolfe with a linear program as a second opinion (Mitsuboshi, Hatano & Takimoto).

Each round has two candidates: the searched step towards the new hypothesis, and the optimal weights of the linear
program over all hypotheses so far. The one with the better smoothed margin wins, so the round bound of the first holds,
and where the program is the better guide it leads.

Once the program knows all that matters its ensemble is optimal, but the row weights of the smoothed problem need many
more steps to prove it. So a round that brought nothing new is followed by a question at the program's own row weights:
either they bring something new, or they prove the ensemble.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dualboost.boosters import corrective
from dualboost.boosters.base import Booster, Burst, check_columns
from dualboost.boosters.column_generation import (
    Collected,
    capped_set,
    first_collection,
    new_atoms,
    optimum,
    proved_by_program,
)
from dualboost.boosters.corrective import first_state, moved, searched_step, shifted
from dualboost.game import Game, State
from dualboost.learners.base import Answer

__all__ = ["MLPBoost", "rounds_needed"]


@dataclass(frozen=True)
class MLPBoost(Booster):
    """The better of a Frank-Wolfe step and a linear program, every round. For margins on (capped) simplices.

    Parameters
    ----------
    columns : int
        How many hypotheses to add to the program a round; the step goes towards the best of them.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost import solve
    >>> from dualboost.boosters import MLPBoost
    >>> A = np.random.default_rng(0).choice([-1.0, 1.0], (60, 40))
    >>> solve(A, booster=MLPBoost(), tol=1e-2).gap <= 1e-2
    True
    """

    columns: int = 1

    def __post_init__(self):
        check_columns(self.columns)

    def start(self, game: Game, previous: State | None = None) -> State:
        capped_set(game, "MLPBoost")
        collected = Collected(first_collection(previous).atoms, exact=False)
        return replace(first_state(game, "fixed", previous), memory=collected)

    def ask(self, game: Game, state: State) -> Answer:
        return game.oracle.best(state.d, self.columns)

    def verdict(self, game: Game, state: State, answer: Answer) -> str:
        return proved_by_program(game, state, answer)

    def update(self, game: Game, state: State, answer: Answer) -> State:
        loss = game.loss.smoothed(game.tol)
        fresh = new_atoms(state, answer)
        atoms = state.memory.atoms + fresh
        own, w = optimum(game, state.pool, atoms)
        z = game.oracle.margins(state.pool.keys, w)
        target = np.copysign(game.budget, answer.edges[0])
        # A hypothesis that answers the program's d need not be a direction of ascent.
        step = 0.0 if state.memory.exact else searched_step(game, state, answer, loss, target)
        stepped = moved(game, state.z, answer.columns[0], step, target)
        if loss.value(stepped) < loss.value(z):
            w, z = shifted(state.w, state.pool, answer.hypotheses[0], step, target), stepped
        exact = not fresh and not state.memory.exact
        d = own if exact else loss.weights(z)
        return replace(state, w=w, z=z, d=d, loss=loss, t=state.t + 1, memory=Collected(atoms, exact))

    def burst(self, game: Game, state: State, count: int) -> Burst | None:
        return None


def rounds_needed(radius: float, tol: float) -> int:
    """The proved number of rounds: twice the corrective booster's, as every other round may ask at the program's d."""
    return 2 * corrective.rounds_needed(radius, tol)
