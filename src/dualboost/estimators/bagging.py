"""Fits to parts of the rows, side by side: each round is judged on the rows that a fit has not seen.

Averaging is what a forest adds to boosting, and the rows left out choose the number of rounds without costing any data.
Rows are dealt by their content, so copies of a row stay together: weight k is the same as k copies, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dualboost.estimators.bag_fits import BagParts, Bags, Fit, fits_to
from dualboost.estimators.bag_rounds import ByHeldOut, ByLeftOut, RoundChoice
from dualboost.estimators.clock import Clock
from dualboost.estimators.control import Control
from dualboost.estimators.judge import Ranking, Score, kept_in_words, score_columns
from dualboost.estimators.validation import TrainingData
from dualboost.estimators.watching import Draw, asked
from dualboost.game import INTERRUPTED, Best, Pool, State
from dualboost.learners import Predictor
from dualboost.losses import LogisticMixture
from dualboost.rows import Rows

__all__ = ["Average", "LeftOut", "Trial", "deal", "loss_where", "mean_margins", "try_out"]

_LEFT_OUT = 0.37  # what a bootstrap sample does not hold
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
class LeftOut:
    """The smallest loss on the rows left out, and the margins that have it; NaN for rows that all fits have seen."""

    loss: float
    margins: np.ndarray


@dataclass(frozen=True, eq=False)
class Trial:
    """Side-by-side fits of one learner and loss, cut at the round that was best on rows left out or held out."""

    fits: tuple[Fit, ...]
    out_margins: np.ndarray
    """y times the mean vote of the fits that have not seen the row; NaN where all have."""
    left_out: LeftOut
    """The best round on the rows left out: what trials are compared by, whoever chooses the round that is kept."""
    history: np.ndarray
    """The mean loss in the bags, at the start that was given and after each round that is kept."""
    rounds: int
    parts: BagParts
    cut: str = ""
    """Why the fits were broken off before they had found their best round, if they were."""
    end: str = ""
    """Why they ended where they were not broken off."""
    scores: tuple[Score, ...] = ()
    """Of the mean vote, on rows that are held out from all bags."""
    inside: np.ndarray | None = None
    """y times the mean vote of all fits on all rows, with the rounding of their rounds; None where it is not known."""

    @property
    def course(self) -> dict[str, np.ndarray]:
        """What happened, by round."""
        scores = score_columns(self.scores, self.scores[-1].t + 1) if self.scores else {}
        return {"loss": self.history, **scores}

    @property
    def words(self) -> str:
        """Why the fits ended, and what is kept of them."""
        if not self.scores:
            return f"{self.cut}; " * bool(self.cut) + f"{self.rounds} rounds, the best on rows left out"
        return f"{self.cut or self.end or 'no more rounds'}; {kept_in_words(self.rounds)}"

    @property
    def gaining(self) -> bool:
        """Whether the fits were broken off while they still gained on the rows left out, or held out."""
        return bool(self.cut) and min(len(fit.losses) for fit in self.fits) == len(self.history)

    def predictor(self) -> Average:
        """The mean vote of the fits; made on request, since most trials lose."""
        return Average(tuple(fit.predictor(self.rounds) for fit in self.fits))


def try_out(
    data: TrainingData, rows: Rows, bags: Bags, parts: BagParts, max_iter: int, draw: Draw | None = None
) -> Trial:
    """Play all bags until rows left out, or held out, gain no more, at most `max_iter` rounds; keep the best round."""
    fits = fits_to(data, rows, bags, parts)
    best = _Best(parts.loss.bind(rows), bags, _choice(data, parts, rows.threads))
    if parts.start is not None:
        best.look(0, fits)
    cut = end = ""
    try:
        for t in range(1, max_iter + 1):
            fits, cut = _advanced(fits, data.control.clock, t)
            best.bags = Bags(bags.inside[: len(fits)])
            if cut and not best.none:
                break
            best.look(t, fits)
            if draw is not None:
                draw(best.state(t), best.choice.words())
            cut, end = cut or _asked_to_stop(data.control, best, t), best.choice.reason(t)
            if cut or end or best.cannot(parts.beat, max_iter - t) or all(fit.finished for fit in fits):
                break
    except KeyboardInterrupt:
        if best.none:
            raise
        data.control.clock.interrupt()
        cut = INTERRUPTED
    best.close(fits)
    kept = best.at + (parts.start is not None)
    history = np.mean([fit.losses[:kept] for fit in fits], axis=0)
    scores = tuple(best.choice.scores)
    inside = best.inside if len(fits) == len(bags) else None  # a linear vote is that of all bags
    return Trial(tuple(fits), best.margins, best.left_out, history, best.at, parts, cut, end, scores, inside)


def _choice(data: TrainingData, parts: BagParts, threads: int) -> RoundChoice:
    """Who chooses the round."""
    if data.held_out is None:
        return ByLeftOut()
    return ByHeldOut(Ranking(data.held_out, data.control.training.patience), parts.held_out_start, threads)


class _Best:
    """The best look so far, by whoever chooses the round, with the votes on the rows left out."""

    def __init__(self, loss: LogisticMixture, bags: Bags, choice: RoundChoice):
        self.loss, self.bags, self.choice = loss, bags, choice
        self.at, self.now, self.none = 0, np.inf, True
        self.margins = self.last = self.inside = self._everywhere = np.zeros(0)
        self.left_out = LeftOut(np.inf, self.margins)
        self._looked = 0
        self._seen: list[float] = []

    def cannot(self, reach: float, rounds: int) -> bool:
        """Whether the loss stays above `reach` even if it goes on to fall as fast as in the last rounds."""
        if self.left_out.loss <= reach or len(self._seen) < 2 * _LATELY:
            return False
        fall = (self._seen[-1 - _LATELY] - self.now) / _LATELY
        return self.now - max(fall, 0.0) * rounds > reach

    def state(self, t: int) -> State:
        """The last look as the state of a run: its margins are the votes on rows left out."""
        loss, z = self.loss, self.last
        return State(np.empty(0), z, loss.weights(z), loss, Pool(), t, best=Best(objective=-self.now))

    def look(self, t: int, fits: Sequence[Fit]) -> None:
        """Judge the fits after round t."""
        total, everywhere = np.zeros(self.bags.inside.shape[1]), np.zeros(self.bags.inside.shape[1])
        for fit in fits:
            total[fit.out] += fit.margins
            everywhere += fit.everywhere
        times = self.bags.times_out
        self.last = total / np.maximum(times, 1).astype(np.float64)
        self.now, self._looked = loss_where(self.loss, self.last, times > 0), t
        self._everywhere = everywhere / len(fits)
        self._seen.append(self.now)
        if self.now < self.left_out.loss - 1e-12:
            self.left_out = LeftOut(self.now, np.where(times > 0, self.last, np.nan))
        if self.choice.prefers(t, fits, self.now) or self.none:
            self._take()

    def _take(self) -> None:
        self.at, self.none, self.inside = self._looked, False, self._everywhere
        known = self.bags.times_out > 0
        self.margins = self.left_out.margins if self.now == self.left_out.loss else np.where(known, self.last, np.nan)

    def close(self, fits: Sequence[Fit]) -> None:
        """The run is over: the last round may be the best."""
        if self.choice.prefers_last(self._looked, fits):
            self._take()


def _advanced(fits: list[Fit], clock: Clock, t: int) -> tuple[list[Fit], str]:
    """All of them one round further; why not, if the time is over in between: then the first round has fewer bags."""
    for k, fit in enumerate(fits):
        fit.advance()
        if reason := clock.reason():
            return (fits[: k + 1] if t == 1 else fits), reason
    return fits, ""


def _asked_to_stop(control: Control, best: _Best, t: int) -> str:
    """A reason of the clock or of a callback, who sees the votes on the rows left out as the margins of a state."""
    hooked = "" if control.hooks is None else control.hooks.round(None)
    called = asked(control, best.state(t)) if control.training.callbacks else ""
    return called or hooked or control.clock.reason()


def mean_margins(margins: np.ndarray, bags: Bags) -> np.ndarray:
    """Of margins for each bag, the mean over the bags that do not hold the row; 0 where all do."""
    return np.where(bags.inside, 0.0, margins).sum(axis=0) / np.maximum(bags.times_out, 1).astype(np.float64)


def loss_where(loss: LogisticMixture, margins: np.ndarray, known: np.ndarray) -> float:
    """The mean loss over the rows that some fit has not seen."""
    if known.all():
        return loss.value(margins)
    share = loss.bound_rows.prior[known]
    return loss.bind(Rows.of(np.ascontiguousarray(share))).value(margins[known])
