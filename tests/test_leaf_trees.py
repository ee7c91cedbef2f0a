"""Real-valued trees: a naive twin grows the same tree, a learner's promises, compiled rounds = the common loop."""

import pickle
from itertools import chain, combinations, islice, pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit

from dualboost import kernels
from dualboost.boosters import Leveraging
from dualboost.game import Game, rounds
from dualboost.learners import LeafTrees
from dualboost.learners.leaf_trees import LeafTree
from dualboost.losses import LogisticDifference
from dualboost.rows import Rows


def table(seed: int, m: int = 40, missing: bool = True):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(m, 4)), 1)
    X[:, 2] = X[:, 2] > 0
    X[:, 3] = 7.0
    if missing:
        X[rng.random((m, 4)) < 0.15] = np.nan
    y = np.where(rng.random(m) < 0.5, -1, 1).astype(np.int8)
    return X, y, rng


# ---- the twin -------------------------------------------------------------------------------------------------------


def splits_of(X, rows, categorical=()):
    """Every way to send the rows of a node to two sides: (feature, the rows that go right)."""
    for f in range(X.shape[1]):
        x = X[rows, f]
        if f in categorical:
            found = np.unique(np.nan_to_num(x, nan=-1))
            subsets = chain.from_iterable(combinations(found[1:], k) for k in range(1, len(found)))
            yield from ((f, rows[np.isin(np.nan_to_num(x, nan=-1), subset)]) for subset in subsets)
            continue
        absent = np.isnan(x)
        for value in np.unique(x[~absent]):
            above = np.where(absent, False, x > value)
            yield f, rows[above | absent]
            if absent.any():
                yield f, rows[above]


def grown_naively(X, g, h, leaves: int, least: float, categorical=(), row: float = 0.0) -> np.ndarray:
    """What the best-first tree says about each row, by trying everything."""

    def score(rows):
        return g[rows].sum() ** 2 / h[rows].sum()

    def chance(rows, f):
        """What the categories of a column might gain although they mean nothing."""
        variance = ((g[rows] ** 2 / h[rows]).sum() - score(rows)) / h[rows].sum()
        return max(len(np.unique(X[rows, f])) - 2, 0) * variance * row if f in categorical else 0.0

    def best_split(rows):
        best = (0.0, None)
        for f, right in splits_of(X, rows, categorical):
            left = np.setdiff1d(rows, right)
            if min(len(left), len(right)) and min(h[left].sum(), h[right].sum()) >= least - 1e-15:
                gain = score(left) + score(right) - score(rows) - chance(rows, f)
                if gain > best[0] + 1e-9:
                    best = (gain, (left, right))
        return best

    parts = [np.arange(len(g))]
    while len(parts) < leaves:
        offers = [best_split(rows) for rows in parts]
        k = int(np.argmax([gain for gain, _ in offers]))
        if offers[k][1] is None:
            break
        parts[k : k + 1] = offers[k][1]
    out = np.empty(len(g))
    for rows in parts:
        out[rows] = g[rows].sum() / h[rows].sum()
    return out


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("leaves, least", [(2, 0.0), (5, 0.0), (6, 0.1), (40, 0.0)])
def test_the_tree_is_the_naive_twins(seed, leaves, least):
    X, y, rng = table(seed, missing=seed % 2 == 0)
    prior = rng.dirichlet(np.ones(40) * 5)
    d = prior * rng.uniform(0.05, 1, 40)
    rows = Rows.of(prior)
    oracle = LeafTrees(leaves, 255, least).bind(X, y, rows)
    values = oracle.column(oracle.best(d).hypotheses[0]) * y
    naive = grown_naively(X, y * d, rows.prior, leaves, least)
    np.testing.assert_allclose(values, naive / np.abs(naive).max(), atol=1e-9)
    assert len(np.unique(values)) > 1


# ---- what a learner promises ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("features", [1.0, 0.5])
def test_columns_edges_scores_and_bound(features):
    X, y, rng = table(1)
    rows = Rows.of(1.0 + np.arange(40) % 3)
    oracle = LeafTrees(6, features=features).bind(X, y, rows)
    trees = []
    for d in (rng.dirichlet(np.ones(40)), np.eye(40)[3], 0.2 * rng.dirichlet(np.ones(40))):
        answer = oracle.best(d)
        column = answer.columns[0]
        assert np.abs(column).max() == pytest.approx(1, abs=1e-12) and answer.edges[0] > 0
        assert answer.edges[0] == pytest.approx(d @ column, abs=1e-14)
        assert d.sum() <= answer.bound <= d.sum() * (1 + 1e-9), "no promise, but always true"
        trees.append(answer.hypotheses[0])
    w = np.array([0.5, -0.3, 1.5])
    predictor = oracle.predictor(trees, w)
    expected = sum(weight * oracle.column(tree) for weight, tree in zip(w, trees, strict=True))
    np.testing.assert_allclose(oracle.margins(trees, w), expected, atol=1e-14)
    np.testing.assert_allclose(predictor.scores(X) * y, expected, atol=1e-13)
    np.testing.assert_allclose(
        predictor.scores(X.astype(np.float32), 2) * y, predictor.scores(X.astype(np.float32)) * y
    )
    importances = predictor.importances(4)
    assert importances.sum() == pytest.approx(1) and importances[3] < 1 and np.all(importances >= 0)
    assert oracle.predictor([], np.zeros(0)).scores(X).tolist() == [0.0] * 40


