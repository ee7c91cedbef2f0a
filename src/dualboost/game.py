"""The problem as one record, the state of a run as another, and the one loop that all boosters share.

    minimise F(A w) over ‖w‖₁ <= budget   <->   maximise -F*(-d) - budget * (largest edge under d)

over ensembles w on the left and row weights d on the right. An infinite budget is allowed: then nothing is proved, and
the bound is infinite. Every round asks the learner, certifies the state as it
stands, shows it to the caller, then updates it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from dualboost import kernels
from dualboost.cutting import check_cut
from dualboost.learners.base import Answer, Hypothesis, Oracle
from dualboost.losses.base import Loss
from dualboost.rows import Rows

if TYPE_CHECKING:
    from dualboost.boosters.base import Booster

__all__ = ["Best", "Certificate", "Game", "Pool", "State", "ask_scaled", "rounds"]

_ROUNDING = 4 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Game:
    """The whole problem: loss and learner bound to the same rows, the budget of the ensemble, the accuracy asked."""

    loss: Loss
    oracle: Oracle
    rows: Rows
    budget: float = 1.0
    tol: float = 1e-2
    rtol: float = 0.0
    """Relative to the value reached: the run may stop at a gap of max(tol, rtol * abs(objective))."""

    def __post_init__(self):
        if not (isinstance(self.tol, Real) and 0 < self.tol < np.inf):
            raise ValueError(f"tol is the accuracy asked and must be above 0 and finite, not {self.tol!r}.")
        if not (isinstance(self.rtol, Real) and self.rtol >= 0):
            raise ValueError(f"rtol is a relative accuracy and must be a number of at least 0, not {self.rtol!r}.")
        if not (isinstance(self.budget, Real) and self.budget > 0):
            raise ValueError(f"The budget bounds the weight of the ensemble and must be above 0, not {self.budget!r}.")

    def columns_of(self, hypotheses: Iterable[Hypothesis]) -> np.ndarray:
        """The columns of these hypotheses as floats, one a row."""
        wanted = list(hypotheses)
        columns = np.empty((len(wanted), len(self.rows)))
        for row, hypothesis in zip(columns, wanted, strict=True):
            check_cut()
            row[:] = self.oracle.column(hypothesis)
        return columns

    @cached_property
    def live(self) -> dict[str, Any]:
        """What a booster keeps warm between rounds (a linear program); it can be rebuilt from the state at any time."""
        return {}

    def forget(self) -> None:
        """Drop every warm start, so that a run continued here and one resumed elsewhere agree to the bit."""
        self.loss.forget()
        self.oracle.forget()
        self.live.clear()


@dataclass(frozen=True)
class Certificate:
    """What is proved: the value reached, and a bound that no ensemble of the budget exceeds.

    For margins the value is the relaxed margin; for other losses it is the negative loss.
    """

    objective: float
    """The value that the ensemble reaches."""
    bound: float
    """What no ensemble exceeds; infinite where nothing is proved."""

    @property
    def gap(self) -> float:
        """How far the ensemble can be from the best one."""
        return self.bound - self.objective


class Pool:
    """The distinct hypotheses met so far, numbered in the order of meeting. It only grows."""

    def __init__(self) -> None:
        self.keys: list[Hypothesis] = []
        self._number: dict[Hypothesis, int] = {}

    @classmethod
    def of_record(cls, keys: Iterable[Hypothesis]) -> Pool:
        """The pool in which these were met, in this order."""
        pool = cls()
        for key in keys:
            pool.number(key)
        return pool

    def to_record(self) -> dict[str, Any]:
        """What a file keeps."""
        return {"keys": self.keys}

    def number(self, key: Hypothesis) -> int:
        """The number of this hypothesis; a new one gets the next."""
        known = self._number.setdefault(key, len(self.keys))
        if known == len(self.keys):
            self.keys.append(key)
        return known

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """The best ensemble and the best row weights so far; they may come from different rounds."""

    objective: float = -np.inf
    w: np.ndarray = field(default_factory=lambda: np.empty(0))
    bound: float = np.inf
    d: np.ndarray | None = None
    """None until a round has been certified."""

    @property
    def proof(self) -> np.ndarray:
        """The d that proves the bound."""
        if self.d is None:
            raise ValueError("Nothing is proved yet: certify a round first, for example next(rounds(game, booster)).")
        return self.d


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A run between two rounds: data only. Always z = A w, ‖w‖₁ <= budget, d inside the set."""

    w: np.ndarray
    """Signed weights over the first len(w) hypotheses of the pool."""
    z: np.ndarray
    d: np.ndarray
    loss: Loss
    """The one that is descended: the game's, smoothed."""
    pool: Pool
    t: int = 0
    memory: Any = None
    """What else the booster needs to remember."""
    status: str = ""
    """Empty while running, then the reason to stop in words."""
    best: Best = field(default_factory=Best)

    @property
    def certificate(self) -> Certificate:
        return Certificate(self.best.objective, self.best.bound)


