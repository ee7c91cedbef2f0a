"""What the boosters of the mirror-ascent family share: the mass of the ensemble, the gain so far, and what they prove.

The ensemble sum of eta_t h_t of Naghibi & Pfister is not normalised; here w and z are its average, so that certificates
of margins hold as they stand, and the mass, the sum of eta_t, is remembered.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log

import numpy as np

from dualboost.boosters.corrective import moved, shifted
from dualboost.boosters.regularizers import Regularizer, regularizer_of
from dualboost.game import Game, State, reached
from dualboost.learners.base import Answer
from dualboost.losses import SoftMargin
from dualboost.sets import BoundSet

__all__ = ["Ascent", "Trail", "Unscaled", "margin_bound", "rounds_needed", "training_error", "training_error_bound"]

NO_EDGE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Unscaled:
    """The ensemble of the theorems: weights and margins before they are averaged."""

    w: np.ndarray
    z: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Trail:
    """What each certified state of some compiled rounds showed: the gain, and the training error."""

    gains: np.ndarray
    errors: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Ascent:
    """What a mirror ascent remembers."""

    mass: float = 0.0
    """The sum of all steps: the ensemble of the theorems is mass * w."""
    gain: float = 0.0
    """How far every distribution that the ensemble is wrong on must be from the prior."""
    theta: np.ndarray | None = None
    """Where the row weights are, before their projection (SparseBoost) or in the dual (active updates)."""
    left: float = 1.0
    """What the row weights sum to before they are made a distribution, where they shrink (SparseBoost, MadaBoost)."""
    total: Unscaled | None = None
    """The sum that the row weights follow, where they follow one: exact if the columns are of +-1."""
    trail: Trail | None = None
    """Of the rounds that led here, if they were compiled."""


def weight_set(game: Game, who: str) -> BoundSet:
    """The set that the row weights live in."""
    if not isinstance(game.loss, SoftMargin):
        raise ValueError(f"{who} needs a loss with a set of row weights, such as SoftMargin(Simplex()).")
    return game.loss.bound_set


def grown(game: Game, state: State, answer: Answer, step: float) -> tuple[np.ndarray, np.ndarray, float]:
    """(w, z, mass) with the answer's best hypothesis added to the unnormalised ensemble, times `step`."""
    mass = state.memory.mass + step
    target, share = float(np.copysign(game.budget, answer.edges[0])), step / mass
    z = moved(game, state.z, answer.columns[0], share, target)
    return shifted(state.w, state.pool, answer.hypotheses[0], share, target), z, mass


def edge_verdict(game: Game, state: State, answer: Answer) -> str:
    """The gap is closed, or no hypothesis is better than chance."""
    no_edge = abs(float(answer.edges[0])) <= NO_EDGE
    return reached(game, state.certificate) or ("no hypothesis has an edge under these row weights" * no_edge)


def training_error(prior: np.ndarray, z: np.ndarray) -> float:
    """The share of the prior on rows whose margin is not positive; ties are errors, as in every bound here.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.boosters.ascent import training_error
    >>> training_error(np.array([0.5, 0.25, 0.25]), np.array([0.5, 0.0, -1.0]))
    0.5
    """
    wrong = z <= 0
    if prior.strides == (0,):  # equal weights are a view of one number
        return np.count_nonzero(wrong) / len(z) * min(1.0, float(prior[0]) * len(z))
    return min(1.0, float(prior @ wrong))


def training_error_bound(
    edges: np.ndarray, sizes: np.ndarray | float = 1.0, regularizer: str | Regularizer = "entropic"
) -> np.ndarray:
    """Theorem 1 after each round: no larger share of the prior is wrong than this, if the set is the simplex.

    exp(-sum of edge^2 / (2 size)) for the entropic regulariser, 1 / (1 + sum of edge^2 / size) for the Euclidean one
    (sharper than printed). `sizes` are those of the columns where the step is "adaptive". On caps prior * k the bound
    is the larger of this and 1/k (Theorem 3).

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.boosters.ascent import training_error_bound
    >>> training_error_bound(np.array([0.5, 0.5]), regularizer="euclidean").round(3)
    array([0.8  , 0.667])
    """
    gains = np.cumsum(np.square(edges) / (2 * np.asarray(sizes)))
    return np.array([regularizer_of(regularizer).error_bound(gain) for gain in gains])


def margin_bound(ascent: Ascent, radius: float) -> float:
    """Theorem 2: the relaxed margin of the ensemble (budget 1) is at least this, whatever the steps were.

    `radius` is that of the regulariser on the set: log m for the entropic one on the simplex.

    Examples
    --------
    >>> from dualboost.boosters.ascent import Ascent, margin_bound
    >>> margin_bound(Ascent(mass=10.0, gain=3.0), radius=2.0)
    0.1
    """
    return (ascent.gain - radius) / ascent.mass if ascent.mass > 0 else -np.inf


def rounds_needed(error: float, gamma: float, regularizer: str = "entropic") -> int:
    """The rounds after which the training error is at most `error` if every edge is at least gamma.

    Examples
    --------
    >>> from dualboost.boosters.ascent import rounds_needed
    >>> rounds_needed(0.1, 0.2), rounds_needed(0.1, 0.2, "euclidean")
    (116, 225)
    """
    odds = {"entropic": 2 * log(1 / error), "euclidean": 1 / error - 1}[regularizer]
    return ceil(odds / gamma**2 - 1e-9)
