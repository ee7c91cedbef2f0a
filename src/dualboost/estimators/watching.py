"""Those who look at the run of a fit, as one: the clock, callbacks, the held-out score, notes, a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from dualboost.estimators.control import Control
from dualboost.estimators.judge import Judge
from dualboost.estimators.keeping import Keeper, Unfinished
from dualboost.game import State
from dualboost.run import Halt, Watch
from dualboost.solve import Outcome

__all__ = ["Draw", "Notebook", "RunWatch", "asked"]

Draw = Callable[[State, str], None]
_LONG = 1 << 30
_FEW = 8  # rounds at once after Ctrl-C: other classes have to end in its second too


class Notebook(Protocol):
    """Whoever writes down numbers about every state."""

    records: list[tuple[float, ...]]

    def note(self, state: State) -> None: ...

    def resume(self, records: Sequence[tuple[float, ...]], state: State) -> None:
        """Take up what was written down up to this state."""


@dataclass(eq=False)
class RunWatch(Watch):
    """Each part is there or not; none of them changes the run but by ending it."""

    control: Control
    judge: Judge | None = None
    notebook: Notebook | None = None
    draw: Draw | None = None
    keeper: Keeper | None = None
    hooked: Callable[[State], str] | None = None
    _seen: int = 0
    _votes: bool = False
    _looked: bool = False

    @property
    def seams(self) -> bool:  # type: ignore[override]
        return self.keeper is not None

    def wait(self, t: int) -> int:
        if self.control.training.callbacks or self.hooked is not None:
            return 1
        most = _FEW if self.control.clock.hurried else _LONG
        return most if self.judge is None else min(most, self.judge.wait(t))

    def look(self, state: State) -> str:
        if self.notebook is not None:
            self.notebook.note(state)
        played, self._seen, self._votes, self._looked = state.t > self._seen, state.t, len(state.w) > 0, True
        reason = (self._reason(state) if played else "") or (self._out_of_time() if played or self._votes else "")
        if reason or self.judge is not None:
            self.control.stopped.add(self.control.part)
        return reason

    def _reason(self, state: State) -> str:
        """Of those who look once after every round."""
        stopped = self.judge.look(state) if self.judge is not None else ""
        if self.draw is not None:
            self.draw(state, self.judge.words() if self.judge is not None else "")
        hooked = self.hooked(state) if self.hooked is not None else ""
        return asked(self.control, state) or hooked or stopped

    def cut(self) -> str:
        """The clock: after Ctrl-C as soon as there is a state to end with, else where there is a vote to keep."""
        reason = self._out_of_time() if self._votes or (self._looked and self.control.clock.hurried) else ""
        if reason:
            self.control.stopped.add(self.control.part)
        return reason

    def patience(self) -> Callable[[], str]:
        return self.control.clock.patience()

    def _out_of_time(self) -> str:
        reason = self.control.clock.reason()
        if reason:
            self.control.broken_off.add(self.control.part)
        return reason

    def seam(self, halt: Halt) -> None:
        if self.keeper is not None:
            self.keeper.keep(self._with_everybody(halt))

    def end(self, outcome: Outcome) -> None:
        """The run is over, for now."""
        if self.keeper is not None:
            self.keeper.end(self._with_everybody(Halt.at(replace(outcome.state, status=""), outcome.log)))

    def _with_everybody(self, halt: Halt) -> Unfinished:
        notes = () if self.notebook is None else tuple(self.notebook.records)
        scores, kept = ((), None) if self.judge is None else (tuple(self.judge.scores), self.judge.kept)
        return Unfinished(halt, notes, scores, kept)

    def resume(self, unfinished: Unfinished) -> None:
        """Let everybody know what they knew then."""
        self._seen = unfinished.halt.state.t
        if self.notebook is not None:
            self.notebook.resume(unfinished.notes, unfinished.halt.state)
        if self.judge is not None:
            self.judge.resume(list(unfinished.scores), unfinished.kept)


def asked(control: Control, state: State) -> str:
    """The first reason that a callback has to stop."""
    shown = _read_only(state) if control.training.callbacks else state
    for callback in control.training.callbacks:
        reason = callback(shown)
        if not (reason is None or isinstance(reason, str)):
            raise TypeError(f"A callback returns a reason to stop as a string, or None to go on, not {reason!r}.")
        if reason:
            return reason
    return ""


def _read_only(state: State) -> State:
    """For those who look on: a run whose arrays they could change would go on from what they left."""
    best = replace(state.best, w=_fixed(state.best.w), d=None if state.best.d is None else _fixed(state.best.d))
    return replace(state, w=_fixed(state.w), z=_fixed(state.z), d=_fixed(state.d), best=best)


def _fixed(values: np.ndarray) -> np.ndarray:
    view = values.view()
    view.setflags(write=False)
    return view
