"""Ctrl-C in a fit. While rounds are played it breaks them off; between runs it must not lose what they have found.

As long as nothing is found it is `KeyboardInterrupt`, as ever; one that a class after the first does not survive makes
it begin anew, in haste. Then, outside a run (while a link is learned, an ensemble is made a model) it only ends the
time, and the fit comes to its end in haste; a second Ctrl-C is an exception again.

A search calls fit after fit. There a Ctrl-C that ends a second fit within three seconds is an exception too, once that
fit is complete: it was meant for the search.
"""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TypeVar

from sklearn.exceptions import ConvergenceWarning

from dualboost.estimators.clock import Clock

__all__ = ["CtrlC"]

_T = TypeVar("_T")
_AGAIN = 3.0  # seconds between two fits that were ended


class CtrlC:
    """What Ctrl-C means at the moment, for all parts of one fit."""

    _ended = float("-inf")
    """When the last fit was ended by it, whichever that was."""

    def __init__(self) -> None:
        self._found = self._playing = self._insisted = False

    @contextmanager
    def heard(self, clock: Clock) -> Iterator[None]:
        """In here Ctrl-C is as told above, if it would have been `KeyboardInterrupt`; a handler of others stays."""
        ours = threading.current_thread() is threading.main_thread()
        if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return

        def handle(number, frame) -> None:
            self._insisted = clock.hurried
            exception = self._playing or not self._found or self._insisted
            # The exception is lost where it is raised in a finaliser or in a callback of the garbage collector, which
            # Python lets nobody see: then the clock ends the run.
            clock.interrupt()
            if exception:
                signal.default_int_handler(number, frame)

        try:
            signal.signal(signal.SIGINT, handle)
        except ValueError:  # not the main interpreter
            yield
            return
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def begin(self) -> None:
        """A part of the fit begins that has found nothing yet."""
        self._found = False

    def once_more(self, clock: Clock, work: Callable[[], _T]) -> _T:
        """What the work gives; done anew, in haste, where a first Ctrl-C comes before it has found anything."""
        hurried = clock.hurried
        try:
            return work()
        except KeyboardInterrupt:
            if hurried or self._insisted:
                raise
            clock.interrupt()
            return work()

    @contextmanager
    def playing(self) -> Iterator[None]:
        """In here it is an exception, which ends a run; after it there is something to keep."""
        self._playing = True
        try:
            yield
            self._found = True
        finally:
            self._playing = False

    @staticmethod
    def report(clock: Clock, name: str) -> None:
        """A fit of this name is complete; if Ctrl-C has ended it, say so, or pass it on to whoever calls fits."""
        if not clock.interrupted:
            return
        before, CtrlC._ended = CtrlC._ended, monotonic()
        if CtrlC._ended - before < _AGAIN:
            raise KeyboardInterrupt
        warnings.warn(
            f"{name}: interrupted: the best ensemble so far was kept. Press Ctrl-C again within {_AGAIN:g} seconds to "
            "end a search, too.",
            ConvergenceWarning,
            stacklevel=5,
        )
