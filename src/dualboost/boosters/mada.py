"""MadaBoost as a mirror ascent: AdaBoost whose row weights stop growing (Naghibi & Pfister, Algorithm 3, Theorem 5).

Row i has the weight p_i min(1, e^-z) of its unnormalised margin z: the entropic projection to the cube {d <= prior}.
That is the slope of the potential phi(z) = e^-z for right rows, 1 - z for wrong ones, which is 1-smooth and at least
one on every error: whatever the potential has lost bounds the training error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dualboost.boosters.ascent import Ascent, edge_verdict, grown, training_error, weight_set
from dualboost.boosters.base import Booster, Burst
from dualboost.boosters.regularizers import Euclidean
from dualboost.game import Game, Pool, State
from dualboost.learners.base import Answer
from dualboost.sets.capped import CappedSimplex

__all__ = ["MadaBoost", "potential", "rounds_needed"]


@dataclass(frozen=True)
class MadaBoost(Booster):
    """Steps against the slope of a potential that no single row can dominate.

    The training error is at most 1 - gain, with the gain in the state's memory.

    Parameters
    ----------
    step : {"weight", "error"}
        The edge times the weight that is left on all rows; or times the training error so far, as in the paper, which
        is never longer. Theorem 5 holds for both. The paper's error is that of the ensemble before the step.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost import solve
    >>> from dualboost.boosters import MadaBoost
    >>> from dualboost.losses import SoftMargin
    >>> from dualboost.sets import Simplex
    >>> A = np.array([[1.0, -1.0, 1.0], [1.0, 1.0, -1.0], [-1.0, 1.0, 1.0]])
    >>> solution = solve(A, SoftMargin(Simplex()), MadaBoost(), max_rounds=50)
    >>> bool(np.all(A @ solution.weights > 0))
    True
    """

    step: str = "weight"

    def __post_init__(self):
        if self.step not in ("weight", "error"):
            raise ValueError(f"step must be 'weight' or 'error', not {self.step!r}.")

    def start(self, game: Game, previous: State | None = None) -> State:
        bound_set = weight_set(game, "MadaBoost")
        if not (isinstance(bound_set, CappedSimplex) and bound_set.caps.min() >= 1):
            raise ValueError("MadaBoost bounds its row weights by itself: use SoftMargin(Simplex()).")
        if previous is not None:
            raise ValueError("MadaBoost starts at the prior: it cannot take up the ensemble of another run.")
        d = np.array(game.rows.prior)
        return State(np.zeros(0), np.zeros(len(d)), d, game.loss, Pool(), memory=Ascent())

    def ask(self, game: Game, state: State) -> Answer:
        return game.oracle.best(state.d)

    def verdict(self, game: Game, state: State, answer: Answer) -> str:
        if self.step == "error" and game.rows.add(training_error(game.rows.prior, state.z)) == 0:
            return "the training error is zero"
        return edge_verdict(game, state, answer)

    def update(self, game: Game, state: State, answer: Answer) -> State:
        rows, left, edge = game.rows, state.memory.left, abs(float(answer.edges[0]))
        size = Euclidean().size(rows, answer.columns[0])
        share = left / size if self.step == "weight" else rows.add(training_error(rows.prior, state.z))
        step = edge * share
        gain = state.memory.gain + step * edge * left - size * step**2 / 2
        w, z, mass = grown(game, state, answer, step)
        y = rows.prior * np.exp(np.minimum(z * (-mass / game.budget), 0.0))
        left = rows.add(float(y.sum()))
        return replace(state, w=w, z=z, d=y / left, t=state.t + 1, memory=Ascent(mass, gain, left=left))

    def burst(self, game: Game, state: State, count: int) -> Burst | None:
        return None


def potential(prior: np.ndarray, z: np.ndarray) -> float:
    """sum of p phi(z) of unnormalised margins: 1 at z = 0, at least the training error, lowered by every round.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.boosters.mada import potential
    >>> potential(np.array([0.5, 0.5]), np.array([0.0, -1.0]))
    1.5
    """
    return float(prior @ np.where(z > 0, np.exp(-np.maximum(z, 0.0)), 1.0 - z))


def rounds_needed(error: float, gamma: float) -> int:
    """Theorem 5: the error exceeds `error` in at most 2 / (error gamma)^2 rounds if every edge is at least gamma.

    Examples
    --------
    >>> from dualboost.boosters.mada import rounds_needed
    >>> rounds_needed(0.1, 0.5)
    800
    """
    return int(2 / (error * gamma) ** 2 + 1e-6)
