"""How a command ends: exit codes that mean something, and one sentence where it went wrong."""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

from dualboost.errors import BadInput

__all__ = ["BAD_INPUT", "DEFECT", "INTERRUPTED", "OutOfTime", "at_most", "bad_input", "guarded"]

DEFECT, BAD_INPUT, INTERRUPTED, NO_READER = 1, 2, 130, 141


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with every way to fail turned into an exit code."""

    @functools.wraps(command)
    def run(*args, **options) -> None:
        try:
            command(*args, **options)
            sys.stdout.flush()
        except BadInput as error:
            raise _ended(str(error), BAD_INPUT) from None
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has gone, as `head` does
            raise typer.Exit(NO_READER) from None
        except KeyboardInterrupt:
            raise _ended("Interrupted: nothing was written.", INTERRUPTED) from None
        except (typer.Exit, typer.Abort):
            raise
        except Exception as error:
            if os.environ.get("DUALBOOST_DEBUG"):
                traceback.print_exc()
            sentence = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            advice = "This is a defect of dualboost; run again with DUALBOOST_DEBUG=1 and report what it prints."
            raise _ended(f"{sentence}\n{advice}", DEFECT) from None

    return run


def _ended(sentence: str, code: int) -> typer.Exit:
    print(sentence, file=sys.stderr)
    return typer.Exit(code)


@contextmanager
def bad_input() -> Iterator[None]:
    """What the library refuses in here was asked for by the caller: its sentence is the answer."""
    try:
        yield
    except BadInput:
        raise
    except (ValueError, TypeError) as error:
        raise BadInput(" ".join(str(error).split())) from error
    except OSError as error:
        raise BadInput(f"{error.strerror or error}: {error.filename}." if error.filename else f"{error}.") from error
    except MemoryError as error:
        raise BadInput("There is not enough memory for this data: take a part of it with --rows.") from error


class OutOfTime(KeyboardInterrupt):
    """The clock, not the user."""


def _ring(signal_number, frame) -> None:
    raise OutOfTime


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Press Ctrl-C after this time, and again: a fit then keeps its best so far, as it does for a person.

    Where it has nothing yet, OutOfTime comes out. Without timers (Windows, other threads) nothing is limited.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
