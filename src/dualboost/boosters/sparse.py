"""SparseBoost: Euclidean mirror ascent with an l1 term (Naghibi & Pfister, Algorithm 2 and Theorem 4).

The row weights are shifted towards zero by alpha, clipped there, and projected to the set. The paper expects alpha to
make them sparser. It does not: what shift and clipping take, the projection gives back to every row alike, so a larger
alpha makes the row weights denser, and even alpha = 0 is denser than the one exact projection of `MirrorAscent`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real

import numpy as np

from dualboost.boosters.ascent import Ascent, edge_verdict, grown, weight_set
from dualboost.boosters.base import Booster, Burst
from dualboost.boosters.regularizers import Euclidean
from dualboost.game import Game, Pool, State
from dualboost.learners.base import Answer
from dualboost.products import times
from dualboost.sets.capped import CappedSimplex

__all__ = ["SparseBoost"]


@dataclass(frozen=True)
class SparseBoost(Booster):
    """Row weights that become exactly zero, and an l1 term whose use is to be doubted.

    The training error is at most 1 / (1 + sum of edge * (edge - alpha edge)), which `Euclidean().error_bound` makes of
    the gain in the state's memory.

    Parameters
    ----------
    alpha : float in [0, 1)
        The l1 term, as a share of the round's edge. 0 is MABoost with a double projection.
    project : bool
        True projects to the set, as in the paper. False leaves the clipped weights as they are and shows the learner
        their direction: provable too, with far more zeros, and a guarantee that weakens as the weights shrink; here
        alpha does what it was meant to. It needs the simplex.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost import solve
    >>> from dualboost.boosters import SparseBoost
    >>> from dualboost.losses import SoftMargin
    >>> from dualboost.sets import Simplex
    >>> A = np.array([[1.0, -1.0, 1.0], [1.0, 1.0, -1.0], [-1.0, 1.0, 1.0]])
    >>> solution = solve(A, SoftMargin(Simplex()), SparseBoost(), max_rounds=50)
    >>> bool(np.all(A @ solution.weights > 0))
    True
    """

    alpha: float = 0.0
    project: bool = True

    def __post_init__(self):
        if not (isinstance(self.alpha, Real) and 0 <= self.alpha < 1):
            raise ValueError(f"alpha is a share of the edge: at least 0 and below 1, not {self.alpha!r}.")

    def start(self, game: Game, previous: State | None = None) -> State:
        bound_set = weight_set(game, "SparseBoost")
        Euclidean().check(bound_set)
        if previous is not None:
            raise ValueError("SparseBoost starts at the prior: it cannot take up the ensemble of another run.")
        if not self.project and not (isinstance(bound_set, CappedSimplex) and bound_set.caps.min() >= 1):
            raise ValueError("SparseBoost(project=False) needs all distributions: use SoftMargin(Simplex()).")
        d = bound_set.euclidean(np.array(game.rows.prior))
        gain = Euclidean().distance(bound_set, d)
        return State(np.zeros(0), np.zeros(len(d)), d, game.loss, Pool(), memory=Ascent(0.0, gain, d))

    def ask(self, game: Game, state: State) -> Answer:
        return game.oracle.best(state.d)

    def verdict(self, game: Game, state: State, answer: Answer) -> str:
        nothing_left = not self.project and state.memory.left == 0
        return edge_verdict(game, state, answer) or "every row weight was clipped to zero" * nothing_left

    def update(self, game: Game, state: State, answer: Answer) -> State:
        rows, column = game.rows, answer.columns[0]
        size = Euclidean().size(rows, column)
        here = state.d if self.project else state.memory.theta
        edge = abs(float(answer.edges[0])) * (1.0 if self.project else state.memory.left)
        step = edge / size
        # The printed objective has no 1/2 before its square, which halves the shift.
        toll = self.alpha * edge * step * (0.5 if self.project else 1.0)
        y = here - rows.prior * (times(column, np.copysign(step, answer.edges[0])) + toll)
        y = np.maximum(y, 0.0)
        left = rows.add(float(y.sum()))
        gain = state.memory.gain + step * edge - size * step**2 / 2 - toll * (1.0 - left)
        w, z, mass = grown(game, state, answer, step)
        d = weight_set(game, "SparseBoost").euclidean(y) if self.project else y / left if left > 0 else state.d
        return replace(state, w=w, z=z, d=d, t=state.t + 1, memory=Ascent(mass, gain, y, left))

    def burst(self, game: Game, state: State, count: int) -> Burst | None:
        return None
