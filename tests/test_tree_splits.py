"""Which split a node takes, to the last tie: against a search in whole numbers that looks at every split in order.

The kernel skips features by a rough criterion, finds subsets by signs instead of an order and sorts shares in buckets.
The reference does none of this: it sorts, sums and takes roots one after the other.
"""

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualboost.learners import Trees
from dualboost.rows import Rows

ONE = 2**61  # weights are whole numbers in these units
TIE = 2305843  # 1e-12 of them

Split = tuple[tuple[int, int, int], np.ndarray]  # as a node, and who goes right


def cuts_of(feature: int, x: np.ndarray) -> Iterator[Split]:
    missing, last = np.isnan(x), len(np.unique(x[~np.isnan(x)])) - 1
    for cut in range(last + 1):
        above = np.nan_to_num(x, nan=-1.0) > cut
        if cut < last:
            yield (feature, cut, 0), above
        if missing.any():
            yield (feature, cut, 1), above | missing


def subsets_of(feature: int, x: np.ndarray, y: np.ndarray, q: np.ndarray) -> Iterator[Split]:
    """Growing subsets on the left, by the share of label +1; of no weight: by the share of all."""
    codes = np.where(np.isnan(x), 255, np.nan_to_num(x)).astype(int)

    def share(code: int) -> float:
        own = codes == code if q[codes == code].sum() > 0 else np.ones(len(q), dtype=bool)
        return float(int(q[own & (y > 0)].sum())) / float(int(max(q[own].sum(), 1)))

    present = sorted(set(codes.tolist()))
    order = sorted(present, key=lambda code: (share(code), code))
    for size in range(1, len(order)):
        left = set(order[:size])
        if 0 not in left:
            left = set(present) - left
        right = [code for code in present if code not in left]
        yield (feature, -1, sum(1 << code for code in right)), np.isin(codes, right)


def splits_of(feature: int, named: tuple[int, ...], X: np.ndarray, y: np.ndarray, q: np.ndarray) -> list[Split]:
    x = X[:, feature]
    return list(subsets_of(feature, x, y, q) if feature in named else cuts_of(feature, x))


def edge_of(right: np.ndarray, y: np.ndarray, q: np.ndarray) -> int:
    return abs(int((y * q)[right].sum())) + abs(int((y * q)[~right].sum()))


def cost_of(right: np.ndarray, y: np.ndarray, q: np.ndarray) -> float:
    if q[right].sum() == 0 or q[~right].sum() == 0:
        return math.inf
    sums = [float(int(q[side & (y == label)].sum())) for side in (~right, right) for label in (1, -1)]
    return math.sqrt(sums[0] * sums[1]) + math.sqrt(sums[2] * sums[3])


def first_by_edge(features: list[list[Split]], y: np.ndarray, q: np.ndarray) -> tuple | None:
    edges = [[edge_of(right, y, q) for _, right in splits] for splits in features]
    best = max((edge for found in edges for edge in found), default=0)
    if abs(int((y * q).sum())) >= best - TIE:
        return None
    return next(
        node
        for splits, found in zip(features, edges, strict=True)
        for (node, _), edge in zip(splits, found, strict=True)
        if edge >= best - TIE and max(found) >= best - TIE
    )


def first_by_cost(features: list[list[Split]], y: np.ndarray, q: np.ndarray) -> tuple:
    costs = [[cost_of(right, y, q) for _, right in splits] for splits in features]
    best = min(cost for found in costs for cost in found)
    return next(
        node
        for splits, found in zip(features, costs, strict=True)
        for (node, _), cost in zip(splits, found, strict=True)
        if cost <= best + float(TIE)
    )


