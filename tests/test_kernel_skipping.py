"""What the stump search leaves out to be quick does not change its answers: light rows, columns, batches."""

from __future__ import annotations

import numpy as np
import pytest

from dualboost.data import bin_columns
from dualboost.learners.stumps import StumpOracle
from dualboost.rows import Rows


def oracle(X: np.ndarray, y: np.ndarray, threads: int = 1) -> StumpOracle:
    return StumpOracle(bin_columns(X), y, Rows.of(len(y), threads))


def largest_edge(found: StumpOracle, d: np.ndarray) -> float:
    """Over all stumps, column by column in floating point."""
    signed, best = d * found.y, abs(float(d @ found.y))
    for codes in found.bins.dense_codes:
        sums = np.cumsum(np.bincount(codes, weights=signed, minlength=256))
        best = max(best, float(np.abs(signed.sum() - 2 * sums).max()))
    return best


@pytest.mark.parametrize("spread", [0.0, 3.0, 12.0, 60.0])
def test_light_rows_are_not_lost(spread):
    """Weights over many orders of magnitude, as boosting makes them: most rows are below a thirtieth of the mean."""
    rng = np.random.default_rng(int(spread))
    X = rng.standard_normal((700, 25))
    y = np.where(X[:, 0] + rng.standard_normal(700) > 0, 1, -1).astype(np.int8)
    search = oracle(X, y)
    for _ in range(40):
        d = np.exp(-spread * rng.random(700))
        d /= d.sum()
        answer = search.best(d)
        assert abs(answer.edges[0]) == pytest.approx(largest_edge(search, d), abs=1e-12)
        assert answer.bound >= abs(float(d @ answer.columns[0]))


def test_a_light_row_can_decide():
    """Two columns of equal edges but for one row that weighs next to nothing: the first look cannot tell them apart."""
    rng = np.random.default_rng(1)
    X = rng.integers(-60, 60, (600, 12)) + 0.5  # few values: each has a cut beside it
    X[:, 7] = X[:, 3]
    y = np.where(X[:, 3] > 0, 1, -1).astype(np.int8)
    X[5, 3] = -X[5, 3]  # column 7 is right everywhere, column 3 but for this row
    d = np.full(600, 1.0)
    d[5] = 1e-6
    d /= d.sum()
    answer = oracle(X, y).best(d)
    assert answer.hypotheses[0][0] == 7
    assert abs(answer.edges[0]) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("threads", [1, 2])
def test_all_columns_at_once_on_many_rows(threads):
    """Weights that change too much to spare a column, then hardly at all: the same answers as without a memory."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40_000, 6))
    y = np.where(X[:, 2] + rng.standard_normal(40_000) > 0, 1, -1).astype(np.int8)
    found, fresh = oracle(X, y, threads), oracle(X, y)
    d = rng.random(40_000)
    for move in (1.0, 1.0, 1.0, 1e-6, 1e-6, 1e-6, 1.0, 1.0):
        d = (1 - move) * d + move * rng.random(40_000)
        d /= d.sum()
        fresh.forget()
        ours, theirs = found.best(d), fresh.best(d)
        assert ours.hypotheses == theirs.hypotheses
        np.testing.assert_array_equal(ours.edges, theirs.edges)
        assert ours.bound == theirs.bound
    assert found.looked == 6
    found.best(d)
    found.best(d)
    assert found.looked < 6  # nothing has changed: after one call more, memory spares columns again
