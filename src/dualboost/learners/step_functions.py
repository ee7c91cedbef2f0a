"""Ensembles of step functions added up into one: prediction stays one lookup a feature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dualboost.learners.stumps import StumpScores

__all__ = ["Steps", "merged", "step_scores"]

Steps = tuple[np.ndarray, np.ndarray]  # cuts, and the values between them: one more


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
    places: list[list[tuple[StumpScores, int]]] = [[] for _ in used]
    missing, weight = np.zeros(len(used)), np.zeros(len(used))
    for part in parts:
        where = np.searchsorted(used, part.features)
        missing[where] += part.missing
        weight[where] += part.weight
        for u, place in enumerate(where.tolist()):
            places[place].append((part, u))
    base = float(sum(part.base for part in parts))
    return step_scores(base, used, [_sum(here) for here in places], missing, weight)


def step_scores(base: float, features, steps: Sequence[Steps], missing, weight) -> StumpScores:
    """From one step function for each of these features, ascending; the score where it is missing; its weight."""
    return StumpScores(
        base,
        np.asarray(features, dtype=np.int32),
        np.cumsum([0, *(len(cuts) for cuts, _ in steps)], dtype=np.int64),
        np.concatenate([np.empty(0), *(cuts for cuts, _ in steps)]),
        np.concatenate([np.empty(0), *(table for _, table in steps)]),
        np.asarray(missing, dtype=np.float64),
        np.asarray(weight, dtype=np.float64),
    )


def _sum(places: Sequence[tuple[StumpScores, int]]) -> Steps:
    """The sum of some step functions of one feature."""
    functions = [_function(part, u) for part, u in places]
    if len(functions) == 1:
        return functions[0]
    cuts = np.unique(np.concatenate([own for own, _ in functions]))
    table = np.zeros(len(cuts) + 1)
    for own, values in functions:
        table += values[np.searchsorted(own, np.concatenate([cuts, [np.inf]]), side="left")]
    return cuts, table


def _function(part: StumpScores, u: int) -> Steps:
    """The step function of the feature in place u."""
    first, last = part.cut_start[u], part.cut_start[u + 1]
    return part.cuts[first:last], part.tables[first + u : last + u + 1]
