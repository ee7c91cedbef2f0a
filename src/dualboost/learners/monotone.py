"""Stumps that may only rise, or only fall, with some features: there one sign of each stump is left.

The class is then no longer symmetric. Every stump on such a feature is turned so that its weight must not be negative;
an answer holds only what may enter, and its bound is over that alone, so certificates are of the constrained problem:
the best margin among all votes that keep the constraints. A vote with such weights is a sum of step functions that all
step the right way, so its scores are monotone to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dualboost import kernels
from dualboost.learners.base import Answer, Directed, Hypothesis

if TYPE_CHECKING:
    from dualboost.learners.stumps import StumpOracle, StumpScores

__all__ = ["MonotoneOracle", "checked_directions", "directions_for"]

Directions = tuple[tuple[int, int], ...] | tuple[int, ...]

_WANTED = "monotone must be pairs (feature, +1 or -1), or one number of -1, 0 or 1 for each feature"


def checked_directions(monotone: Any) -> Directions:
    """((feature, direction), ...) by feature, or one number a feature; nothing where no feature has a direction."""
    if type(monotone) is tuple and not monotone:  # the usual case, on small data a tenth of the time to bind
        return ()
    try:
        table = np.asarray([] if monotone is None else monotone, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{_WANTED}, not {monotone!r}.") from error
    if table.ndim == 1:
        table = np.column_stack([np.arange(len(table)), table])
    if table.ndim != 2 or table.shape[1] != 2 or not np.isin(table[:, 1], (-1, 0, 1)).all():
        raise ValueError(f"{_WANTED}, not {monotone!r}.")
    features = table[:, 0]
    if np.any(features < 0) or np.any(features != np.floor(features)) or len(np.unique(features)) < len(features):
        raise ValueError(f"{_WANTED}: each feature by its number, once, not {monotone!r}.")
    if not table[:, 1].any():
        return ()
    if np.ndim(monotone) == 1:
        return tuple(table[:, 1].astype(int).tolist())
    return tuple(sorted((int(feature), int(sign)) for feature, sign in table if sign != 0))


def directions_for(directions: Directions, n_features: int, categorical: Sequence[int]) -> np.ndarray:
    """One number a feature; refuses features that the data do not have, and those that have no order."""
    out = np.zeros(n_features, dtype=np.int64)
    if np.ndim(directions) == 1 and len(directions) != n_features:
        raise ValueError(
            f"monotone has {len(directions)} numbers, and X {n_features} features: give one for each, or pairs "
            "(feature, +1 or -1)."
        )
    for feature, direction in _pairs(directions):
        if feature >= n_features:
            raise ValueError(f"monotone names feature {feature}, but X has the features 0 to {n_features - 1}.")
        if feature in categorical:
            raise ValueError(f"monotone names column {feature}, which holds categories: they have no order.")
        out[feature] = direction
    return out


def _pairs(directions: Directions) -> list[tuple[int, int]]:
    table = np.array(directions)
    if table.ndim == 2:
        return [(int(feature), int(direction)) for feature, direction in table]
    return [(int(feature), int(table[feature])) for feature in np.flatnonzero(table)]


class MonotoneOracle(Directed):
    """A stump oracle of which some features have a direction.

    Missing values stand where they help: the constraint orders the present ones, and "missing or not" is free.
    """

    def __init__(self, inner: StumpOracle, directions: np.ndarray):
        self.inner, self.rows, self._directions = inner, inner.rows, directions
        features, cuts, _ = inner.index.stumps(np.arange(len(inner.index)))
        self._turns = self._turn(features, cuts)
        _, self._group_start = np.unique(features, return_index=True)

    def _turn(self, features: np.ndarray, cuts: np.ndarray) -> np.ndarray:
        """+1 or -1 where the stump has a direction, 0 where it may have either sign."""
        counts = self.inner.bins.cut_counts[np.maximum(features, 0)]
        return np.where((features >= 0) & (cuts < counts), self._directions[np.maximum(features, 0)], 0)

    def _turns_of(self, hypotheses: Sequence[Hypothesis]) -> np.ndarray:
        table = np.asarray(hypotheses, dtype=np.int64).reshape(len(hypotheses), 3)
        return self._turn(table[:, 0], table[:, 1])

    def directed(self, hypotheses: Sequence[Hypothesis]) -> np.ndarray:
        return self._turns_of(hypotheses) != 0

    def best(self, d: np.ndarray, k: int = 1) -> Answer:
        edges = np.empty(len(self._turns))
        kernels.stump_edges(self.inner.search, d, edges, self.rows.threads)
        gains = np.where(self._turns == 0, np.abs(edges), self._turns * edges)
        chosen = self._best_of_groups(gains, k)
        stumps = list(zip(*(part.tolist() for part in self.inner.index.stumps(chosen)), strict=True))
        signed = np.where(self._turns[chosen] == 0, edges[chosen], gains[chosen])
        return Answer(stumps, [self.column(stump) for stump in stumps], signed, self._bound(gains))

    def _best_of_groups(self, gains: np.ndarray, k: int) -> np.ndarray:
        """The best stump of each of the k best features, of equal ones the first; none with a forbidden sign."""
        if k == 1:
            return np.array([np.argmax(gains)])
        tops = np.maximum.reduceat(gains, self._group_start)
        groups = [g for g in np.argsort(-tops, kind="stable")[:k] if tops[g] >= 0]
        starts, ends = self._group_start[groups], np.append(self._group_start, len(gains))[np.array(groups) + 1]
        return np.array([first + np.argmax(gains[first:last]) for first, last in zip(starts, ends, strict=True)])

    def _bound(self, gains: np.ndarray) -> float:
        # Each weight was rounded by at most half a unit of 2^-61; the factor covers the rounding of this formula.
        return float((gains.max() + (len(self.rows) / 2 + 2) * 2.0**-61) * (1 + 1e-15))

    def column(self, stump: Hypothesis) -> np.ndarray:
        column = self.inner.column(stump)
        return -column if self._turns_of([stump])[0] < 0 else column

    def margins(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> np.ndarray:
        return self.inner.margins(hypotheses, self._straight(hypotheses, w))

    def _straight(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> np.ndarray:
        """The weights of the stumps as they are, not turned."""
        return np.where(self._turns_of(hypotheses) < 0, -np.asarray(w), w)

    def predictor(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> StumpScores:
        if np.any((np.asarray(w) < 0) & self.directed(hypotheses)):
            raise ValueError(
                "This booster gave a stump the sign that `monotone` forbids: use one of dualboost.boosters that keeps "
                "directions, such as Corrective(), TotallyCorrective() or LPBoost()."
            )
        return self.inner.predictor(hypotheses, self._straight(hypotheses, w))

    def forget(self) -> None:
        self.inner.forget()
