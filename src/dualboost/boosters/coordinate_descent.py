"""Coordinate descent on a separable loss: AdaBoost and its relatives, without a budget.

Telgarsky, section 4: each round takes the hypothesis of the largest edge and a step along it. The theory wants a loss
of the family of `losses.separable` and a step by Wolfe's conditions or the closed form; then the loss falls by at
least edge^2 / (6 eta F), or edge^2 / (2 eta F), and converges to its infimum whether that is attained or not
(Theorems 21, 23, 27). Without a budget no weights prove a bound: the largest remaining edge says where the run is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, log, log1p
from numbers import Real
from typing import cast

import numpy as np

from dualboost import kernels
from dualboost.boosters.base import Booster, Burst
from dualboost.boosters.descent_rounds import STUCK, Moves, compilable, compiled_rounds
from dualboost.boosters.grid import added, on_grid
from dualboost.game import Game, Pool, State, ask_scaled, reached
from dualboost.learners.base import Answer
from dualboost.losses import Exponential, Logistic, Separable
from dualboost.losses.separable import check_family
from dualboost.master.wolfe import exact_step, wolfe_step

__all__ = ["CoordinateDescent", "least_decrease", "rounds_needed"]

_SEARCHES = ("wolfe", "closed", "exact", "adaboost")
_LARGEST_STEP = 60.0  # of a hypothesis that is never wrong: e^-60 of the loss is left
_NEARLY_PERFECT = 1 - 2.0**-20
_NO_EDGE = 1e-12
_KNOWN = (Exponential, Logistic)  # proved in the tests: another loss is checked where a run starts


@dataclass(frozen=True)
class CoordinateDescent(Booster):
    """One hypothesis a round, added to the others, which stay as they are.

    Parameters
    ----------
    line_search : {"wolfe", "closed", "exact", "adaboost"}
        How long the step is: by bracketing and bisecting until Wolfe's conditions hold (c1 = 1/3, c2 = 1/2); a closed
        form from bounds of the curvature, edge / (eta F) or longer, which is sure; the minimum along the line; or
        AdaBoost's closed form artanh(edge) for the exponential loss, which is that minimum on columns of +-1.
    learning_rate : float in (0, 1]
        Each step is shortened by this factor.

    Notes
    -----
    Give the game an infinite budget. It stops when no hypothesis has an edge above tol * (sum of the weights), or the
    loss has fallen to tol * (its start). With a finite budget it is certified against all ensembles of that budget, and
    stops when the gap is within tol or the budget is spent.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost import solve
    >>> from dualboost.boosters import CoordinateDescent
    >>> from dualboost.losses import Logistic
    >>> A = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
    >>> solution = solve(A, Logistic(), CoordinateDescent(), tol=1e-6, budget=np.inf, max_rounds=50)
    >>> bool(-solution.objective < 0.48)  # the infimum is 2/3 log 2 and not attained
    True
    """

    line_search: str = "wolfe"
    learning_rate: float = 1.0

    def __post_init__(self):
        if self.line_search not in _SEARCHES:
            raise ValueError(f"line_search must be one of {', '.join(_SEARCHES)}, not {self.line_search!r}.")
        if not (isinstance(self.learning_rate, Real) and 0 < self.learning_rate <= 1):
            raise ValueError(f"learning_rate must be a number above 0 and at most 1, not {self.learning_rate!r}.")

    def start(self, game: Game, previous: State | None = None) -> State:
        loss = checked_loss(game, self.line_search)
        pool, w, z = Pool(), np.empty(0), np.zeros(len(game.rows))
        if previous is not None:
            pool, w = previous.pool, previous.w
            z = game.oracle.margins(pool.keys[: len(w)], w) if len(w) else z
        return State(w, z, loss.weights(z), loss, pool, memory=Moves())

    def ask(self, game: Game, state: State) -> Answer:
        return ask_scaled(game.oracle, state.d)

    def verdict(self, game: Game, state: State, answer: Answer) -> str:
        if certified := reached(game, state.certificate):
            return certified
        first, value = float(separable(state).g(np.zeros(1))[0]), -state.best.objective
        # A budget is certified: there these rules would only stop it too early.
        tol = game.tol if game.budget == np.inf else _NO_EDGE
        if value <= tol * first:
            return f"the loss {value:.3g} is within {tol:.3g} of its start {first:.3g}"
        mass = game.rows.add(float(state.d.sum()))
        if answer.bound <= tol * mass:
            return f"no hypothesis is left with an edge above {tol:.3g}"
        if abs(answer.edges[0]) <= tol * mass:
            return f"the learner found no edge above {tol:.3g}, but does not promise that there is none"
        if room_left(game, state) <= 0:
            return f"the budget {game.budget:.3g} is spent; play with budget=inf to go on"
        return ""

    def update(self, game: Game, state: State, answer: Answer) -> State:
        limit = min(_LARGEST_STEP, room_left(game, state))
        step = self.step(game, state, answer, limit)
        if step is None:
            return replace(state, t=state.t + 1, status=STUCK)
        z, column = np.empty_like(state.z), answer.columns[0]
        step = self.learning_rate * step
        step = min(on_grid(step), limit) if column.dtype == np.int8 else step
        step = float(np.copysign(step, answer.edges[0]))
        kernels.move(state.z, column, 1.0, step, z, game.rows.threads)
        number = state.pool.number(answer.hypotheses[0])
        w = added(state.w, len(state.pool), number, step)
        moves = state.memory.then([number], [step])
        return replace(state, w=w, z=z, d=state.loss.weights(z), t=state.t + 1, memory=moves)

    def step(self, game: Game, state: State, answer: Answer, limit: float) -> float | None:
        """How far to go in the direction that lowers the loss; None where there is no such step left."""
        loss, column = separable(state), answer.columns[0]
        edge, sign = abs(float(answer.edges[0])), float(np.sign(answer.edges[0]))
        size = largest_entry(column)
        value = loss.value(state.z)
        if self.line_search == "adaboost" or (self.line_search == "exact" and is_adaboost(loss, column)):
            return min(adaboost_step(state.d, sign * column, edge / (size * value), game) / size, limit)
        if self.line_search == "closed":
            return min(closed_step(loss, state.d, column, edge, value), limit)

        def along(x: float) -> tuple[float, float]:
            z = state.z + (sign * x) * column
            slope = -sign * kernels.dot(loss.weights(z), column, game.rows.threads)
            return loss.value(z), game.rows.add(slope)

        return wolfe_step(finite(along), limit) if self.line_search == "wolfe" else exact_step(finite(along), limit)

    def burst(self, game: Game, state: State, count: int) -> Burst | None:
        search = "adaboost" if self.line_search == "exact" and isinstance(state.loss, Exponential) else self.line_search
        parts = compilable(game, state, search)
        return compiled_rounds(self, game, parts, state, count) if parts is not None else None


def checked_loss(game: Game, line_search: str) -> Separable:
    """The game's loss, or one sentence why it cannot be descended."""
    loss = game.loss
    if not isinstance(loss, Separable):
        raise ValueError(
            "CoordinateDescent needs a loss that adds up over the rows, such as Exponential() or Logistic(), "
            f"not {type(loss).__name__}; for margins take Corrective or TotallyCorrective."
        )
    if line_search == "adaboost" and not isinstance(loss, Exponential):
        raise ValueError(
            f'line_search="adaboost" is a step for the exponential loss, not for {type(loss).__name__}: take "closed".'
        )
    if type(loss) not in _KNOWN:
        check_family(loss)
    return loss


