"""The time of a fit, shared out among its parts: classes, runs, the models behind the probabilities."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

__all__ = ["Clock"]

_GRACE = 0.5  # seconds after Ctrl-C, or after a limit, for what makes a model of the ensemble
_TURN = 0.04  # seconds for each of several parts that begin when the time is over, such as classes...
_OVERTIME = 0.25  # ...up to here
_LEAST = 0.1  # seconds that such a step has even if it is late: most take less


class Clock:
    """What is left of a time limit. Parts end with the whole, and Ctrl-C ends all of them soon."""

    def __init__(self, seconds: float | None = None, whole: Clock | None = None):
        self.seconds = seconds
        self._whole = whole
        self._for_others = self._overtime = 0.0  # of the time after Ctrl-C, and after the end of the whole
        self._end = float("inf") if seconds is None else monotonic() + seconds
        self._is_turn = False  # of one of several parts
        self.interrupted = False

    def left(self) -> float:
        """Seconds, infinite without a limit; not positive when the time is over."""
        own = self._end - monotonic()
        if self._whole is None:
            return own
        return min(own, self._whole.left() + self._overtime - self._for_others * self._whole.hurried)

    def part(self, share: float) -> Clock:
        """A clock for this share of what is left."""
        left = self.left()
        return Clock(None if left == float("inf") else max(0.0, left * share), self)

    def turn(self, parts: int) -> Clock:
        """A clock for the first of so many equal parts that are left.

        Should Ctrl-C come, the others need time too; and who comes late has some all the same, but half a share: the
        other half is for what cannot be cut.
        """
        if self.over:
            clock = Clock(max(0.5 * self.left() / parts, _TURN), self)
            clock._overtime = _OVERTIME
        else:
            clock = self.part(1 / parts)
            clock._for_others = _GRACE * (1 - 1 / parts)
        clock._is_turn = True
        return clock

    def interrupt(self) -> None:
        """Ctrl-C: what is left must be done at once."""
        self.interrupted = True
        self._end = min(self._end, monotonic() + _GRACE)
        if self._whole is not None:
            self._whole.interrupt()

    @property
    def hurried(self) -> bool:
        """Whether Ctrl-C was pressed, in this part or in another."""
        return self.interrupted or (self._whole is not None and self._whole.hurried)

    @property
    def over(self) -> bool:
        """Whether nothing long should be begun any more."""
        return self.hurried or self.left() <= 0

    def patience(self) -> Callable[[], str]:
        """For a step that makes a model of the ensemble: tells why to give it up, in words; empty while it has time."""
        least = monotonic() + _LEAST
        return lambda: self.reason() if monotonic() > least and self.left() <= (0 if self.hurried else -_GRACE) else ""

    def reason(self) -> str:
        """Why to stop now, in words; empty while there is time."""
        if self.left() > 0:
            return ""
        clocks = [self]
        while (whole := clocks[-1]._whole) is not None:
            clocks.append(whole)
        top = clocks[-1]
        if top.interrupted:
            return "interrupted: cut short"
        turn = next((clock for clock in clocks if clock._is_turn), None)
        if turn is None or turn.seconds is None or top.left() <= 0:
            return f"stopped after {top.seconds:g} s (time budget)"
        return f"stopped after its share of the {top.seconds:g} s, {_rounded(turn.seconds)} s (time budget)"


def _rounded(seconds: float) -> str:
    """Two digits: what is left for a share is never a round number."""
    return f"{float(f'{seconds:.2g}'):g}"
