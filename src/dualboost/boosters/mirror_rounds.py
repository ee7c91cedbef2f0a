"""MABoost on the whole simplex in compiled rounds: coordinate descent on the exponential loss, the edge as its step.

The row weights are then prior * exp(-margins of the unscaled ensemble), made to sum 1, and the incremental histograms
of AdaBoost serve. Between two rounds the kernel looks at all margins once: for the certificate and the training error.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dualboost.boosters.ascent import NO_EDGE, Ascent, Trail, Unscaled, weight_set
from dualboost.boosters.base import Burst
from dualboost.boosters.descent_rounds import Parts, Run, descend, interrupted
from dualboost.boosters.joint import joint
from dualboost.boosters.regularizers import Entropic
from dualboost.game import Best, Game, State, rounds

if TYPE_CHECKING:
    from dualboost.boosters.mirror_ascent import MirrorAscent

__all__ = ["averaged", "compilable", "compiled_rounds"]

_UNIT = 2.0**-54  # the kernel's weights are whole numbers of at most this share of their sum
# Edges closer than 1e-12 count as equal, among stumps or subsets and between the two; the rest is for rounding.
_TIE = 3e-12


def averaged(game: Game, total: Unscaled, mass: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights and margins of the ensemble scaled to the budget."""
    return total.w * (game.budget / mass), total.z * (game.budget / mass)


def compilable(booster: MirrorAscent, game: Game, state: State) -> bool:
    """Whether the row weights are the exponentials of the summed margins, and the hypotheses stumps or subsets."""
    if not isinstance(booster.regularizer, Entropic) or booster.step not in ("edge", "adaptive"):
        return False
    free = booster.regularizer.forgets_its_path(weight_set(game, "MirrorAscent"))
    return free and joint(game.oracle) is not None and state.memory.total is not None and game.rtol == 0


def compiled_rounds(booster: MirrorAscent, game: Game, state: State, count: int) -> Burst | None:
    """Rounds without a return to Python; None where the kernel cannot make one."""
    run = _played(game, state, count)
    shown = _certificates(game, state, run)
    gaps = np.minimum.accumulate(shown.bounds) - np.maximum.accumulate(shown.objectives)
    closed = np.flatnonzero(gaps <= game.tol)
    if len(closed) and closed[0] < len(run.steps):  # cut there: runs may be cut anywhere
        if closed[0] == 0:
            return None
        run = _played(game, state, int(closed[0]))
        shown = _certificates(game, state, run)
    if not len(run.steps):
        return None
    after = _after(game, state, run)
    after = replace(after, best=_best(booster, game, state, run, shown))
    if run.records["reached"]:
        after, _ = next(rounds(game, booster, after))  # certified, with the booster's own verdict
    return replace(shown, state=interrupted(after, run.records["interrupt"]))


def _played(game: Game, state: State, count: int) -> Run:
    stumps = joint(game.oracle)
    assert stumps is not None
    parts = Parts(stumps, ("exponential", "closed"))
    return descend(game, state, parts, state.memory.total.z, (1.0, NO_EDGE, 0.0, True), count)


def _masses(state: State, run: Run) -> np.ndarray:
    return np.cumsum(np.concatenate([[state.memory.mass], np.abs(run.steps)]))  # in turn: as if they were cut


def _edges(run: Run) -> np.ndarray:
    """Under weights of sum 1."""
    return np.abs(run.records["edges"]) / run.records["values"]


def _certificates(game: Game, state: State, run: Run) -> Burst:
    """What each question showed, with the best so far: the margin reached, and what no ensemble exceeds."""
    masses, least, edges = _masses(state, run), run.records["least"], _edges(run)
    reached = game.budget * np.divide(least, masses[: len(least)], out=np.zeros(len(least)), where=least != 0)
    proved = game.budget * (edges + _TIE + _UNIT * len(game.rows))
    objectives = np.maximum.accumulate(np.maximum(reached, state.best.objective))
    bounds = np.minimum.accumulate(np.minimum(proved, state.best.bound))
    return Burst(state, objectives, bounds, edges, run.sizes[: len(edges)])


def _after(game: Game, state: State, run: Run) -> State:
    total = Unscaled(run.weights(state.memory.total.w), run.records["z"])
    mass, edges = float(_masses(state, run)[-1]), _edges(run)[: len(run.steps)]
    steps = np.abs(run.steps)
    gains = np.cumsum(np.concatenate([[state.memory.gain], steps * edges - steps**2 / 2]))
    trail = Trail(gains[: len(run.records["wrong"])], run.records["wrong"])
    memory = Ascent(mass, float(gains[-1]), total=total, trail=trail)
    w, z = averaged(game, total, mass)
    bound_set = weight_set(game, "MirrorAscent")
    bound_set.forget()  # a warm start would leave its trace in a last bit: where the rounds were cut must not matter
    d = bound_set.entropic(z, mass / game.budget)
    return replace(state, w=w, z=z, d=d, t=state.t + len(run.steps), memory=memory)


def _best(booster: MirrorAscent, game: Game, state: State, run: Run, shown: Burst) -> Best:
    """The best ensemble and the best row weights of the rounds; they are made again from the moves."""
    best, masses = state.best, _masses(state, run)
    if shown.objectives[-1] > best.objective:
        k = int(np.argmax(shown.objectives))
        total = run.weights(state.memory.total.w, k)
        w = total * (game.budget / masses[k]) if masses[k] else total
        best = replace(best, objective=float(shown.objectives[-1]), w=w)
    if shown.bounds[-1] < best.bound:
        k = int(np.argmin(shown.bounds))
        best = replace(best, bound=float(shown.bounds[-1]), d=_row_weights(booster, game, state, run, k))
    return best


def _row_weights(booster: MirrorAscent, game: Game, state: State, run: Run, k: int) -> np.ndarray:
    """d after k of the moves."""
    if k == 0:
        return state.d
    total = run.weights(state.memory.total.w, k)
    mass = float(_masses(state, run)[k])
    margins = game.oracle.margins(state.pool.keys[: len(total)], total)  # exact: only then scaled
    _, z = averaged(game, Unscaled(total, margins), mass)
    bound_set = weight_set(game, "MirrorAscent")
    bound_set.forget()
    return booster.regularizer.nearest(bound_set, z, mass / game.budget)
