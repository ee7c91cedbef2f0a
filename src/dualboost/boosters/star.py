"""AdaBoost*: AdaBoost whose steps aim at the largest margin (Raetsch & Warmuth).

With g the smallest edge so far, each round's step is atanh(edge) - atanh(g - delta): the step of AdaBoost, less what
the margin asked would need. After 2 log(m) / delta^2 rounds the smallest margin is within delta of the smallest edge,
and so of the optimum. The row weights are those of the exponential loss: exp(-mass * z), z the margins of the
normalised ensemble.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import atanh, ceil
from typing import NamedTuple

import numpy as np

from dualboost.boosters.base import Booster, Burst
from dualboost.boosters.column_generation import capped_set
from dualboost.boosters.corrective import moved, shifted
from dualboost.game import Game, Pool, State, reached
from dualboost.learners.base import Answer
from dualboost.sets.capped import CappedSimplex

__all__ = ["AdaBoostStar", "rounds_needed"]

_CERTAIN = 1 - 1e-12  # edges beyond have no finite step


class Progress(NamedTuple):
    """The sum of the steps taken, and the smallest edge met."""

    mass: float = 0.0
    edge: float = 1.0


@dataclass(frozen=True)
class AdaBoostStar(Booster):
    """AdaBoost for the hard margin, with a proved accuracy: the game's `tol`. For `SoftMargin(Simplex())`.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost import solve
    >>> from dualboost.boosters import AdaBoostStar
    >>> from dualboost.losses import SoftMargin
    >>> from dualboost.sets import Simplex
    >>> A = np.where(np.random.default_rng(0).random((30, 20)) < 0.7, 1.0, -1.0)
    >>> solve(A, SoftMargin(Simplex()), AdaBoostStar(), tol=0.1).gap <= 0.1
    True
    """

    def start(self, game: Game, previous: State | None = None) -> State:
        z = np.zeros(len(game.rows))
        d = _whole_simplex(game).entropic(z, 1.0)
        if previous is None:
            return State(np.zeros(0), z, d, game.loss, Pool(), memory=Progress())
        # An ensemble without the mass of its steps has no row weights here: it counts, and the run starts anew.
        return State(previous.w, previous.z, d, game.loss, previous.pool, memory=Progress())

    def ask(self, game: Game, state: State) -> Answer:
        return game.oracle.best(state.d)

    def verdict(self, game: Game, state: State, answer: Answer) -> str:
        return reached(game, state.certificate)

    def update(self, game: Game, state: State, answer: Answer) -> State:
        edge = min(abs(float(answer.edges[0])), _CERTAIN)
        smallest = min(edge, state.memory.edge)
        aim = max(smallest - game.tol / game.budget, -_CERTAIN)
        added = atanh(edge) - atanh(aim)
        # One that is right everywhere is the answer: what came before only blurs it.
        mass = added if edge == _CERTAIN else state.memory.mass + added
        target = np.copysign(game.budget, answer.edges[0])
        z = moved(game, state.z, answer.columns[0], added / mass, target)
        w = shifted(state.w, state.pool, answer.hypotheses[0], added / mass, target)
        d = _whole_simplex(game).entropic(z, mass / game.budget)
        return replace(state, w=w, z=z, d=d, t=state.t + 1, memory=Progress(mass, smallest))

    def burst(self, game: Game, state: State, count: int) -> Burst | None:
        return None


def _whole_simplex(game: Game) -> CappedSimplex:
    found = capped_set(game, "AdaBoostStar")
    if found.caps.min() < 1:
        raise ValueError("AdaBoostStar is for the hard margin, without caps: use SoftMargin(Simplex()) with it.")
    return found


def rounds_needed(radius: float, tol: float) -> int:
    """The proved number of rounds: 2 R / tol^2, R = log m."""
    return ceil(2 * radius / tol**2) + 1
