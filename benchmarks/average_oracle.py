"""`python -m benchmarks.average_oracle`: what averaging over all stumps costs, and how fast weights are pushed.

The average-margin oracle beside the max-edge oracle on 1,000,000 x 28, in turns on the same row weights, one thread;
and weight pushing on the stump diagram of 5,000 x 20, in edges a second. "Skipping" remembers earlier rounds and leaves
out columns that cannot win; "all weights" is an eta so small that every stump counts and no table is empty.
"""

from __future__ import annotations

import argparse
import sys
from itertools import islice
from statistics import median

import numpy as np

from benchmarks.timing import progress, time_each
from dualboost.boosters import FrankWolfe
from dualboost.game import Game, rounds
from dualboost.learners import Stumps
from dualboost.learners.nzdd import Thresholds, edge_sums, push
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Capped


def problem(m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, n)).astype(np.float32)
    y = np.where(X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + rng.normal(size=m) > 0, 1, -1).astype(np.int8)
    return X, y


def oracles(m: int, n: int, turns: int) -> str:
    """Along a Frank-Wolfe run at a gap of 0.01: what each oracle takes for the row weights of each round."""
    rows, data = Rows.of(m), problem(m, n)
    oracle, remembers = (Stumps().bind(*data, rows) for _ in range(2))
    game = Game(SoftMargin(Capped(nu=0.3)).bind(rows), oracle, rows, tol=0.01)
    eta = 2 * oracle.log_size / game.tol
    times: dict[str, list[float]] = {
        "max edge": [],
        "max edge, skipping": [],
        "average": [],
        "average, all weights": [],
    }
    for state, _ in islice(rounds(game, FrankWolfe("classic")), turns):
        d = np.array(state.d)  # writeable: nothing of it is kept
        oracle.forget()
        times["max edge"] += time_each(lambda d=d: oracle.best(d), 1)
        times["max edge, skipping"] += time_each(lambda d=d: remembers.best(d), 1)
        times["average"] += time_each(lambda d=d: oracle.average(d, eta), 1)
        times["average, all weights"] += time_each(lambda d=d: oracle.average(d, 5.0), 1)
        progress(", ".join(f"{name} {1e3 * values[-1]:.1f} ms" for name, values in times.items()))
    whole = median(times["max edge"])
    lines = [f"| oracle, {m:,} x {n} | CPU ms | times the max edge |", "|---|---|---|"]
    lines += [f"| {name} | {1e3 * median(t):.1f} | {median(t) / whole:.2f} |" for name, t in times.items()]
    return "\n".join(lines)


def pushing(m: int, n: int, turns: int) -> str:
    """Sums of labels, backward and forward pass: everything that one sign of a round needs."""
    X, y = problem(m, n)
    diagram = Thresholds().bind(X).diagram
    signed = y * np.random.default_rng(1).dirichlet(np.ones(m))
    seconds = median(time_each(lambda: push(diagram, edge_sums(diagram, signed), 2 * 2000.0), turns))
    speed = diagram.n_edges / seconds / 1e6
    size = f"{diagram.n_edges:,} edges, {len(diagram.labels):,} labels, {diagram.count():,} paths"
    return f"Weight pushing, stump diagram of {m:,} x {n} ({size}): {speed:.0f} million edges a second."


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.average_oracle", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, few turns")
    quick = parser.parse_args(arguments).quick
    print(oracles(100_000 if quick else 1_000_000, 28, 3 if quick else 9), end="\n\n")
    print(pushing(500 if quick else 5_000, 20, 5 if quick else 25))


if __name__ == "__main__":
    main(sys.argv[1:])