def test_the_same_weights_get_the_same_tree():
    X, y, rng = table(2)
    oracle = LeafTrees(6, features=0.5, random_state=3).bind(X, y, Rows.of(40))
    d, other = rng.dirichlet(np.ones(40)), rng.dirichlet(np.ones(40))
    first = oracle.best(d).hypotheses[0]
    oracle.best(other)
    again = oracle.best(d).hypotheses[0]
    assert first == again and hash(first) == hash(again) and pickle.loads(pickle.dumps(first)) == first
    drawn = {LeafTrees(6, features=0.4, random_state=s).bind(X, y, Rows.of(40)).best(d).hypotheses[0] for s in range(9)}
    assert len(drawn) > 1, "the draw of features matters"


def test_weight_k_is_k_copies():
    X, y, rng = table(3)
    counts = rng.integers(1, 5, 40)
    copy_of = np.repeat(np.arange(40), counts)
    whole = LeafTrees(7).bind(X, y, Rows.of(counts.astype(float)))
    copies = LeafTrees(7).bind(X[copy_of], y[copy_of], Rows.of(len(copy_of)))
    for _ in range(5):
        d = rng.dirichlet(np.ones(40))
        one, two = whole.best(d), copies.best(d[copy_of] / counts[copy_of])
        np.testing.assert_allclose(one.columns[0][copy_of], two.columns[0], atol=1e-12)


def test_a_missing_value_of_later_goes_left_where_the_parts_weigh_the_same():
    """But for rounding: seven tenths one by one are not seven tenths."""
    X, y = np.array([[0.0], [1.0]]), np.array([-1, 1])
    near = np.array([0.1 * 7, sum([0.1] * 7)])
    assert near[0] != near[1]
    for weights in (near, near[::-1], np.ones(2)):
        rows = Rows.of(weights.copy())
        tree = LeafTrees(2).bind(X, y, rows).best(np.array(rows.prior)).hypotheses[0]
        assert tree.arrays()[2][0] == 0


def test_a_column_that_is_missing_everywhere_and_a_constant_table():
    X = np.column_stack([np.full(6, np.nan), np.ones(6)])
    oracle = LeafTrees().bind(X, np.array([1, 1, 1, -1, 1, 1], dtype=np.int8), Rows.of(6))
    answer = oracle.best(np.full(6, 1 / 6))
    assert len(answer.hypotheses[0].arrays()[0]) == 1, "nothing to split: a constant"
    assert answer.edges[0] == pytest.approx(4 / 6)


# ---- compiled rounds ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mu, shrink, features", [(2.0, 0.3, 1.0), (4.0, 1.0, 0.5), (9.0, 0.1, 1.0)])
def test_compiled_rounds_are_those_of_the_loop(mu, shrink, features):
    X, y, rng = table(4, m=120)
    rows = Rows.of(rng.integers(1, 4, 120).astype(float))
    learner = LeafTrees(5, min_share=0.02, features=features, random_state=1)
    oracle = learner.bind(X, y, rows)
    game = Game(LogisticDifference(mu).bind(rows), oracle, rows, budget=np.inf, tol=1e-9)
    states = [state for state, _ in islice(rounds(game, Leveraging("difference", step="newton", shrink=shrink)), 13)]
    z, losses = np.zeros(120), []
    for _ in range(12):
        _, sizes, amounts, after = oracle.search.rounds(
            y, np.ascontiguousarray(rows.prior), z, mu, shrink, np.empty((1, 120)), 5, 0.02, features, 1
        )
        assert len(sizes) == 1 and amounts[0] > 0
        losses.append(after[0])
    np.testing.assert_allclose(z, states[-1].z, atol=1e-9)
    np.testing.assert_allclose(losses, [game.loss.value(state.z) for state in states[1:]], rtol=1e-10)
    assert np.all(np.diff(losses) < 0)
    at_once, path = np.zeros(120), np.empty((12, 120))
    oracle.search.rounds(y, np.ascontiguousarray(rows.prior), at_once, mu, shrink, path, 5, 0.02, features, 1)
    assert np.array_equal(at_once, z) and np.array_equal(path[-1], z)
    np.testing.assert_allclose(path, [state.z for state in states[1:]], atol=1e-9)


