"""`python -m benchmarks.diagnosis`: the hard core of matrices against one linear program a row, and of stumps.

Programs a row are timed on a sample of the rows and multiplied: all of them would take the better part of an hour.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.optimize import linprog
from threadpoolctl import threadpool_limits

from benchmarks.timing import progress
from dualboost import diagnose
from dualboost.diagnosis import Diagnosis, Progress


def labelled_matrix(m: int, n: int, contradicted: int, seed: int = 0) -> np.ndarray:
    """A rule of all columns, and the first rows a second time with the other label."""
    rng = np.random.default_rng(seed)
    A = rng.choice([-1.0, 1.0], (m - contradicted, n))
    A *= np.where(A @ rng.normal(size=n) > 0, 1.0, -1.0)[:, None]
    return np.vstack([A, -A[:contradicted]])


def two_problems(m: int, n: int, seed: int = 0) -> np.ndarray:
    """Half of the rows follow a rule; the others are noise, and half of the columns are silent on them."""
    A = labelled_matrix(m, n, 0, seed)
    A[m // 2 :] = np.random.default_rng(seed).choice([-1.0, 1.0], (m - m // 2, n))
    A[m // 2 :, : n // 2] = 0.0
    A[: m // 2, : n // 2] = labelled_matrix(m // 2, n // 2, 0, seed)
    return A


MATRICES = {
    "weak learnable": labelled_matrix(2000, 200, 0),
    "attainable": np.random.default_rng(0).choice([-1.0, 1.0], (2000, 200)),
    "contradicted": labelled_matrix(2000, 200, 20),
    "mixed": two_problems(2000, 200),
}


def noisy_table(m: int, features: int, noise: float, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """A smooth rule of five features, and labels flipped at random."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, features))
    score = np.sin(2 * X[:, 0]) + X[:, 1] + np.abs(X[:, 2]) - 0.8 + 0.3 * X[:, 3] * X[:, 4]
    return X, (score > 0) ^ (rng.random(m) < noise)


def timed(work: Callable[[], object]) -> tuple[float, object]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def one_row(A: np.ndarray, i: int) -> bool:
    """Whether row i is in the core: some psi >= 0 with A'psi = 0 has psi_i = 1."""
    bounds = [(0.0, None)] * len(A)
    bounds[i] = (1.0, 1.0)
    return linprog(np.zeros(len(A)), A_eq=A.T, b_eq=np.zeros(A.shape[1]), bounds=bounds, method="highs").status == 0


def matrices(sample: int) -> None:
    """Interleaved: every repetition times both on each matrix."""
    print("| 2,000 x 200, drawn as | regime | in the core | diagnose, s | one program a row, s | times |")
    print("|---|---|---|---|---|---|")
    for name, A in MATRICES.items():
        progress(name)
        seconds, report = timed(lambda A=A: diagnose(A))
        assert isinstance(report, Diagnosis) and not report.undecided.any()
        rows = np.random.default_rng(0).choice(len(A), sample, replace=False)
        alone, core = timed(lambda A=A, rows=rows: [one_row(A, i) for i in rows])
        assert core == report.hard_core[rows].tolist(), "the two agree"
        total = alone * len(A) / sample
        count = int(report.hard_core.sum())
        print(
            f"| {name} | {report.regime} | {count} | {seconds:.2f} | {total:.0f} | {total / seconds:.0f} |", flush=True
        )


def stumps(m: int, features: int, noise: float) -> None:
    def watch(state: Progress) -> None:
        progress(
            f"round {state.n_rounds}: {state.n_hypotheses} stumps, {state.n_rows} rows left, edge {state.edge:.2g}"
        )

    X, y = noisy_table(m, features, noise)
    seconds, report = timed(lambda: diagnose(X, y, watch=watch))
    assert isinstance(report, Diagnosis)
    sides = f"{len(report.split[0])} | {len(report.split[1])} | {int(report.undecided.sum())}"
    print(f"| {m:,} x {features}, noise {noise:g} | {report.regime} | {sides} | {seconds:.1f} |", flush=True)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.diagnosis", description=__doc__)
    parser.add_argument("--sample", type=int, default=6, help="programs a row to time (default: 6)")
    parser.add_argument("--rows", type=int, default=4000, help="rows of the stump problems (default: 4000)")
    parser.add_argument("--features", type=int, default=20, help="their features (default: 20)")
    options = parser.parse_args(arguments)
    with threadpool_limits(1):
        matrices(options.sample)
        print("\n| stumps | regime | separable | core | undecided | diagnose, s |\n|---|---|---|---|---|---|")
        for noise in (0.0, 0.1, 0.3):
            stumps(options.rows, options.features, noise)


if __name__ == "__main__":
    main(sys.argv[1:])
