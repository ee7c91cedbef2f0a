"""Fits to parts of the rows, side by side: each round is judged on the rows that a fit has not seen.

Averaging is what a forest adds to boosting, and the rows left out choose the number of rounds without costing any data.
Rows are dealt by their content, so copies of a row stay together: weight k is the same as k copies, in any order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dualboost.boosters import Leveraging
from dualboost.estimators.clock import Clock
from dualboost.estimators.control import Control
from dualboost.estimators.validation import TrainingData
from dualboost.estimators.watching import asked
from dualboost.game import INTERRUPTED, Best, Game, Pool, State, rounds
from dualboost.learners import LeafTrees, Learner, Predictor
from dualboost.learners.leaf_trees import LeafOracle, LeafTree
from dualboost.losses import LogisticMixture
from dualboost.losses.logistic_difference import bounded_value
from dualboost.rows import Rows

__all__ = ["Average", "BagParts", "Bags", "Trial", "deal", "loss_where", "mean_margins", "try_out"]

_LEFT_OUT = 0.37  # what a bootstrap sample does not hold
_AT_ONCE = 8  # compiled rounds between two looks...
_ROWS_AT_ONCE = 200_000  # ...and fewer where they take long: so many rows in all
_PATIENCE = 8  # rounds without progress on the rows left out
_LATELY = 5  # rounds by which the speed of a descent is judged


@dataclass(frozen=True, eq=False)
class BagParts:
    """What the fits have in common."""

    learner: Learner
    loss: LogisticMixture
    booster: Leveraging
    oracle: LeafOracle | None = None
    """The learner with the rows, where that is at hand."""
    start: np.ndarray | None = None
    """(bags, rows): margins to begin with, for compiled rounds; none is 0."""
    beat: float = np.inf
    """The loss on rows left out that another trial has reached: one that cannot get there ends early."""


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


@dataclass(frozen=True, eq=False)
class Bags:
    """Which rows each fit sees."""

    inside: np.ndarray
    """(bags, rows), true where a row is in the bag."""

    @property
    def times_out(self) -> np.ndarray:
        """How many fits have not seen each row."""
        return (~self.inside).sum(axis=0)

    def __len__(self) -> int:
        return len(self.inside)


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

    fits: tuple[_Fit, ...]
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


class _Fit(ABC):
    """One bag's run, advanced a round at a time, with its votes on the rows left out."""

    out: np.ndarray
    """Which rows the bag does not hold."""
    margins: np.ndarray
    """y f(x) of these."""
    losses: list[float]
    """In the bag, after each round."""

    @property
    @abstractmethod
    def finished(self) -> bool:
        """Whether more rounds change nothing."""

    @abstractmethod
    def advance(self) -> None:
        """One more round; at its end a run stays where it is."""

    @abstractmethod
    def predictor(self, count: int) -> Predictor:
        """The ensemble after so many rounds."""


class _AnyFit(_Fit):
    """Of any learner: the common loop on the rows of the bag."""

    def __init__(self, data: TrainingData, parts: BagParts, inside: np.ndarray, rows: Rows):
        self.losses = []
        train, self.out = np.flatnonzero(inside), np.flatnonzero(~inside)
        weights = len(train) if rows.uniform else np.ascontiguousarray(rows.prior[train])
        part = Rows.of(weights, rows.threads)
        self._oracle = data.bound(parts.learner, part, train)
        self._X, self._signs = data.X[self.out], data.signs[self.out]
        game = Game(parts.loss.bind(part), self._oracle, part, budget=np.inf, tol=1e-9)
        self._run: Iterator = rounds(game, parts.booster)
        self._state: State = next(self._run)[0]
        self.margins = np.zeros(len(self.out))
        self._votes: list = []

    def advance(self) -> None:
        if not self._state.status:
            before, self._state = self._state.w, next(self._run)[0]
            moved = self._state.w - np.append(before, np.zeros(len(self._state.w) - len(before)))
            for j in np.flatnonzero(moved):
                key, amount = self._state.pool.keys[j], moved[[j]]
                self._votes.append((len(self.losses), key, amount[0]))
                self.margins = self.margins + self._signs * self._oracle.predictor([key], amount).scores(self._X)
        self.losses.append(self._state.loss.value(self._state.z))

    @property
    def finished(self) -> bool:
        return bool(self._state.status)

    def predictor(self, count: int) -> Predictor:
        kept = [(key, amount) for at, key, amount in self._votes if at < count]
        return self._oracle.predictor([key for key, _ in kept], np.array([amount for _, amount in kept]))


