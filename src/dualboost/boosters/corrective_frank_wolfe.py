"""Frank-Wolfe variants of the corrective booster: steps that may also take weight away from a bad hypothesis.

The ensembles of a budget are the mixtures of the atoms 0 and +-budget * h. The corrective booster (Shalev-Shwartz &
Singer, Figure 1) moves towards the best atom and shrinks all others alike. Away and pairwise steps (Guelat & Marcotte;
Lacoste-Julien & Jaggi) know the worst atom in use: the first may move straight away from it, the second hands its
weight to the best one. The smoothed margin never falls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dualboost import kernels
from dualboost.boosters import corrective
from dualboost.boosters.base import Booster, Burst, kept_columns
from dualboost.boosters.corrective import first_state, moved, smoothed_gap, smoothing_of
from dualboost.game import Game, State, reached
from dualboost.learners.base import Answer
from dualboost.losses import Loss
from dualboost.master import longest_ascent

__all__ = ["CorrectiveFrankWolfe", "rounds_needed"]

_SPENT = 1e-12  # less than this share of the budget is none


@dataclass(frozen=True)
class CorrectiveFrankWolfe(Booster):
    """One step a round along a direction of choice.

    Parameters
    ----------
    step : {"line search", "short"}
        As far as the smoothed margin still rises, nearly; or the closed form that is sure to gain.
    direction : {"pairwise", "away", "classic"}
        From the worst hypothesis in use to the best; away from the worst where that rises faster than moving to the
        best; or always to the best, which is `Corrective`.
    smoothing : {"fixed", "halving"}
        As in `Corrective`.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost import solve
    >>> from dualboost.boosters import CorrectiveFrankWolfe
    >>> A = np.random.default_rng(0).choice([-1.0, 1.0], (60, 40))
    >>> solve(A, booster=CorrectiveFrankWolfe(), tol=0.05).gap <= 0.05
    True
    """

    step: str = "line search"
    direction: str = "pairwise"
    smoothing: str = "fixed"

    def __post_init__(self):
        for name, known in (
            ("step", ("line search", "short")),
            ("direction", ("pairwise", "away", "classic")),
            ("smoothing", ("fixed", "halving")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {known}, not {getattr(self, name)!r}.")

    def start(self, game: Game, previous: State | None = None) -> State:
        return first_state(game, self.smoothing, previous)

    def ask(self, game: Game, state: State) -> Answer:
        return game.oracle.best(state.d)

    def verdict(self, game: Game, state: State, answer: Answer) -> str:
        return reached(game, state.certificate)

    def update(self, game: Game, state: State, answer: Answer) -> State:
        loss, accuracy = smoothing_of(game, state, answer, self.smoothing)
        move = _DIRECTIONS[self.direction](game, state, answer)
        step = _short_step(loss, state, move)
        if self.step == "line search":
            step = _searched_step(game, loss, state, move, step)
        w = np.zeros(len(state.pool))
        w[: len(state.w)] = state.w
        w = (1.0 - step) * w + step * move.w  # a whole step leaves no trace of an atom that was emptied
        z = moved(game, state.z, move.column, step, move.scale)
        return replace(state, w=w, z=z, d=loss.weights(z), loss=loss, t=state.t + 1, memory=accuracy)

    def burst(self, game: Game, state: State, count: int) -> Burst | None:
        return None


class Move(NamedTuple):
    """A segment from the ensemble to the farthest allowed one: its weights, its margins scale * column.

    `gain` is the slope of the smoothed margin at the start, for the whole segment.
    """

    w: np.ndarray
    column: np.ndarray
    scale: float
    gain: float


class Worst(NamedTuple):
    """The atom in use of the smallest edge: its weights and margins, its share of the ensemble, <d, its margins>."""

    w: np.ndarray
    column: np.ndarray
    share: float
    value: float


def _classic(game: Game, state: State, answer: Answer) -> Move:
    target = np.copysign(game.budget, answer.edges[0])
    number = state.pool.number(answer.hypotheses[0])
    w = np.zeros(len(state.pool))
    w[number] = target
    return Move(w, answer.columns[0], target, smoothed_gap(game, state, answer))


def _away(game: Game, state: State, answer: Answer) -> Move:
    best, worst = _classic(game, state, answer), _worst(game, state, answer)
    slope = game.rows.add(kernels.dot(state.d, state.z, game.rows.threads)) - worst.value
    if slope <= best.gain or worst.share >= 1:
        return best
    most = worst.share / (1 - worst.share)
    w = (1 + most) * _padded(state) - most * worst.w
    w[worst.w != 0] = 0.0
    return Move(w, (1 + most) * state.z - most * worst.column, 1.0, most * slope)


def _pairwise(game: Game, state: State, answer: Answer) -> Move:
    best, worst = _classic(game, state, answer), _worst(game, state, answer)
    w = _padded(state) - worst.share * worst.w
    w[worst.w != 0] = 0.0
    column = state.z + worst.share * (best.scale * best.column - worst.column)
    gain = worst.share * (game.budget * abs(float(answer.edges[0])) - worst.value)
    return Move(w + worst.share * best.w, column, 1.0, gain)


_DIRECTIONS = {"classic": _classic, "away": _away, "pairwise": _pairwise}


def _worst(game: Game, state: State, answer: Answer) -> Worst:
    """Among the hypotheses in use and, where the ensemble leaves some of its budget, nothing at all."""
    w = _padded(state)
    used = np.flatnonzero(w)
    columns = kept_columns(game, [state.pool.keys[j] for j in used], answer)
    targets = np.copysign(game.budget, w[used])
    edges = np.array([kernels.dot(state.d, column, game.rows.threads) for column in columns])
    values, left = targets * game.rows.add(edges), 1.0 - np.abs(w).sum() / game.budget
    atom, lowest = np.zeros(len(w)), values.min(initial=np.inf)
    if left > _SPENT and lowest >= 0:
        return Worst(atom, np.zeros_like(state.z), left, 0.0)
    at = int(np.argmin(values))
    atom[used[at]] = targets[at]
    return Worst(atom, targets[at] * columns[at], abs(w[used[at]]) / game.budget, float(lowest))


def _padded(state: State) -> np.ndarray:
    return np.concatenate([state.w, np.zeros(len(state.pool) - len(state.w))])


def _short_step(loss: Loss, state: State, move: Move) -> float:
    bend = loss.curvature(state.z, move.column, move.scale)
    return min(1.0, max(0.0, move.gain / bend)) if bend > 0 else 1.0


def _searched_step(game: Game, loss: Loss, state: State, move: Move, sure: float) -> float:
    """A longer step, as far as the smoothed margin still rises."""

    def slope(x: float) -> float:
        d = loss.weights(moved(game, state.z, move.column, x, move.scale))
        if not np.isfinite(d.sum()):
            return -np.inf  # far on the wrong side of an exponential loss: surely too far
        end = move.scale * kernels.dot(d, move.column, game.rows.threads)
        return game.rows.add(end - kernels.dot(d, state.z, game.rows.threads))

    return longest_ascent(slope, sure) if sure > 0 else 0.0


def rounds_needed(radius: float, tol: float, direction: str) -> int:
    """The proved number of rounds for margins: the corrective booster's, twice that with away steps.

    An away step that empties an atom may gain nothing, but each atom was filled by another step. For pairwise steps no
    useful number is proved: they may shift weight many times before one counts.
    """
    if direction == "pairwise":
        raise ValueError("No useful number of rounds is proved for pairwise steps: ask for 'away' or 'classic'.")
    return (1 if direction == "classic" else 2) * corrective.rounds_needed(radius, tol) + 1
