"""Two boosters one after the other, and the choice of a solver for margins on stumps.

Corrective rounds cost little: where the best margin is below the accuracy asked, or nu is large, they end the run
before the first Newton step of the totally corrective booster is done; elsewhere they are a small part of its time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dualboost.boosters.base import Booster, Burst
from dualboost.boosters.corrective import Corrective
from dualboost.boosters.totally_corrective import TotallyCorrective
from dualboost.game import Game, State
from dualboost.learners.base import Answer

__all__ = ["InTurn", "automatic"]

_LARGE_NU = 0.5  # from here on few rounds of any kind are enough
_SEARCHED_ROUNDS = 4
_COMPILED_ROUNDS = 300


@dataclass(frozen=True)
class InTurn(Booster):
    """`first` for some rounds, then `then` from its own beginning; what was reached and proved is kept.

    Parameters
    ----------
    first, then : Booster
    switch : int
        The rounds of the first one.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost import solve
    >>> from dualboost.boosters import Corrective, InTurn, TotallyCorrective
    >>> A = np.random.default_rng(0).choice([-1.0, 1.0], (60, 40))
    >>> solve(A, booster=InTurn(Corrective(), TotallyCorrective(), switch=20), tol=1e-3).gap <= 1e-3
    True
    """

    first: Booster
    then: Booster
    switch: int

    def __post_init__(self):
        if not isinstance(self.switch, (int, np.integer)) or isinstance(self.switch, bool) or self.switch < 1:
            raise ValueError(f"switch is a number of rounds: a whole number of at least 1, not {self.switch!r}.")

    def start(self, game: Game, previous: State | None = None) -> State:
        self.then.start(game, previous)  # refuses now what it could not play later
        return self.first.start(game, previous)

    def ask(self, game: Game, state: State) -> Answer:
        return self._now(state).ask(game, state)

    def verdict(self, game: Game, state: State, answer: Answer) -> str:
        return self._now(state).verdict(game, state, answer)

    def update(self, game: Game, state: State, answer: Answer) -> State:
        return self._handed_over(game, state, self._now(state).update(game, state, answer))

    def burst(self, game: Game, state: State, count: int) -> Burst | None:
        left = self.switch - state.t
        played = self._now(state).burst(game, state, min(count, left) if left > 0 else count)
        if played is None or played.state.status:
            return played
        return replace(played, state=self._handed_over(game, state, played.state))

    def _now(self, state: State) -> Booster:
        return self.first if state.t < self.switch else self.then

    def _handed_over(self, game: Game, before: State, after: State) -> State:
        """The first state of the second booster once the first has played its rounds."""
        if not before.t < self.switch <= after.t:
            return after
        fresh = self.then.start(game)
        return replace(fresh, pool=after.pool, t=after.t, best=after.best)


def automatic(nu: float) -> Booster:
    """The booster for the soft margin at this nu, to an absolute gap of about 0.01.

    The totally corrective booster, after cheap rounds that are often enough: from nu = 1/2 on a handful of searched
    steps; below, a few hundred compiled corrective rounds, which end the run where the best margin is itself within
    the gap asked.
    `python -m benchmarks.table2` compares the choice with all others.

    Examples
    --------
    >>> from dualboost.boosters import automatic
    >>> automatic(0.8).first
    Corrective(step='search', stop='certified', smoothing='halving')
    >>> automatic(0.1).then
    TotallyCorrective(columns=None, smoothing='halving')
    """
    if nu >= _LARGE_NU:
        return InTurn(Corrective(step="search", smoothing="halving"), TotallyCorrective(), _SEARCHED_ROUNDS)
    return InTurn(Corrective(), TotallyCorrective(), _COMPILED_ROUNDS)
