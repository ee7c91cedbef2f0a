"""nu chosen from the data: a short path of values, each judged on rows that it was not fitted to.

Rows are dealt into folds by their content, so copies of a row stay together: weight k is the same as k copies, in any
order, and a duplicate never tests the model that has seen it.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from dualboost.boosters import Corrective
from dualboost.estimators.validation import TrainingData
from dualboost.game import Game
from dualboost.learners import Learner
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Capped
from dualboost.solve import play

__all__ = ["choose_nu", "distinct_rows", "fingerprints"]

PATH = (0.6, 0.5, 0.4, 0.32, 0.25, 0.18, 0.12, 0.08, 0.05, 0.03)
_FOLDS = 5
_ENOUGH_ROWS = 20_000  # more distinct rows than this would not make the choice better
_ROUNDS = 100
_QUICK = Corrective(step="search", smoothing="halving")  # a rough vote is enough to compare
_NO_MARGIN = 2e-3  # where the soft margin has gone, a smaller nu only has more rows to fail on
_WITHOUT_EVIDENCE = 0.4  # too few rows to hold any out: forgive


def choose_nu(data: TrainingData, rows: Rows, learner: Learner, random_state) -> float:
    """The value of the path with the best held-out accuracy; of equal ones the largest, which forgives most."""
    prints = fingerprints(data.X, check_random_state(random_state))
    kept = np.flatnonzero(_sampled(prints))
    fold_of = prints[kept] % np.uint64(_FOLDS)
    right = np.zeros(len(PATH))
    for fold in range(_FOLDS):
        train, test = kept[fold_of != fold], kept[fold_of == fold]
        if len(test) and len(np.unique(data.signs[train])) == 2:
            right += _held_out(data, rows, learner, (train, test))
    return PATH[int(np.argmax(right >= right.max() - 1e-12))] if right.any() else _WITHOUT_EVIDENCE


def _sampled(prints: np.ndarray) -> np.ndarray:
    """Which rows take part: all, or a sample of the distinct ones by their fingerprint."""
    distinct = len(np.unique(prints))
    share = min(1.0, _ENOUGH_ROWS / distinct)
    return (prints // np.uint64(_FOLDS)).astype(np.float64) <= share * (2.0**64 / _FOLDS)


def _held_out(data, rows: Rows, learner: Learner, split) -> np.ndarray:
    """The prior mass of the held-out rows that are classified right, for each value of the path."""
    train, test = split
    weights = len(train) if rows.uniform else np.ascontiguousarray(rows.prior[train])
    part = Rows.of(weights, rows.threads)
    oracle = learner.bind(data.X[train], data.signs[train], part)
    right, state = np.zeros(len(PATH)), None
    for place, nu in enumerate(PATH):
        game = Game(SoftMargin(Capped(nu=nu)).bind(part), oracle, part, tol=1e-3, rtol=0.1)
        outcome = play(game, _QUICK, _ROUNDS, _QUICK.start(game, state))
        state = outcome.state
        scores = oracle.predictor(state.pool.keys[: len(state.w)], state.w).scores(data.X[test], rows.threads)
        right[place:] = float(rows.prior[test][scores * data.signs[test] > 0].sum())
        if outcome.certificate.objective <= _NO_MARGIN:
            break
    return right


def distinct_rows(X) -> int:
    """How many different rows there are."""
    return len(np.unique(fingerprints(X, np.random.RandomState(0))))


def fingerprints(X, random: np.random.RandomState) -> np.ndarray:
    """A 64-bit hash of each row's values; equal rows have equal hashes, dense or sparse, float32 or float64."""
    factors = random.randint(0, 2**63, size=X.shape[1], dtype=np.int64).astype(np.uint64) * np.uint64(2) + np.uint64(1)
    if sp.issparse(X):
        table = sp.csr_array(X)
        table.sum_duplicates()
        terms = _bits(table.data) * factors[table.indices]
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
        total = sums[table.indptr[1:]] - sums[table.indptr[:-1]]  # exact: arithmetic modulo 2^64
    else:
        total = np.zeros(X.shape[0], dtype=np.uint64)
        for j in range(X.shape[1]):
            total += _bits(X[:, j]) * factors[j]
    return _mixed(total)


def _bits(values: np.ndarray) -> np.ndarray:
    numbers = np.where(np.isnan(values), np.nan, values).astype(np.float64) + 0.0  # one NaN, one zero
    return numbers.view(np.uint64)


def _mixed(h: np.ndarray) -> np.ndarray:
    """Spread the high bits over the low ones (the finaliser of splitmix64)."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))
