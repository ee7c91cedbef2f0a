"""Frank-Wolfe over the row weights, with the average-margin oracle (Mitsuboshi, Hatano & Takimoto, Algorithm 1).

J(d) = log(sum of exp(eta * edge)) / eta is minimised over the capped simplex; its gradient is the margin vector of the
softmax average of all hypotheses, which is itself the ensemble. With eta = (2 / tol) log(size of the class), J is
within tol/2 of the largest edge, and once the gap of Frank-Wolfe is within tol/2 that ensemble is within tol of the
best one: the gap is J less the relaxed margin of the ensemble less its entropy / eta, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np

from dualboost import kernels
from dualboost.boosters.active_set import ActiveSet
from dualboost.boosters.base import Booster, Burst
from dualboost.boosters.column_generation import capped_set
from dualboost.boosters.polish import Polish, polished
from dualboost.boosters.steps import STEPS, averaging, direction, eta_for, searched_step
from dualboost.game import Game, Pool, State, reached
from dualboost.learners.base import Answer

__all__ = ["FrankWolfe", "rounds_needed"]


@dataclass(frozen=True)
class FrankWolfe(Booster):
    """One step of the row weights a round; the ensemble is the softmax average of the whole class.

    For margins on (capped) simplices, and classes that can be averaged: `Matrix`, `Stumps`, `NZDD`.

    Parameters
    ----------
    step : {"pairwise", "classic", "line search", "away", "blended pairwise"}
        2/(t+2) as printed; the same direction with a search for its length; or steps that also take weight from
        earlier vertices, searched. "pairwise" needs the fewest rounds for small nu, "line search" for large nu;
        "classic" has the cheapest round.
    stop : {"certified", "printed"}
        When the certified gap is within the tolerance; or when the gap of Frank-Wolfe is within half of it.
    smoothing : {"fixed", "halving"}
        The eta that the accuracy asked needs, from the start; or a coarse one, doubled each time its own accuracy is
        reached, which suits a relative tolerance.
    polish : int
        How many of the heaviest hypotheses to hand to a linear program now and then; its sparse weights take the place
        of the average where they are better, and what its row weights prove counts. 0 is the method of the paper.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost import solve
    >>> from dualboost.boosters import FrankWolfe
    >>> A = np.random.default_rng(0).choice([-1.0, 1.0], (60, 40))
    >>> solve(A, booster=FrankWolfe(), tol=0.05).gap <= 0.05
    True
    """

    step: str = "pairwise"
    stop: str = "certified"
    smoothing: str = "fixed"
    polish: int = 0

    def __post_init__(self):
        choices = (("step", STEPS), ("stop", ("certified", "printed")), ("smoothing", ("fixed", "halving")))
        for name, known in choices:
            if getattr(self, name) not in known:
                allowed = ", ".join(repr(choice) for choice in known)
                raise ValueError(f"{name} must be one of {allowed}, not {getattr(self, name)!r}.")
        if not isinstance(self.polish, (int, np.integer)) or isinstance(self.polish, bool) or self.polish < 0:
            raise ValueError(f"polish is a number of hypotheses: a whole number of at least 0, not {self.polish!r}.")

    def start(self, game: Game, previous: State | None = None) -> State:
        weight_set = capped_set(game, "FrankWolfe")
        averaging(game)
        accuracy = game.tol if self.smoothing == "fixed" else max(game.tol, 0.5 * game.budget)
        if previous is None:
            d = weight_set.entropic(np.zeros(len(game.rows)), 1.0)
            nothing = State(np.zeros(0), np.zeros(len(d)), d, game.loss, Pool())
            return arrived(game, nothing, d, Run(ActiveSet.at(d), accuracy))
        d = weight_set.euclidean(previous.d)
        # The printed step forgets where it began: it goes on at the length it had reached.
        taken = previous.t if isinstance(previous.memory, Run) else 0
        run = Run(ActiveSet.at(d), accuracy, taken=taken)
        return State(previous.w, previous.z, d, game.loss, previous.pool, memory=run)

    def ask(self, game: Game, state: State) -> Answer:
        return ask_average(game, state.d, state.memory.accuracy)[0]

    def verdict(self, game: Game, state: State, answer: Answer) -> str:
        if self.stop == "certified":
            return reached(game, state.certificate)
        if state.memory.accuracy > game.tol:
            return ""  # the gap of a coarser smoothing says nothing about this accuracy
        gap = game.budget * frank_wolfe_gap(game, state.d, answer.columns[0])
        return f"printed rule: the gap {gap:.3g} is within {game.tol / 2:.3g}" if gap <= game.tol / 2 else ""

    def update(self, game: Game, state: State, answer: Answer) -> State:
        run: Run = state.memory
        move = direction(game, self.step, state.d, answer.columns[0], run.active)
        eta = eta_for(game, run.accuracy)
        step = 2 / (run.taken + 2) if self.step == "classic" else searched_step(game, state.d, move, eta)
        run = replace(run, active=move.applied(run.active, step, self.step), taken=run.taken + 1)
        if self.smoothing == "halving":
            run = replace(run, accuracy=next_accuracy(game, state, run.accuracy))
        d = inside(game, state.d + step * (move.ahead - move.behind))
        state = replace(arrived(game, state, d, run), t=state.t + 1)
        return with_polish(game, state, self.polish) if self.polish and state.t >= run.polish.due else state

    def burst(self, game: Game, state: State, count: int) -> Burst | None:
        return None


@dataclass(frozen=True, eq=False)
class Run:
    """What a run remembers besides d: the vertices that make it up, the accuracy its smoothing is made for."""

    active: ActiveSet
    accuracy: float
    taken: int = 0
    """Steps taken, for the length of the printed one."""
    polish: Polish = field(default_factory=Polish)


def ask_average(game: Game, d: np.ndarray, accuracy: float) -> tuple[Answer, float]:
    """The average at d and J(d); the answer at the d just arrived at is kept until it is asked for."""
    kept = game.live.get("average")
    if kept is not None and kept[0] is d and kept[1] == accuracy:
        return kept[2]
    found = averaging(game).average(d, eta_for(game, accuracy))
    game.live["average"] = (d, accuracy, found)
    return found


def arrived(game: Game, state: State, d: np.ndarray, run: Run) -> State:
    """The state at d: its ensemble is the average there. The pool holds that and the best one so far, no more."""
    answer, _ = ask_average(game, d, run.accuracy)
    z = game.budget * answer.columns[0]
    moved = with_ensemble(state, [answer.hypotheses[0]], np.array([game.budget]), z)
    return replace(moved, d=d, memory=run)


def with_ensemble(state: State, hypotheses: list, weights: np.ndarray, z: np.ndarray) -> State:
    """The state with this ensemble, in a pool of its own and the best ensemble's hypotheses."""
    pool, best = Pool(), state.best
    kept = np.flatnonzero(best.w)
    numbers = [pool.number(state.pool.keys[j]) for j in kept]
    best = replace(best, w=_over(numbers, best.w[kept]))
    return replace(state, w=_over([pool.number(h) for h in hypotheses], weights), z=z, pool=pool, best=best)


