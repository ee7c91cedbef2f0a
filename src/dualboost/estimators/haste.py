"""A sample of the rows, for what has to be fitted after the time is over: what that takes no longer follows the table.

Each class has its part of the sample, so that none is lost, and within a class rows are taken at equal distances of the
weight. What is taken weighs as much as what it stands for: the classes weigh what they did, and weight k is k copies.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dualboost.estimators.validation import TrainingData
from dualboost.learners import Learner, SklearnLearner

__all__ = ["sample_of"]

_CELLS = 300_000  # numbers in a sample...
_FEWEST, _MOST = 2_000, 10_000  # ...of this many rows, whatever their length
_WORTH = 4  # a table must have so many times the rows: else all of them take hardly longer


def sample_of(data: TrainingData, learner: Learner | None = None) -> TrainingData:
    """Some of the rows, which still stand for the caller's; all where there are few."""
    calls = _calls_others(learner)
    most = _FEWEST if calls else _rows_of_a_sample(data)
    if len(data.codes) <= (1 if calls else _WORTH) * most:
        return data
    chosen, weights = sampled(data.codes, data.weights, most)
    held_out = None if data.held_out is None else _some(data.held_out)
    return replace(data.only(chosen), weights=weights, held_out=held_out)


def _calls_others(learner: Learner | None) -> bool:
    """Whether every question is a fit of scikit-learn: nobody can cut it short, and its time follows the rows."""
    return isinstance(learner, SklearnLearner) or any(map(_calls_others, getattr(learner, "learners", ())))


def _some(judges: TrainingData) -> TrainingData:
    """Some of the rows to judge by, which are nobody's training rows any more."""
    most = _rows_of_a_sample(judges)
    if len(judges.codes) <= _WORTH * most:
        return judges
    chosen, weights = sampled(judges.codes, judges.weights, most)
    return replace(judges.part(chosen), weights=weights)


def _rows_of_a_sample(data: TrainingData) -> int:
    stored = getattr(data.X, "nnz", None)
    cells = data.X.shape[0] * data.X.shape[1] if stored is None else stored
    return int(np.clip(_CELLS * len(data.codes) // max(cells, 1), _FEWEST, _MOST))


def sampled(codes: np.ndarray, weights: np.ndarray | None, most: int) -> tuple[np.ndarray, np.ndarray]:
    """(a mask of about `most` rows, what each of these weighs).

    Half of the sample is dealt out by the weight of the classes, the other half equally: rare classes have enough too.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.estimators.haste import sampled
    >>> mask, weights = sampled(np.array([0, 0, 0, 0, 0, 0, 0, 1]), None, 4)
    >>> np.flatnonzero(mask).tolist(), weights.round(2).tolist()
    ([1, 3, 5, 7], [2.33, 2.33, 2.33, 1.0])
    """
    order = np.argsort(codes, kind="stable")
    begins = np.flatnonzero(np.diff(codes[order], prepend=-1))
    given = np.ones(len(codes)) if weights is None else weights
    stands_for, total = np.zeros(len(codes)), float(given.sum())
    for members in np.split(order, begins[1:]):
        share = float(given[members].sum()) / total
        count = int(np.ceil(most * (share + 1 / len(begins)) / 2))
        stands_for[members] = _spread(given[members], count)
    mask = stands_for > 0
    return mask, stands_for[mask]


def _spread(weights: np.ndarray, count: int) -> np.ndarray:
    """All the weight on rows at `count` equal distances of it; as it is where there are no more rows than that."""
    if len(weights) <= count:
        return weights
    mass = np.cumsum(weights)
    places = np.searchsorted(mass, (np.arange(count) + 0.5) * (mass[-1] / count))
    return np.bincount(np.minimum(places, len(weights) - 1), minlength=len(weights)) * (mass[-1] / count)
