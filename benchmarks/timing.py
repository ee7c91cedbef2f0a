"""Clocks: time of each round, and contenders that take turns so that a busy machine hurts all alike."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import pairwise

Clock = Callable[[], float]
Sampler = Callable[[], list[float]]
STARTED = time.perf_counter()


class Skip(Exception):
    """A contender cannot take part in a section; the message is what the table shows."""


def progress(message: str) -> None:
    print(f"[{time.perf_counter() - STARTED:6.1f} s] {message}", file=sys.stderr, flush=True)


def differences(ticks: list[float]) -> list[float]:
    return [after - before for before, after in pairwise(ticks)]


def time_each(step: Callable[[], object], n: int, clock: Clock = time.process_time) -> list[float]:
    """Seconds of each of `n` calls; one reading of the clock between two calls."""
    ticks = [clock()]
    for _ in range(n):
        step()
        ticks.append(clock())
    return differences(ticks)


def interleave(samplers: dict[str, Sampler], repeats: int, budget: float) -> dict[str, list[float]]:
    """Ask each sampler in turn, `repeats` times; one that would exceed `budget` wall seconds stops earlier."""
    samples: dict[str, list[float]] = {name: [] for name in samplers}
    spent = dict.fromkeys(samplers, 0.0)
    for turn in range(repeats):
        for name, sampler in samplers.items():
            if turn and spent[name] * (turn + 1) / turn > budget:
                continue
            start = time.perf_counter()
            samples[name] += sampler()
            spent[name] += time.perf_counter() - start
    return samples
