"""What is measured inside this process: rounds, binning, prediction, plain sum, two threads."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.ours import Dualboost, DualboostAdaBoost, DualboostEstimator, DualboostEveryColumn, DualboostLogistic
from benchmarks.peers import AdaBoost, Contender, HistGradientBoosting, LightGBM, LightGBMAllStumps, XGBoost
from benchmarks.shapes import Data
from benchmarks.timing import Sampler, Skip, Turns, interleave, one_cell, progress, time_each

OURS = (Dualboost, DualboostEveryColumn, DualboostAdaBoost, DualboostLogistic)
PEERS = (LightGBM, LightGBMAllStumps, XGBoost, HistGradientBoosting, AdaBoost)
RACERS = (*OURS, *PEERS)
BINNERS = (Dualboost, LightGBM, LightGBMAllStumps, XGBoost)
PREDICTORS = (DualboostEstimator, LightGBM, XGBoost)
STUMPS = 500
PLAIN_SUM = "plain sum"


@dataclass(frozen=True)
class Effort:
    """How long to measure: rounds a turn, turns, and CPU seconds per contender and section."""

    rounds: int
    turns: int
    budget: float


@dataclass
class Result:
    """One contender in one section: seconds, or the reason why there are none."""

    turns: Turns = field(default_factory=list)
    mode: str = ""
    reason: str = ""

    @property
    def seconds(self) -> float | None:
        return statistics.median(chain.from_iterable(self.turns)) if self.turns else None

    def times(self, ours: Result) -> float | None:
        """How many times the time of ours. Turn by turn: neighbours on the machine slow a whole turn of all alike."""
        ratios = [
            statistics.median(mine) / statistics.median(theirs)
            for mine, theirs in zip(self.turns, ours.turns, strict=False)
        ]
        return statistics.median(ratios) if ratios else None


Results = dict[str, Result]


def prepare(kind: type[Contender], data: Data, threads: int = 1) -> Contender:
    """A contender ready to run, or `Skip` with the words for its table cell."""
    contender = kind()
    with one_cell():
        contender.prepare(*data, threads)
    return contender


def prepare_all(kinds: Iterable[type[Contender]], data: Data, results: Results) -> dict[str, Contender]:
    ready: dict[str, Contender] = {}
    for kind in kinds:
        progress(f"  prepare {kind.name}")
        try:
            ready[kind.name] = prepare(kind, data)
            results[kind.name] = Result(mode=ready[kind.name].mode)
        except Skip as skip:
            results[kind.name] = Result(reason=str(skip))
    return ready


def rounds_and_binning(data: Data, effort: Effort) -> tuple[Results, Results]:
    """CPU seconds per round of every contender (and of a plain sum over the codes), and of binning."""
    rounds: Results = {}
    ready = prepare_all(RACERS, data, rounds)
    binning = {kind.name: _first_binning(ready.get(kind.name), rounds[kind.name]) for kind in BINNERS}
    samplers: dict[str, Sampler] = {}
    for name, contender in ready.items():
        progress(f"  warm up {name}")
        try:
            with one_cell():
                _warm_up(name, contender, effort, samplers, rounds)
        except Skip as skip:
            rounds[name].reason = str(skip)
    if not sp.issparse(data[0]):
        samplers[PLAIN_SUM] = _plain_sum(data[0].size, effort.rounds)
        rounds[PLAIN_SUM] = Result()
    progress("  rounds, in turns")
    for name, samples in interleave(samplers, effort.turns, effort.budget).items():
        rounds[name].turns += samples
    for name, contender in ready.items():  # known only after the rounds
        rounds[name].mode = contender.mode
    _bin_again(data, binning, effort)
    return rounds, binning


def _first_binning(contender: Contender | None, result: Result) -> Result:
    seconds = contender.binning if contender else None
    return Result(reason=result.reason) if seconds is None else Result([[seconds]])


def _warm_up(name: str, contender: Contender, effort: Effort, samplers: dict[str, Sampler], results: Results) -> None:
    """First rounds allocate and are not counted, unless one is so long that it must stand for all."""
    start = time.process_time()
    first = contender.rounds(1)
    if time.process_time() - start > effort.budget / 2:
        results[name].turns.append(first)
        return
    seconds = statistics.median(contender.rounds(2))
    # Very short rounds: more of them, until a turn takes 20 ms.
    count = int(min(max(effort.rounds, 0.02 / max(seconds, 1e-6)), 20 * effort.rounds))
    samplers[name] = lambda: contender.rounds(count)


def _plain_sum(size: int, count: int) -> Sampler:
    """The limit that memory sets: add up as many bytes as there are codes, eight at a time."""
    words = np.ones(-(-size // 8) * 8, dtype=np.uint8).view(np.uint64)
    return lambda: time_each(words.sum, count)


def _bin_again(data: Data, binning: Results, effort: Effort) -> None:
    """More samples of the binning time; the rounds above already gave the first."""
    progress("  binning, in turns")
    kinds = {kind.name: kind for kind in BINNERS if kind.name in binning}

    def sampler(kind: type[Contender]) -> Sampler:
        return lambda: [prepare(kind, data).binning or 0.0]

    quick = {
        name: sampler(kind)
        for name, kind in kinds.items()
        if (binning[name].seconds or effort.budget) < effort.budget / 2
    }
    for name, samples in interleave(quick, effort.turns - 2, effort.budget).items():
        binning[name].turns += samples


def prediction(data: Data, effort: Effort, training_rows: int = 20_000) -> Results:
    """CPU seconds to score all rows with 500 stumps from raw values; the stumps come from the first rows."""
    X, y = data
    results: Results = {}
    ready = prepare_all(PREDICTORS, (X[:training_rows], y[:training_rows]), results)
    samplers: dict[str, Sampler] = {}
    for name, contender in ready.items():
        progress(f"  {STUMPS} stumps of {name}")
        try:
            with one_cell():
                contender.rounds(STUMPS)
                contender.predict(X[:1000])
        except Skip as skip:
            results[name].reason = str(skip)
            continue
        samplers[name] = lambda contender=contender: time_each(lambda: contender.predict(X), 1)
    progress("  prediction, in turns")
    for name, samples in interleave(samplers, effort.turns, effort.budget).items():
        results[name].turns += samples
    return results


def two_threads(data: Data, effort: Effort) -> dict[str, Any]:
    """Wall seconds per round with one and with two threads, in turns."""
    speed: dict[str, Any] = {}
    for kind in (Dualboost, LightGBM):
        progress(f"  one and two threads of {kind.name}")
        try:
            with one_cell():
                speed[kind.name] = _speed_up(kind, data, effort)
        except Skip as skip:
            speed[kind.name] = str(skip)
    return speed


def _speed_up(kind: type[Contender], data: Data, effort: Effort) -> dict[str, float]:
    pair = {str(threads): prepare(kind, data, threads) for threads in (1, 2)}
    for contender in pair.values():
        contender.rounds(3)
    samplers: dict[str, Sampler] = {
        threads: lambda contender=contender: contender.rounds(effort.rounds, time.perf_counter)
        for threads, contender in pair.items()
    }
    taken = {threads: Result(turns) for threads, turns in interleave(samplers, effort.turns, effort.budget).items()}
    return {"one": taken["1"].seconds, "two": taken["2"].seconds, "speed_up": taken["1"].times(taken["2"])}
