"""One thread for linear algebra.

The last bit of a product depends on how many threads share it, and so would a vote. Besides, the threads of a BLAS wait
for each other by spinning: its factorisation of a few hundred rows is dozens of products that take microseconds; where
other work has the processor, each of them waits for a time slice, and a fit of a fifth of a second takes twenty.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController

__all__ = ["one_thread"]

_LIMIT = Lock()


@contextmanager
def one_thread() -> Iterator[None]:
    """While inside, products take one thread; decorates functions too.

    The number belongs to the process, so one of all who are inside sets and restores it. If each did, the last one out
    would restore the limit of another, and the process would keep it. Those who outlast the one that restores it lose
    time at most, and the last bit: they take it up where they come inside again, with their next run or problem.
    """
    if not _LIMIT.acquire(blocking=False):
        yield
        return
    try:
        with _libraries().limit(limits=1):
            yield
    finally:
        _LIMIT.release()


@cache
def _libraries() -> ThreadpoolController:
    """When first asked for, as by then they are loaded: to look for them takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")
