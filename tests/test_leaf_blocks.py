"""Votes of trees with real leaves: blocks of coded rows give the bits of a walk in Python."""

import numpy as np
import pytest

from dualboost import kernels
from dualboost.data import MASK_BYTES

CATEGORIES = np.array([0.0, 2.0, 3.0, 7.0, 5000.0])


def random_votes(rng, trees: int, leaves: int, cuts: np.ndarray, masks: bool = False) -> list[np.ndarray]:
    """The arrays of some trees over four columns, grown leaf by leaf; column 3 holds categories if there are masks."""
    feature, threshold, missing_right, left, right, value, mask = ([] for _ in range(7))
    roots = []

    def add(kind: int) -> int:
        feature.append(kind)
        threshold.append(rng.choice(cuts))
        missing_right.append(rng.integers(2))
        value.append(rng.normal())
        left.append(0)
        right.append(0)
        mask.append(-1)
        return len(feature) - 1

    for _ in range(trees):
        roots.append(add(-1))
        ends = [roots[-1]]
        while len(ends) < leaves:
            node = ends.pop(rng.integers(len(ends)))
            feature[node] = int(rng.integers(4))
            left[node], right[node] = add(-1), add(-1)
            mask[node] = max(mask) + 1 if masks and feature[node] == 3 else -1
            ends += [left[node], right[node]]
    kinds = (np.int32, np.float64, np.uint8, np.int32, np.int32, np.float64, np.int64)
    plain = (feature, threshold, missing_right, left, right, value, roots)
    arrays = [np.array(part, dtype=kind) for part, kind in zip(plain, kinds, strict=True)]
    if not masks:
        return arrays
    return [
        *arrays, np.array(mask, dtype=np.int32), rng.integers(0, 256, (max(mask) + 1, MASK_BYTES)).astype(np.uint8),
        np.array([3], dtype=np.int32), np.array([0, 5]), CATEGORIES, np.array([4, 0, 9, 254, 1], dtype=np.uint8),
    ]  # fmt: skip


def walked(votes: list[np.ndarray], X: np.ndarray) -> np.ndarray:
    """The same by Python, row by row."""
    feature, threshold, missing_right, left, right, value, roots, *named = votes
    scores = np.zeros(len(X))
    for i, row in enumerate(X):
        for root in roots:
            at = root
            while feature[at] >= 0:
                x = row[feature[at]]
                if named and named[0][at] >= 0:
                    known = np.flatnonzero((named[4] - 0.5 < x) & (x <= named[4] + 0.5))
                    code = named[5][known[0]] if len(known) else None
                    held = None if code is None else named[1][named[0][at]][code // 8] >> (code % 8) & 1
                else:
                    held = None if np.isnan(x) else x > threshold[at]
                at = right[at] if (missing_right[at] if held is None else held) else left[at]
            scores[i] += value[at]
    return scores


def scored(votes: list[np.ndarray], X, threads: int = 1) -> np.ndarray:
    ready = kernels.LeafPredictor(*votes[:7])
    if len(votes) > 7:
        ready.add_categories(*votes[7:])
    out = np.full(len(X), np.nan)
    ready.scores(X, out, threads)
    return out


def rows_of(rng, count: int) -> np.ndarray:
    X = rng.integers(-6, 7, (count, 4)) / 2
    X[:, 3] = rng.choice([*CATEGORIES, -1.0, 1.0, 2.5, 3.75, 9e9], count)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


@pytest.mark.parametrize("masks", [False, True])
@pytest.mark.parametrize("leaves", [1, 2, 7, 31, 256, 300])
@pytest.mark.parametrize("rows", [1, 8, 9, 12, 31, 32, 33, 200, 513, 1030])
def test_blocks_give_the_bits_of_a_walk(rows, leaves, masks):
    rng = np.random.default_rng(leaves)
    cuts = np.array([-2.0, -1.0, -0.5, 0.0, 1.5, np.inf])
    votes = random_votes(rng, 4, leaves, cuts, masks and leaves > 6)
    X = rows_of(rng, rows)
    expected = walked(votes, X)
    assert np.array_equal(scored(votes, X), expected)
    assert np.array_equal(scored(votes, X, 3), expected)
    assert np.array_equal(scored(votes, np.asfortranarray(X)), expected)
    assert np.array_equal(scored(votes, np.repeat(X, 2, axis=0)[::2]), expected)
    assert np.array_equal(scored(votes, X.astype(np.float32)), expected)  # halves are exact in both


@pytest.mark.parametrize("count", [254, 255, 400])
def test_columns_of_any_number_of_thresholds(count):
    """A byte knows 254 of them; of more, trees are walked."""
    rng = np.random.default_rng(count)
    votes = random_votes(rng, 60, 40, np.linspace(-3, 3, count))
    X = rng.normal(size=(300, 4))
    assert np.array_equal(scored(votes, X), walked(votes, X))


@pytest.mark.parametrize("cut", [-np.inf, np.nan, 1e308, 5e-324])
def test_thresholds_of_any_size(cut):
    rng = np.random.default_rng(2)
    votes = random_votes(rng, 5, 20, np.array([cut, 0.0, 1.0]))
    X = rng.choice([cut, -np.inf, np.inf, 0.0, 5e-324, 0.5, 1.8e308 / 2, np.nan], (64, 4))
    assert np.array_equal(scored(votes, X), walked(votes, X))


def test_nodes_with_two_parents_are_refused():
    """Both sides of every node are the next node: as a tree it would have 2^60 leaves."""
    size = 61
    following = np.minimum(np.arange(1, size + 1), size - 1).astype(np.int32)
    feature = np.where(np.arange(size) < size - 1, 0, -1).astype(np.int32)
    root, sides = np.zeros(1, np.int64), np.zeros(size, np.uint8)
    votes = [feature, np.zeros(size), sides, following, following, np.full(size, 2.5), root]
    with pytest.raises(ValueError, match="the child of two"):
        scored(votes, np.zeros((100, 1)))


def test_trees_do_not_share_nodes_with_the_next_one():
    feature, sides = np.array([0, -1, 0, -1, -1], np.int32), np.zeros(5, np.uint8)
    left, right = np.array([1, 0, 3, 0, 0], np.int32), np.array([3, 0, 4, 0, 0], np.int32)
    with pytest.raises(ValueError, match="points outside of it"):
        scored([feature, np.zeros(5), sides, left, right, np.ones(5), np.array([0, 2])], np.zeros((1, 1)))
    for roots in ([0, 0], [2, 0], [-1], [5]):
        with pytest.raises(ValueError, match="A root is not a node"):
            scored([feature, np.zeros(5), sides, left, right, np.ones(5), np.array(roots)], np.zeros((1, 1)))


def test_chains_deeper_than_any_stack():
    size = 2 * 100_000 + 1
    feature = np.where(np.arange(size) % 2 == 0, 0, -1).astype(np.int32)
    feature[-1] = -1
    left, right = (np.minimum(np.arange(size) + step, size - 1).astype(np.int32) for step in (2, 1))
    votes = [
        feature,
        np.zeros(size),
        np.zeros(size, np.uint8),
        left,
        right,
        np.arange(size) * 1.0,
        np.zeros(1, np.int64),
    ]
    assert np.array_equal(scored(votes, np.array([[-1.0]] * 20 + [[1.0]] * 20)), [size - 1.0] * 20 + [1.0] * 20)
