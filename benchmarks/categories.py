"""What categories and missing values cost: a round on 1,000,000 x 28 with them against one of numbers alone.

    python -m benchmarks.categories [rows]

The same labels and weights, the same corrective rounds in turn; only the columns differ. Numbers: all 28 real. Missing:
a tenth of the cells of every column is NaN. Categories: 8 of the columns hold 5 to 200 categories that matter.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np

from benchmarks.shapes import higgs_like, noisy_sign
from dualboost.boosters import Corrective
from dualboost.game import Game, rounds
from dualboost.learners import Stumps, Trees
from dualboost.learners.base import Learner
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Capped

NAMED = tuple(range(20, 28))
ROUNDS, TURNS = 12, 3


def tables(rows: int) -> tuple[dict[str, tuple[np.ndarray, tuple[int, ...]]], np.ndarray]:
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


def play(learner: Learner, X: np.ndarray, y: np.ndarray):
    """A game of corrective rounds, to be stepped."""
    shared = Rows.of(len(y))
    return rounds(
        Game(SoftMargin(Capped(nu=0.3)).bind(shared), learner.bind(X, y, shared), shared, tol=1e-3),
        Corrective(step="search"),
    )


def seconds_a_round(game, count: int) -> float:
    ticks = []
    for _ in range(count):
        start = time.process_time()
        next(game)
        ticks.append(time.process_time() - start)
    return statistics.median(ticks)


def race(make, count: int, data, y) -> dict[str, float]:
    """Seconds of a round over that of numbers alone: the median of ratios of neighbouring turns."""
    games = {name: play(make(named), X, y) for name, (X, named) in data.items()}
    for game in games.values():
        next(game)
    turns = [{name: seconds_a_round(game, count) for name, game in games.items()} for _ in range(TURNS)]
    return {name: statistics.median(turn[name] / turn["numbers"] for turn in turns) for name in games}


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    data, y = tables(rows)
    print(f"{rows:,} x 28, one thread; a round over that of numbers alone:")
    for title, make, count in (
        ("stumps", lambda named: Stumps(categorical=named), ROUNDS),
        ("trees of depth 3", lambda named: Trees(3, categorical=named), 2),
    ):
        print(f"  {title}: " + ", ".join(f"{name} {ratio:.2f}" for name, ratio in race(make, count, data, y).items()))


if __name__ == "__main__":
    main()