INTERRUPTED = "interrupted: the best ensemble so far was kept"


def rounds(game: Game, booster: Booster, state: State | None = None) -> Iterator[tuple[State, Answer]]:
    """Play: yields each certified state with the answer it got; ends when the booster has a reason to.

    A generator, so the caller decides: slice it to stop, zip two to compare, pass `state` to resume.

    Examples
    --------
    >>> import numpy as np
    >>> from itertools import islice
    >>> from dualboost.boosters import Corrective
    >>> from dualboost.game import Game, rounds
    >>> from dualboost.learners import Matrix
    >>> from dualboost.losses import SoftMargin
    >>> from dualboost.rows import Rows
    >>> from dualboost.sets import Simplex
    >>> rows = Rows.of(3)
    >>> A = np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    >>> game = Game(SoftMargin(Simplex()).bind(rows), Matrix().bind(A, None, rows), rows, tol=0.1)
    >>> [round(state.certificate.gap, 3) for state, answer in islice(rounds(game, Corrective()), 2)]
    [0.333, 0.333]
    """
    state = booster.start(game) if state is None else state
    while True:
        answer = booster.ask(game, state)
        state = replace_best(state, certify(game, state, answer))
        state = with_status(state, booster.verdict(game, state, answer))
        yield state, answer
        if state.status:
            return
        state = booster.update(game, state, answer)


def certify(game: Game, state: State, answer: Answer) -> Certificate:
    """What the state's ensemble reaches and what its row weights prove, this round alone."""
    return Certificate(-game.loss.value(state.z), proved(game, state.d, answer.bound))


def proved(game: Game, d: np.ndarray, largest_edge: float) -> float:
    """What no ensemble exceeds if no hypothesis has a larger edge under d. Without a budget: nothing."""
    return game.loss.conjugate(d) + game.budget * largest_edge if game.budget < np.inf else np.inf


def ask_scaled(oracle: Oracle, d: np.ndarray, k: int = 1) -> Answer:
    """The learner's answer under weights of any sum: it is asked about them scaled to sum 1."""
    shares, mass = kernels.scaled_to_one(d, oracle.rows.threads)
    answer = oracle.best(shares, k)
    # Scaling rounds every weight and the answer; the bound covers it.
    return replace(answer, edges=answer.edges * mass, bound=(answer.bound + _ROUNDING) * mass)


def replace_best(state: State, now: Certificate) -> State:
    """The state with the better of what it had and what this round shows."""
    best = state.best
    if now.objective > best.objective:
        best = Best(now.objective, state.w, best.bound, best.d)
    if now.bound < best.bound or best.bound == np.inf:  # while nothing is proved, the latest
        best = Best(best.objective, best.w, now.bound, state.d)
    return state if best is state.best else replace(state, best=best)


def with_status(state: State, status: str) -> State:
    return replace(state, status=status) if status else state


def reached(game: Game, certificate: Certificate) -> str:
    """The certified stop rule, in words; empty when the gap is still too wide."""
    allowed = _allowed(game, certificate.objective)
    return f"certified: the gap {certificate.gap:.3g} is within {allowed:.3g}" if certificate.gap <= allowed else ""


def exhausted(game: Game, state: State, answer: Answer) -> str:
    """Whether nothing that the learner names could gain more than the gap asked, in words.

    This is for learners that cannot promise to name the best, and proves nothing; but with them no small gap is ever
    proved, and more rounds would only pile up hypotheses. An exact learner ends with a certificate.
    """
    allowed, edge = _allowed(game, state.best.objective), abs(float(answer.edges[0]))
    if game.budget * (answer.bound - edge) <= allowed:
        return ""
    left = game.loss.conjugate(state.d) + game.budget * edge - state.best.objective
    return f"the learner names nothing that could gain more than {allowed:.3g}" if left <= allowed else ""


def _allowed(game: Game, objective: float) -> float:
    return max(game.tol, game.rtol * abs(objective))
