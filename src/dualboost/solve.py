"""The matrix level: assemble a game, play it, recompute what was reached from scratch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np

from dualboost.boosters import Booster, TotallyCorrective
from dualboost.cutting import Cut, cut_by
from dualboost.frames import check_row_numbers
from dualboost.game import INTERRUPTED, Certificate, Game, State, ask_scaled, proved, rounds
from dualboost.learners import Matrix, Oracle
from dualboost.learners.base import Hypothesis
from dualboost.learners.matrix import MatrixOracle
from dualboost.losses import Loss, SoftMargin
from dualboost.one_thread import one_thread
from dualboost.rows import Rows, refuse_masked, with_absent
from dualboost.run import Halt, Named, Record, Watch, always, record_of, stretches, watch_of
from dualboost.sets import Capped, Groups

__all__ = ["Outcome", "Solution", "finish", "finish_again", "play", "solve"]

_T = TypeVar("_T")
_COLUMNS = ("objective", "bound", "edge", "size")


Patience = Callable[[], Callable[[], str]]
"""Begins with a step that recomputes something, and then tells why to give it up."""

_ROUNDING = 4 * np.finfo(np.float64).eps


def _patient() -> Callable[[], str]:
    return always


@dataclass(frozen=True, eq=False)
class Outcome:
    """A finished run, with everything recomputed from the weights alone, unless there was no time to."""

    hypotheses: Sequence[Hypothesis]
    weights: np.ndarray
    margins: np.ndarray
    distribution: np.ndarray
    certificate: Certificate
    status: str
    history: dict[str, np.ndarray]
    state: State
    named: Named | None = None
    """What the learner has named last, where the run has no vote."""
    patience: Patience = _patient
    """How long anything more may be recomputed."""

    @property
    def n_rounds(self) -> int:
        return self.state.t

    @property
    def log(self) -> list[Record]:
        """The history, record by record."""
        return list(zip(*(self.history[name] for name in _COLUMNS), strict=True))


@dataclass(frozen=True, eq=False)
class Solution:
    """The answer of `solve`.

    Attributes
    ----------
    weights : ndarray
        Signed, over the columns of the matrix (or over `hypotheses` of another learner); ‖w‖₁ <= budget.
    distribution : ndarray of shape (m,)
        Row weights inside the set; they prove `bound`.
    objective, bound, gap : float
        The value that `weights` reaches, what no ensemble exceeds, and the difference.
    status : str
        Why it stopped.
    n_rounds : int
    history : dict of arrays
        One entry per round: "objective" and "bound" (best so far), "edge", "size" (distinct hypotheses).
    hypotheses : sequence
        What the weights refer to.
    """

    weights: np.ndarray
    distribution: np.ndarray
    objective: float
    bound: float
    status: str
    n_rounds: int
    history: dict[str, np.ndarray]
    hypotheses: Sequence[Hypothesis]

    @property
    def gap(self) -> float:
        return self.bound - self.objective


def solve(
    A,
    loss: Loss | None = None,
    booster: Booster | None = None,
    tol: float = 1e-2,
    max_rounds: int = 100_000,
    *,
    budget: float = 1.0,
    sample_weight: np.ndarray | None = None,
) -> Solution:
    """Solve a boosting problem to a certified accuracy.

    Parameters
    ----------
    A : array, scipy.sparse matrix, or Oracle
        A[i, j] = y_i h_j(x_i), within [-1, 1] for margin problems, finite otherwise; columns count with both signs. Or
        any learner that has been bound to data.
    loss : Loss, default SoftMargin(Capped(nu=0.1))
    booster : Booster, default TotallyCorrective()
    tol : float
        The accuracy asked: stops the run and sets the smoothing.
    max_rounds : int
    budget : float
        The largest sum of the absolute weights; 1 for margins, infinite for coordinate descent (then `bound` is, too).
    sample_weight : array of shape (m,), optional
        Weight k is k copies of the row; rows of weight 0 are absent (their distribution is 0).

    Returns
    -------
    Solution

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost import solve
    >>> from dualboost.losses import SoftMargin
    >>> from dualboost.sets import Simplex
    >>> A = np.array([[1.0, -1.0, 1.0], [1.0, 1.0, -1.0], [-1.0, 1.0, 1.0]])
    >>> solution = solve(A, SoftMargin(Simplex()), tol=1e-3)
    >>> round(solution.objective, 2), solution.gap <= 1e-3
    (0.33, True)
    """
    loss = SoftMargin(Capped(nu=0.1)) if loss is None else loss
    if not isinstance(loss, Loss):
        raise ValueError(f"loss must be a Loss such as SoftMargin(Capped(nu=0.1)), not {loss!r}.")
    if not (booster is None or isinstance(booster, Booster)):
        raise ValueError(f"booster must be a Booster such as Corrective(), not {booster!r}.")
    if not (isinstance(max_rounds, (int, np.integer)) and not isinstance(max_rounds, bool) and max_rounds >= 1):
        raise ValueError(f"max_rounds must be a whole number of at least 1, not {max_rounds!r}.")
    oracle, present = _bound_oracle(A, sample_weight)
    _check_margin_range(oracle, loss)
    loss = _without_absent_rows(loss, present)
    game = Game(loss.bind(oracle.rows), oracle, oracle.rows, budget, tol)
    outcome = play(game, TotallyCorrective() if booster is None else booster, max_rounds)
    distribution = with_absent(outcome.distribution, present, 0.0)
    weights, names = outcome.weights, outcome.hypotheses
    if isinstance(oracle, MatrixOracle):
        weights, names = oracle.spread(names, weights), range(oracle.A.shape[1])
    return Solution(
        weights, distribution, outcome.certificate.objective, outcome.certificate.bound,
        outcome.status, outcome.n_rounds, outcome.history, names,
    )  # fmt: skip


def _bound_oracle(A, sample_weight) -> tuple[Oracle, np.ndarray]:
    """The oracle, and which of the caller's rows it has."""
    if isinstance(A, Oracle):
        if sample_weight is not None:
            raise ValueError("A bound learner has its row weights already; give sample_weight to its Rows instead.")
        return A, np.ones(len(A.rows), dtype=bool)
    refuse_masked("The margin matrix", A)
    check_row_numbers("sample_weight", sample_weight)
    A = A if hasattr(A, "tocsr") else np.asarray(A)
    if A.ndim != 2 or 0 in A.shape:
        raise ValueError(
            "solve needs a matrix A[i, j] = y_i h_j(x_i) that is not empty, dense or scipy.sparse, or a bound learner."
        )
    if sample_weight is None:
        present = np.ones(A.shape[0], dtype=bool)
        return Matrix().bind(A, None, Rows.of(A.shape[0])), present
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (A.shape[0],) or not np.all(weights >= 0) or not weights.max() > 0:
        raise ValueError("sample_weight must hold one non-negative finite number per row, and not only zeros.")
    present = weights > 0
    rows = Rows.of(weights[present])
    if not present.all():
        A = (A.tocsr() if hasattr(A, "tocsr") else A)[present]  # not every sparse form can be indexed
    return Matrix().bind(A, None, rows), present


