"""The polish of an averaged ensemble: a linear program over the heaviest hypotheses so far; its answer is sparse.

The program's own row weights are asked about too: what they prove counts, and their best hypotheses join the program,
so that polishing alone is column generation, some rounds apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil
from typing import NamedTuple

import numpy as np

from dualboost.boosters.column_generation import Atom, optimum
from dualboost.cutting import check_cut
from dualboost.game import Game, Pool, State
from dualboost.learners.base import Answer

__all__ = ["Ensemble", "Polish", "polished"]

_GROWTH = 1.3  # rounds from one program to the next: they stay a small part of the time


class Ensemble(NamedTuple):
    """Hypotheses and their signed weights."""

    hypotheses: list
    weights: np.ndarray


@dataclass(frozen=True, eq=False)
class Polish:
    """The hypotheses handed to the program so far, and the round of the next one."""

    pool: Pool = field(default_factory=Pool)
    atoms: tuple[Atom, ...] = ()
    due: int = 1


def polished(game: Game, state: State, polish: Polish, count: int) -> tuple[State, Polish, Ensemble]:
    """(the state with what the program's row weights prove, what is collected now, the program's ensemble)."""
    atoms = _with_heaviest(polish, game.oracle.best(state.d, count))
    d, w = optimum(game, polish.pool, atoms)
    check_cut()
    answer = game.oracle.best(d, count)
    bound = game.loss.conjugate(d) + game.budget * answer.bound
    if bound < state.best.bound:
        state = replace(state, best=replace(state.best, bound=bound, d=d))
    used = np.flatnonzero(w)
    ensemble = Ensemble([polish.pool.keys[j] for j in used], w[used])
    atoms = _with_heaviest(replace(polish, atoms=atoms), answer)
    return state, Polish(polish.pool, atoms, max(state.t + 1, ceil(_GROWTH * state.t))), ensemble


def _with_heaviest(polish: Polish, answer: Answer) -> tuple[Atom, ...]:
    """All atoms collected, and the hypotheses of this answer."""
    known = set(polish.atoms)
    signs = np.where(answer.edges >= 0, 1, -1).tolist()
    met = [(polish.pool.number(h), sign) for h, sign in zip(answer.hypotheses, signs, strict=True)]
    return polish.atoms + tuple(atom for atom in met if atom not in known)
