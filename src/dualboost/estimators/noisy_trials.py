"""What rows left out choose: whether to begin with a linear vote, the size of the trees, the noise rate, the rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

import numpy as np
from scipy.sparse import issparse

from dualboost.boosters import Leveraging
from dualboost.estimators.bag_fits import BagParts, Bags, fits_to
from dualboost.estimators.bagging import Average, Trial, try_out
from dualboost.estimators.kept_tries import KeptTries
from dualboost.estimators.linear_start import LinearVotes, linear_votes
from dualboost.estimators.noise_rate import TIE, log_shares
from dualboost.estimators.validation import TrainingData
from dualboost.estimators.watching import Draw
from dualboost.fingerprints import count_distinct
from dualboost.game import INTERRUPTED
from dualboost.learners import LeafTrees, Learner, Predictor, Stumps
from dualboost.learners.leaf_trees import LeafOracle
from dualboost.learners.union import SumScores
from dualboost.losses import LogisticMixture
from dualboost.losses.logistic_difference import bounded_value
from dualboost.rows import Rows

__all__ = ["Found", "Settings", "Trials", "learners_for"]

_SIZES = (3, 10, 30)
_ALMOST_NONE = 0.02  # the noise rate at which starts and tree sizes are compared
_OTHER_RATES = (0.1, 0.25)
_LEAST_ROWS = 3.0  # distinct rows in a leaf
_IN_BAG = 0.63  # of the rows
_MOST_CELLS = 5_000_000  # of a sparse table that is made dense for trees
_EVIDENCE = 0.5  # standard errors


def learners_for(data: TrainingData, given: Learner | None, prints: np.ndarray) -> list[Learner]:
    """What to choose from: the learner given, else trees of several sizes; stumps for large sparse tables."""
    if given is not None:
        return [given]
    if issparse(data.X) and data.X.shape[0] * data.X.shape[1] > _MOST_CELLS:
        return [Stumps()]
    features = 0.5 if data.X.shape[1] >= 4 else 1.0
    distinct = count_distinct(prints)
    least = min(0.25, _LEAST_ROWS / distinct)
    row, named = min(1.0, 1 / (_IN_BAG * distinct)), data.categorical
    return [LeafTrees(size, 64, least, features, categorical=named, row_share=row) for size in _SIZES]


@dataclass(frozen=True)
class Settings:
    """What the caller has fixed."""

    booster: Leveraging
    rate: float | None
    """The noise rate; None to estimate it."""
    max_iter: int
    draw: Draw | None = None
    """Shows each round."""


@dataclass(frozen=True, eq=False)
class Found:
    """A trial with the linear vote that it began with."""

    trial: Trial
    linear: LinearVotes | None
    distinct: int
    """How many different rows there are."""

    def signal(self, signs: np.ndarray, rows: Rows) -> bool:
        """Whether rows left out are likelier than under the class frequencies, by more than chance would have it.

        Votes begin at a tie, and need some rounds to get there: fits that were broken off before say nothing.
        """
        if self.trial.gaining:
            return True
        margins, loss = self.trial.left_out.margins, self.trial.parts.loss
        known = ~np.isnan(margins)
        own = bounded_value(margins[known], loss.mu) - np.log1p(-loss.noise_rate)
        gain = -np.where(signs > 0, *log_shares(signs, rows))[known] - own
        share = rows.prior[known] / rows.prior[known].sum()
        mean = float(share @ gain)
        error = float(np.sqrt(share @ (gain - mean) ** 2 / self.distinct))
        return mean > _EVIDENCE * error

    @cached_property
    def trees(self) -> Average:
        """The averaged vote of the trees alone."""
        return self.trial.predictor()

    def predictor(self, scale: float) -> Predictor:
        """The averaged vote, scaled."""
        trees = replace(self.trees, scale=scale)
        oracle = self.trial.parts.oracle
        if self.linear is None or oracle is None:
            return trees
        steps = self.linear.predictor(oracle, scale)
        sizes = [float(steps.weight.sum()), scale * _mean_size(self.trees)]
        return SumScores((steps, trees), np.array(sizes))


def _mean_size(vote: Average) -> float:
    """The weight of the trees of a part, on average: none where the vote is linear."""
    return float(np.mean([getattr(part, "weight", np.ones(1)).sum() for part in vote.parts]))


class Trials:
    """Fits to the same bags, each compared with the best one before it by the loss on rows left out."""

    def __init__(self, data: TrainingData, rows: Rows, bags: Bags, prints: np.ndarray, settings: Settings):
        self.data, self.rows, self.bags, self.prints, self.settings = data, rows, bags, prints, settings
        self.distinct = count_distinct(prints)
        self.found: Found | None = None
        self._own = False
        self._tries = count(1)
        self._oracle: LeafOracle | None = None
        self._lines: dict[float, LinearVotes | None] = {}

    def best(self, learners: Sequence[Learner]) -> Found:
        """The best of all tries, or of those that were made before Ctrl-C."""
        control = self.data.control
        try:
            with control.ctrl_c.playing():
                self._search(learners)
        except KeyboardInterrupt:
            if self.found is None:
                raise
            control.clock.interrupt()
            control.broken_off.add(control.part)
            self.found = replace(self.found, trial=replace(self.found.trial, cut=INTERRUPTED))
        assert self.found is not None
        return self.found

    def _search(self, learners: Sequence[Learner]) -> None:
        """The start, then the size from the middle of the list on, then the noise rate where none is given."""
        given, at, self._own = self.settings.rate, len(learners) // 2, len(learners) > 1
        played = (*learners, self.settings.booster, given, self.settings.max_iter, self.data.control.training.patience)
        self._kept = KeptTries(self.data.control, self.data, self.bags, played)
        rate = _ALMOST_NONE if given is None else given
        self._better(learners[at], rate, False)
        linear = self._own and self._better(learners[at], rate, True)
        for step in (1, -1):
            near = at + step
            while near in range(len(learners)) and self._better(learners[near], rate, linear):
                at, near = near, near + step
            if at != len(learners) // 2:
                break
        for other in _OTHER_RATES if given is None else ():
            if not self._better(learners[at], other, linear):
                break

    def _better(self, learner: Learner, rate: float, linear: bool) -> bool:
        """Whether this is the best so far; nothing is tried after a fit that was broken off."""
        before = self.found
        if before is not None and before.trial.cut:
            return False
        line = self._line(learner, rate) if linear else None
        if linear and line is None:
            return False
        beat = np.inf if before is None else before.trial.left_out.loss
        parts = BagParts(learner, LogisticMixture(rate), self.settings.booster, self._bound(learner), beat=beat)
        trial = self._tried(parts if line is None else self._begun(parts, line))
        if before is not None and trial.left_out.loss >= before.trial.left_out.loss - TIE:
            self.found = replace(before, trial=replace(before.trial, cut=trial.cut))
            return False
        self.found = Found(trial, line, self.distinct)
        return True

    def _begun(self, parts: BagParts, line: LinearVotes) -> BagParts:
        """Fits that begin with this vote."""
        held_out = self.data.held_out
        if held_out is None or parts.oracle is None:
            return replace(parts, start=line.margins)
        votes = line.predictor(parts.oracle, 1.0).scores(held_out.X, self.rows.threads)
        return replace(parts, start=line.margins, held_out_start=votes)

    def _tried(self, parts: BagParts) -> Trial:
        """The next try, from the file where that has it."""
        number, control = next(self._tries), self.data.control
        if self._kept.holds(number):
            return self._kept.taken_up(number, fits_to(self.data, self.rows, self.bags, parts), parts)
        trial = try_out(self.data, self.rows, self.bags, parts, self.settings.max_iter, self._draw(number))
        try:
            self._kept.keep(trial)
        except KeyboardInterrupt:  # the try is done, whatever becomes of its file
            control.clock.interrupt()
            trial = replace(trial, cut=INTERRUPTED)
        if trial.cut and (control.clock.hurried or control.clock.reason()):
            control.broken_off.add(control.part)
        return trial

    def _draw(self, number: int) -> Draw | None:
        """Shows the rounds of this try."""
        draw = self.settings.draw
        return None if draw is None else lambda state, words: draw(state, f"{words}, try {number}")

    def _bound(self, learner: Learner) -> LeafOracle | None:
        """Our own trees with the rows, binned once."""
        if not (self._own and isinstance(learner, LeafTrees)):
            return None
        if self._oracle is None or self._oracle.learner.max_bins != learner.max_bins:
            X = self.data.X.toarray() if issparse(self.data.X) else self.data.X
            self._oracle = learner.bind(X, self.data.signs, self.rows)
        return self._oracle.grown_as(learner)

    def _line(self, learner: Learner, rate: float) -> LinearVotes | None:
        """The linear vote of this noise rate, if there is to be one."""
        oracle = self._bound(learner)
        if rate not in self._lines and oracle is not None:
            loss = LogisticMixture(rate)
            self._lines[rate] = linear_votes(oracle, self.bags, self.prints, loss)
        return self._lines.get(rate)
