"""The flip study: training labels are flipped in four ways, the test part stays clean; test error and rank."""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from benchmarks.noisy_peers import contenders
from benchmarks.real_data import table

__all__ = ["KINDS", "flip_study", "flipped", "markdown"]

SETS = ("heart", "breast_cancer", "diabetis", "german", "titanic_passengers", "image", "spambase", "banana",
        "twonorm", "ringnorm", "adult")  # fmt: skip
KINDS = ("uniform", "one-sided", "surest quarter", "near the boundary")
RATES = (0.1, 0.2, 0.3)


def split(name: str, seed: int, most: int):
    """Sixty per cent of the rows, at most `most`, to train on; at most 4000 others to test on."""
    X, y = table(name)
    order = np.random.default_rng(seed).permutation(len(y))
    count = min(most, int(0.6 * len(y)))
    train, test = order[:count], order[count : count + 4000]
    return X[train], y[train], X[test], y[test]


def sureness(X, y) -> np.ndarray:
    """The rank in [0, 1] of how sure a forest is of the clean labels, on rows left out; 1 is the surest."""
    forest = RandomForestClassifier(200, oob_score=True, random_state=0).fit(np.nan_to_num(X, nan=-1e6), y)
    sure = np.abs(np.nan_to_num(forest.oob_decision_function_, nan=0.5)[:, 1] - 0.5)
    return np.argsort(np.argsort(sure, kind="stable")) / max(len(y) - 1, 1)


def flipped(X, y, kind: str, rate: float, seed: int) -> np.ndarray:
    """The labels with flips of one kind.

    Uniform: each with probability `rate`. One-sided: only the commoner class, as many in all. Surest quarter: with
    probability `rate` in the quarter farthest from the boundary, as in the paper. Near the boundary: with a probability
    that falls from 2 `rate` at the boundary to 0.
    """
    if kind == "uniform":
        chance = np.full(len(y), rate)
    elif kind == "one-sided":
        common = int(np.mean(y) > 0.5)
        chance = np.where(y == common, rate / np.mean(y == common), 0.0)
    else:
        sure = sureness(X, y)
        chance = np.where(sure >= 0.75, rate, 0.0) if kind == "surest quarter" else 2 * rate * (1 - sure)
    return np.where(np.random.default_rng(1000 + seed).random(len(y)) < chance, 1 - y, y)


def flip_study(quick: bool) -> list[dict]:
    """One record for each data set, kind, rate, seed and contender."""
    sets, seeds, most = (SETS[:2], range(1), 150) if quick else (SETS, range(5), 2000)
    cases = [("none", 0.0), *((kind, rate) for kind in KINDS for rate in RATES)]
    records = []
    for name in sets:
        for seed in seeds:
            X, y, X_test, y_test = split(name, seed, most)
            for kind, rate in cases if not quick else cases[:3]:
                noisy = y if rate == 0 else flipped(X, y, kind, rate, seed)
                records += [
                    {"set": name, "seed": seed, "kind": kind, "rate": rate, **found}
                    for found in _one_case(X, noisy, X_test, y_test, seed)
                ]
        print(f"{name} done", file=sys.stderr)
    return records


def _one_case(X, noisy, X_test, y_test, seed: int) -> list[dict]:
    found = []
    for method, model in contenders(seed).items():
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            error = float(np.mean(model.fit(X, noisy).predict(X_test) != y_test))
        found.append({"method": method, "error": 100 * error, "seconds": time.process_time() - start})
    return found


def markdown(records: list[dict]) -> str:
    """Mean test error and mean rank over the data sets, one row a method, one column a kind and rate."""
    import pandas as pd

    frame = pd.DataFrame(records)
    mean = frame.groupby(["kind", "rate", "set", "method"], sort=False)["error"].mean().reset_index()
    mean["rank"] = mean.groupby(["kind", "rate", "set"], sort=False)["error"].rank()
    parts = [f"Mean over {frame['set'].nunique()} data sets and {frame['seed'].nunique()} splits."]
    for value in ("error", "rank"):
        wide = mean.pivot_table(index="method", columns=["kind", "rate"], values=value, sort=False)
        wide.columns = [f"{kind} {rate:.0%}" if rate else "none" for kind, rate in wide.columns]
        parts.append(f"**Mean {'test error %' if value == 'error' else 'rank'}**\n\n{_pipes(wide.round(2))}")
    cpu = frame.groupby("method", sort=False)["seconds"].mean().round(3)
    parts.append("**CPU seconds a fit**\n\n" + _pipes(cpu.to_frame("seconds")))
    return "\n\n".join(parts)


def _pipes(frame) -> str:
    lines = ["| " + " | ".join(["", *map(str, frame.columns)]) + " |", "|" + "---|" * (len(frame.columns) + 1)]
    lines += [
        "| " + " | ".join([str(name), *map(str, row)]) + " |"
        for name, row in zip(frame.index, frame.to_numpy(), strict=True)
    ]
    return "\n".join(lines)
