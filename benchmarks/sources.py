"""Two sources of different reliability, error on clean rows against limits: python -m benchmarks.sources.

A few rows are clean; of the others a share has the wrong label. Which source a row comes from is known, which labels
are wrong is not. Compared: the bad source dropped, mixed in, weighted down, its rows capped, its total capped;
LightGBM the first three ways.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from benchmarks.real_data import table
from dualboost import MABoostClassifier, SmoothBoostClassifier

NAMES = ("german", "image", "spambase", "twonorm")


class Sources(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    secondary: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def two_sources(X: np.ndarray, y: np.ndarray, seed: int, primary: float = 0.05, wrong: float = 0.3) -> Sources:
    """Two thirds to learn from, of which the first `primary` are clean and `wrong` of the others are flipped."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))[:6000]
    X, y = X[order], y[order]
    n = len(y) * 2 // 3
    secondary = np.arange(n) >= primary * n
    labels = np.where(secondary & (rng.random(n) < wrong), 1 - y[:n], y[:n])
    return Sources(X[:n], labels, secondary, X[n:], y[n:])


def lightgbm():
    try:
        from lightgbm import LGBMClassifier
    except ModuleNotFoundError:
        return None
    return LGBMClassifier(verbose=-1, n_jobs=1)


def contenders(data: Sources, rounds: int) -> Iterator[tuple[str, object]]:
    X, y, secondary, *_ = data
    for name, make in (("MABoost", lambda: MABoostClassifier(max_iter=rounds)), ("LightGBM", lightgbm)):
        if make() is None:
            continue
        yield f"{name}, bad source dropped", make().fit(X[~secondary], y[~secondary])
        yield f"{name}, both alike", make().fit(X, y)
        for weight in (0.3, 0.1, 0.03):
            yield f"{name}, weight {weight}", make().fit(X, y, sample_weight=np.where(secondary, weight, 1.0))
    for k in (1.1, 1.5, 3.0):
        yield (
            f"SmoothBoost, rows capped at {k}",
            SmoothBoostClassifier(k, max_iter=rounds).fit(X, y, secondary=secondary),
        )
    for share in (0.5, 0.2, 0.1):
        model = MABoostClassifier(group_caps={True: share}, update="lazy", max_iter=rounds)
        yield f"MABoost, source capped at {share}", model.fit(X, y, groups=secondary)


def errors(name: str, splits: int, rounds: int) -> dict[str, float]:
    """Mean test error of each contender, in percent."""
    X, y = table(name)
    found: dict[str, list[float]] = {}
    for seed in range(splits):
        data = two_sources(X, y, seed)
        for contender, model in contenders(data, rounds):
            found.setdefault(contender, []).append(100 * float(np.mean(model.predict(data.X_test) != data.y_test)))
    return {contender: float(np.mean(values)) for contender, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", nargs="+", default=NAMES)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=300)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    columns = {name: errors(name, asked.splits, asked.rounds) for name in asked.names}
    print(f"| test error % | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for contender in next(iter(columns.values())):
        print(f"| {contender} | {' | '.join(f'{column[contender]:.1f}' for column in columns.values())} |")


if __name__ == "__main__":
    main()
