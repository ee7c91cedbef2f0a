"""Which round of side-by-side fits is kept: the best on the rows that bags leave out, or on rows held out from all.

Rows held out, an `eval_set` or a `validation_fraction`, choose the number of rounds and nothing else. They score the
mean vote of all bags, which is the model as it would be, as they score the ensemble of a single fit: by accuracy, then
by loss, with the same patience. Accuracy is fair to noisy labels: wrong labels at random lower it for all rounds alike.
Start, size of the trees and noise rate are still compared by the best round on the rows that bags leave out. These are
all training rows, many more than are held out as a rule: the choice is surer, and the held-out score stays nearly that
of new data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from dualboost.estimators.bag_fits import Fit
from dualboost.estimators.judge import Ranking, Score

__all__ = ["ByHeldOut", "ByLeftOut", "RoundChoice"]

_PATIENCE = 8  # rounds without progress on the rows left out


class RoundChoice(ABC):
    """Looks at every round, and says which one is the best so far."""

    scores: Sequence[Score] = ()
    """On rows held out, if there are any."""

    @abstractmethod
    def prefers(self, t: int, fits: Sequence[Fit], loss: float) -> bool:
        """Whether round t, with this loss on the rows left out, is better than all before."""

    @abstractmethod
    def prefers_last(self, t: int, fits: Sequence[Fit]) -> bool:
        """The same of the last round, if it was not due to be looked at."""

    @abstractmethod
    def reason(self, t: int) -> str:
        """Why to stop after round t, or nothing."""

    @abstractmethod
    def words(self) -> str:
        """For a progress bar."""


class ByLeftOut(RoundChoice):
    """The smallest loss on the rows that bags leave out."""

    def __init__(self) -> None:
        self._least, self._at = np.inf, 0

    def prefers(self, t: int, fits: Sequence[Fit], loss: float) -> bool:
        if loss >= self._least - 1e-12:
            return False
        self._least, self._at = loss, t
        return True

    def prefers_last(self, t: int, fits: Sequence[Fit]) -> bool:
        return False  # every round was looked at

    def reason(self, t: int) -> str:
        return f"no progress on rows left out in {_PATIENCE} rounds" if t - self._at >= _PATIENCE else ""

    def words(self) -> str:
        return " on rows left out"


class ByHeldOut(RoundChoice):
    """The best score of the mean vote on rows that no bag holds."""

    def __init__(self, ranking: Ranking, start: np.ndarray | None, threads: int = 1):
        self._ranking, self._threads = ranking, threads
        self._begun = start is not None
        self._start = np.zeros(len(ranking.held_out.codes)) if start is None else start
        self._total, self._played = np.zeros(len(self._start)), 0
        self.scores = ranking.scores

    def prefers(self, t: int, fits: Sequence[Fit], loss: float) -> bool:
        if not (self._ranking.due(t) or (t == 0 and self._begun)):
            return False
        return self._ranking.weigh(t, self._votes(t, fits))

    def _votes(self, t: int, fits: Sequence[Fit]) -> np.ndarray:
        """The mean vote after t rounds; only what came since the last look is scored."""
        gained = np.zeros(len(self._total))
        for fit in fits:
            gained += fit.predictor(t, self._played).scores(self._ranking.held_out.X, self._threads)
        self._total, self._played = self._total + gained, t  # at once: Ctrl-C may come at any time
        return self._start + self._total / len(fits)

    def prefers_last(self, t: int, fits: Sequence[Fit]) -> bool:
        return t > self._played and self._ranking.weigh(t, self._votes(t, fits))

    def reason(self, t: int) -> str:
        return self._ranking.reason(t)

    def words(self) -> str:
        return f" on rows left out{self._ranking.words()}"
