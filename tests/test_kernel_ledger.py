"""What sparse columns weigh is kept from call to call: it spares looks and never changes an answer."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from dualboost.data import bin_columns
from dualboost.learners.stumps import StumpOracle
from dualboost.rows import Rows


def words(rng: np.random.Generator, m: int, columns: int, holes: float = 0.0) -> tuple[sp.csr_matrix, np.ndarray]:
    """Counts of words of very different frequencies, and labels that follow a few of them."""
    share = 0.7 / np.sqrt(np.arange(1, columns + 1))
    counts = rng.poisson(share, (m, columns)).astype(float)
    y = np.where(counts[:, 1] - counts[:, 3] + 0.5 * rng.standard_normal(m) > 0.1, 1, -1).astype(np.int8)
    counts[rng.random(counts.shape) < holes] = np.nan
    return sp.csr_matrix(counts), y


def search(X: sp.csr_matrix, y: np.ndarray, threads: int = 1) -> StumpOracle:
    found = StumpOracle(bin_columns(X), y, Rows.of(len(y), threads))
    found.X = X.toarray()  # for the twin
    assert len(found.bins.sparse_rows) >= 16 * len(y), "too few entries: nothing would be kept"
    return found


def largest_edges(X: np.ndarray, signed: np.ndarray, k: int) -> np.ndarray:
    """Of every feature and the constant the largest |edge| under y_i d_i, by comparing all values: the k largest."""
    total, holes = signed.sum(), signed @ np.isnan(X)
    peaks = np.abs(total - 2 * holes) * np.isnan(X).any(axis=0)
    for value in np.unique(X[~np.isnan(X)]):
        below = signed @ np.less_equal(X, value)
        peaks = np.maximum(peaks, np.maximum(np.abs(total - 2 * below), np.abs(total - 2 * (below + holes))))
    return np.sort(np.append(peaks, abs(total)))[::-1][:k]


def same_answers(kept: StumpOracle, fresh: StumpOracle, d: np.ndarray, k: int) -> None:
    """The search that keeps books, one that has just opened them, and NumPy, which knows of none."""
    fresh.forget()
    ours, theirs = kept.best(d, k), fresh.best(d, k)
    assert ours.hypotheses == theirs.hypotheses
    np.testing.assert_array_equal(ours.edges, theirs.edges)
    assert ours.bound == theirs.bound
    np.testing.assert_allclose(np.abs(ours.edges), largest_edges(kept.X, kept.y * d, k), rtol=0, atol=1e-12)


def boosted(d: np.ndarray, column: np.ndarray, step: float, cap: float) -> np.ndarray:
    """Weights after a step of a booster, none above the cap."""
    d = d * np.exp(-step * column)
    for _ in range(50):
        free = d < cap
        d[~free] = cap
        d[free] *= max(1 - cap * (~free).sum(), 0.0) / d[free].sum()
    return d / d.sum()


def boosting(step, k, threads=1, holes=0.0):
    """Rounds of a booster on words: the share of the columns that the books left to be looked at, in each round."""
    rng = np.random.default_rng(int(100 * step) + k)
    X, y = words(rng, 1_000, 400, holes)
    kept, fresh = search(X, y, threads), search(X, y)
    d, looked = np.full(1_000, 1e-3), []
    for _ in range(30):
        same_answers(kept, fresh, d, k)
        looked.append(kept.looked / fresh.looked)
        column = kept.best(d).columns[0]
        d = boosted(d, np.sign(column @ d) * column, step, 1e-2)
    return looked


@pytest.mark.parametrize("holes", [0.0, 0.01])
@pytest.mark.parametrize(("k", "threads"), [(1, 1), (1, 2), (3, 1)])
@pytest.mark.parametrize("step", [0.02, 0.5])
def test_steps_of_a_booster(step, k, threads, holes):
    boosting(step, k, threads, holes)


def test_small_steps_spare_most_columns():
    assert np.mean(boosting(step=0.02, k=1)[5:]) < 0.3


def test_weights_that_jump_and_rest():
    """New weights each time, the same ones again, all on few rows, none at all, and a run that is forgotten."""
    rng = np.random.default_rng(3)
    X, y = words(rng, 1_000, 400)
    kept, fresh = search(X, y), search(X, y)
    d = rng.dirichlet(np.ones(1_000))
    for turn in range(60):
        if turn % 4 == 0:
            d = rng.dirichlet(np.full(1_000, 10.0 ** rng.integers(-2, 2)))
        elif turn % 4 == 1:
            d = d * np.exp(0.01 * rng.standard_normal(1_000))
            d /= d.sum()
        if turn == 30:
            kept.forget()
        same_answers(kept, fresh, d * (turn % 7 != 6), 1 + turn % 2)


def test_a_class_that_fades():
    """The factor of a class leaves its range: the books are opened anew."""
    rng = np.random.default_rng(4)
    X, y = words(rng, 1_000, 400)
    kept, fresh = search(X, y), search(X, y)
    d = np.full(1_000, 1e-3)
    for _ in range(60):
        d = d * np.where(y > 0, 0.8, 1.0) * np.exp(1e-4 * rng.standard_normal(1_000))
        d /= d.sum()
        same_answers(kept, fresh, d, 1)


@pytest.mark.parametrize("extra", [0, 12])
def test_one_hot_columns_share_a_histogram(extra):
    """Two categories in one-hot columns make fewer than 256 tuples: one look, together with or without rare columns."""
    rng = np.random.default_rng(extra)
    m = 4_000
    first, second = rng.integers(0, 6, m), rng.integers(0, 20, m)
    rare = rng.random((m, extra)) < 0.15
    X = np.hstack([first[:, None] == np.arange(6), second[:, None] == np.arange(20), rare]).astype(float)
    X[rng.random(m) < 0.01, 3] = np.nan
    y = np.where((first == 2) ^ (second > 4) ^ (rng.random(m) < 0.2), 1, -1).astype(np.int8)
    found = StumpOracle(bin_columns(X), y, Rows.of(m))
    assert len(found.bins.sparse_features) > 20
    assert found.search.blocks <= (1 if extra == 0 else 5)
    for _ in range(5):
        d = rng.dirichlet(np.ones(m))
        np.testing.assert_allclose(np.abs(found.best(d, 4).edges), largest_edges(X, d * y, 4), rtol=0, atol=1e-12)
