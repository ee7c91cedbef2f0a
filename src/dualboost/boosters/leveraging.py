"""Leveraging with a bounded loss: EM interleaved with boosting, and descent on a difference of convex functions.

Krause & Singer, Figures 1 (LLM) and 2 (LLD). Both descend the same function and differ in the length of their steps:
the printed step of Figure 2 is short because its proof uses 1/2 where 1/4 holds, and a sum where a norm would do. With
the plain logistic loss the EM step is the log-loss boosting of Collins, Schapire & Singer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral

import numpy as np
from scipy.special import expit

from dualboost.boosters.base import Booster, Burst
from dualboost.boosters.leveraging_block import Block, all_of, block_of_all, block_of_answer, block_of_used, pick
from dualboost.game import Game, Pool, State
from dualboost.learners.base import Answer, Directed, Listed
from dualboost.losses import Logistic, LogisticDifference, LogisticMixture, Loss

__all__ = ["Leveraging"]

RATES = (1e-6, 0.5 - 1e-6)  # 0 and 1/2 hold an estimated noise rate for ever
_GUARD = 1e-12  # for the logistic loss, whose step is infinite on a column without a mistake
_CHOICES = {
    "method": ("em", "difference"),
    "template": ("sequential", "parallel", "mixed"),
    "step": ("spectral", "tight", "printed", "newton"),
}


@dataclass(frozen=True)
class Leveraging(Booster):
    """Steps that are sure to lower a logistic loss, bounded or not, without a budget.

    Parameters
    ----------
    method : {"em", "difference"}
        The step of LLM, half the log odds of right against wrong; or that of LLD, along the gradient.
    template : {"sequential", "parallel", "mixed"}
        One hypothesis a round; all at once (of a class that can be listed); one a round, and all those used so far in
        every `every`-th round.
    step : {"spectral", "tight", "printed", "newton"}
        How long the gradient step is: as long as the largest singular value allows, with the constant 4 of the sharp
        proof, or with the printed constant 2. For one hypothesis "spectral" and "tight" are the same. "newton" goes as
        far as the curvature at the margins suggests, if the loss then falls by at least what "spectral" promises.
    every : int
        Of "mixed": how often all used hypotheses move.
    estimate : int
        The noise rate of a `LogisticMixture` is estimated anew every so many rounds; 0 keeps it.
    shrink : float in (0, 1]
        Takes only this part of each step.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost import solve
    >>> from dualboost.boosters import Leveraging
    >>> from dualboost.losses import LogisticMixture
    >>> A = np.array([[1.0], [1.0], [1.0], [1.0], [-1.0]])  # one mistake in five, of which noise is half
    >>> solve(A, LogisticMixture(0.1), Leveraging(), tol=1e-6, budget=np.inf).weights.round(3)  # log 7
    array([1.946])
    """

    method: str = "em"
    template: str = "sequential"
    step: str = "spectral"
    every: int = 10
    estimate: int = 0
    shrink: float = 1.0

    def __post_init__(self):
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {known}, not {getattr(self, name)!r}.")
        for name, least in (("every", 1), ("estimate", 0)):
            if not isinstance(getattr(self, name), Integral) or getattr(self, name) < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, not {getattr(self, name)!r}.")
        if not 0 < self.shrink <= 1:
            raise ValueError(f"shrink is the part of each step that is taken, in (0, 1], not {self.shrink!r}.")

    def start(self, game: Game, previous: State | None = None) -> State:
        self._check(game)
        if previous is not None:
            return State(previous.w, previous.z, game.loss.weights(previous.z), game.loss, previous.pool)
        pool = Pool()
        if self.template == "parallel":
            for hypothesis in all_of(game).everything:
                pool.number(hypothesis)
        z = np.zeros(len(game.rows))
        return State(np.zeros(len(pool)), z, game.loss.weights(z), game.loss, pool)

    def _check(self, game: Game) -> None:
        if not isinstance(game.loss, (Logistic, LogisticDifference, LogisticMixture)):
            raise ValueError(
                "Leveraging descends a logistic loss: "
                f"give it LogisticMixture(0.1), LogisticDifference(2.0) or Logistic(), not {game.loss!r}."
            )
        if game.budget < np.inf:
            raise ValueError("Leveraging has no budget for the ensemble's weight: pass budget=numpy.inf.")
        if self.template == "mixed" and isinstance(game.oracle, Directed):
            raise ValueError('template="mixed" moves weights both ways, which `monotone` forbids: take "sequential".')
        if self.estimate and not isinstance(game.loss, LogisticMixture):
            raise ValueError(
                "Only the noise rate of a LogisticMixture can be estimated: set estimate=0 for other losses."
            )

    def ask(self, game: Game, state: State) -> Answer:
        oracle = game.oracle
        if isinstance(oracle, Listed) and (self.template == "parallel" or not oracle.all_signs):
            return pick(game, state.d, partial(self.gains, r=ratio(state.loss)))
        return oracle.best(state.d)  # on +-1 columns both criteria grow with the edge

    def verdict(self, game: Game, state: State, answer: Answer) -> str:
        if noise_rate(state.loss) >= RATES[1]:
            return "the estimated noise rate is 1/2: the labels carry no signal"
        edge = abs(float(answer.edges[0]))
        return f"stationary: the edge left, {edge:.3g}, is within {game.tol:.3g}" if edge <= game.tol else ""

    def update_of(self, game: Game, state: State, answer: Answer) -> Block:
        """The hypotheses that move in this round."""
        if self.template == "parallel":
            return block_of_all(game, state)
        if self.template == "mixed" and state.t % self.every == 0 and len(state.w):
            return block_of_used(game, state)
        return block_of_answer(game, state, answer)

    def update(self, game: Game, state: State, answer: Answer) -> State:
        block = self.update_of(game, state, answer)
        amounts = self._lengthened(game, state, block, self.shrink * self.steps(block, ratio(state.loss)))
        w = np.zeros(max(len(state.w), block.numbers.max() + 1))
        w[: len(state.w)] = state.w
        w[block.numbers] += amounts
        z = state.z + block.shift(amounts)
        loss = self._estimated(game, state, z)
        # Under a new rate the old values cannot be compared: the last ensemble is the one to keep.
        best = state.best if loss is state.loss else replace(state.best, objective=-np.inf)
        return replace(state, w=w, z=z, d=loss.weights(z), loss=loss, t=state.t + 1, best=best)

    def _lengthened(self, game: Game, state: State, block: Block, amounts: np.ndarray) -> np.ndarray:
        """The same direction, as far as Newton's method would go if that keeps the promise of the sure step."""
        if self.step != "newton":
            return amounts
        shift = block.shift(amounts)
        slope = game.rows.add(float(state.d @ shift))
        bend = game.rows.add(float((game.rows.prior * expit(state.z) * expit(-state.z)) @ shift**2))
        factor = self.shrink * slope / bend if bend > 0 else 1.0
        if not 1.0 < factor < np.inf:
            return amounts
        allowed = state.loss.value(state.z) - self.promise(block, ratio(state.loss))
        return factor * amounts if state.loss.value(state.z + factor * shift) <= allowed else amounts

    def _estimated(self, game: Game, state: State, z: np.ndarray) -> Loss:
        """The loss with the rate that the rows suggest, in every `estimate`-th round.

        EM takes it from the margins before the step, as the step itself does; else it is a step of its own, after.
        """
        if not isinstance(state.loss, LogisticMixture) or not self.estimate or (state.t + 1) % self.estimate:
            return state.loss
        suspicion = state.loss.suspicion(state.z if self.method == "em" else z)
        rate = game.rows.add(float(game.rows.prior @ suspicion))
        return replace(state.loss, noise_rate=float(np.clip(rate, *RATES)))

    def burst(self, game: Game, state: State, count: int) -> Burst | None:
        return None

    def steps(self, block: Block, r: float) -> np.ndarray:
        """How far each hypothesis of the block moves: a_j times half the log odds, or times the edge."""
        if self.method == "em":
            return (
                half_log_odds(block.right, block.wrong, r) / block.row_mass if block.row_mass > 0 else 0 * block.right
            )
        length = self._length(block)
        return length * (block.right - block.wrong)

    def _length(self, block: Block) -> float:
        constant = 2.0 if self.step == "printed" else 4.0
        size = block.norm() ** 2 if self.step in ("spectral", "newton") else float(block.squares.sum())
        return constant / size if size > 0 else 0.0

    def promise(self, block: Block, r: float) -> float:
        """How much the loss is sure to fall when the block moves: sum of a_j (sqrt W+ - sqrt W-)^2, or a_j W_j^2 / 2.

        For shrunken steps the same majorisers, at the shrunken step.
        """
        steps = self.steps(block, r)
        if self.method == "difference":
            return float(steps @ (block.right - block.wrong)) * (self.shrink - self.shrink**2 / 2)
        if not block.row_mass > 0:
            return 0.0
        up, down = mixed_sums(block.right, block.wrong, r)
        move = self.shrink * steps * block.row_mass
        return float((up * -np.expm1(-move) + down * -np.expm1(move)).sum()) / block.row_mass

    def gains(
        self, right: np.ndarray, wrong: np.ndarray, scales: tuple[np.ndarray, np.ndarray], r: float
    ) -> np.ndarray:
        """What each hypothesis would promise alone, up to a common factor: the criterion of the choice."""
        largest, squares = (np.where(sizes > 0, sizes, np.inf) for sizes in scales)
        if self.method == "difference":
            return (right - wrong) ** 2 / squares
        up, down = mixed_sums(right, wrong, r)
        return (np.sqrt(up) - np.sqrt(down)) ** 2 / largest


def noise_rate(loss: Loss) -> float:
    """The noise rate of the loss; 0 for the logistic one."""
    return loss.noise_rate if isinstance(loss, (LogisticDifference, LogisticMixture)) else 0.0


def ratio(loss: Loss) -> float:
    """r = eps / (1 - eps)."""
    return noise_rate(loss) / (1 - noise_rate(loss))


def mixed_sums(right: np.ndarray, wrong: np.ndarray, r: float) -> tuple[np.ndarray, np.ndarray]:
    """W+ and W- of Figure 1: d is (1 - r) times the weight of a row's label being right and the model wrong."""
    return (right + r * wrong) / (1 - r), (wrong + r * right) / (1 - r)


def half_log_odds(right: np.ndarray, wrong: np.ndarray, r: float) -> np.ndarray:
    """log(W+/W-) / 2, at most mu/2 in size; 0 on a column without entries. Without noise it needs a guard."""
    up, down = mixed_sums(right, wrong, r)
    if r == 0:
        up, down = up + _GUARD, down + _GUARD
    empty = (up <= 0) & (down <= 0)
    return 0.5 * (np.log(np.where(empty, 1.0, up)) - np.log(np.where(empty, 1.0, down)))
