"""Long steps within a round that may be given up: whoever takes one asks now and then whether the time is over.

What is computed does not depend on it: a step comes to its end, or its round does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Cut", "check_cut", "cut_by", "is_watched"]


class Cut(Exception):
    """A step was given up; its words are the reason."""


def _never() -> str:
    return ""


_reason: ContextVar[Callable[[], str]] = ContextVar("reason", default=_never)


@contextmanager
def cut_by(reason: Callable[[], str]) -> Iterator[None]:
    """Long steps inside end with `Cut` as soon as there is a reason in words.

    Examples
    --------
    >>> from dualboost.cutting import Cut, check_cut, cut_by
    >>> with cut_by(lambda: "it is late"):
    ...     try:
    ...         check_cut()
    ...     except Cut as cut:
    ...         print(cut)
    it is late
    """
    token = _reason.set(reason)
    try:
        yield
    finally:
        _reason.reset(token)


def check_cut() -> None:
    """Give the step up if there is a reason to."""
    if words := _reason.get()():
        raise Cut(words)


def is_watched() -> bool:
    """Whether anybody might have a reason."""
    return _reason.get() is not _never
