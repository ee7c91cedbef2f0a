"""The flip study: training labels are flipped in four ways, the test part stays clean; test error and rank."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from benchmarks.kept import Kept
from benchmarks.noisy_peers import contenders
from benchmarks.real_data import table

__all__ = ["CHOOSING", "KINDS", "flip_study", "flipped", "markdown", "pipes"]

CHOOSING = ("heart", "diabetis", "titanic_passengers", "image", "twonorm")
"""The defaults of the classifiers were chosen on these; on the others they were only measured."""
OTHERS = ("breast_cancer", "german", "spambase", "banana", "ringnorm", "adult", "covtype_sample")
KINDS = ("uniform", "one-sided", "surest quarter", "near the boundary")
RATES = (0.1, 0.2, 0.3)
CASES = (("none", 0.0), *((kind, rate) for kind in KINDS for rate in RATES))


@lru_cache(maxsize=1)
def split(name: str, seed: int, most: int):
    """Sixty per cent of the rows, at most `most`, to train on; at most 4000 others to test on."""
    X, y = table(name)
    order = np.random.default_rng(seed).permutation(len(y))
    count = min(most, int(0.6 * len(y)))
    train, test = order[:count], order[count : count + 4000]
    return X[train], y[train], X[test], y[test]


@lru_cache(maxsize=1)
def sureness(name: str, seed: int, most: int) -> np.ndarray:
    """The rank in [0, 1] of how sure a forest is of the clean labels, on rows left out; 1 is the surest."""
    X, y, _, _ = split(name, seed, most)
    forest = RandomForestClassifier(200, oob_score=True, random_state=0).fit(np.nan_to_num(X, nan=-1e6), y)
    sure = np.abs(np.nan_to_num(forest.oob_decision_function_, nan=0.5)[:, 1] - 0.5)
    return np.argsort(np.argsort(sure, kind="stable")) / max(len(y) - 1, 1)


def flipped(part: tuple[str, int, int], kind: str, rate: float) -> np.ndarray:
    """The labels of a training part (set, seed, most rows) with flips of one kind.

    Uniform: each with probability `rate`. One-sided: only the commoner class, as many in all. Surest quarter: with
    probability `rate` in the quarter farthest from the boundary, as in the paper. Near the boundary: with a probability
    that falls from 2 `rate` at the boundary to 0.
    """
    _, y, _, _ = split(*part)
    if kind in ("none", "uniform"):
        chance = np.full(len(y), rate)
    elif kind == "one-sided":
        common = int(np.mean(y) > 0.5)
        chance = np.where(y == common, rate / np.mean(y == common), 0.0)
    else:
        sure = sureness(*part)
        chance = np.where(sure >= 0.75, rate, 0.0) if kind == "surest quarter" else 2 * rate * (1 - sure)
    return np.where(np.random.default_rng(1000 + part[1]).random(len(y)) < chance, 1 - y, y)


def flip_study(quick: bool, kept: Kept) -> list[dict]:
    """One record for each data set, kind, rate, seed and contender; those that are kept already are not run again."""
    sets, seeds, most, cases = (CHOOSING + OTHERS, range(3), 2000, CASES)
    if quick:
        sets, seeds, most, cases = sets[:2], range(1), 150, CASES[:3]
    records = []
    for seed in seeds:
        for name in sets:
            for kind, rate in cases:
                records += _one_case((name, seed, most), kind, rate, kept)
            print(f"flips: {name}, split {seed} done", file=sys.stderr, flush=True)
    return records


def _one_case(part: tuple[str, int, int], kind: str, rate: float, kept: Kept) -> Iterator[dict]:
    name, seed, _ = part
    for method, model in contenders(seed).items():
        key = {"set": name, "seed": seed, "kind": kind, "rate": rate, "method": method}
        yield kept.get(key, lambda model=model: _error_and_time(part, flipped(part, kind, rate), model))


def _error_and_time(part: tuple[str, int, int], noisy: np.ndarray, model) -> dict:
    X, _, X_test, y_test = split(*part)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, noisy)
        seconds = time.process_time() - start
        error = float(np.mean(model.predict(X_test) != y_test))
    return {"error": 100 * error, "seconds": seconds}


def markdown(records: list[dict]) -> str:
    """Mean test errors and mean ranks: over all data sets, then over those that no default was chosen on."""
    import pandas as pd

    frame = pd.DataFrame(records)
    parts = [f"All {_described(frame)}:", *_tables(frame)]
    others = frame[~frame["set"].isin(CHOOSING)]
    if len(others) and len(others) < len(frame):
        parts += [f"Only the {_described(others)} that no default was chosen on:", *_tables(others)]
    single = frame.groupby(["set", "method"], sort=False)["error"].mean().unstack().T.round(2)
    parts.append(f"**Test error % on each data set, mean over all kinds and rates**\n\n{pipes(single)}")
    cpu = frame.groupby("method", sort=False)["seconds"].mean().round(3)
    parts.append("**CPU seconds a fit**\n\n" + pipes(cpu.to_frame("seconds")))
    return "\n\n".join(parts)


def _described(frame) -> str:
    sets = frame["set"].unique()
    return f"{len(sets)} data sets ({', '.join(sets)}; {frame['seed'].nunique()} splits)"


def _tables(frame) -> list[str]:
    """The two tables, one row a method, one column a kind and rate; then the rank by rate alone."""
    mean = frame.groupby(["kind", "rate", "set", "method"], sort=False)["error"].mean().reset_index()
    mean["rank"] = mean.groupby(["kind", "rate", "set"], sort=False)["error"].rank()
    parts = []
    for value in ("error", "rank"):
        wide = mean.pivot_table(index="method", columns=["kind", "rate"], values=value, sort=False)
        wide.columns = [f"{kind} {rate:.0%}" if rate else "none" for kind, rate in wide.columns]
        parts.append(f"**Mean {'test error %' if value == 'error' else 'rank'}**\n\n{pipes(wide.round(2))}")
    for value in ("error", "rank"):
        wide = mean.pivot_table(index="method", columns="rate", values=value, sort=False).round(2)
        wide.columns = [f"{rate:.0%}" for rate in wide.columns]
        word = "test error %" if value == "error" else "rank"
        parts.append(f"**Mean {word} over all kinds of flips**\n\n{pipes(wide)}")
    return parts


def pipes(frame) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(["", *map(str, frame.columns)]) + " |", "|" + "---|" * (len(frame.columns) + 1)]
    lines += [
        "| " + " | ".join([str(name), *map(str, row)]) + " |"
        for name, row in zip(frame.index, frame.to_numpy(), strict=True)
    ]
    return "\n".join(lines)