def table(rng: np.random.Generator, m: int, width: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """Columns whose codes are their values, all of which occur; each may have missing values, some hold categories."""
    X = np.empty((m, 4))
    for j in range(4):
        X[:, j] = np.unique(rng.integers(0, rng.integers(2, width + 1), m), return_inverse=True)[1]
        if rng.random() < 0.5:
            X[rng.random(m) < 0.2, j] = np.nan
            known = ~np.isnan(X[:, j])
            X[known, j] = np.unique(X[known, j], return_inverse=True)[1]
    return X, tuple(j for j in range(4) if rng.random() < 0.6)


def weights(rng: np.random.Generator, m: int, kind: str) -> np.ndarray:
    """Whole numbers of sum ONE at most, each exact as a double over ONE."""
    if kind == "equal":
        return np.full(m, 2**53, dtype=np.int64)
    if kind == "close":  # shares that differ in their last bits alone
        return 2**52 + 4 * rng.integers(0, 64, m)
    if kind == "ties":  # what some categories weigh is less than what counts as equal
        return rng.choice([0, 1, 1_000_000, 2_000_000, 3_000_000, 2**40, 2**40 + 1_500_000], m)
    return rng.integers(0, 2**53, m) * rng.choice([0, 1], m, p=[0.2, 0.8])


@pytest.mark.parametrize("kind", ["equal", "close", "ties", "random"])
@given(st.integers(0, 10_000), st.integers(2, 90), st.sampled_from([3, 12, 60]))
def test_splits_are_the_first_among_the_best(kind, seed, m, width):
    rng = np.random.default_rng(seed)
    X, named = table(rng, m, width)
    y, q = rng.choice([-1, 1], m).astype(np.int8), weights(rng, m, kind)
    if q.sum() == 0:
        return
    q = q if kind != "random" or rng.random() < 0.5 else q // 2**20  # a tie is then wide
    if min(q[y > 0].sum(), q[y < 0].sum()) == 0:
        return
    features = [splits_of(feature, named, X, y, q) for feature in range(4)]
    trees = [Trees(depth, categorical=named).bind(X, y, Rows.of(m)).best(q / ONE).hypotheses[0] for depth in (1, 2)]
    by_edge = first_by_edge(features, y, q)
    assert (trees[0][0] if len(trees[0]) > 1 else None) == by_edge
    if len(trees[1]) > 3:  # else the root is a last split, too
        assert trees[1][0] == first_by_cost(features, y, q)


@pytest.mark.parametrize("count", [2, 17, 200])
def test_shares_that_differ_in_their_last_bits_are_told_apart(count):
    """Of the categories that are nearly balanced one may stay behind: the most balanced one, not the last code."""
    excess = 1_000_001 + np.random.default_rng(5).permutation(count) % 30
    q = np.ravel(np.column_stack([np.full(count, 2**50), 2**50 + excess]))
    x, y = np.repeat(np.arange(float(count)), 2), np.tile([1, -1], count).astype(np.int8)
    x, y, q = np.append(x, count), np.append(y, 1).astype(np.int8), np.append(q, 2**57)
    tree = Trees(1, categorical=(0,)).bind(x[:, None], y, Rows.of(len(y))).best(q / ONE).hypotheses[0]
    assert tree[0] == first_by_edge([list(subsets_of(0, x, y, q))], y, q)


def test_a_rough_look_loses_no_feature():
    """Hundreds of columns that are nearly as good as the best: the lowest criterion is found among all of them."""
    rng = np.random.default_rng(6)
    m = 400
    good = rng.integers(0, 20, m).astype(float)
    X = np.column_stack([np.where(rng.random(m) < 0.01, rng.integers(0, 20, m), good) for _ in range(80)])
    y = np.where(good + 3 * rng.standard_normal(m) > 10, 1, -1).astype(np.int8)
    q = rng.integers(1, 2**51, m)
    features = [list(cuts_of(j, X[:, j])) for j in range(X.shape[1])]
    for threads in (1, 3):
        tree = Trees(2).bind(X, y, Rows.of(m, threads)).best(q / ONE).hypotheses[0]
        assert len(tree) > 3 and tree[0] == first_by_cost(features, y, q)
