"""The weak-learning rate: the largest margin that all rows can have at once, as a certified interval.

Telgarsky, section 4: it is positive exactly when there is no hard core (Theorem 11).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dualboost.boosters import LPBoost, TotallyCorrective
from dualboost.diagnosis.finding import Verdict
from dualboost.game import Certificate, Game, Pool, State
from dualboost.learners import Oracle
from dualboost.learners.base import Hypothesis
from dualboost.learners.matrix import MatrixOracle
from dualboost.losses import SoftMargin
from dualboost.sets import Simplex
from dualboost.solve import play

__all__ = ["LISTED", "largest_margin"]

LISTED = 1_000_000
"""Entries of a matrix up to which a linear program over all of it is quick."""

_ACCURACY, _ROUNDS = 0.01, 200
_WORK = 4e10  # rows x (hypotheses in use)^2, added up over the rounds: half a minute, and the same on every machine


def largest_margin(oracle: Oracle, hypotheses: Sequence[Hypothesis], verdict: Verdict) -> tuple[float, float]:
    """The largest margin that all rows can have: reached, and the most possible."""
    if verdict.on.any():
        return 0.0, 0.0
    reached, bound = max(float(verdict.margins.min()), 0.0), _least_edge(oracle, verdict.margins)
    if not verdict.off.all():
        return reached, bound
    if isinstance(oracle, MatrixOracle) and np.prod(oracle.A.shape) <= LISTED:
        certificate = _of_listed(oracle)
    else:
        certificate = _of_class(oracle, hypotheses, verdict)
    return max(reached, certificate.objective), min(bound, certificate.bound)


def _of_listed(oracle: MatrixOracle) -> Certificate:
    """To the last digits: a linear program holds all columns. In units of the largest entry, which it needs."""
    unit = 2.0 ** (np.frexp(oracle.largest_entry)[1] - 1)
    listed = MatrixOracle(oracle.A / unit, oracle.rows)
    game = Game(SoftMargin(Simplex()).bind(oracle.rows), listed, oracle.rows, tol=1e-9)
    found = play(game, LPBoost(), 10 * oracle.A.shape[1]).certificate
    return Certificate(unit * found.objective, unit * found.bound)


def _of_class(oracle: Oracle, hypotheses: Sequence[Hypothesis], verdict: Verdict) -> Certificate:
    """To a hundredth of it, or as far as a fixed amount of work goes."""
    game = Game(SoftMargin(Simplex()).bind(oracle.rows), oracle, oracle.rows, tol=1e-9, rtol=_ACCURACY)
    booster, spent = TotallyCorrective(), 0

    def enough(state: State) -> str | None:
        nonlocal spent
        spent += len(game.rows) * int(np.count_nonzero(state.w)) ** 2
        return "the work set aside for the largest margin is spent" if spent > _WORK else None

    return play(game, booster, _ROUNDS, booster.start(game, _as_state(game, hypotheses, verdict)), enough).certificate


def _as_state(game: Game, hypotheses: Sequence[Hypothesis], verdict: Verdict) -> State:
    """The separating ensemble as the end of a run that another may go on from."""
    pool = Pool()
    for hypothesis in hypotheses:
        pool.number(hypothesis)
    return State(verdict.w, verdict.margins, np.array(game.rows.prior), game.loss, pool)


def _least_edge(oracle: Oracle, z: np.ndarray) -> float:
    """The smallest of the largest edges under a few row weights, from equal ones to those on the smallest margins."""
    sharpness = np.append(0.0, 2.0 ** np.arange(10)) / max(float(np.ptp(z)), 1e-300)
    weights = (np.exp(-x * (z - z.min())) for x in sharpness)
    return min(float(oracle.best(d / d.sum()).bound) for d in weights)
