"""One bag's run, a round at a time: of any learner by the common loop, of real-valued trees by compiled rounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualboost.boosters import Leveraging
from dualboost.estimators.coded import rows_of
from dualboost.estimators.validation import TrainingData
from dualboost.game import Game, State, rounds
from dualboost.learners import LeafTrees, Learner, Predictor
from dualboost.learners.leaf_scores import LeafTree
from dualboost.learners.leaf_trees import LeafOracle
from dualboost.losses import LogisticMixture
from dualboost.losses.logistic_difference import bounded_value
from dualboost.products import times
from dualboost.rows import Rows

__all__ = ["AnyFit", "BagParts", "Bags", "Fit", "LeafFit", "Move", "fits_to"]

Move = tuple[int, Any, float]  # the round, the hypothesis, its weight

_AT_ONCE = 8  # compiled rounds between two looks...
_ROWS_AT_ONCE = 200_000  # ...and fewer where they take long: so many rows in all


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
    held_out_start: np.ndarray | None = None
    """The mean vote to begin with on rows that are held out from all bags; none is 0."""


class Fit(ABC):
    """One bag's run, advanced a round at a time, with its votes on the rows left out."""

    out: np.ndarray
    """Which rows the bag does not hold."""
    margins: np.ndarray
    """y f(x) of these."""
    losses: list[float]
    """In the bag, after each round."""

    @property
    @abstractmethod
    def everywhere(self) -> np.ndarray:
        """y f(x) of all rows, until the next round."""

    @property
    @abstractmethod
    def finished(self) -> bool:
        """Whether more rounds change nothing."""

    @abstractmethod
    def advance(self) -> None:
        """One more round; at its end a run stays where it is."""

    @abstractmethod
    def predictor(self, count: int, since: int = 0) -> Predictor:
        """The ensemble after so many rounds, or what it has gained since an earlier one."""

    @abstractmethod
    def moves(self, count: int) -> list[Move]:
        """What was added in so many rounds."""

    @abstractmethod
    def restore(self, moves: list[Move]) -> None:
        """Have these votes, as a fit that has played its rounds: it can make its predictor, and play no more."""


class AnyFit(Fit):
    """Of any learner: the common loop on the rows of the bag."""

    def __init__(self, data: TrainingData, parts: BagParts, inside: np.ndarray, rows: Rows):
        self.losses = []
        self._train = train = np.flatnonzero(inside)
        self.out = np.flatnonzero(~inside)
        weights = len(train) if rows.uniform else np.ascontiguousarray(rows.prior[train])
        part = Rows.of(weights, rows.threads)
        self._oracle = data.bound(parts.learner, part, train)
        self._X, self._signs = rows_of(data.X, self.out), data.signs[self.out]
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
                self.margins = self.margins + times(self._signs, self._oracle.predictor([key], amount).scores(self._X))
        self.losses.append(self._state.loss.value(self._state.z))

    @property
    def everywhere(self) -> np.ndarray:
        everywhere = np.empty(len(self._train) + len(self.out))
        everywhere[self._train], everywhere[self.out] = self._state.z, self.margins
        return everywhere

    @property
    def finished(self) -> bool:
        return bool(self._state.status)

    def moves(self, count: int) -> list[Move]:
        return [(at, key, float(amount)) for at, key, amount in self._votes if at < count]

    def restore(self, moves: list[Move]) -> None:
        self._votes = list(moves)

    def predictor(self, count: int, since: int = 0) -> Predictor:
        kept = [(key, amount) for at, key, amount in self._votes if since <= at < count]
        return self._oracle.predictor([key for key, _ in kept], np.array([amount for _, amount in kept]))


class LeafFit(Fit):
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
        self._everywhere, self.margins = self._z, self._z[self.out]
        self._last = float(bounded_value(np.zeros(1), parts.loss.mu)[0])
        self.losses = []
        if parts.start is not None:
            self._last = float(self._prior @ bounded_value(self._z, parts.loss.mu))
            self.losses = [self._last]

    def advance(self) -> None:
        if not (self._ahead or self._done):
            self._play()
        if self._ahead:
            self._everywhere = self._path[self._played - len(self._ahead)]
            self.margins = self._everywhere[self.out]
            self._last = self._ahead.pop(0)
        self.losses.append(self._last)

    @property
    def everywhere(self) -> np.ndarray:
        return self._everywhere

    @property
    def finished(self) -> bool:
        return self._done and not self._ahead

    def _play(self) -> None:
        """A few rounds at once."""
        learner, (mu, shrink) = self._oracle.learner, self._steps
        nodes, sizes, amounts, losses = self._oracle.search.rounds(
            self._signs, self._prior, self._z, mu, shrink, self._path,
            learner.max_leaves, learner.min_share, learner.features, learner.random_state, self._newton,
            learner.row_share,
        )  # fmt: skip
        ends = np.cumsum(sizes)
        self._trees += [LeafTree.of([part[e - n : e] for part in nodes]) for e, n in zip(ends, sizes, strict=True)]
        self._amounts += amounts.tolist()
        self._ahead, self._played, self._done = losses.tolist(), len(sizes), len(sizes) < len(self._path)

    def moves(self, count: int) -> list[Move]:
        return list(zip(range(count), self._trees[:count], self._amounts[:count], strict=False))

    def restore(self, moves: list[Move]) -> None:
        self._trees, self._amounts = [tree for _, tree, _ in moves], [amount for _, _, amount in moves]

    def predictor(self, count: int, since: int = 0) -> Predictor:
        return self._oracle.predictor(self._trees[since:count], np.array(self._amounts[since:count]))


def fits_to(data: TrainingData, rows: Rows, bags: Bags, parts: BagParts) -> list[Fit]:
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
        return [LeafFit(oracle, parts, bag, inside) for bag, inside in enumerate(bags.inside)]
    return [AnyFit(data, parts, inside, rows) for inside in bags.inside]
