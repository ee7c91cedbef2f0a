"""Servedio's SmoothBoost: boosting that never asks under a distribution far from the prior.

R. Servedio, Smooth boosting and learning with malicious noise. Every hypothesis gets the same weight. A row whose
margins so far sum to less than theta a round keeps its full weight; above that it loses weight geometrically. The caps
of the game say when to stop: once less than a fraction kappa of the weight is left, at most a fraction kappa of the
rows has a margin of theta or less.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, log1p, sqrt
from numbers import Real

import numpy as np

from dualboost.boosters.base import Booster, Burst
from dualboost.boosters.column_generation import capped_set
from dualboost.boosters.corrective import moved, shifted
from dualboost.game import Game, Pool, State
from dualboost.learners.base import Answer

__all__ = ["ServedioSmoothBoost", "margin_promised", "rounds_needed", "smoothness"]


@dataclass(frozen=True)
class ServedioSmoothBoost(Booster):
    """Equal votes under smooth distributions. Not the mirror-ascent booster of the same name.

    To be used with `SoftMargin(Capped(nu=kappa))`: no distribution gives a row more than 1/kappa times its prior, and
    in the end at most a fraction kappa of the rows has a margin of `margin_promised(gamma)` or less.

    Parameters
    ----------
    gamma : float in (0, 1/2]
        Half of an edge that every answer of the learner has. When an answer falls short, the run ends and says so.

    Notes
    -----
    It ends when its promise is kept, not at an accuracy: the certificate is true, but the game's `tol` has no effect.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost import solve
    >>> from dualboost.boosters import ServedioSmoothBoost
    >>> from dualboost.losses import SoftMargin
    >>> from dualboost.sets import Capped
    >>> A = np.where(np.random.default_rng(0).random((30, 20)) < 0.8, 1.0, -1.0)
    >>> solution = solve(A, SoftMargin(Capped(nu=0.1)), ServedioSmoothBoost(gamma=0.2))
    >>> bool(np.mean(A @ solution.weights <= 0.2 / 2.2) <= 0.1)
    True
    """

    gamma: float = 0.05

    def __post_init__(self):
        if not (isinstance(self.gamma, Real) and 0 < self.gamma <= 0.5):
            raise ValueError(f"gamma is half of the smallest edge and must be in (0, 1/2], not {self.gamma!r}.")

    def start(self, game: Game, previous: State | None = None) -> State:
        if smoothness(game) > 1:
            raise ValueError("ServedioSmoothBoost starts from the prior: give every row a cap of at least its prior.")
        z, d = np.zeros(len(game.rows)), game.rows.prior.copy()
        if previous is None:
            return State(np.zeros(0), z, d, game.loss, Pool(), memory=1.0)
        # Votes are counted: an ensemble of other weights counts as the best so far, and the run starts anew.
        return State(previous.w, previous.z, d, game.loss, previous.pool, memory=1.0)

    def ask(self, game: Game, state: State) -> Answer:
        return game.oracle.best(state.d)

    def verdict(self, game: Game, state: State, answer: Answer) -> str:
        kappa, edge = smoothness(game), abs(float(answer.edges[0]))
        if state.memory < kappa:
            theta = margin_promised(self.gamma) * game.budget
            return f"smooth: at most a fraction {kappa:.3g} of the rows has a margin of {theta:.3g} or less"
        if edge < 2 * self.gamma:
            return f"too weak: the best edge {edge:.3g} is below 2 gamma = {2 * self.gamma:.3g}; take a smaller gamma"
        return ""  # whatever the gap: the promise is about the margins of the rows

    def update(self, game: Game, state: State, answer: Answer) -> State:
        votes, target = state.t + 1, np.copysign(game.budget, answer.edges[0])
        z = moved(game, state.z, answer.columns[0], 1 / votes, target)
        w = shifted(state.w, state.pool, answer.hypotheses[0], 1 / votes, target)
        ahead = votes * (z / game.budget - margin_promised(self.gamma))
        weight = game.rows.prior * np.exp(np.maximum(ahead, 0.0) / 2 * log1p(-self.gamma))
        mass = game.rows.add(float(weight.sum()))
        # Lighter than kappa its distribution may break a cap: the last one stays, and the run is over.
        d = weight / mass if mass >= smoothness(game) else state.d
        return replace(state, w=w, z=z, d=d, t=votes, memory=mass)

    def burst(self, game: Game, state: State, count: int) -> Burst | None:
        return None


def smoothness(game: Game) -> float:
    """kappa: distributions of at most 1/kappa times the prior keep every cap. Without caps, the smallest prior."""
    caps, prior = capped_set(game, "ServedioSmoothBoost").caps, game.rows.prior
    binding = caps < 1
    if not binding.any():
        return -game.rows.max(-float(prior.min()))
    return game.rows.max(float((prior / caps)[np.broadcast_to(binding, prior.shape)].max()))


def margin_promised(gamma: float) -> float:
    """theta = gamma / (2 + gamma), the margin that all but a fraction kappa of the rows exceed in the end."""
    return gamma / (2 + gamma)


def rounds_needed(kappa: float, gamma: float) -> int:
    """The proved number of rounds: 2 / (kappa gamma^2 sqrt(1 - gamma))."""
    return ceil(2 / (kappa * gamma**2 * sqrt(1 - gamma))) + 1
