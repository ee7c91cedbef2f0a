"""Bounds from joint histograms of two columns: they spare exact sums and never change an answer."""

from __future__ import annotations

import numpy as np
import pytest

from dualboost import kernels
from dualboost.data import bin_columns

ROWS, COLUMNS = 4_500, 27  # enough for joint bounds, an odd column among them


def searches(seed: int, count: int = 2, rows: int = ROWS):
    """The same problem several times: what one search remembers, another does not."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, COLUMNS))
    X[:, 3] = np.rint(3 * X[:, 3])  # few codes
    X[:, 5] = np.where(rng.random(rows) < 0.7, 0.0, X[:, 5])  # one code holds most rows
    X[rng.random(rows) < 0.1, 7] = np.nan
    X[:, 9] = np.exp(4 * X[:, 9])
    y = np.where(X[:, 0] + X[:, 1] + 2 * rng.standard_normal(rows) > 0, 1.0, -1.0)
    arrays = bin_columns(X).search_arrays(y)
    return [kernels.StumpSearch(*arrays) for _ in range(count)], rng


def walk(kind: str, rng: np.random.Generator, rows: int, steps: int):
    """Row weights that move a little, at times far, or between few rows."""
    level = rng.standard_normal(rows)
    for step in range(steps):
        level += rng.standard_normal(rows) * {"little": 0.01, "far": 1.0, "leaps": 0.01 if step % 7 else 2.0}[kind]
        d = np.exp(level)
        d *= rng.random(rows) < 0.9  # some rows come and go
        yield d / d.sum() * (1 - 1e-12)


@pytest.mark.parametrize("kind", ["little", "far", "leaps"])
@pytest.mark.parametrize("k", [1, 3])
def test_answers_are_those_of_a_search_without_memory(kind, k):
    (kept, fresh, threaded), rng = searches(seed=k, count=3)
    spared = 0
    for d in walk(kind, rng, ROWS, 40):
        fresh.forget()
        answer, others = kept.best(d, k), (fresh.best(d, k), threaded.best(d, k, 2))
        for other in others:
            for mine, theirs in zip(answer, other, strict=True):
                np.testing.assert_array_equal(mine, theirs)
        spared += kept.looked - kept.summed
    assert spared > 0


def test_most_columns_are_ruled_out_where_the_distance_alone_does_not():
    """Weights move by more than the best edge, but not inside one part of a column."""
    (search,), rng = searches(seed=5, count=1, rows=20_000)
    spared = []
    for _ in range(30):
        d = np.exp(0.7 * rng.standard_normal(20_000))
        search.best(d / d.sum() * (1 - 1e-12))
        spared.append(search.looked - search.summed)  # without joint bounds each column looked at is summed
    assert np.median(spared) > 2 * COLUMNS / 3


def test_a_run_in_a_burst_is_that_of_single_rounds():
    """The corrective booster's weights, on data with joint bounds: all bits as without memory."""
    from dualboost.boosters import Corrective
    from dualboost.game import Game
    from dualboost.learners import Stumps
    from dualboost.losses import SoftMargin
    from dualboost.rows import Rows
    from dualboost.sets import Capped

    rng = np.random.default_rng(8)
    X = rng.standard_normal((ROWS, COLUMNS))
    y = np.where(X[:, :6].sum(axis=1) + 2 * rng.standard_normal(ROWS) > 0, 1.0, -1.0)
    rows, states = Rows.of(ROWS), []
    for length in (60, 1):
        oracle = Stumps().bind(X, y, rows)
        game = Game(SoftMargin(Capped(nu=0.1)).bind(rows), oracle, rows, tol=1e-4)
        booster = Corrective()
        state = booster.start(game)
        while state.t < 60:
            if length == 1:
                oracle.forget()
            state = booster.burst(game, state, length).state
        states.append(state)
    np.testing.assert_array_equal(states[0].d, states[1].d)
    np.testing.assert_array_equal(states[0].w, states[1].w)
