"""LPBoost: column generation on the soft-margin linear program.

Demiriz, Bennett & Shawe-Taylor; Mitsuboshi et al., section 5. Each round solves the program over the hypotheses met so
far and asks for the ones with the largest edge under its row weights. Those weights are a corner of the optimal ones
and jump about between rounds; the entropy-regularised program over the same hypotheses has weights in the middle, and
asking there needs fewer rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dualboost.boosters.base import Booster, Burst, check_columns, price_in_use
from dualboost.boosters.column_generation import (
    Atom,
    Collected,
    first_program_state,
    new_atoms,
    optimum,
    proved_by_program,
    signed_columns,
)
from dualboost.game import Game, Pool, State
from dualboost.learners.base import Answer
from dualboost.master import L1Ball, descend

__all__ = ["LPBoost"]

_FINE = 1e-7  # a smoothing that changes nothing any more


@dataclass(frozen=True)
class LPBoost(Booster):
    """The optimal weights over all hypotheses met so far, by linear programming. For margins on (capped) simplices.

    Parameters
    ----------
    columns : int
        How many hypotheses to add a round. Several make far fewer rounds; 1 is the textbook method.
    stabilise : float in [0, 1)
        How coarse the entropy may make the program whose row weights are asked: its accuracy, as a share of the gap. 0
        asks at the linear program's own, the textbook method.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost import solve
    >>> from dualboost.boosters import LPBoost
    >>> A = np.random.default_rng(0).choice([-1.0, 1.0], (60, 40))
    >>> solve(A, booster=LPBoost(), tol=1e-9).gap <= 1e-9
    True
    """

    columns: int = 10
    stabilise: float = 0.5

    def __post_init__(self):
        check_columns(self.columns)
        if not 0 <= self.stabilise < 1:
            raise ValueError(f"stabilise must be in [0, 1), not {self.stabilise!r}.")

    def start(self, game: Game, previous: State | None = None) -> State:
        return first_program_state(game, "LPBoost", previous)

    def ask(self, game: Game, state: State) -> Answer:
        return game.oracle.beating(state.d, price_in_use(game, state), self.columns)

    def verdict(self, game: Game, state: State, answer: Answer) -> str:
        return proved_by_program(game, state, answer)

    def update(self, game: Game, state: State, answer: Answer) -> State:
        fresh = new_atoms(state, answer)
        atoms = state.memory.atoms + fresh
        d, w = optimum(game, state.pool, atoms)
        accuracy = self.stabilise * state.certificate.gap
        # Without anything new the steadied weights have nothing more to tell: ask at the program's own.
        exact = not fresh or accuracy <= _FINE
        if not exact:
            d = _steadied(game, state.pool, atoms, w, accuracy)
        z = game.oracle.margins(state.pool.keys, w)
        return replace(state, w=w, z=z, d=d, t=state.t + 1, memory=Collected(atoms, exact))

    def burst(self, game: Game, state: State, count: int) -> Burst | None:
        return None


def _steadied(game: Game, pool: Pool, atoms: tuple[Atom, ...], w: np.ndarray, accuracy: float) -> np.ndarray:
    """The row weights of the entropy-regularised program over these atoms.

    It begins at the weights of the linear one or at its own of the last round, which are in the middle as well.
    """
    numbers, signs = np.array(atoms).T
    ball = L1Ball(game.budget, np.ones(len(atoms), dtype=bool))
    loss, columns = game.loss.smoothed(accuracy), signed_columns(game, pool, atoms)
    starts = [np.maximum(signs * w[numbers], 0.0)]
    held, before = game.live.get("steadied", ((), np.empty(0)))
    if held and held == atoms[: len(held)]:
        starts.append(np.append(before, np.zeros(len(atoms) - len(held))))
    start = min(starts, key=lambda start: loss.value(start @ columns))
    weights, _, d = descend(loss, columns, start, ball, accuracy / 4)
    game.live["steadied"] = atoms, weights
    return d
