"""Ensembles of step functions added up into one: prediction stays one lookup a feature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dualboost.learners.stumps import StumpScores

__all__ = ["merged"]


def merged(parts: Sequence[StumpScores]) -> StumpScores:
    """The sum of these scores.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.learners import Stumps
    >>> from dualboost.learners.step_functions import merged
    >>> from dualboost.rows import Rows
    >>> oracle = Stumps().bind(np.array([[1.0], [2.0], [3.0]]), np.array([-1, 1, 1]), Rows.of(3))
    >>> parts = [oracle.predictor([(0, cut, 0)], np.array([0.5])) for cut in (0, 1)]
    >>> merged(parts).scores(np.array([[1.0], [2.0], [3.0]]))
    array([-1.,  0.,  1.])
    """
    used = np.unique(np.concatenate([part.features for part in parts]))
    steps = [_sum([(part, u) for part in parts for u in np.flatnonzero(part.features == f).tolist()]) for f in used]
    return StumpScores(
        float(sum(part.base for part in parts)),
        used.astype(np.int32),
        np.cumsum([0, *(len(cuts) for cuts, _ in steps)], dtype=np.int64),
        np.concatenate([np.empty(0), *(cuts for cuts, _ in steps)]),
        np.concatenate([np.empty(0), *(table for _, table in steps)]),
        np.array([sum(part.missing[part.features == f].sum() for part in parts) for f in used], dtype=np.float64),
        np.array([sum(part.weight[part.features == f].sum() for part in parts) for f in used], dtype=np.float64),
    )


def _sum(places: Sequence[tuple[StumpScores, int]]) -> tuple[np.ndarray, np.ndarray]:
    """(cuts, table) of the sum of some step functions of one feature."""
    functions = [_function(part, u) for part, u in places]
    cuts = np.unique(np.concatenate([own for own, _ in functions]))
    table = np.zeros(len(cuts) + 1)
    for own, values in functions:
        table += values[np.searchsorted(own, np.concatenate([cuts, [np.inf]]), side="left")]
    return cuts, table


def _function(part: StumpScores, u: int) -> tuple[np.ndarray, np.ndarray]:
    """(cuts, table) of the feature in place u; a table has one value more than cuts."""
    first, last = part.cut_start[u], part.cut_start[u + 1]
    return part.cuts[first:last], part.tables[first + u : last + u + 1]
