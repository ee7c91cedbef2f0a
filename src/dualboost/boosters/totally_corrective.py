"""The totally corrective booster: all weights chosen anew each round (Shalev-Shwartz & Singer, eq. 13).

On the capped set with the smoothing of the theorem this is ERLPBoost. The iteration bound of the corrective booster
holds, since each round gains at least as much; in practice it needs tens of rounds instead of thousands.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from dualboost.boosters.base import Booster, Burst, check_columns, kept_columns, price_in_use
from dualboost.boosters.corrective import first_state, smoothed_gap, smoothing_of
from dualboost.game import Game, State, exhausted, reached
from dualboost.learners.base import Answer, Directed
from dualboost.master import L1Ball, descend

__all__ = ["ERLPBoost", "TotallyCorrective", "rounds_needed"]

_SHARE = 0.25  # of the gap, left to the next round
_COLUMNS = 15
_STILL = 1e-13  # of the budget: a move that rounding makes

STILL = "no weight moves any more: the learner names nothing better, or rounding allows no smaller gap"


@dataclass(frozen=True)
class TotallyCorrective(Booster):
    """The best weights over all hypotheses met so far, every round.

    Parameters
    ----------
    columns : int, optional
        How many hypotheses to add a round. More make fewer rounds, each a little dearer; 1 is the paper's method. By
        default fifteen, or an eighth of those in use where that is more: a large ensemble is found in few large rounds.
    smoothing : {"halving", "fixed"}
        A coarse smoothing, halved each time its own accuracy is reached, and weights that are nearly the best; or the
        smoothing that the accuracy asked needs, from the start, and the best weights, as in the paper.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost import solve
    >>> from dualboost.boosters import TotallyCorrective
    >>> A = np.random.default_rng(0).choice([-1.0, 1.0], (60, 40))
    >>> solve(A, booster=TotallyCorrective(), tol=1e-3).gap <= 1e-3
    True
    """

    columns: int | None = None
    smoothing: str = "halving"

    def __post_init__(self):
        if self.columns is not None:
            check_columns(self.columns)
        if self.smoothing not in ("fixed", "halving"):
            raise ValueError(f"smoothing must be 'fixed' or 'halving', not {self.smoothing!r}.")

    def start(self, game: Game, previous: State | None = None) -> State:
        return first_state(game, self.smoothing, previous)

    def ask(self, game: Game, state: State) -> Answer:
        return game.oracle.beating(state.d, price_in_use(game, state), self.columns or self._enough(state))

    @staticmethod
    def _enough(state: State) -> int:
        # By the weights in use, not by the rows: weight k must stay the same as k copies.
        return max(_COLUMNS, int(np.count_nonzero(state.w)) // 8)

    def verdict(self, game: Game, state: State, answer: Answer) -> str:
        return reached(game, state.certificate) or exhausted(game, state, answer)

    def update(self, game: Game, state: State, answer: Answer) -> State:
        loss, accuracy = smoothing_of(game, state, answer, self.smoothing)
        new = [state.pool.number(hypothesis) for hypothesis in answer.hypotheses]
        w = np.concatenate([state.w, np.zeros(len(state.pool) - len(state.w))])
        # A hypothesis without weight is left out: should it matter again, the learner will name it again.
        used = np.union1d(np.flatnonzero(w), new)
        keys = [state.pool.keys[j] for j in used]
        columns = np.stack(kept_columns(game, keys, answer)).astype(np.float64)
        directed = game.oracle.directed(keys) if isinstance(game.oracle, Directed) else None
        # While the smoothing is coarse an exact answer is not worth its time.
        share = 0.0 if self.smoothing == "fixed" else _SHARE
        inner = max(accuracy / 100, share * smoothed_gap(game, state, answer))
        before = w[used]
        w[used], z, d = descend(loss, columns, before, L1Ball(game.budget, directed), inner)
        # The same smoothing and the same weights: the next round would be this one again.
        still = accuracy == state.memory and np.abs(w[used] - before).sum() <= _STILL * game.budget
        status = STILL if still else ""
        return replace(state, w=w, z=z, d=d, loss=loss, t=state.t + 1, memory=accuracy, status=status)

    def burst(self, game: Game, state: State, count: int) -> Burst | None:
        return None


def ERLPBoost(columns: int = 1) -> TotallyCorrective:
    """Entropy-regularised LPBoost: the totally corrective booster, to be used with `SoftMargin(Capped(...))`.

    Examples
    --------
    >>> from dualboost.boosters import ERLPBoost
    >>> ERLPBoost()
    TotallyCorrective(columns=1, smoothing='fixed')
    """
    return TotallyCorrective(columns, "fixed")


def rounds_needed(radius: float, tol: float) -> int:
    """The proved number of rounds of ERLPBoost: max(8 / tol, 32 R / tol^2), R = log(1/nu) or log m.

    Warmuth, Glocer & Vishwanathan, with a constant on the safe side; the certificate is there when their stop rule is.
    """
    return ceil(max(8 / tol, 32 * radius / tol**2)) + 1
