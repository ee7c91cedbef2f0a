"""nu chosen from the data: a short path of values, each judged on rows that it was not fitted to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.utils import check_random_state

from dualboost.boosters import Corrective
from dualboost.estimators.clock import Clock
from dualboost.estimators.folds import sampled, splits
from dualboost.estimators.validation import TrainingData
from dualboost.fingerprints import fingerprints
from dualboost.game import INTERRUPTED, Game, State
from dualboost.learners import Learner, Oracle
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Capped
from dualboost.solve import Outcome, play

__all__ = ["check_votes", "choose_nu", "rough"]

PATH = (0.6, 0.5, 0.4, 0.32, 0.25, 0.18, 0.12, 0.08, 0.05, 0.03)
_FOLDS = 5
_ENOUGH_ROWS = 20_000  # more distinct rows than this would not make the choice better
_ROUNDS = 100
_QUICK = Corrective(step="search", smoothing="halving")  # a rough vote is enough to compare
_NO_MARGIN = 2e-3  # where the soft margin has gone, a smaller nu only has more rows to fail on
_WITHOUT_EVIDENCE = 0.4  # too few rows to hold any out: forgive
_SHARE = 0.25  # of a time limit
_LARGEST_VOTE = 1e6  # beyond, the smoothing of a margin has no digits left


def check_votes(oracle: Oracle) -> None:
    """Refuse hypotheses that are far from the [-1, 1] of a margin."""
    largest = getattr(oracle, "largest_entry", 1.0)
    if largest > _LARGEST_VOTE:
        raise ValueError(
            f"The columns of X are the votes here, which a margin wants within [-1, 1], and one has size {largest:.3g}"
            ": divide each column by its largest entry, as MaxAbsScaler does, or let Stumps() ask about them."
        )


def rough(game: Game, clock: Clock, max_rounds: int = _ROUNDS, begin: State | None = None) -> Outcome:
    """A vote that is about as right as the best one, soon: also where the soft margin is largest without any vote."""
    game, most = replace(game, tol=1e-3, rtol=0.1), min(max_rounds, _ROUNDS)
    outcome = play(game, _QUICK, most, _QUICK.start(game, begin), lambda state: "no time" if clock.over else "")
    if outcome.status == INTERRUPTED:
        clock.interrupt()
    return outcome


def choose_nu(data: TrainingData, rows: Rows, learner: Learner, random_state) -> float:
    """The value of the path with the best held-out accuracy; of equal ones the largest, which forgives most."""
    prints = fingerprints(data.X, check_random_state(random_state))
    kept = sampled(prints, _FOLDS, _ENOUGH_ROWS)
    right, clock = np.zeros(len(PATH)), data.control.clock.part(_SHARE)
    for split in splits(prints, kept, data.codes, _FOLDS):
        right += _held_out(data, rows, learner, split, clock)
        if clock.over:
            break
    return PATH[int(np.argmax(right >= right.max() - 1e-12))] if right.any() else _WITHOUT_EVIDENCE


def _held_out(data, rows: Rows, learner: Learner, split, clock: Clock) -> np.ndarray:
    """The prior mass of the held-out rows that are classified right, for each value of the path."""
    train, test = split
    part, judged = data.part(train).rows(rows.threads), data.part(test)
    oracle = data.bound(learner, part, train)
    check_votes(oracle)
    right, state = np.zeros(len(PATH)), None
    for place, nu in enumerate(PATH):
        outcome = rough(Game(SoftMargin(Capped(nu=nu)).bind(part), oracle, part), clock, _ROUNDS, state)
        state = outcome.state
        scores = oracle.predictor(state.pool.keys[: len(state.w)], state.w).scores(judged.X, rows.threads)
        right[place:] = float(data.shares[test][judged.leads(scores) > 0].sum())
        if outcome.certificate.objective <= _NO_MARGIN or clock.over:
            break
    return right