def _without_absent_rows(loss: Loss, present: np.ndarray) -> Loss:
    """The loss for the rows that are left: the cap of an absent row goes with it."""
    if isinstance(loss, SoftMargin) and isinstance(loss.set, Groups):
        return loss if len(loss.set.groups) != len(present) else replace(loss, set=loss.set.of_rows(present))
    if not (isinstance(loss, SoftMargin) and isinstance(loss.set, Capped)) or loss.set.caps is None or present.all():
        return loss
    caps = loss.set.caps
    check_row_numbers("caps", caps)
    if np.shape(caps) != present.shape:
        raise ValueError(f"caps must hold one number per row: {len(present)}, not an array of shape {np.shape(caps)}.")
    return replace(loss, set=Capped(caps=np.asarray(caps)[present]))


def _check_margin_range(oracle: Oracle, loss: Loss) -> None:
    if isinstance(loss, SoftMargin) and isinstance(oracle, MatrixOracle) and oracle.largest_entry > 1 + 1e-12:
        raise ValueError(
            "Margin problems need hypotheses within [-1, 1], "
            f"but an entry of the matrix has size {oracle.largest_entry:.6g}: "
            "divide the matrix (or each column) by its largest entry."
        )


@one_thread()
def play(
    game: Game,
    booster: Booster,
    max_rounds: int,
    state: State | Halt | None = None,
    watch: Watch | Callable[[State], str | None] | None = None,
) -> Outcome:
    """Play until the booster has a reason to stop, `max_rounds` are over, or `watch` returns a reason.

    Ctrl-C ends the run like any other reason: the best ensemble so far is kept. A `Halt` is taken up where it was.
    """
    begin = state if isinstance(state, Halt) else Halt.at(booster.start(game) if state is None else state, [])
    first, log, eyes = 0 if begin.log else begin.state.t, list(begin.log), watch_of(watch)
    reason, state, pieces = "", begin.state, stretches(game, booster, begin, max_rounds, eyes)
    named: Named | None = None
    del begin  # its margins and weights would stay in memory to the end
    try:
        with cut_by(eyes.cut):
            for stretch in pieces:
                state, named = stretch.state, stretch.named
                log += stretch.records
                if stretch.at_seam:
                    eyes.seam(Halt.at(state, log))
                asked = eyes.look(state) if stretch.records else ""
                reason = state.status or asked
                if reason:
                    break
    except Cut as cut:  # a watch has no reason for one before there is a vote
        reason = str(cut)
    except KeyboardInterrupt:
        if not log:
            raise
        reason = INTERRUPTED
    if len(log) <= state.t - first:  # stopped between two bursts: its last state has not been certified
        state, answer = next(rounds(game, booster, state))
        log.append(record_of(state, answer))
        eyes.look(state)
    try:
        outcome = finish(game, state, reason or f"stopped after max_rounds = {max_rounds}", log, eyes.patience)
    except KeyboardInterrupt:  # the run is over: one look more is all it takes
        outcome = finish(game, state, INTERRUPTED, log, eyes.patience)
    return replace(outcome, named=named)


