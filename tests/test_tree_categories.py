"""Trees that split categories by subsets: against brute force over all of them, a naive walk, files and frames."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import reference
from dualboost import MarginBoostClassifier, load_model, save_model
from dualboost.learners import Stumps, Trees
from dualboost.learners.categories import Categories
from dualboost.rows import Rows


def mixed(rng, m: int, categories: int = 5, missing: float = 0.1):
    """Columns 0 and 2 hold categories with gaps between their numbers, column 1 holds numbers."""
    X = 2.0 * rng.integers(0, categories, (m, 3))
    X[:, 1] = rng.integers(0, 6, m)
    X[rng.random(X.shape) < missing] = np.nan
    return X, rng.choice([-1, 1], m).astype(np.int8)


def bound(X, y, depth: int, **settings):
    return Trees(depth, categorical=(0, 2), **settings).bind(X, y, Rows.of(len(y)))


def walk(tree, row: np.ndarray, codes: dict) -> int:
    """The vote of a tree on one row, node by node; `codes` tells the code of each category of each column."""
    place = 0
    while tree[place][0] >= 0:
        feature, cut, side = tree[place]
        x, met = row[feature], codes["cuts"].get(feature)
        if cut < 0:
            right = side >> (255 if np.isnan(x) else codes[feature].index(x)) & 1
        else:
            right = side if np.isnan(x) else cut < len(met) and x > met[cut]
        place += 1
        if right:
            open_parts = 1
            while open_parts:
                open_parts += 1 if tree[place][0] >= 0 else -1
                place += 1
    return tree[place][1]


def naive_votes(tree, X: np.ndarray, oracle) -> np.ndarray:
    bins = oracle.bins
    codes: dict = {f: np.unique(X[~np.isnan(X[:, f]), f]).tolist() for f in (0, 2)}
    codes["cuts"] = {1: bins.cuts[bins.cut_start[1] : bins.cut_start[2]]}
    return np.array([walk(tree, row, codes) for row in X])


@given(st.integers(0, 10_000), st.integers(1, 25), st.sampled_from([0.0, 0.3]))
def test_one_level_is_the_best_of_all_subsets_and_stumps(seed, m, missing):
    rng = np.random.default_rng(seed)
    X, y = mixed(rng, m, missing=missing)
    d = rng.dirichlet(np.ones(m))
    numbers, names = X.copy(), X.copy()
    numbers[:, [0, 2]], names[:, 1] = 0.0, 0.0
    values = [h for _, h in reference.all_stumps(numbers) + reference.all_subsets(names)]
    largest = np.abs(np.array(values) @ (y * d)).max()
    answer = bound(X, y, 1).best(d)
    assert abs(abs(answer.edges[0]) - largest) <= 1e-12 and largest - 1e-16 <= answer.bound <= largest + 1e-13
    assert abs(answer.columns[0] @ d - answer.edges[0]) <= 1e-13


@given(st.integers(0, 10_000), st.integers(2, 40), st.sampled_from(["greedy", "polished"]), st.integers(1, 4))
def test_what_a_tree_says_about_rows(seed, m, search, depth):
    """Columns, margins, scores of raw values: all as a naive walk down the tree; edges and bounds are true."""
    rng = np.random.default_rng(seed)
    X, y = mixed(rng, m, missing=rng.choice([0.0, 0.2]))
    oracle, d = bound(X, y, depth, search=search), rng.dirichlet(np.ones(m))
    answer = oracle.best(d, 3)
    votes = np.array([naive_votes(tree, X, oracle) for tree in answer.hypotheses])
    np.testing.assert_array_equal(np.array(answer.columns), votes * y)
    np.testing.assert_allclose(votes @ (y * d), answer.edges, atol=1e-13)
    assert np.abs(answer.edges).max() <= answer.bound
    w = rng.normal(size=len(votes))
    np.testing.assert_allclose(oracle.margins(answer.hypotheses, w), y * (w @ votes), atol=1e-13)
    predictor = oracle.predictor(answer.hypotheses, w)
    np.testing.assert_allclose(predictor.scores(X), w @ votes, atol=1e-13)
    np.testing.assert_allclose(predictor.scores(sp.csr_array(X)), w @ votes, atol=1e-13)
    assert pickle.loads(pickle.dumps(answer.hypotheses)) == answer.hypotheses
    assert all(not side & 1 for tree in answer.hypotheses for f, cut, side in tree if f >= 0 and cut < 0), (
        "code 0 is left"
    )


def test_a_deeper_tree_never_has_a_smaller_edge():
    rng = np.random.default_rng(0)
    for _ in range(10):
        X, y = mixed(rng, 60)
        d = rng.dirichlet(np.ones(60))
        edges = [abs(bound(X, y, depth).best(d).edges[0]) for depth in (1, 2, 3, 4)]
        assert np.all(np.diff(edges) >= -1e-12) and edges[-1] > edges[0]


def test_the_first_split_is_the_best_subset_by_the_criterion():
    """Against all subsets of a column of six categories: the sum of sqrt(P N) over both sides."""
    rng = np.random.default_rng(1)
    for _ in range(8):
        x, y = rng.integers(0, 6, 80).astype(float), rng.choice([-1, 1], 80).astype(np.int8)
        d = rng.dirichlet(np.ones(80))
        oracle = Trees(2, categorical=(0,)).bind(x[:, None], y, Rows.of(80))

        def cost(right: np.ndarray, y=y, d=d) -> float:
            sides = [d[(right == side) & (y == label)].sum() for side in (True, False) for label in (1, -1)]
            return np.sqrt(sides[0] * sides[1]) + np.sqrt(sides[2] * sides[3])

        subsets = itertools.chain.from_iterable(itertools.combinations(range(1, 6), k) for k in range(1, 6))
        best = min(cost(np.isin(x, subset)) for subset in subsets)
        feature, cut, mask = oracle.best(d).hypotheses[0][0]
        assert (feature, cut) == (0, -1)
        assert cost(np.array([mask >> int(value) & 1 == 1 for value in x])) <= best + 1e-9


def test_trees_of_subsets_need_fewer_levels_than_stumps_of_numbers():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 8, (400, 2)).astype(float)
    y = np.where(np.isin(X[:, 0], [0, 3, 5, 6]) ^ np.isin(X[:, 1], [1, 2, 7]), 1, -1).astype(np.int8)
    d = np.full(400, 1 / 400)
    by_names = Trees(2, search="polished", categorical=(0, 1)).bind(X, y, Rows.of(400)).best(d)
    by_numbers = Trees(2, search="polished").bind(X, y, Rows.of(400)).best(d)
    assert abs(by_names.edges[0]) > abs(by_numbers.edges[0]) + 0.2


def test_weight_k_is_k_copies_and_threads_change_nothing():
    rng = np.random.default_rng(3)
    X, y = mixed(rng, 30_000, categories=40)
    X[:, 2] = np.where(rng.random(30_000) < 0.9, 4.0, X[:, 2])  # stored as exceptions
    counts = rng.integers(1, 3, len(y))
    copy_of, d = np.repeat(np.arange(len(y)), counts), rng.dirichlet(np.ones(len(y)))
    learner = Trees(3, categorical=(0, 2))
    whole = learner.bind(X, y, Rows.of(counts.astype(float))).best(d, 2)
    threaded = learner.bind(X, y, Rows.of(counts.astype(float), 3)).best(d, 2)
    copies = learner.bind(X[copy_of], y[copy_of], Rows.of(len(copy_of))).best(d[copy_of] / counts[copy_of], 2)
    assert whole.hypotheses == threaded.hypotheses == copies.hypotheses
    assert np.array_equal(whole.edges, threaded.edges) and any(cut < 0 for _, cut, _ in whole.hypotheses[0][:1])


def test_unseen_categories_count_as_missing():
    X = np.array([[0.0], [2.0], [np.nan], [2.0]] * 5)
    y = np.array([1, -1, -1, -1] * 5, dtype=np.int8)
    new = np.array([[np.nan], [1.0], [3.0], [77.0], [-4.0], [0.7], [2.0], [0.0], [0.5]])
    for rows, unseen in ((slice(None), -1.0), ([0, 1, 3], 0.0)):
        oracle = Trees(1, categorical=(0,)).bind(X[rows], y[rows], Rows.of(len(X[rows])))
        answer = oracle.best(np.full(len(X[rows]), 1 / len(X[rows])))
        scores = oracle.predictor(answer.hypotheses, np.sign(answer.edges)).scores(new)
        assert scores.tolist() == [unseen] * 6 + [-1.0, 1.0, 1.0]


def test_many_categories():
    rng = np.random.default_rng(4)
    x = rng.integers(0, 1000, 5_000).astype(float)
    y = np.where(x % 3 == 0, 1, -1).astype(np.int8)
    oracle = Trees(1, categorical=(0,)).bind(x[:, None], y, Rows.of(5_000))
    answer = oracle.best(np.full(5_000, 1 / 5_000))
    codes = Categories.of(x, Rows.of(5_000)).coded(x)
    expected = sum(abs(y[codes == code].sum()) for code in np.unique(codes)) / 5_000
    assert abs(answer.edges[0]) == pytest.approx(expected, abs=1e-12)
    scores = oracle.predictor(answer.hypotheses, np.ones(1)).scores(x[:, None])
    np.testing.assert_array_equal(scores * y, answer.columns[0])


def test_frames_and_files(tmp_path):
    rng = np.random.default_rng(5)
    town, x = rng.choice(["a", "b", "c", "d"], 200), rng.normal(size=200)
    y = (np.isin(town, ["a", "d"]) & (x > 0)).astype(int)
    frame = pd.DataFrame({"town": pd.Categorical(town), "x": x})
    model = MarginBoostClassifier(nu=0.1, learner=Trees(2), max_iter=20, calibrate=False).fit(frame, y)
    assert model.score(frame, y) == 1.0 and model.feature_importances_[0] > 0.2
    save_model(model, tmp_path / "m.dualboost")
    again = load_model(tmp_path / "m.dualboost")
    np.testing.assert_array_equal(again.decision_function(frame), model.decision_function(frame))
    stumps = MarginBoostClassifier(nu=0.1, learner=Stumps(), calibrate=False).fit(frame, y)
    assert model.certificate_.objective > stumps.certificate_.objective


def test_the_optimal_search_says_what_to_do():
    with pytest.raises(ValueError, match=r"^The optimal search compares thresholds: for categories use"):
        Trees(2, search="optimal", categorical=(0,))


def test_broken_masks_are_refused():
    X, y = mixed(np.random.default_rng(6), 30, missing=0.0)
    oracle = bound(X, y, 1)
    for node in ((0, -1, 1), (0, -1, 1 << 255), (0, -1, 1 << 200), (1, -1, 2), (7, -1, 2)):
        with pytest.raises(ValueError, match="mask"):
            oracle.column((node, (-1, -1, 0), (-1, 1, 0)))
