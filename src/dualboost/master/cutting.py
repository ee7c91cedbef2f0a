"""Linear programs that can be cut: by Ctrl-C, and by whoever says that the time is over.

A solver hears nothing while it works, and a large program may work for many seconds. So it does that in a thread, and
whoever waits for it is awake. An answer that is not cut is the same as without: only when to stop depends on a clock.
"""

from __future__ import annotations

import threading

from dualboost.cutting import check_cut, is_watched

__all__ = ["run_program"]

_LOOK = 0.02  # seconds from one look to the next
_SMALL = 20_000  # entries of a program that is solved before a thread is worth its start


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


class _Work:
    """A solver at work in its thread."""

    def __init__(self, solver) -> None:
        self._solver, self._done = solver, threading.Event()
        self._error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, name="linear program", daemon=True)

    def _run(self) -> None:
        try:
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
