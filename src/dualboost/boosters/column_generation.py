"""What the boosters that solve a linear program each round share: the collected columns, and the program over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualboost.game import Game, Pool, State, reached
from dualboost.learners.base import Answer
from dualboost.losses import SoftMargin
from dualboost.master import EdgeProgram
from dualboost.sets.capped import CappedSimplex

__all__ = [
    "Atom",
    "Collected",
    "capped_set",
    "first_collection",
    "first_program_state",
    "new_atoms",
    "optimum",
    "proved_by_program",
    "signed_columns",
]

Atom = tuple[int, int]  # (number in the pool, sign of its weight)


@dataclass(frozen=True)
class Collected:
    """The columns of a run, in the order of their rows in the program, and where it asked last."""

    atoms: tuple[Atom, ...] = ()
    exact: bool = True
    """Whether d is the program's own: if nothing new has a larger edge there, the ensemble is optimal."""


def capped_set(game: Game, booster: str) -> CappedSimplex:
    """The set of a game that is a linear program; any other is refused."""
    if isinstance(game.loss, SoftMargin) and isinstance(game.loss.set, CappedSimplex):
        return game.loss.set
    raise ValueError(f"{booster} needs a linear program: use SoftMargin(Simplex()) or SoftMargin(Capped(...)) with it.")


def first_collection(previous: State | None) -> Collected:
    """Nothing, or the columns that another run has in its ensemble."""
    if previous is None:
        return Collected()
    return Collected(tuple((int(j), int(np.sign(previous.w[j]))) for j in np.flatnonzero(previous.w)), exact=False)


def first_program_state(game: Game, booster: str, previous: State | None) -> State:
    """The prior as row weights (its nearest point below the caps), and what another run left, if any."""
    nothing = np.zeros(len(game.rows))
    d = capped_set(game, booster).entropic(nothing, 1.0)
    if previous is None:
        return State(np.zeros(0), nothing, d, game.loss, Pool(), memory=Collected())
    return State(previous.w, previous.z, d, game.loss, previous.pool, memory=first_collection(previous))


def new_atoms(state: State, answer: Answer) -> tuple[Atom, ...]:
    """The hypotheses of the answer that are not yet collected with that sign."""
    known = set(state.memory.atoms)
    signs = np.where(answer.edges >= 0, 1, -1).tolist()
    met = [(state.pool.number(h), sign) for h, sign in zip(answer.hypotheses, signs, strict=True)]
    return tuple(atom for atom in met if atom not in known)


def proved_by_program(game: Game, state: State, answer: Answer) -> str:
    """The certified stop rule; and the end of column generation, which a learner that promises little needs."""
    stop = reached(game, state.certificate)
    if not stop and state.memory.exact and not new_atoms(state, answer):
        return "optimal for the hypotheses met, and the learner names no other"
    return stop


def optimum(game: Game, pool: Pool, atoms: tuple[Atom, ...]) -> tuple[np.ndarray, np.ndarray]:
    """(d, w) of the program over these atoms, w over the pool and scaled to the budget.

    The program is kept warm in the game: new atoms are new rows of it; one that holds other atoms is made anew.
    """
    program, held = game.live.get("edge program", (None, ()))
    if program is None or held != atoms[: len(held)]:
        caps, prior = capped_set(game, "Column generation").caps, game.rows.prior
        program, held = EdgeProgram(np.ascontiguousarray(np.broadcast_to(caps, prior.shape)), prior), ()
    fresh = atoms[len(held) :]
    if fresh:
        program.add(signed_columns(game, pool, atoms)[len(held) :])
    game.live["edge program"] = (program, atoms)
    d, weights = program.solve()
    w = np.zeros(len(pool))
    for (number, sign), weight in zip(atoms, weights, strict=True):
        w[number] += sign * weight * game.budget
    return d, w


def signed_columns(game: Game, pool: Pool, atoms: tuple[Atom, ...]) -> np.ndarray:
    """One atom a row: its column times its sign. Kept in the game, where a round adds a few rows to them."""
    held, known = game.live.get("signed columns", ((), np.empty((0, len(game.rows)))))
    if held == atoms:
        return known
    if held != atoms[: len(held)]:
        held, known = (), known[:0]
    fresh = atoms[len(held) :]
    columns = game.columns_of(pool.keys[number] for number, _ in fresh)
    for column, (_, sign) in zip(columns, fresh, strict=True):
        column *= sign
    if len(known):
        columns = np.concatenate([known, columns])
    game.live["signed columns"] = (atoms, columns)
    return columns
