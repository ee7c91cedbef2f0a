"""A run in stretches: who looks at it and when, and the rounds at which it could be taken up again.

Results never depend on the clock. Stretches end at rounds that follow from the size of the data and the wishes of the
watch; and warm starts, which may change the last bit of a number, are dropped at fixed rounds, the seams, where a run
that goes on and one that is taken up from its state are the same to the bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from dualboost.boosters import Booster
from dualboost.game import Game, Pool, State, rounds
from dualboost.learners.base import Answer, Hypothesis

__all__ = [
    "SEAM",
    "Halt",
    "Named",
    "Record",
    "Stretch",
    "Watch",
    "always",
    "next_seam",
    "record_of",
    "rounds_at_once",
    "stretches",
    "watch_of",
]

SEAM = 32  # rounds from one seam to the next: a linear program that begins anew costs a tenth more in all
_FIRST_SEAM = 4  # then twice as late each time up to 32: a run of few rounds has its seams too
_MOST = 512  # compiled rounds at once, on data so small that they take milliseconds
_FIRST = 4  # of a run: whoever breaks it off soon has something to keep
_UNKNOWN = 128  # the same where the size of the data is not known
_CELLS = 1_000_000_000  # codes that a stretch of compiled rounds may read: about half a second

Record = tuple[float, float, float, int]
"""Of a certified state: the best objective and bound so far, the edge of the answer, the hypotheses known."""

Named = tuple[Hypothesis, float]
"""A hypothesis and its edge."""


@dataclass(frozen=True, eq=False)
class Halt:
    """A run at a seam: its state, and the records of the states certified so far."""

    state: State
    log: tuple[Record, ...]
    known: int
    """The hypotheses met up to here: the pool of a run that went on has more."""

    @classmethod
    def at(cls, state: State, log: list[Record]) -> Halt:
        return cls(state, tuple(log), len(state.pool))

    def resumed(self) -> State:
        """The state with a pool of its own, as it was."""
        return replace(self.state, pool=Pool.of_record(self.state.pool.keys[: self.known]))

    @property
    def recorded(self) -> bool:
        """Whether the state itself has been certified; one between two bursts has not."""
        return len(self.log) > self.state.t


def always() -> str:
    """The patience of those who wait for everything."""
    return ""


class Watch(ABC):
    """Somebody who looks at a run."""

    seams: bool
    """Whether the run has seams."""

    @abstractmethod
    def wait(self, t: int) -> int:
        """The most rounds from round t to the next look."""

    @abstractmethod
    def look(self, state: State) -> str:
        """Told of a state; a reason to stop, or nothing.

        A state that compiled rounds have led to is shown once more when it has been certified itself.
        """

    @abstractmethod
    def cut(self) -> str:
        """Why to give up a long step within a round, or nothing; asked often while one lasts."""

    def patience(self) -> Callable[[], str]:
        """For a step that recomputes what was reached: tells why to give it up, or nothing; asked often meanwhile."""
        return always

    @abstractmethod
    def seam(self, halt: Halt) -> None:
        """Told at every seam where the run could be taken up again."""


class _Plain(Watch):
    """A function of the state, called whenever there is one to see; and nobody."""

    seams = False

    def __init__(self, look: Callable[[State], str | None] | None):
        self._look = look

    def wait(self, t: int) -> int:
        return _MOST

    def look(self, state: State) -> str:
        return (self._look(state) or "") if self._look is not None else ""

    def cut(self) -> str:
        return ""

    def seam(self, halt: Halt) -> None:
        """There are none."""


def watch_of(watch: Watch | Callable[[State], str | None] | None) -> Watch:
    """A watch; a function of the state is one, and so is None."""
    return watch if isinstance(watch, Watch) else _Plain(watch)


@dataclass(frozen=True, eq=False)
class Stretch:
    """Some rounds: the state after them, and a record of every state that was certified on the way."""

    state: State
    records: list[Record]
    at_seam: bool = False
    named: Named | None = None
    """What the learner has named for a state without a vote."""


def stretches(game: Game, booster: Booster, begin: Halt, max_rounds: int, watch: Watch) -> Iterator[Stretch]:
    """The run in pieces, with a further one without rounds at every seam. A piece is a burst if possible, else a round.

    The state of a seam is asked about and certified again on its other side, whoever takes it up, and not shown twice.
    """
    state, recorded = begin.state, begin.recorded
    del begin  # a run does not keep the state that it began with
    while state.t < max_rounds or not recorded:
        limit = min(max_rounds, next_seam(state.t)) if watch.seams else max_rounds
        for burst in _bursts(game, booster, state, limit, watch):
            yield replace(burst, records=burst.records[int(recorded) :])
            state, recorded = burst.state, False
        if not state.status and (state.t < limit or limit == max_rounds):
            for played in _single_rounds(game, booster, state, limit, recorded):
                yield played
                state, recorded = played.state, True
        if state.status:
            return
        if state.t < max_rounds:
            game.forget()
            yield Stretch(state, [], at_seam=True)


def next_seam(t: int) -> int:
    """The first seam after round t: 4, 8, 16, every 32nd, from 2,048 on every 64th, from 4,096 on every 128th, ..."""
    if t < SEAM:
        return max(_FIRST_SEAM, 1 << t.bit_length())
    apart = max(SEAM, 1 << (t.bit_length() - 6))  # a seam copies the records so far: so it costs a share of the rounds
    return (t // apart + 1) * apart


def _bursts(game: Game, booster: Booster, state: State, limit: int, watch: Watch) -> Iterator[Stretch]:
    """Compiled rounds up to this one, where the booster has them; the last state is not yet certified."""
    most = rounds_at_once(game)
    while state.t < limit and not state.status:
        count = min(most if state.t else _FIRST, watch.wait(state.t), limit - state.t)
        burst = booster.burst(game, state, count)
        if burst is None:
            return
        state = burst.state
        yield Stretch(state, list(zip(burst.objectives, burst.bounds, burst.edges, burst.sizes, strict=True)))


def _single_rounds(game: Game, booster: Booster, state: State, limit: int, recorded: bool) -> Iterator[Stretch]:
    """One by one up to this round; a state that is recorded is shown again only if it is found to be the last."""
    for played, answer in rounds(game, booster, state):
        again = recorded and played.t == state.t
        if not again or played.status:
            named = None if played.w.any() else (answer.hypotheses[0], float(answer.edges[0]))
            yield Stretch(played, [] if again else [record_of(played, answer)], named=named)
        if played.t >= limit:
            return


def record_of(state: State, answer: Answer) -> Record:
    """What a certified state showed."""
    return state.best.objective, state.best.bound, abs(float(answer.edges[0])), len(state.w)


def rounds_at_once(game: Game) -> int:
    """How many compiled rounds to play without a look."""
    cells = game.oracle.cells
    return _UNKNOWN if cells is None else max(1, min(_MOST, _CELLS // cells))
