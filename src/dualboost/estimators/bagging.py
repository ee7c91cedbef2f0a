"""Fits to parts of the rows, side by side: each round is judged on the rows that a fit has not seen.

Averaging is what a forest adds to boosting, and the rows left out choose the number of rounds without costing any data.
Rows are dealt by their content, so copies of a row stay together: weight k is the same as k copies, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dualboost.estimators.bag_fits import BagParts, Bags, Fit, fits_to
from dualboost.estimators.clock import Clock
from dualboost.estimators.control import Control
from dualboost.estimators.validation import TrainingData
from dualboost.estimators.watching import Draw, asked
from dualboost.game import INTERRUPTED, Best, Pool, State
from dualboost.learners import Predictor
from dualboost.losses import LogisticMixture
from dualboost.rows import Rows

__all__ = ["Average", "Trial", "deal", "loss_where", "mean_margins", "try_out"]

_LEFT_OUT = 0.37  # what a bootstrap sample does not hold
_PATIENCE = 8  # rounds without progress on the rows left out
_LATELY = 5  # rounds by which the speed of a descent is judged


@dataclass(frozen=True, eq=False)
class Average(Predictor):
    """The mean vote of several ensembles, scaled, and a constant."""

    parts: tuple[Predictor, ...]
    base: float = 0.0
    scale: float = 1.0

    def scores(self, X, threads: int = 1) -> np.ndarray:
        total = np.zeros(X.shape[0])
        for part in self.parts:
            total += part.scores(X, threads)
        return self.base + total * (self.scale / max(len(self.parts), 1))

    def importances(self, n_features: int) -> np.ndarray:
        shares = [part.importances(n_features) for part in self.parts]
        return np.mean(shares, axis=0) if shares else np.zeros(n_features)


def deal(prints: np.ndarray, signs: np.ndarray, count: int) -> Bags:
    """`count` bags by the fingerprints of the rows: these put a row in a cell, and a bag leaves out a run of cells.

    So every row is left out equally often. A bag without both classes is dropped.
    """
    cell = (prints % np.uint64(max(count, 1))).astype(np.int64)
    absent = max(1, round(_LEFT_OUT * count))
    inside = [(cell - bag) % count >= absent for bag in range(count)]
    inside = [chosen for chosen in inside if len(np.unique(signs[chosen])) == 2 and not chosen.all()]
    return Bags(np.array(inside, dtype=bool).reshape(len(inside), len(signs)))


@dataclass(frozen=True, eq=False)
class Trial:
    """Side-by-side fits of one learner and loss, cut at the round that was best on the rows left out."""

    fits: tuple[Fit, ...]
    out_margins: np.ndarray
    """y times the mean vote of the fits that have not seen the row; NaN where all have."""
    out_loss: float
    """The loss of these margins; what trials are compared by."""
    history: np.ndarray
    """The mean loss in the bags, at the start that was given and after each round that is kept."""
    rounds: int
    parts: BagParts
    cut: str = ""
    """Why the fits were broken off before they had found their best round, if they were."""

    def predictor(self) -> Average:
        """The mean vote of the fits; made on request, since most trials lose."""
        return Average(tuple(fit.predictor(self.rounds) for fit in self.fits))


def try_out(
    data: TrainingData, rows: Rows, bags: Bags, parts: BagParts, max_iter: int, draw: Draw | None = None
) -> Trial:
    """Play all bags until the rows left out gain no more, at most `max_iter` rounds; keep the best round."""
    fits = fits_to(data, rows, bags, parts)
    best = _Best(parts.loss.bind(rows), bags)
    if parts.start is not None:
        best.look(0, fits)
    cut = ""
    try:
        for t in range(1, max_iter + 1):
            fits, cut = _advanced(fits, data.control.clock, t)
            best.bags = Bags(bags.inside[: len(fits)])
            if cut and not best.none:
                break
            best.look(t, fits)
            if draw is not None:
                draw(best.state(t), " on rows left out")
            cut = cut or _asked_to_stop(data.control, best, t)
            ended = t - best.at >= _PATIENCE or best.cannot(parts.beat, max_iter - t)
            if cut or ended or all(fit.finished for fit in fits):
                break
    except KeyboardInterrupt:
        if best.none:
            raise
        data.control.clock.interrupt()
        cut = INTERRUPTED
    kept = best.at + (parts.start is not None)
    history = np.mean([fit.losses[:kept] for fit in fits], axis=0)
    return Trial(tuple(fits), best.margins, best.value, history, best.at, parts, cut)


class _Best:
    """The best look so far at the rows left out."""

    def __init__(self, loss: LogisticMixture, bags: Bags):
        self.loss, self.bags = loss, bags
        self.value, self.at, self.now, self.none = np.inf, 0, np.inf, True
        self.margins = self.last = np.zeros(0)
        self._seen: list[float] = []

    def cannot(self, reach: float, rounds: int) -> bool:
        """Whether the loss stays above `reach` even if it goes on to fall as fast as in the last rounds."""
        if self.value <= reach or len(self._seen) < 2 * _LATELY:
            return False
        fall = (self._seen[-1 - _LATELY] - self.now) / _LATELY
        return self.now - max(fall, 0.0) * rounds > reach

    def state(self, t: int) -> State:
        """The last look as the state of a run: its margins are the votes on rows left out."""
        loss, z = self.loss, self.last
        return State(np.empty(0), z, loss.weights(z), loss, Pool(), t, best=Best(objective=-self.now))

    def look(self, t: int, fits: Sequence[Fit]) -> None:
        """Judge the fits after round t."""
        total = np.zeros(self.bags.inside.shape[1])
        for fit in fits:
            total[fit.out] += fit.margins
        times = self.bags.times_out
        self.last = total / np.maximum(times, 1)
        self.now = loss_where(self.loss, self.last, times > 0)
        self._seen.append(self.now)
        if self.none or self.now < self.value - 1e-12:
            self.value, self.at, self.none = self.now, t, False
            self.margins = np.where(times > 0, self.last, np.nan)


def _advanced(fits: list[Fit], clock: Clock, t: int) -> tuple[list[Fit], str]:
    """All of them one round further; why not, if the time is over in between: then the first round has fewer bags."""
    for k, fit in enumerate(fits):
        fit.advance()
        if reason := clock.reason():
            return (fits[: k + 1] if t == 1 else fits), reason
    return fits, ""


def _asked_to_stop(control: Control, best: _Best, t: int) -> str:
    """A reason of the clock or of a callback, who sees the votes on the rows left out as the margins of a state."""
    if control.training.callbacks:
        return asked(control, best.state(t)) or control.clock.reason()
    return control.clock.reason()


def mean_margins(margins: np.ndarray, bags: Bags) -> np.ndarray:
    """Of margins for each bag, the mean over the bags that do not hold the row; 0 where all do."""
    return np.where(bags.inside, 0.0, margins).sum(axis=0) / np.maximum(bags.times_out, 1)


def loss_where(loss: LogisticMixture, margins: np.ndarray, known: np.ndarray) -> float:
    """The mean loss over the rows that some fit has not seen."""
    if known.all():
        return loss.value(margins)
    share = loss.bound_rows.prior[known]
    return loss.bind(Rows.of(np.ascontiguousarray(share))).value(margins[known])