class _Vote(NamedTuple):
    """An ensemble without what is zero, and what it reaches."""

    names: list[Hypothesis]
    weights: np.ndarray
    margins: np.ndarray
    objective: float


def finish(game: Game, state: State, status: str, log: list[Record], patience: Patience = _patient) -> Outcome:
    """Drop what is zero, recompute margins and certificate from scratch: no sum of the run survives.

    Where patience is over, what the run has found must do: its last ensemble with the margins that it had, and the
    bound that was proved.
    """
    game.forget()
    vote = _in_time(lambda: _recomputed(game, state), patience) or _as_found(game, state)
    bound = _in_time(lambda: _proved_again(game, state.best.proof), patience)
    certificate = Certificate(vote.objective, state.best.bound if bound is None else bound)
    columns = zip(_COLUMNS, zip(*log, strict=True), strict=True)
    history = {name: np.array(values) for name, values in columns}
    return Outcome(
        vote.names, vote.weights, vote.margins, state.best.proof, certificate, status, history, state,
        patience=patience,
    )  # fmt: skip


def finish_again(game: Game, outcome: Outcome, state: State) -> Outcome:
    """The same run, with the ensemble of one of its states kept and certified in place of the best.

    What is proved is about the same row weights, and stays as it is.
    """
    state = replace(state, best=replace(state.best, w=state.w))
    game.forget()
    vote = _in_time(lambda: _recomputed(game, state), outcome.patience) or _as_found(game, state)
    return replace(
        outcome, hypotheses=vote.names, weights=vote.weights, margins=vote.margins, state=state,
        certificate=Certificate(vote.objective, outcome.certificate.bound),
    )  # fmt: skip


def _in_time(step: Callable[[], _T], patience: Patience) -> _T | None:
    """What the step gives, or None where patience ends before it does."""
    try:
        with cut_by(patience()):
            return step()
    except Cut:
        return None


def _recomputed(game: Game, state: State) -> _Vote:
    """The best ensemble."""
    names, weights = _kept(game, state, state.best.w)
    z = game.oracle.margins(names, weights) if len(weights) else np.zeros(len(game.rows))
    return _Vote(names, weights, z, -game.loss.value(z))


def _as_found(game: Game, state: State) -> _Vote:
    """The last ensemble. What its margins have lost by rounding, round by round, is taken off what it reaches."""
    names, weights = _kept(game, state, state.w)
    lost = _ROUNDING * (state.t + 1) * game.budget * max(1.0, float(state.d.sum())) if game.budget < np.inf else 0.0
    return _Vote(names, weights, state.z, -game.loss.value(state.z) - lost)


def _kept(game: Game, state: State, w: np.ndarray) -> tuple[list[Hypothesis], np.ndarray]:
    kept = np.flatnonzero(w)
    weights = w[kept]
    mass = np.abs(weights).sum()
    if mass > game.budget:  # by rounding only
        weights = weights * (game.budget / mass)
    return [state.pool.keys[j] for j in kept], weights


def _proved_again(game: Game, d: np.ndarray) -> float:
    if game.budget == np.inf:  # nothing is, whatever the learner says
        return np.inf
    whole = d.sum() <= 1 + 1e-9  # a learner is asked about weights of sum 1 at most
    return proved(game, d, game.oracle.best(d).bound if whole else ask_scaled(game.oracle, d).bound)
