"""How fast boosting converges, as the theorems promise it: curves over the rounds (Telgarsky, section 6).

All in the library's units: a loss is a mean over the rows, weights are its derivatives. The constants are the tight
ones, and entries of the margin matrix are within [-1, 1].
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log, log1p

import numpy as np

from dualboost.losses import Exponential, Logistic, Loss, Separable
from dualboost.rows import Rows

__all__ = ["SEARCHES", "Constants", "Promise", "promises", "theorem_21", "theorem_23", "theorem_27"]

SEARCHES = {"wolfe": 6.0, "closed": 2.0, "exact": 2.0, "adaboost": 2.0}
"""A round gains at least (largest edge)^2 / (this * eta * loss), by the way the step is found."""


@dataclass(frozen=True)
class Constants:
    """g'' <= eta g and g <= beta g' as far as the first loss allows, and what a step gains.

    Examples
    --------
    >>> from dualboost.diagnosis import Constants
    >>> from dualboost.losses import Exponential
    >>> from dualboost.rows import Rows
    >>> Constants.of(Exponential(), Rows.of(10), "wolfe")
    Constants(eta=1.0, beta=1.0, divisor=6.0)
    """

    eta: float
    beta: float
    divisor: float

    @classmethod
    def of(cls, loss: Loss, rows: Rows, search: str = "closed", c0: float = 1.0) -> Constants:
        """Of a loss on these rows; a learner that finds the share c0 of the largest edge gains c0^2 as much."""
        if search not in SEARCHES:
            raise ValueError(f"search must be one of {', '.join(map(repr, SEARCHES))}, not {search!r}.")
        if not 0 < c0 <= 1:
            raise ValueError(f"c0 is the share of the largest edge that the learner finds, in (0, 1], not {c0!r}.")
        if not isinstance(loss, Separable):
            raise ValueError(f"The rates are known for losses that add up over the rows, not for {loss!r}.")
        # No row's loss exceeds that of the start over the row's share of the weight.
        most = float(loss.g(np.zeros(1))[0]) / float(rows.prior.min())
        return cls(loss.eta, loss.beta(most), SEARCHES[search] / c0**2)


def _geometric(start: float, share: float, t) -> np.ndarray:
    """start * (1 - share)^t, exact for tiny shares."""
    return start * np.exp(np.asarray(t, dtype=np.float64) * (log1p(-share) if share < 1 else -np.inf))


def theorem_21(constants: Constants, start: float, gamma: float, t) -> np.ndarray:
    """No hard core: what the loss is at most after t rounds from `start`, gamma the weak-learning rate.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.diagnosis import Constants, theorem_21
    >>> theorem_21(Constants(1.0, 1.0, 2.0), 1.0, 0.5, np.array([0, 10, 20])).round(3)
    array([1.   , 0.263, 0.069])
    """
    return _geometric(start, _share_21(constants, gamma), t)


def _share_21(constants: Constants, gamma: float) -> float:
    return gamma**2 / (constants.divisor * constants.beta**2 * constants.eta)


def theorem_23(constants: Constants, course, t) -> np.ndarray:
    """All rows in the hard core: how far the loss is from its infimum at most, after t rounds of a `Course`."""
    share = 2 * course.curvature * course.gamma**2 / (constants.divisor * constants.eta * course.start)
    return _geometric(course.start - course.optimum, share, t)


def theorem_27(constants: Constants, course, t) -> np.ndarray:
    """Any hard core: how far the loss is from its infimum at most, after t rounds of a `Course`."""
    if course.curvature == 0:
        return np.full(np.shape(t), course.start)  # the theorem is silent; the loss never rises
    reach = constants.beta + course.width / (2 * course.curvature)
    share = min(1.0, 2 * course.gamma**2 / (constants.divisor * constants.eta * reach**2))
    return 2 * course.start / ((np.asarray(t, dtype=np.float64) + 1) * share)


# ---- what can be promised before a run ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Promise:
    """What a theorem says of boosting one loss on this problem, with closed-form steps and an exact learner."""

    theorem: int
    loss: str
    constants: Constants
    gamma: float
    """The certified weak-learning rate; NaN where the theorem's own rate is known only along a run."""

    def rounds_needed(self, share: float) -> float:
        """Rounds after which the loss is at most this share of the first; infinite where only a run can tell."""
        if self.theorem != 21 or not self.gamma > 0:
            return np.inf
        return float(ceil(log(share) / log1p(-min(_share_21(self.constants, self.gamma), 1 - 1e-16))))

    def sentence(self) -> str:
        """In words."""
        constants = f"eta = {self.constants.eta:.4g}, beta = {self.constants.beta:.4g}"
        name = f"Theorem {self.theorem}, {self.loss} loss ({constants}):"
        if self.theorem == 21:
            share = _share_21(self.constants, self.gamma)
            return f"{name} every round takes at least the share {share:.3g} off the loss."
        if self.theorem == 23:
            return f"{name} the distance to the best loss falls geometrically, at a rate to be measured along a run."
        return f"{name} the distance to the best loss falls at least like 1/t, which for some problems is the truth."


def promises(regime: str, gamma: float, rows: Rows) -> tuple[Promise, ...]:
    """The theorem of the regime, for both losses; none while the regime is undecided."""
    theorem = {"weak learnable": 21, "attainable": 23, "mixed": 27}.get(regime)
    if theorem is None:
        return ()
    rate = gamma if theorem == 21 else np.nan
    pairs = (("exponential", Exponential()), ("logistic", Logistic()))
    return tuple(Promise(theorem, name, Constants.of(loss, rows), rate) for name, loss in pairs)
