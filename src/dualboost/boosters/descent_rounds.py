"""Coordinate descent on stumps and subsets of categories in compiled rounds: which games, and the state after them.

The exponential loss is played incrementally on many rows: a hypothesis multiplies the weights of whole groups of rows
by one number, so only the smaller groups are summed again. Everything else sums all weights anew. Margins are
exact in both, so the state is that of the rounds played one by one, unless two edges are closer than rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dualboost import kernels
from dualboost.boosters.base import Booster, Burst
from dualboost.boosters.joint import Joint, joint
from dualboost.game import INTERRUPTED, Game, State, rounds, with_status
from dualboost.losses import Exponential, Logistic, Loss

if TYPE_CHECKING:
    from dualboost.boosters.coordinate_descent import CoordinateDescent

__all__ = ["STUCK", "Moves", "Parts", "Run", "compilable", "compiled_rounds", "descend", "interrupted"]

STUCK = "converged: rounding leaves no step that the line search accepts"


@dataclass(frozen=True, eq=False)
class Moves:
    """The run so far, round by round: which hypothesis of the pool moved, and how far."""

    numbers: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    steps: np.ndarray = field(default_factory=lambda: np.empty(0))

    def then(self, numbers, steps) -> Moves:
        """These and what came after them."""
        return Moves(np.append(self.numbers, numbers), np.append(self.steps, steps))


class Parts(NamedTuple):
    """What the compiled rounds are made of."""

    joint: Joint
    kind: tuple[str, str]
    """Loss and line search."""


def compilable(game: Game, state: State, line_search: str) -> Parts | None:
    """The parts for compiled rounds, or None in a game that has others."""
    names: dict[type[Loss], str] = {Exponential: "exponential", Logistic: "logistic"}
    kind, parts = names.get(type(state.loss)), joint(game.oracle)
    if kind is None or line_search == "exact" or parts is None or game.budget < np.inf:
        return None
    return Parts(parts, (kind, line_search))


class Run(NamedTuple):
    """Compiled rounds as they come back: the moves by the pool's numbers, and the kernel's records."""

    numbers: np.ndarray
    steps: np.ndarray
    sizes: np.ndarray
    """How many hypotheses the ensemble has, before the first move and after each."""
    records: Any

    def weights(self, w: np.ndarray, moves: int | None = None) -> np.ndarray:
        """These weights after so many of the moves; after all."""
        moves = len(self.steps) if moves is None else moves
        out = np.zeros(int(self.sizes[moves]))
        out[: len(w)] = w
        np.add.at(out, self.numbers[:moves], self.steps[:moves])
        return out


def descend(
    game: Game, state: State, parts: Parts, z: np.ndarray, settings: tuple[float, float, float, bool], count: int
) -> Run:
    """Up to `count` rounds from the margins z; `settings` are those of `kernels.descent_rounds`."""
    rows, known = game.rows, len(state.pool)
    prior = rows.prior[:1].copy() if rows.uniform else rows.prior
    played = kernels.descent_rounds(
        parts.joint.stumps.search, parts.kind, z, prior, settings, count, rows.threads, parts.joint.subset_search
    )
    names = parts.joint.names(played, len(played["steps"]))
    numbers = np.array([state.pool.number(name) for name in names], dtype=np.int64)
    sizes = np.maximum.accumulate(np.concatenate([[len(state.w)], np.maximum(numbers + 1, known)]))
    return Run(numbers, played["steps"], sizes, played)


def compiled_rounds(booster: CoordinateDescent, game: Game, parts: Parts, state: State, count: int) -> Burst:
    """Rounds without a return to Python."""
    settings = (float(booster.learning_rate), game.tol, game.tol, False)
    run = descend(game, state, parts, state.z, settings, count)
    played = run.records
    z, moves = played["z"], state.memory.then(run.numbers, run.steps)
    state = replace(
        state, w=run.weights(state.w), z=z, d=state.loss.weights(z), t=state.t + len(run.steps), memory=moves
    )
    state = interrupted(_judged(booster, game, state, played["reached"]), played["interrupt"])
    objectives, edges, sizes = -played["values"], np.abs(played["edges"]), run.sizes[: len(played["values"])]
    if played["stuck"]:  # a round in which nothing moves, and its question
        state = replace(state, t=state.t + 1, status=STUCK)
        objectives, edges, sizes = (np.append(values, values[-1]) for values in (objectives, edges, sizes))
    return Burst(state, objectives, np.full(len(objectives), state.best.bound), edges, sizes)


def interrupted(state: State, interrupt: BaseException | None) -> State:
    """The state with the words for Ctrl-C, where that ended the rounds; anything else a handler raised goes on."""
    if isinstance(interrupt, KeyboardInterrupt):
        return with_status(state, INTERRUPTED)
    if interrupt is not None:
        raise interrupt
    return state


def _judged(booster: Booster, game: Game, state: State, stopped: bool) -> State:
    """The state certified; where the rounds stopped, with the booster's own words for it."""
    if not stopped:
        value = -state.loss.value(state.z)
        return replace(
            state, best=replace(state.best, objective=max(value, state.best.objective), w=state.w, d=state.d)
        )
    state, _ = next(rounds(game, booster, state))
    return with_status(state, state.status or "no edge or loss is left above the tolerance")
