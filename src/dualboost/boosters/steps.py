"""The steps of Frank-Wolfe: where to go from d given the gradient, and how far.

Lacoste-Julien & Jaggi for the away and pairwise steps, Tsuji, Tanaka & Pokutta for the blended ones. The length is
searched between the one that smoothness makes sure of and the largest possible: the value never gets worse, and every
rate of the short step holds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualboost import kernels
from dualboost.boosters.active_set import ActiveSet, Atom, vertex_of
from dualboost.boosters.column_generation import capped_set
from dualboost.game import Game
from dualboost.learners.averaging import Averaging
from dualboost.master import longest_ascent

__all__ = ["STEPS", "Move", "averaging", "direction", "eta_for", "searched_step"]

STEPS = ("classic", "line search", "away", "pairwise", "blended pairwise")
_FORWARD_ONLY = ("classic", "line search")
_TRIALS = 10  # of a line search: more do not save rounds


def averaging(game: Game) -> Averaging:
    """The oracle of a game whose class can be averaged; any other is refused."""
    if isinstance(game.oracle, Averaging):
        return game.oracle
    raise ValueError(
        "FrankWolfe needs a class that can be averaged: use it with Matrix(), Stumps() without monotone, or NZDD(...)."
    )


def eta_for(game: Game, accuracy: float) -> float:
    """The eta at which J is within accuracy/2 of the largest edge, times the budget (Lemma 3.1)."""
    return 2 * game.budget * averaging(game).log_size / accuracy


class Move(NamedTuple):
    """d + a (ahead - behind) for 0 <= a <= limit; what the atoms have to do with it; the rate of descent at 0."""

    ahead: np.ndarray
    behind: np.ndarray
    limit: float
    descent: float
    target: Atom | None = None
    source: int = -1

    def applied(self, active: ActiveSet, step: float, rule: str) -> ActiveSet:
        """The active set after the step; the rules that never look back keep none."""
        if rule in _FORWARD_ONLY:
            return active
        drop = step >= self.limit
        if self.target is None:
            return active.away_from(self.source, step, drop)
        if self.source < 0:
            return active.towards(self.target, step)
        return active.shifted(self.source, self.target, step, drop)


def direction(game: Game, rule: str, d: np.ndarray, g: np.ndarray, active: ActiveSet) -> Move:
    """Where to go, given the gradient g."""
    weight_set = capped_set(game, "FrankWolfe")
    s = weight_set.vertex(g)
    at_d, at_s = kernels.dot(d, g), kernels.dot(s, g)
    forward = Move(s, d, 1.0, at_d - at_s)
    if rule in _FORWARD_ONLY:
        return forward
    forward = forward._replace(target=vertex_of(s, weight_set.caps))
    dots = active.dots(g)
    worst = int(np.argmax(dots))
    leaving, weight = active.atoms[worst], float(active.weights[worst])
    if rule == "away":
        if at_d - at_s >= dots[worst] - at_d or weight >= 1:
            return forward
        return Move(d, leaving.point(len(d)), weight / (1 - weight), dots[worst] - at_d, source=worst)
    if rule == "pairwise":
        return Move(s, leaving.point(len(d)), weight, dots[worst] - at_s, forward.target, worst)
    nearest = int(np.argmin(dots))
    if dots[worst] - dots[nearest] < at_d - at_s:
        return forward
    best = active.atoms[nearest]
    return Move(best.point(len(d)), leaving.point(len(d)), weight, dots[worst] - dots[nearest], best, worst)


def searched_step(game: Game, d: np.ndarray, move: Move, eta: float) -> float:
    """The length of the step: at least the one that smoothness makes sure of, never beyond the minimum."""
    length = float(np.abs(move.ahead - move.behind).sum())
    if move.descent <= 0 or length == 0:
        return 0.0
    slope = averaging(game).slope(d, move.ahead, move.behind, eta)
    sure = move.descent / (eta * length**2)
    return longest_ascent(lambda a: -slope(a), sure, move.limit, _TRIALS)
