"""What rows of weight zero spare the stump search, and rounds of its users: python -m benchmarks.sparse_weights."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from itertools import count
from statistics import median
from time import process_time

import numpy as np

from benchmarks.timing import interleave, time_each
from dualboost.boosters import Booster, CoordinateDescent, MadaBoost, MirrorAscent, SparseBoost
from dualboost.game import Game
from dualboost.learners import Stumps
from dualboost.learners.stumps import StumpOracle
from dualboost.losses import Exponential, Loss, SoftMargin
from dualboost.rows import Rows
from dualboost.run import Halt, stretches, watch_of
from dualboost.sets import Capped, Simplex, WeightSet

BASE = "AdaBoost"
SHARES = (1.0, 0.5, 0.3, 0.1, 0.03, 0.01)
BOOSTERS: dict[str, tuple[WeightSet, Booster]] = {
    "MABoost": (Simplex(), MirrorAscent()),
    "MABoost, search": (Simplex(), MirrorAscent(step="search")),
    "MABoost, Euclidean": (Simplex(), MirrorAscent("euclidean")),
    "SmoothBoost": (Capped(nu=0.1), MirrorAscent(update="lazy")),
    "SparseBoost": (Simplex(), SparseBoost()),
    "SparseBoost, not projected": (Simplex(), SparseBoost(0.2, project=False)),
    "MadaBoost": (Simplex(), MadaBoost()),
}


def problem(m: int, n: int) -> StumpOracle:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, n)).astype(np.float32)
    y = np.where(X[:, :5].sum(axis=1) + rng.normal(size=m) > 0, 1, -1).astype(np.int8)
    return Stumps().bind(X, y, Rows.of(m))


def searches(oracle: StumpOracle) -> dict[str, partial]:
    """The search for the best stump under random weights, of which only a share is not zero."""
    rng, m = np.random.default_rng(1), len(oracle.rows)
    found = {}
    for share in SHARES:
        d = np.where(rng.random(m) < share, rng.exponential(size=m), 0.0)
        found[f"search, {share:.0%} of the rows"] = partial(search, oracle, d / d.sum())
    return found


def search(oracle: StumpOracle, d: np.ndarray) -> None:
    oracle.forget()  # every column is summed
    oracle.best(d)


def adaboost_in_numpy(oracle: StumpOracle) -> Iterator[int]:
    """A plain AdaBoost round in NumPy on the same search."""
    m = len(oracle.rows)
    d, z = np.full(m, 1 / m), np.zeros(m)
    for _ in count():
        answer = oracle.best(d)
        z += np.arctanh(answer.edges[0]) * answer.columns[0]
        d = np.exp(-z)
        d /= d.sum()
        yield 1


def played(oracle: StumpOracle, loss: Loss, booster: Booster, budget: float = 1.0) -> Iterator[int]:
    """Rounds as `play` makes them, compiled where they can be; yields how many were made."""
    game = Game(loss.bind(oracle.rows), oracle, oracle.rows, budget, tol=1e-9)
    last = booster.start(game)
    for stretch in stretches(game, booster, Halt.at(last, []), 1_000_000, watch_of(None)):
        yield stretch.state.t - last.t
        last = stretch.state


def round_times(run: Iterator[int], least: int) -> list[float]:
    """CPU seconds of a round, over at least so many of them."""
    taken: list[float] = []
    while len(taken) < least:
        began = process_time()
        made = next(run)
        taken += [(process_time() - began) / made] * made if made else []  # a first look is no round
    return taken


def table(title: str, samplers: dict, base: str, turns: int) -> None:
    times = interleave(samplers, turns, budget=20.0)
    print(f"\n| {title} | ms | times {base} |\n|---|---|---|")
    for name, mine in times.items():
        ratio = median(median(a) / median(b) for a, b in zip(mine, times[base], strict=False))
        print(f"| {name} | {1e3 * median(median(turn) for turn in mine):.1f} | {ratio:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--turns", type=int, default=4)
    asked = parser.parse_args()
    oracle = problem(asked.rows, asked.columns)
    shape = f"{asked.rows:,} x {asked.columns}"
    calls = {name: partial(time_each, call, 3) for name, call in searches(oracle).items()}
    table(f"{shape}, weights not zero on", calls, next(iter(calls)), asked.turns)
    fresh = partial(
        StumpOracle, oracle.bins, oracle.y, oracle.rows
    )  # what is remembered between rounds is each run's own
    runs = {BASE: played(fresh(), Exponential(), CoordinateDescent("adaboost"), np.inf)}
    runs |= {"AdaBoost in NumPy": adaboost_in_numpy(fresh())}
    runs |= {name: played(fresh(), SoftMargin(limits), booster) for name, (limits, booster) in BOOSTERS.items()}
    steps = {name: partial(round_times, run, 5) for name, run in runs.items()}
    table(f"{shape}, one round of", steps, BASE, asked.turns)


if __name__ == "__main__":
    main()
