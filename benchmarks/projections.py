"""Projections of a million row weights beside one np.sort of the same vector: python -m benchmarks.projections."""

from __future__ import annotations

import argparse
from functools import partial
from statistics import median

import numpy as np

from benchmarks.timing import interleave, time_each
from dualboost.rows import Rows
from dualboost.sets import Capped, Groups, Simplex, WeightSet
from dualboost.sets.base import BoundSet


def sets(m: int) -> dict[str, WeightSet]:
    rng = np.random.default_rng(1)
    return {
        "simplex": Simplex(),
        "one cap": Capped(nu=0.1),
        "a cap for each row": Capped(caps=rng.uniform(1, 3, m) * 5 / m),
        "three groups, one at its cap": Groups(np.arange(m) % 3, {0: 0.1}),
    }


def forgetful(bound: BoundSet, project) -> np.ndarray:
    """Without a warm start: the dearest a projection can be."""
    bound.forget()
    return project()


def contenders(m: int) -> dict[str, partial]:
    rng = np.random.default_rng(0)
    z = rng.normal(size=m)
    found = {"np.sort": partial(np.sort, z)}
    for name, weight_set in sets(m).items():
        for kind, rows in (("", Rows.of(m)), (", sample weights", Rows.of(rng.uniform(0.5, 2, m)))):
            bound = weight_set.bind(rows)
            found[f"{name}{kind}: entropic"] = partial(forgetful, bound, partial(bound.entropic, z, 2.0))
            found[f"{name}{kind}: Euclidean"] = partial(forgetful, bound, partial(bound.euclidean, z / m))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=5)
    asked = parser.parse_args()
    samplers = {name: partial(time_each, call, 2) for name, call in contenders(asked.rows).items()}
    times = interleave(samplers, asked.turns, budget=20.0)
    print(f"| {asked.rows:,} rows, cold | ms | times one np.sort |\n|---|---|---|")
    for name, turns in times.items():
        ratio = median(median(turn) / median(sort) for turn, sort in zip(turns, times["np.sort"], strict=False))
        print(f"| {name} | {1e3 * median(median(turn) for turn in turns):.1f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
