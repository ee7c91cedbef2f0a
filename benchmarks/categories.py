"""What categories and missing values cost: a round on 1,000,000 x 28 with them against one of numbers alone.

    python -m benchmarks.categories [rows ...]

The same labels, the same rounds as in the classifiers, in turn; only the columns differ. Numbers: all real.
Missing: a tenth of the cells of every column is NaN. Categories: 8 of the columns hold 5 to 200 categories that matter.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from benchmarks.shapes import higgs_like, noisy_sign
from dualboost.boosters import Booster, CoordinateDescent, Corrective, Leveraging
from dualboost.game import Game
from dualboost.learners import LeafTrees, Stumps, Trees
from dualboost.learners.base import Learner
from dualboost.losses import Exponential, Logistic, LogisticMixture, Loss, SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Capped
from dualboost.solve import play

NAMED = tuple(range(20, 28))
TURNS = 9
TURNS_OF_SMALL = 15  # whose rounds are short
Tables = dict[str, tuple[np.ndarray, tuple[int, ...]]]
Make = Callable[[tuple[int, ...]], Learner]
# Rounds of the soft margin, of AdaBoost, of the logistic loss and of the loss for wrong labels.
PLAYS: dict[str, tuple[Loss, Booster, float]] = {
    "soft margin": (SoftMargin(Capped(nu=0.3)), Corrective(), 1.0),
    "AdaBoost": (Exponential(), CoordinateDescent("adaboost"), np.inf),
    "logistic": (Logistic(), CoordinateDescent("closed"), np.inf),
    "noisy labels": (LogisticMixture(0.1), Leveraging("difference", step="newton", shrink=0.2), np.inf),
}


def tables(rows: int) -> tuple[Tables, np.ndarray]:
    """The three tables with the columns that hold categories, and the labels of all."""
    rng = np.random.default_rng(20)
    numbers, y = higgs_like(rng, rows)
    missing = np.where(rng.random(numbers.shape) < 0.1, np.nan, numbers)
    names = numbers.copy()
    effect = np.zeros(rows)
    for j, width in zip(NAMED, np.geomspace(5, 200, len(NAMED)).astype(int), strict=True):
        names[:, j] = rng.integers(0, width, rows)
        effect += rng.standard_normal(width)[names[:, j].astype(int)]
    y = noisy_sign(y + effect / effect.std(), rng).astype(np.int8)
    return {"numbers": (numbers, ()), "missing": (missing, ()), "categories": (names, NAMED)}, y


def stumps(named: tuple[int, ...]) -> Learner:
    return Stumps(categorical=named)


def trees(named: tuple[int, ...]) -> Learner:
    return Trees(3, categorical=named)


def leaf_trees(named: tuple[int, ...]) -> Learner:
    return LeafTrees(10, categorical=named)


def bound(learner: Learner, loss: Loss, budget: float, X: np.ndarray, y: np.ndarray) -> Game:
    shared = Rows.of(len(y))
    return Game(loss.bind(shared), learner.bind(X, y, shared), shared, budget=budget, tol=1e-4)


def seconds_a_round(game: Game, booster: Booster, count: int) -> float:
    """From a fresh start, so that every turn does the same."""
    game.forget()
    start = time.process_time()
    outcome = play(game, booster, count)
    return (time.process_time() - start) / max(outcome.n_rounds, 1)


def race(make: Make, rounds: str, count: int, data: Tables, y: np.ndarray) -> dict[str, float]:
    """Seconds of a round over that of numbers alone: the median of ratios of neighbouring turns."""
    loss, booster, budget = PLAYS[rounds]
    games = {name: bound(make(named), loss, budget, X, y) for name, (X, named) in data.items()}
    few = range(TURNS if len(y) > 100_000 else TURNS_OF_SMALL)
    turns = [{name: seconds_a_round(game, booster, count) for name, game in games.items()} for _ in few]
    return {name: statistics.median(turn[name] / turn["numbers"] for turn in turns) for name in games}


def main() -> None:
    for rows in [int(text) for text in sys.argv[1:]] or [1_000_000, 20_000, 1_000]:
        data, y = tables(rows)
        print(f"{rows:,} x 28, one thread; a round over that of numbers alone:")
        few = max(2, min(1_000, 12_000_000 // rows))
        for title, make, rounds, count in (
            ("stumps", stumps, "soft margin", few),
            ("stumps", stumps, "AdaBoost", few),
            ("stumps", stumps, "logistic", few),
            ("trees of depth 3", trees, "soft margin", max(2, few // 10)),
            ("trees of 10 real leaves", leaf_trees, "noisy labels", max(2, few // 10)),
        ):
            ratios = race(make, rounds, count, data, y).items()
            print(f"  {title}, {rounds}: " + ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios))


if __name__ == "__main__":
    main()
