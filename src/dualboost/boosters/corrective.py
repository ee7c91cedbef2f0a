"""The corrective booster: one step towards the best hypothesis of the round.

Shalev-Shwartz & Singer, Figure 1 and Theorem 9. It is Frank-Wolfe on the smoothed loss over the l1 ball of the budget.
The printed stop rule certifies only 3/2 of the accuracy asked; the default rule here compares the best margin with the
best bound and certifies all of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, log2
from typing import Any, NamedTuple

import numpy as np

from dualboost import kernels
from dualboost.boosters.base import Booster, Burst
from dualboost.boosters.joint import Joint, joint
from dualboost.game import INTERRUPTED, Game, Pool, State, reached, with_status
from dualboost.learners.base import Answer
from dualboost.losses import Loss, SoftMargin
from dualboost.master import longest_ascent
from dualboost.sets.capped import CappedSimplex

__all__ = ["Corrective", "rounds_needed"]


@dataclass(frozen=True)
class Corrective(Booster):
    """One hypothesis a round, all others shrunk.

    Parameters
    ----------
    step : {"closed", "search"}
        The closed form of the paper, or a search along the same direction that never gains less.
    stop : {"certified", "printed"}
        When the certified gap is within the tolerance; or when the gap of the smoothed problem is (the paper's rule).
    smoothing : {"fixed", "halving"}
        The smoothing that the accuracy asked needs, from the start; or a coarse one that is halved each time its own
        accuracy is reached. "halving" gets to rough answers much sooner and suits a relative tolerance.

    Examples
    --------
    >>> from dualboost.boosters import Corrective
    >>> Corrective(step="search")
    Corrective(step='search', stop='certified', smoothing='fixed')
    """

    step: str = "closed"
    stop: str = "certified"
    smoothing: str = "fixed"

    def __post_init__(self):
        for name, known in (
            ("step", ("closed", "search")),
            ("stop", ("certified", "printed")),
            ("smoothing", ("fixed", "halving")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be {known[0]!r} or {known[1]!r}, not {getattr(self, name)!r}.")

    def start(self, game: Game, previous: State | None = None) -> State:
        return first_state(game, self.smoothing, previous)

    def ask(self, game: Game, state: State) -> Answer:
        return game.oracle.best(state.d)

    def verdict(self, game: Game, state: State, answer: Answer) -> str:
        if self.stop == "certified":
            return reached(game, state.certificate)
        if state.memory > game.tol:
            return ""  # the gap of a coarser smoothing says nothing about this accuracy
        gap = smoothed_gap(game, state, answer)
        return f"printed rule: the smoothed gap {gap:.3g} is within {game.tol:.3g}" if gap <= game.tol else ""

    def update(self, game: Game, state: State, answer: Answer) -> State:
        loss, accuracy = smoothing_of(game, state, answer, self.smoothing)
        target = np.copysign(game.budget, answer.edges[0])
        step_of = closed_step if self.step == "closed" else searched_step
        step = step_of(game, state, answer, loss, target)
        column = answer.columns[0]
        z = moved(game, state.z, column, step, target)
        w = shifted(state.w, state.pool, answer.hypotheses[0], step, target)
        return replace(state, w=w, z=z, d=loss.weights(z), loss=loss, t=state.t + 1, memory=accuracy)

    def burst(self, game: Game, state: State, count: int) -> Burst | None:
        plain = self.step == "closed" and self.stop == "certified" and self.smoothing == "fixed"
        parts = compilable(game, state) if plain else None
        return compiled_rounds(game, parts, state, count) if parts is not None else None


def closed_step(game: Game, state: State, answer: Answer, loss: Loss, target: float) -> float:
    """The step of Figure 1, sure to gain: the gap over the curvature along the way, at most 1."""
    gap = smoothed_gap(game, state, answer)
    bend = loss.curvature(state.z, answer.columns[0], target)
    return min(1.0, max(0.0, gap / bend)) if bend > 0 else 1.0


def searched_step(game: Game, state: State, answer: Answer, loss: Loss, target: float) -> float:
    """A longer step in the same direction, as far as the smoothed margin still rises."""

    def slope(x: float) -> float:
        z = moved(game, state.z, answer.columns[0], x, target)
        d = loss.weights(z)
        if not np.isfinite(d.sum()):
            return -np.inf  # far on the wrong side of an exponential loss: surely too far
        column = kernels.dot(d, answer.columns[0], game.rows.threads)
        return game.rows.add(target * column - kernels.dot(d, state.z, game.rows.threads))

    return longest_ascent(slope, closed_step(game, state, answer, loss, target))


def first_state(game: Game, smoothing: str, previous: State | None) -> State:
    """Nothing in the ensemble, or what another run left; `memory` holds the accuracy that the smoothing is made for."""
    if not np.isfinite(game.budget):
        raise ValueError(
            "This booster shares out a budget, which must be finite: give one, or take CoordinateDescent() for a vote "
            "without limits."
        )
    accuracy = game.tol if smoothing == "fixed" else max(game.tol, 0.5 * game.budget)
    loss = game.loss.smoothed(accuracy)
    if previous is not None:
        return State(previous.w, previous.z, loss.weights(previous.z), loss, previous.pool, memory=accuracy)
    z = np.zeros(len(game.rows))
    return State(np.zeros(0), z, loss.weights(z), loss, Pool(), memory=accuracy)


def smoothing_of(game: Game, state: State, answer: Answer, smoothing: str) -> tuple[Loss, float]:
    """The loss to descend next and its accuracy: the old one, or a finer one when that accuracy has been reached.

    That may be proved; or the learner, which promises little, names nothing with which it would not be.
    """
    accuracy = state.memory
    if smoothing == "halving" and smoothed_gap(game, state, answer) <= accuracy / 2:
        accuracy = max(accuracy / 2, game.tol)
    while smoothing == "halving" and accuracy > game.tol and state.certificate.gap <= accuracy:
        accuracy = max(accuracy / 2, game.tol)
    # From the game each time: a resumed state brings a copy of the set, whose warm starts are its own.
    return game.loss.smoothed(accuracy), accuracy


def smoothed_gap(game: Game, state: State, answer: Answer) -> float:
    """The duality gap of the smoothed pair at this state, >= 0: budget * |edge| - <d, z> (Lemma 12)."""
    edge = abs(float(answer.edges[0]))
    return game.budget * edge - game.rows.add(kernels.dot(state.d, state.z, game.rows.threads))


def moved(game: Game, z: np.ndarray, column: np.ndarray, step: float, target: float) -> np.ndarray:
    """z + step * (target * column - z)."""
    out = np.empty_like(z)
    kernels.move(z, column, 1.0 - step, step * target, out, game.rows.threads)
    return out


def shifted(w: np.ndarray, pool: Pool, hypothesis, step: float, target: float) -> np.ndarray:
    """The weights after the same step: all shrunk, this hypothesis raised."""
    number = pool.number(hypothesis)
    out = np.zeros(len(pool))
    np.multiply(w, 1.0 - step, out=out[: len(w)])
    out[number] += step * target
    return out


class Parts(NamedTuple):
    """What the compiled rounds are made of: stumps, perhaps subsets, on a capped simplex of more than one point."""

    joint: Joint
    set: CappedSimplex
    eta: float


def compilable(game: Game, state: State) -> Parts | None:
    """The parts for compiled rounds, or None in a game that has others."""
    loss, smooth, parts = game.loss, state.loss, joint(game.oracle)
    if parts is None or not (isinstance(loss, SoftMargin) and isinstance(smooth, SoftMargin)):
        return None
    if not (isinstance(loss.set, CappedSimplex) and loss.set.radius > 0):
        return None
    return Parts(parts, loss.set, smooth.eta)


def compiled_rounds(game: Game, parts: Parts, state: State, count: int) -> Burst:
    """Rounds of closed-form steps without a return to Python; the bits are those of `Corrective.update`."""
    weight_set = parts.set
    played = kernels.corrective_rounds(
        parts.joint.stumps.search, state.z, state.d, parts.eta, weight_set.caps, weight_set.offset, weight_set.warmth,
        game.budget, (game.tol, game.rtol), (state.best.objective, state.best.bound), count, game.rows.threads,
        parts.joint.subset_search,
    )  # fmt: skip
    weight_set.warmth = played["warmth"]
    moves, pool = len(played["keep"]), state.pool
    # Each round's ensemble has the hypotheses met up to it.
    met, grown = [], [len(state.w)]
    for name in parts.joint.names(played, moves):
        met.append(pool.number(name))
        grown.append(len(pool.keys))
    numbers, sizes = np.array(met, dtype=np.int64), np.array(grown, dtype=np.int64)

    def weights_after(rounds: int) -> np.ndarray:
        return kernels.shift_weights(
            state.w, numbers[:rounds], played["keep"][:rounds], played["added"][:rounds], int(sizes[rounds])
        )

    better: dict[str, Any] = {}
    if played["best_objective_at"] >= 0:
        better.update(objective=float(played["objectives"][-1]), w=weights_after(played["best_objective_at"]))
    if played["best_bound_at"] >= 0:
        better.update(bound=float(played["bounds"][-1]), d=played["best_d"])
    state = replace(
        state, w=weights_after(moves), z=played["z"], d=weight_set.made(played["d"]), t=state.t + moves,
        best=replace(state.best, **better) if better else state.best,
    )  # fmt: skip
    status = reached(game, state.certificate) if played["reached"] else ""
    state = with_status(state, _ending(played["interrupt"], status))
    objectives = played["objectives"]
    return Burst(state, objectives, played["bounds"], np.abs(played["edges"]), sizes[: len(objectives)])


def _ending(interrupt: BaseException | None, status: str) -> str:
    """Ctrl-C is a reason to stop like any other; what else a signal handler raised is passed on."""
    if interrupt is None:
        return status
    if isinstance(interrupt, KeyboardInterrupt):
        return INTERRUPTED
    raise interrupt


def rounds_needed(radius: float, tol: float, stop: str = "certified") -> int:
    """The proved number of rounds for margins: 64 R / tol^2 (certified) or 32 R / tol^2 (printed), more if R < 1."""
    factor, extra = (64, 5) if stop == "certified" else (32, 3)
    return ceil(factor * radius / tol**2) + 1 + (extra + ceil(log2(max(1 / tol, 1))) if radius < 1 else 0)
