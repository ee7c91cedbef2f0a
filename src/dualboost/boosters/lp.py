"""LPBoost: column generation on the soft-margin linear program.

Demiriz, Bennett & Shawe-Taylor; Mitsuboshi et al., section 5. Each round solves the program over the hypotheses met so
far and asks for the ones with the largest edge under its row weights. Those weights jump about between rounds; asking a
little nearer to the best ones so far (Wentges' smoothing) steadies them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dualboost.boosters.base import Booster, Burst
from dualboost.game import Game, Pool, State, reached
from dualboost.learners.base import Answer
from dualboost.losses import SoftMargin
from dualboost.master import EdgeProgram
from dualboost.sets.capped import CappedSimplex

__all__ = ["LPBoost"]

Atom = tuple[int, int]  # (number in the pool, sign of its weight)


@dataclass(frozen=True)
class Collected:
    """What a column generation remembers: its columns in the order of their rows in the program, and where it asked."""

    atoms: tuple[Atom, ...] = ()
    exact: bool = True
    """Whether d is the program's own: if nothing new has a larger edge there, the ensemble is optimal."""


@dataclass(frozen=True)
class LPBoost(Booster):
    """The optimal weights over all hypotheses met so far, by linear programming. For margins on (capped) simplices.

    Parameters
    ----------
    columns : int
        How many hypotheses to add a round. Several make far fewer rounds; 1 is the textbook method.
    stabilise : float in [0, 1)
        How far to ask from the program's row weights towards the best ones so far; 0 is the textbook method.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost import solve
    >>> from dualboost.boosters import LPBoost
    >>> A = np.random.default_rng(0).choice([-1.0, 1.0], (60, 40))
    >>> solve(A, booster=LPBoost(), tol=1e-9).gap <= 1e-9
    True
    """

    columns: int = 5
    stabilise: float = 0.5

    def __post_init__(self):
        if self.columns < 1:
            raise ValueError(f"columns must be at least 1, not {self.columns!r}.")
        if not 0 <= self.stabilise < 1:
            raise ValueError(f"stabilise must be in [0, 1), not {self.stabilise!r}.")

    def start(self, game: Game, previous: State | None = None) -> State:
        rows = _capped(game).rows
        d = _capped(game).entropic(np.zeros(len(rows)), 1.0)
        if previous is None:
            return State(np.zeros(0), np.zeros(len(rows)), d, game.loss, Pool(), memory=Collected())
        known = tuple((int(j), int(np.sign(previous.w[j]))) for j in np.flatnonzero(previous.w))
        return State(previous.w, previous.z, d, game.loss, previous.pool, memory=Collected(known, exact=False))

    def ask(self, game: Game, state: State) -> Answer:
        return game.oracle.best(state.d, self.columns)

    def verdict(self, game: Game, state: State, answer: Answer) -> str:
        stop = reached(game, state.certificate)
        if not stop and state.memory.exact and not _new_atoms(state, answer):
            return "optimal: no hypothesis outside the ensemble has a larger edge"
        return stop

    def update(self, game: Game, state: State, answer: Answer) -> State:
        fresh = _new_atoms(state, answer)
        atoms = state.memory.atoms + fresh
        d, weights = _solved(game, state.pool, atoms)
        w = np.zeros(len(state.pool))
        for (number, sign), weight in zip(atoms, weights, strict=True):
            w[number] += sign * weight * game.budget
        # Without anything new the steadied weights have nothing more to tell: ask at the program's own.
        exact = not fresh or self.stabilise == 0
        if not exact:
            d = (1 - self.stabilise) * d + self.stabilise * state.best.proof
        z = game.oracle.margins(state.pool.keys, w)
        return replace(state, w=w, z=z, d=d, t=state.t + 1, memory=Collected(atoms, exact))

    def burst(self, game: Game, state: State, count: int) -> Burst | None:
        return None


def _capped(game: Game) -> CappedSimplex:
    if isinstance(game.loss, SoftMargin) and isinstance(game.loss.set, CappedSimplex):
        return game.loss.set
    raise ValueError("LPBoost needs a linear program: use SoftMargin(Simplex()) or SoftMargin(Capped(...)) with it.")


def _new_atoms(state: State, answer: Answer) -> tuple[Atom, ...]:
    known = set(state.memory.atoms)
    met = [
        (state.pool.number(h), 1 if edge >= 0 else -1) for h, edge in zip(answer.hypotheses, answer.edges, strict=True)
    ]
    return tuple(atom for atom in met if atom not in known)


def _solved(game: Game, pool: Pool, atoms: tuple[Atom, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The program over these atoms: the live one with the new rows added, or a new one when it holds others."""
    program, held = game.live.get("edge program", (None, ()))
    if program is None or held != atoms[: len(held)]:
        caps = _capped(game).caps
        program, held = EdgeProgram(np.ascontiguousarray(np.broadcast_to(caps, (len(game.rows),)))), ()
    new = atoms[len(held) :]
    if new:
        program.add(np.array([sign * game.oracle.column(pool.keys[number]).astype(np.float64) for number, sign in new]))
    game.live["edge program"] = (program, atoms)
    return program.solve()
