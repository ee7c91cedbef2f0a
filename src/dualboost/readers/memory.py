"""How much memory a table takes, and how much this process may still have: of the machine, its container, its limit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dualboost.errors import BadInput

__all__ = ["CELL", "Cost", "check_memory", "free_memory"]

CELL = 48
"""Bytes for a cell: as a string, as a number of the frame and of the table, in the rows of a fold, in its bin."""
_SHARE = 0.8  # of the free memory
_PLENTY = 1 << 40
_GROUP = "/sys/fs/cgroup/memory."  # as a container sees its own


@dataclass(frozen=True)
class Cost:
    """Bytes of memory for each byte of a file, in a fit."""

    rate: float

    @classmethod
    def of_text(cls, start: bytes) -> Cost:
        """Judged by how long the cells after the first line are: the text, its strings, and what is made of them."""
        sample = start.split(b"\n", 1)[-1] or start
        cells = max(sample.count(mark) for mark in (b",", b";", b"\t", b"|", b":")) + sample.count(b"\n") + 1
        return cls(2 + CELL * cells / max(len(sample), 1))

    @classmethod
    def of_bytes(cls) -> Cost:
        """Of a columnar file, whose cells are counted when its own table of contents has been read."""
        return cls(2)


def check_memory(name: str, size: int, cost: Cost) -> None:
    """Refuse, in words that say what to do, a file that would not fit with all that is made of it."""
    free, need = free_memory(), size * cost.rate
    if need > _SHARE * free:
        raise BadInput(
            f"{name} holds at least {_in_words(size)} and would need some {_in_words(need)} of memory, but "
            f"{_in_words(free)} are free: take a part of it with --rows, or use a larger machine."
        )


def free_memory() -> int:
    """Bytes that can be had without swapping; without an answer from the system, plenty."""
    return max(0, min(_limits(), default=_PLENTY))


def _limits() -> Iterator[int]:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable"):
            yield 1024 * int(line.split()[1])
    numbers = [line for name in ("max", "current") for line in _lines(_GROUP + name)]
    if len(numbers) == 2 and all(number.isdigit() for number in numbers):
        cached = [int(line.split()[1]) for line in _lines(_GROUP + "stat") if line.startswith("inactive_file ")]
        yield int(numbers[0]) - int(numbers[1]) + sum(cached)
    yield from _own_limit()


def _own_limit() -> Iterator[int]:
    """Of the address space (ulimit -v), less what is taken."""
    try:
        import resource
    except ImportError:  # Windows
        return
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = " ".join(_lines("/proc/self/statm")).split()
    if most != resource.RLIM_INFINITY and pages:
        yield most - int(pages[0]) * os.sysconf("SC_PAGE_SIZE")


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="ascii").split("\n")[:-1]
    except (OSError, UnicodeDecodeError):
        return []


def _in_words(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"
