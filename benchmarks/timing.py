"""Clocks: time of each round, and contenders that take turns so that a busy machine hurts all alike."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from math import inf

Clock = Callable[[], float]
Sampler = Callable[[], list[float]]
Turns = list[list[float]]
STARTED = time.perf_counter()


class Skip(Exception):
    """A contender cannot take part in a section; the message is what the table shows."""


@contextmanager
def one_cell() -> Iterator[None]:
    """Whatever goes wrong with one contender becomes a `Skip`: it costs its cell, not the minutes of all the others."""
    try:
        yield
    except Skip:
        raise
    except ModuleNotFoundError as error:
        part = error.name or ""
        raise Skip(f"no module {part}" if "." in part else "not installed") from error
    except Exception as error:
        traceback.print_exc()
        raise Skip(f"failed: {type(error).__name__}") from error


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


def interleave(samplers: dict[str, Sampler], repeats: int, budget: float) -> dict[str, Turns]:
    """Ask each sampler in turn, `repeats` times; one that fails or would exceed `budget` CPU seconds stops earlier."""
    samples: dict[str, Turns] = {name: [] for name in samplers}
    spent = dict.fromkeys(samplers, 0.0)
    for turn in range(repeats):
        for name, sampler in samplers.items():
            if turn and spent[name] * (turn + 1) / turn > budget:
                continue
            start = time.process_time()
            try:
                with one_cell():
                    samples[name].append(sampler())
            except Skip:
                spent[name] = inf
            spent[name] += time.process_time() - start
    return samples
