"""Linear programs that can be cut: by Ctrl-C, and by whoever says that the time is over.

A solver hears nothing while it works, and a large program may work for many seconds. So it does that in a thread, and
whoever waits for it is awake. An answer that is not cut is the same as without: only when to stop depends on a clock.
"""

from __future__ import annotations

import threading
from contextlib import suppress

import numpy as np

from dualboost.cutting import check_cut, is_watched
from dualboost.kernels import dot

__all__ = ["run_program", "run_warm_program"]

_LOOK = 0.02  # seconds from one look to the next
_SMALL = 20_000  # entries of a program that is solved before a thread is worth its start
_AT_LEAST, _ENOUGH = 1000, 2  # iterations, and for each row and column: a quarter of that is usual
_UNLIMITED = 2**31 - 1
_ROOM = 1 << 20  # bytes, more than a thread has for itself


def run_program(solver, entries: int) -> None:
    """solver.run() of a program of HiGHS with so many entries; Ctrl-C and a reason to stop end it soon."""
    heard = is_watched() or threading.current_thread() is threading.main_thread()
    if entries < _SMALL or not heard:
        solver.run()
        return
    work = _Work(solver)
    try:
        work.thread.start()
    except RuntimeError:  # there is no room for a thread
        solver.run()
        return
    work.watch()


def run_warm_program(solver, entries: int) -> bool:
    """run_program of a program that was solved before and has changed; whether it is solved.

    From an old basis the simplex method may stall for hundreds of thousands of iterations, or go wrong: then it starts
    afresh, once.
    """
    limit = _AT_LEAST + _ENOUGH * (solver.getNumRow() + solver.getNumCol())
    solver.setOptionValue("simplex_iteration_limit", limit)
    run_program(solver, entries)
    if not _is_solved(solver):
        solver.clearSolver()
        solver.setOptionValue("simplex_iteration_limit", _UNLIMITED)
        run_program(solver, entries)
    return _is_solved(solver)


def _is_solved(solver) -> bool:
    status = solver.getModelStatus()
    if status == type(status).kMemoryLimit:
        raise MemoryError("There is no memory left for a linear program.")
    return status == type(status).kOptimal


def _settle() -> None:
    """Throw an error of C++ while there is memory for what a thread needs to throw: later the process would end."""
    bytearray(_ROOM)
    with suppress(ValueError):
        dot(np.zeros(1), np.zeros(2), 1)


class _Work:
    """A solver at work in its thread."""

    def __init__(self, solver) -> None:
        self._solver, self._done = solver, threading.Event()
        self._error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, name="linear program", daemon=True)

    def _run(self) -> None:
        try:
            _settle()
            self._solver.run()
        except BaseException as error:  # to be raised where it is waited for
            self._error = error
        finally:
            self._done.set()

    def watch(self) -> None:
        """Until it is done or cut."""
        try:
            while not self._done.wait(_LOOK):
                check_cut()
        finally:
            self._stop()
        if self._error is not None:
            raise self._error

    def _stop(self) -> None:
        """The solver looks at its limit in every iteration, so writing one there ends it."""
        if not self._done.is_set():
            self._solver.setOptionValue("time_limit", 0.0)
        self.thread.join()
        self._solver.setOptionValue("time_limit", float("inf"))