class _LeafFit(_Fit):
    """Of real-valued trees: compiled rounds on the table of all rows, in which those left out have prior 0."""

    def __init__(self, oracle: LeafOracle, parts: BagParts, bag: int, inside: np.ndarray):
        self._done, self._oracle, self.out = False, oracle, np.flatnonzero(~inside)
        prior = np.where(inside, oracle.rows.prior, 0.0)
        self._prior, self._z = prior / prior.sum(), np.zeros(len(inside))
        if parts.start is not None:
            self._z += parts.start[bag]
        self._signs = oracle.y.astype(np.int8)
        self._steps, self._newton = (parts.loss.mu, parts.booster.shrink), parts.booster.step == "newton"
        self._path, self._played = np.empty((int(np.clip(_ROWS_AT_ONCE // len(inside), 1, _AT_ONCE)), len(inside))), 0
        self._trees: list[LeafTree] = []
        self._amounts: list[float] = []
        self._ahead: list[float] = []
        self.margins = self._z[self.out]
        self._last = float(bounded_value(np.zeros(1), parts.loss.mu)[0])
        self.losses = []
        if parts.start is not None:
            self._last = float(self._prior @ bounded_value(self._z, parts.loss.mu))
            self.losses = [self._last]

    def advance(self) -> None:
        if not (self._ahead or self._done):
            self._play()
        if self._ahead:
            self.margins = self._path[self._played - len(self._ahead), self.out]
            self._last = self._ahead.pop(0)
        self.losses.append(self._last)

    @property
    def finished(self) -> bool:
        return self._done and not self._ahead

    def _play(self) -> None:
        """A few rounds at once."""
        learner, (mu, shrink) = self._oracle.learner, self._steps
        nodes, sizes, amounts, losses = self._oracle.search.rounds(
            self._signs, self._prior, self._z, mu, shrink, self._path,
            learner.max_leaves, learner.min_share, learner.features, learner.random_state, self._newton,
        )  # fmt: skip
        ends = np.cumsum(sizes)
        self._trees += [LeafTree.of([part[e - n : e] for part in nodes]) for e, n in zip(ends, sizes, strict=True)]
        self._amounts += amounts.tolist()
        self._ahead, self._played, self._done = losses.tolist(), len(sizes), len(sizes) < len(self._path)

    def predictor(self, count: int) -> Predictor:
        return self._oracle.predictor(self._trees[:count], np.array(self._amounts[:count]))


def _fits(data: TrainingData, rows: Rows, bags: Bags, parts: BagParts) -> list[_Fit]:
    booster = parts.booster
    plain = (
        booster.method == "difference"
        and booster.template == "sequential"
        and booster.step != "printed"
        and booster.estimate == 0
    )
    if plain and isinstance(parts.learner, LeafTrees):
        oracle = parts.oracle or data.bound(parts.learner, rows)
        assert isinstance(oracle, LeafOracle)
        return [_LeafFit(oracle, parts, bag, inside) for bag, inside in enumerate(bags.inside)]
    return [_AnyFit(data, parts, inside, rows) for inside in bags.inside]


def try_out(data: TrainingData, rows: Rows, bags: Bags, parts: BagParts, max_iter: int) -> Trial:
    """Play all bags until the rows left out gain no more, at most `max_iter` rounds; keep the best round."""
    fits = _fits(data, rows, bags, parts)
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

    def look(self, t: int, fits: Sequence[_Fit]) -> None:
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


def _advanced(fits: list[_Fit], clock: Clock, t: int) -> tuple[list[_Fit], str]:
    """All of them one round further; why not, if the time is over in between: then the first round has fewer bags."""
    for k, fit in enumerate(fits):
        fit.advance()
        if reason := clock.reason():
            return (fits[: k + 1] if t == 1 else fits), reason
    return fits, ""


def _asked_to_stop(control: Control, best: _Best, t: int) -> str:
    """A reason of the clock or of a callback, who sees the votes on the rows left out as the margins of a state."""
    if control.training.callbacks:
        loss, z = best.loss, best.last
        state = State(np.empty(0), z, loss.weights(z), loss, Pool(), t, best=Best(objective=-best.now))
        return asked(control, state) or control.clock.reason()
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