def test_rows_of_prior_zero_are_only_told_the_votes():
    X, y, rng = table(5, m=100, missing=False)
    inside = rng.random(100) < 0.6
    prior = inside / inside.sum()
    oracle = LeafTrees(4, 255).bind(X, y, Rows.of(100))
    z = np.zeros(100)
    trees, sizes, amounts, _ = oracle.search.rounds(y, prior, z, 3.0, 0.5, np.empty((6, 100)), 4, 0.0, 1.0, 0)
    flipped = np.where(inside, y, -y).astype(np.int8)
    mirrored = np.zeros(100)
    oracle.search.rounds(flipped, prior, mirrored, 3.0, 0.5, np.empty((6, 100)), 4, 0.0, 1.0, 0)
    np.testing.assert_array_equal(mirrored, np.where(inside, z, -z))
    ends = np.cumsum(sizes)
    split = [LeafTree.of([a[s:e] for a in trees]) for s, e in zip(ends - sizes, ends, strict=True)]
    np.testing.assert_allclose(oracle.predictor(split, amounts).scores(X) * y, z, atol=1e-12)


def test_step_newton_keeps_the_promise_of_the_sure_step():
    X, y, _ = table(6, m=80)
    y = np.where(np.nan_to_num(X[:, 0]) + 0.3 > 0, 1, -1).astype(np.int8)
    rows = Rows.of(80)
    booster, longer = Leveraging("difference", step="newton", shrink=0.5), 0
    game = Game(LogisticDifference(3.0).bind(rows), LeafTrees(3).bind(X, y, rows), rows, budget=np.inf, tol=1e-9)
    run = list(islice(rounds(game, booster), 25))
    for (before, answer), (after, _) in pairwise(run):
        block = booster.update_of(game, before, answer)
        promise = booster.promise(block, expit(-3.0) / expit(3.0))
        assert game.loss.value(before.z) - game.loss.value(after.z) >= promise - 1e-13
        longer += np.abs(after.z - before.z).max() > 1.2 * 0.5 * np.abs(block.shift(booster.steps(block, 0.0))).max()
    assert longer > 5


# ---- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_leaves": 0},
        {"max_bins": 300},
        {"min_share": 0.7},
        {"features": 0.0},
        {"random_state": -1},
        {"row_share": 2.0},
    ],
)
def test_impossible_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LeafTrees(**wrong)


def test_sparse_tables_and_missing_labels_are_refused():
    with pytest.raises(ValueError, match="Stumps"):
        LeafTrees().bind(sp.csr_array(np.eye(3)), np.ones(3), Rows.of(3))
    with pytest.raises(ValueError, match="labels"):
        LeafTrees().bind(np.eye(3), None, Rows.of(3))


def test_the_kernel_checks_what_it_gets():
    codes, cuts, numbers = np.zeros((4, 2), np.uint8), np.array([3, 3], np.int32), np.zeros(2, np.uint8)
    search = kernels.LeafSearch(codes, cuts, numbers)
    ok = np.full(4, 0.25)
    for call in (
        lambda: kernels.LeafSearch(codes + np.uint8(9), cuts, numbers),
        lambda: kernels.LeafSearch(codes, np.array([3], np.int32), numbers),
        lambda: search.grow(ok[:3], ok, 2, 0.0, 0.0, 1.0, 0),
        lambda: search.grow(9 * ok, ok, 2, 0.0, 0.0, 1.0, 0),
        lambda: search.grow(ok, -ok, 2, 0.0, 0.0, 1.0, 0),
        lambda: search.grow(ok, ok, 2, 0.0, 0.0, 1.0, 0, 1.5),
        lambda: search.grow(ok * np.nan, ok, 2, 0.0, 0.0, 1.0, 0),
        lambda: search.grow(ok, ok, 0, 0.0, 0.0, 1.0, 0),
        lambda: search.rounds(np.ones(4, np.int8), ok, np.zeros(4), -1.0, 0.5, np.empty((1, 4)), 2, 0.0, 1.0, 0),
        lambda: search.rounds(np.ones(4, np.int8), ok, np.full(4, np.nan), 1.0, 0.5, np.empty((1, 4)), 2, 0.0, 1.0, 0),
        lambda: search.values(*node_arrays(feature=7), np.zeros(4)),
        lambda: search.values(*node_arrays(left=0), np.zeros(4)),
    ):
        with pytest.raises(ValueError):
            call()
    assert search.grow(ok, ok, 3, 0.0, 0.0, 1.0, 0)[0].tolist() == [-1]


def node_arrays(feature: int = 0, left: int = 1):
    """Three nodes: a root that may be damaged, two leaves."""
    ints = [np.array(v, dtype=np.int32) for v in ([feature, -1, -1], [0, 0, 0], [left, -1, -1], [2, -1, -1])]
    return ints[0], ints[1], np.zeros(3, np.uint8), ints[2], ints[3], np.zeros(3), np.zeros((0, 32), np.uint8)