def _over(numbers: list[int], weights: np.ndarray) -> np.ndarray:
    """These weights at these places."""
    w = np.zeros(max(numbers, default=-1) + 1)
    np.add.at(w, numbers, weights)
    return w


def frank_wolfe_gap(game: Game, d: np.ndarray, g: np.ndarray) -> float:
    """max over s of <g, d - s>: J(d) is no further than this above its minimum."""
    return game.rows.add(kernels.dot(d, g, game.rows.threads)) - capped_set(game, "FrankWolfe").relaxed_margin(g)


def inside(game: Game, d: np.ndarray) -> np.ndarray:
    """d without what rounding pushed over the edge of the set; read-only from here on."""
    d = np.clip(d, 0.0, capped_set(game, "FrankWolfe").caps)
    d.flags.writeable = False
    return d


def next_accuracy(game: Game, state: State, accuracy: float) -> float:
    """Half of it, as often as that accuracy has been reached."""
    while accuracy > game.tol and state.certificate.gap <= accuracy:
        accuracy = max(accuracy / 2, game.tol)
    return accuracy


def with_polish(game: Game, state: State, count: int) -> State:
    """The ensemble of a linear program over the heaviest hypotheses so far, where it is better than the average."""
    state, polish, (names, w) = polished(game, state, state.memory.polish, count)
    state = replace(state, memory=replace(state.memory, polish=polish))
    z = game.oracle.margins(names, w)
    return with_ensemble(state, names, w, z) if game.loss.value(z) < game.loss.value(state.z) else state


def rounds_needed(log_size: float, tol: float, budget: float = 1.0) -> int:
    """The proved number of rounds of the classic and the searched step, for either stop rule.

    The smallest gap of t rounds is at most 27 eta / (t + 2) (Jaggi, with the diameter 2), and eta is 2 log|H| / tol.
    """
    return ceil(108 * log_size * (budget / tol) ** 2) + 1