def separable(state: State) -> Separable:
    """The loss of a state that `start` made."""
    return cast(Separable, state.loss)


def is_adaboost(loss: Separable, column: np.ndarray) -> bool:
    """Whether AdaBoost's closed form is the minimum along the column: exponential loss, entries of +-1."""
    return isinstance(loss, Exponential) and column.dtype == np.int8


def adaboost_step(d: np.ndarray, column: np.ndarray, share: float, game: Game) -> float:
    """artanh(share), with the share of the loss that the column's edge is, over its largest entry.

    Near 1 rounding has taken digits of what is missing: there that is summed by itself. None missing is no end.
    """
    if share <= _NEARLY_PERFECT:
        return float(np.arctanh(share))
    missing = game.rows.add(float(d @ (1 - column / largest_entry(column)))) / game.rows.add(float(d.sum()))
    return 0.5 * log((2 - missing) / missing) if missing > 0 else np.inf


def closed_step(loss: Separable, d: np.ndarray, column: np.ndarray, edge: float, value: float) -> float:
    """The step of the paper, edge / (eta F), with the largest curvature where that is smaller; or a longer one.

    Where the curvature is H now and cannot grow faster than e^step, log(1 + edge / H) is as sure. The one that promises
    the larger decrease is taken.
    """
    size = largest_entry(column)
    bend, edge = min(loss.eta * value, loss.steepest), edge / size
    if not loss.self_concordant or loss.steepest == np.inf:
        return edge / (bend * size)
    rows = loss.bound_rows
    now = max(rows.add(float(loss.hessian(d, column[None] / size)[0, 0])), np.finfo(np.float64).tiny)
    longer = float(np.log1p(edge / now))
    sure = (edge + now) * longer - edge >= edge**2 / (2 * bend)
    return (longer if sure else edge / bend) / size


def largest_entry(column: np.ndarray) -> float:
    """The largest absolute entry; 1 for a column of bytes, which are signs."""
    return 1.0 if column.dtype == np.int8 else float(np.abs(column).max())


def room_left(game: Game, state: State) -> float:
    """How much the ensemble may still grow."""
    if game.budget == np.inf:
        return np.inf
    left = game.budget - float(np.abs(state.w).sum())
    return left if left > 1e-12 * game.budget else 0.0


def finite(along):
    """The same function; where it overflows, infinitely high and rising."""

    def guarded(x: float) -> tuple[float, float]:
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                value, slope = along(x)
            except ValueError:  # the kernels refuse sums that are not finite
                return np.inf, np.inf
        return value, slope

    return guarded


def least_decrease(loss: Separable, edge: float, value: float, line_search: str = "wolfe") -> float:
    """What a round gains at least at this edge and this loss, on columns within [-1, 1].

    `edge` is that of the hypothesis taken, |edge| >= c0 * (largest edge) for a learner of quality c0.
    """
    return edge**2 / (_factor(line_search) * loss.eta * value)


def rounds_needed(loss: Separable, gamma: float, tol: float, rows: int, line_search: str = "wolfe") -> int:
    """The proved number of rounds to a loss of tol * (its start), where the margin gamma is positive (Theorem 21).

    For `rows` rows of equal weight. A learner that finds only c0 times the largest edge has the rate of c0 * gamma.
    """
    beta = loss.beta(rows * float(loss.g(np.zeros(1))[0]))
    share = (gamma / beta) ** 2 / (_factor(line_search) * loss.eta)
    return ceil(log(1 / tol) / -log1p(-share)) if share < 1 else 1


def _factor(line_search: str) -> float:
    return 6.0 if line_search == "wolfe" else 2.0
