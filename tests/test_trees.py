"""Trees against slow twins: growth, the optimal tree of two levels, bounds, votes on raw values, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import reference_trees
from dualboost import LPBoostClassifier, kernels, load_model, save_model, solve
from dualboost.boosters import Corrective, LPBoost, TotallyCorrective
from dualboost.data import bin_columns
from dualboost.learners import Stumps, Trees
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Capped
from reference_trees import CONSTANT

LIMITS = [
    {"max_depth": 1},
    {"max_depth": 2},
    {"max_depth": 3},
    {"max_depth": 4},
    {"max_depth": None, "max_leaves": 2},
    {"max_depth": None, "max_leaves": 6},
    {"max_depth": 2, "max_leaves": 3},
    {"max_depth": 3, "max_leaves": 5},
]
every_limit = pytest.mark.parametrize("limit", LIMITS, ids=str)


def some_data(seed: int, m: int = 30, n_features: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ties or reals, with and without missing values, labels that follow a product, uneven or equal weights."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2 + seed % 5, (m, n_features)).astype(float) if seed % 2 else rng.normal(size=(m, n_features))
    y = np.where(X[:, 0] * X[:, -1] + 0.3 * rng.normal(size=m) > 0.5, 1, -1).astype(np.int8)
    if seed % 3 == 0:
        X[rng.random(X.shape) < 0.25] = np.nan
    return X, y, rng.dirichlet(np.ones(m)) if seed % 4 else np.full(m, 1 / m)


def tall_data(m: int = 3000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns of every kind of storage: in full, packed, as exceptions; with missing values in some of each."""
    rng = np.random.default_rng(5)
    X = np.hstack(
        [
            rng.normal(size=(m, 2)).round(1),
            rng.integers(0, 3, (m, 3)),
            np.where(rng.random((m, 3)) < 0.1, rng.integers(1, 4, (m, 3)), 0),
        ]
    ).astype(float)
    X[:, 7] = np.where(rng.random(m) < 0.15, rng.integers(0, 4, m), np.nan)
    score = X[:, 0] * X[:, 1] + X[:, 2] - 1 + X[:, 5] + 4 * np.nan_to_num(X[:, 7] - 1.5) + 0.5 * rng.normal(size=m)
    y = np.where(score > 0, 1, -1).astype(np.int8)
    for column, share in ((1, 0.2), (3, 0.1), (6, 0.05)):
        X[rng.random(m) < share, column] = np.nan
    d = rng.dirichlet(np.ones(m))
    d[rng.random(m) < 0.2] = 0.0
    return X, y, d / d.sum()


def same_answer(one, two) -> bool:
    return (
        list(one.hypotheses) == list(two.hypotheses)
        and np.array_equal(one.edges, two.edges)
        and one.bound == two.bound
        and all(np.array_equal(a, b) for a, b in zip(one.columns, two.columns, strict=True))
    )


# ---- growth ---------------------------------------------------------------------------------------------------------


@every_limit
@pytest.mark.parametrize("seed", range(8))
def test_growth_is_that_of_the_twin(limit, seed):
    X, y, d = some_data(seed)
    answer = Trees(**limit).bind(X, y, Rows.of(len(y))).best(d)
    key, edge = reference_trees.grow(X, y, d, **limit)
    assert answer.hypotheses == [key] and len(key) > 1
    assert abs(answer.edges[0] - edge) <= 1e-13
    np.testing.assert_array_equal(answer.columns[0], y * reference_trees.walk(key, X))
    assert answer.columns[0].dtype == np.int8


@pytest.mark.parametrize("limit", [{"max_depth": 3}, {"max_depth": 4, "max_leaves": 7}], ids=str)
def test_growth_on_every_kind_of_storage(limit):
    X, y, d = tall_data()
    oracle = Trees(**limit).bind(X, y, Rows.of(len(y)))
    assert oracle.bins.sparse_features.size >= 3 and oracle.bins.dense_features.size >= 5
    for weights in (d, np.where(X[:, 0] > 0, d, 0.0), np.full(len(y), 1 / len(y))):
        answer = oracle.best(weights)
        key, edge = reference_trees.grow(X, y, weights, **limit)
        assert answer.hypotheses == [key] and abs(answer.edges[0] - edge) <= 1e-13
        np.testing.assert_array_equal(answer.columns[0], y * reference_trees.walk(key, X))
        assert 7 in {node[0] for node in key}, "a column that is mostly missing, stored as exceptions"


def test_one_level_is_the_best_stump():
    for seed in range(12):
        X, y, d = some_data(seed, m=40)
        stump, tree = (learner.bind(X, y, Rows.of(40)).best(d) for learner in (Stumps(), Trees(1)))
        (key,) = stump.hypotheses
        assert tree.hypotheses == [CONSTANT if key[0] < 0 else (key, (-1, -1, 0), (-1, 1, 0))]
        assert tree.edges[0] == stump.edges[0] and tree.bound == stump.bound
        np.testing.assert_array_equal(tree.columns[0], stump.columns[0])


@given(st.integers(0, 10_000))
def test_more_depth_never_loses_edge(seed):
    """The last splits of a deeper tree could repeat the split above them, so each level gains or keeps the edge."""
    X, y, d = some_data(seed, m=25)
    rows = Rows.of(25)
    edges = [abs(Trees(depth).bind(X, y, rows).best(d).edges[0]) for depth in range(1, 7)]
    assert np.all(np.diff(edges) >= -1e-12)
    optimal = Trees(2, search="optimal").bind(X, y, rows).best(d)
    assert abs(optimal.edges[0]) >= edges[1] - 1e-12 and abs(optimal.edges[0]) <= optimal.bound


@every_limit
def test_limits_hold_and_every_split_matters(limit):
    """Depth and leaves as asked; the first leaf votes -1; no split whose leaves agree."""
    for seed in range(6):
        X, y, d = some_data(seed, m=60)
        (tree,) = Trees(**limit).bind(X, y, Rows.of(60)).best(d).hypotheses
        depths, open_at = [], [0]
        for feature, _, _ in tree:
            depth = open_at.pop()
            depths.append(depth)
            open_at += [] if feature < 0 else [depth + 1, depth + 1]
        votes = [node[1] for node in tree if node[0] < 0]
        assert max(depths) <= (limit["max_depth"] or 99) and len(votes) <= limit.get("max_leaves", 99)
        assert (votes[0] == -1 or tree == CONSTANT) and not open_at
        for split, left, right in zip(tree, tree[1:], tree[2:], strict=False):
            assert split[0] < 0 or left[0] >= 0 or right[0] >= 0 or left[1] != right[1]


def test_exclusive_or_is_found():
    """No split of the root changes anything, by any criterion; a node that is not pure is split all the same."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = np.array([-1, 1, 1, -1], dtype=np.int8)
    for learner in (Trees(2), Trees(2, search="optimal"), Trees(None, max_leaves=4)):
        assert learner.bind(X, y, Rows.of(4)).best(np.full(4, 0.25)).edges[0] == 1.0


def test_a_split_needs_weight_on_both_sides():
    """A row without weight makes the lowest cut, which gains as little as any other here and must not be taken."""
    X = np.array([[-9.0, 0.0], [0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = np.array([1, -1, 1, 1, -1], dtype=np.int8)
    answer = Trees(2).bind(X, y, Rows.of(5)).best(np.array([0.0, 0.25, 0.25, 0.25, 0.25]))
    assert answer.hypotheses[0][0] == (0, 1, 0) and answer.edges[0] == 1.0


def test_a_leaf_without_majority_votes_as_its_parent():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y, d = np.array([1, -1, -1, 1], dtype=np.int8), np.array([0.6, 0.6, 1.0, 0.5]) / 2.7
    answer = Trees(None, max_leaves=3).bind(X, y, Rows.of(4)).best(d)
    assert answer.hypotheses == [((0, 0, 0), (-1, -1, 0), (1, 0, 0), (-1, -1, 0), (-1, 1, 0))]
    assert answer.edges[0] == pytest.approx(1.5 / 2.7, abs=1e-15)


@pytest.mark.parametrize("learner", [Trees(3), Trees(2, search="optimal")], ids=str)
def test_nothing_to_split(learner):
    X = np.array([[1.0, np.nan], [1.0, np.nan], [1.0, np.nan]])
    for y, edge in (([1, 1, -1], 0.5), ([-1, -1, 1], -0.5), ([1, 1, 1], 1.0)):
        answer = learner.bind(X, np.array(y, dtype=np.int8), Rows.of(3)).best(np.array([0.5, 0.25, 0.25]))
        assert answer.hypotheses == [CONSTANT] and answer.edges[0] == edge
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1, -1, 1], dtype=np.int8)
    answer = learner.bind(X, y, Rows.of(3)).best(np.zeros(3))
    assert answer.hypotheses == [CONSTANT] and answer.edges[0] == 0.0 and answer.bound <= 1e-17


# ---- the optimal tree -----------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(2, 16), st.integers(1, 3))
def test_the_optimal_tree_is_that_of_brute_force(seed, m, n_features):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, rng.integers(2, 5), (m, n_features)).astype(float)
    X[rng.random(X.shape) < rng.choice([0, 0.3])] = np.nan
    y, d = rng.choice([-1, 1], m).astype(np.int8), rng.dirichlet(np.ones(m))
    d = d if seed % 3 else np.full(m, 1 / m)
    answer = Trees(2, search="optimal").bind(X, y, Rows.of(m)).best(d)
    members = reference_trees.all_trees(X)
    edges = np.array([values for _, values in members]) @ (y * d)
    winner = int(np.flatnonzero(np.abs(edges) >= np.abs(edges).max() - 1e-12)[0])
    assert answer.hypotheses == [members[winner][0]]
    assert abs(answer.edges[0] - edges[winner]) <= 1e-14
    assert np.abs(edges).max() - 1e-16 <= answer.bound <= np.abs(edges).max() + 1e-13


def best_of_two_levels(X: np.ndarray, y: np.ndarray, d: np.ndarray) -> tuple[float, dict[int, float]]:
    """The largest edge, and the largest for each feature at the root, without a list of all trees."""
    splits = reference_trees.splits_of(X)
    rights = np.array([right for _, right in splits])

    def half(rows: np.ndarray) -> float:
        q = np.where(rows, y * d, 0.0)
        return max(abs(q.sum()), float(np.abs(q.sum() - 2 * rights @ q).max()))

    by_root: dict[int, float] = {}
    for (feature, _, _), right in splits:
        by_root[feature] = max(by_root.get(feature, 0.0), half(right) + half(~right))
    return max(by_root.values()), by_root


@pytest.mark.parametrize("seed", range(6))
def test_the_optimal_tree_on_more_rows(seed):
    """Many cuts, so that most are skipped by their bounds: the edges are still the largest, for every root."""
    X, y, d = some_data(seed, m=120, n_features=5)
    oracle = Trees(2, search="optimal").bind(X, y, Rows.of(120))
    answer, several = oracle.best(d), oracle.best(d, 4)
    largest, by_root = best_of_two_levels(X, y, d)
    assert abs(abs(answer.edges[0]) - largest) <= 1e-13 and largest <= answer.bound <= largest + 1e-13
    assert several.hypotheses[0] == answer.hypotheses[0] and len(several.hypotheses) > 1
    expected = sorted(by_root.values(), reverse=True)[: len(several.edges)]
    np.testing.assert_allclose(np.abs(several.edges), expected, atol=1e-12)
    assert len({tree[0][0] for tree in several.hypotheses}) == len(several.hypotheses), "one for each root"


def test_the_optimal_tree_beats_the_greedy_one_somewhere():
    gains = []
    for seed in range(10):
        X, y, d = some_data(seed, m=50)
        optimal, greedy = (
            Trees(2, search=search).bind(X, y, Rows.of(50)).best(d).edges[0] for search in ("optimal", "greedy")
        )
        gains.append(abs(optimal) - abs(greedy))
    assert min(gains) >= -1e-12 and max(gains) > 0.01


# ---- polished trees -------------------------------------------------------------------------------------------------


def parts_of(tree: tuple) -> tuple[tuple, tuple]:
    """The left and the right part of a split."""
    open_nodes, end = 1, 1
    while open_nodes:
        open_nodes += -1 if tree[end][0] < 0 else 1
        end += 1
    return tree[1:end], tree[end:]


def gains(tree: tuple, X: np.ndarray, q: np.ndarray, rows: np.ndarray) -> list[float]:
    """What the best exchange of one split or leaf would add to the edge, for every place, by brute force."""
    votes = reference_trees.walk(tree, X)
    if len(tree) == 1:
        return [abs(q[rows].sum()) - (q * votes)[rows].sum()]
    left, right = parts_of(tree)
    a, b = reference_trees.walk(left, X), reference_trees.walk(right, X)
    options = [(q * np.where(side, b, a))[rows].sum() for _, side in reference_trees.splits_of(X)]
    options += [(q * np.where(side, a, b))[rows].sum() for _, side in reference_trees.splits_of(X)]
    options += [(q * a)[rows].sum(), (q * b)[rows].sum()]
    here = max(options) - (q * votes)[rows].sum()
    side = reference_trees.walk((tree[0], (-1, -1, 0), (-1, 1, 0)), X) > 0
    return [here, *gains(left, X, q, rows & ~side), *gains(right, X, q, rows & side)]


@pytest.mark.parametrize("limit", [{"max_depth": 2}, {"max_depth": 3}, {"max_depth": None, "max_leaves": 5}], ids=str)
def test_no_single_exchange_improves_a_polished_tree(limit):
    more = 0
    for seed in range(10):
        X, y, d = some_data(seed, m=50)
        rows = Rows.of(50)
        grown, polished = (Trees(**limit, search=search).bind(X, y, rows).best(d) for search in ("greedy", "polished"))
        assert abs(polished.edges[0]) >= abs(grown.edges[0]) - 1e-15
        more += abs(polished.edges[0]) > abs(grown.edges[0]) + 1e-9
        (tree,) = polished.hypotheses
        np.testing.assert_array_equal(polished.columns[0], y * reference_trees.walk(tree, X))
        assert polished.columns[0] @ d == pytest.approx(polished.edges[0], abs=1e-14)
        assert len(tree) <= 2 * (limit.get("max_leaves") or 2 ** limit["max_depth"]) - 1
        q = np.sign(polished.edges[0]) * y * d
        assert max(gains(tree, X, q, np.ones(50, dtype=bool))) <= 2e-12
        assert polished.bound == grown.bound >= abs(polished.edges[0])
    assert more > 0, "polishing found something"


@pytest.mark.parametrize("seed", [5, 15, 27, 32, 52, 58, 65, 73])
def test_an_exchange_may_turn_the_parts_round(seed):
    """Labels without a pattern, where the better split often has its sides exchanged."""
    rng = np.random.default_rng(seed)
    X, y, d = rng.integers(0, 4, (30, 3)).astype(float), rng.choice([-1, 1], 30), rng.dirichlet(np.ones(30))
    for depth in (2, 3):
        answer = Trees(depth, search="polished").bind(X, y, Rows.of(30)).best(d)
        q = np.sign(answer.edges[0]) * y * d
        assert max(gains(answer.hypotheses[0], X, q, np.ones(30, dtype=bool))) <= 2e-12


# ---- the bound ------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000))
def test_the_bound_is_what_contradictions_leave(seed):
    """No function of the values does better than the heavier label of each group of equal rows; a full tree gets it."""
    rng = np.random.default_rng(seed)
    X, y, d = some_data(2 * seed + 1, m=40, n_features=int(rng.integers(1, 4)))
    most = reference_trees.most_of_any_tree(X, y, d)
    oracle = Trees(None, max_leaves=64).bind(X, y, Rows.of(40))
    answer = oracle.best(d)
    assert most - 1e-16 <= answer.bound <= most + 1e-13
    assert abs(answer.edges[0]) == pytest.approx(most, abs=1e-12), "leaves enough for every group"


def test_contradictions_are_seen_in_every_storage():
    X, y, d = tall_data(2000)
    X, y, d = np.vstack([X, X[:300]]), np.concatenate([y, -y[:300]]), np.concatenate([d, d[:300]]) / 2
    for form in (X, sp.csc_array(np.nan_to_num(X, nan=7.0))):
        dense = form.toarray() if sp.issparse(form) else form
        oracle = Trees(2).bind(form, y, Rows.of(len(y)))
        most = reference_trees.most_of_any_tree(dense, y, d)
        assert oracle.search.contradictions >= 600
        assert most <= oracle.best(d).bound <= most + 1e-12 and most < d.sum() - 0.01


# ---- the same answer ------------------------------------------------------------------------------------------------

LEARNERS = [Trees(3), Trees(None, max_leaves=6), Trees(3, search="polished"), Trees(2, search="optimal")]
every_tree = pytest.mark.parametrize("learner", LEARNERS, ids=str)


@every_tree
def test_the_same_bits_for_any_number_of_threads(learner):
    X, y, d = tall_data(4000 if learner.search == "optimal" else 40_000)
    one, three = (learner.bind(X, y, Rows.of(len(y), threads)) for threads in (1, 3))
    a, b = one.best(d, 3), three.best(d, 3)
    assert same_answer(a, b) and len(a.hypotheses) == 3
    w = np.array([0.5, -0.3, 0.2])
    margins = one.margins(a.hypotheses, w)
    assert np.array_equal(margins, three.margins(a.hypotheses, w))
    scores = one.predictor(a.hypotheses, w).scores(X)
    assert np.array_equal(scores, one.predictor(a.hypotheses, w).scores(X, threads=3))
    np.testing.assert_allclose(scores * y, margins, atol=1e-15)


@every_tree
def test_sparse_columns_are_columns(learner):
    """As exceptions or in full: the same trees, the same bits."""
    X, y, d = tall_data(2500)
    X = np.nan_to_num(X, nan=0.0)
    sparse, dense = (learner.bind(form, y, Rows.of(len(y))) for form in (sp.csr_array(X), X))
    few = learner.bind(X[:900], y[:900], Rows.of(900))  # below a thousand rows all columns are stored in full
    listed = learner.bind(np.vstack([X[:900], np.zeros((9000, 8))]), np.resize(y[:900], 9900), Rows.of(9900))
    assert sparse.bins.sparse_features.size and listed.bins.sparse_features.size and not few.bins.sparse_features.size
    assert same_answer(sparse.best(d, 3), dense.best(d, 3))
    weights = d[:900] / d[:900].sum()
    padded = np.concatenate([weights, np.zeros(9000)])
    one, two = few.best(weights, 2), listed.best(padded, 2)
    assert [len(tree) for tree in one.hypotheses] == [len(tree) for tree in two.hypotheses]
    np.testing.assert_allclose(np.abs(one.edges), np.abs(two.edges), atol=1e-15)


@every_tree
def test_weight_k_is_k_copies_of_many_rows(learner):
    rng = np.random.default_rng(8)
    X, y, d = some_data(6, m=80)
    counts = rng.integers(1, 5, 80)
    copy_of = np.repeat(np.arange(80), counts)
    whole = learner.bind(X, y, Rows.of(counts.astype(float)))
    copies = learner.bind(X[copy_of], y[copy_of], Rows.of(len(copy_of)))
    for weights in (d, counts / counts.sum(), rng.dirichlet(np.ones(80))):
        one, two = whole.best(weights, 3), copies.best(weights[copy_of] / counts[copy_of], 3)
        assert list(one.hypotheses) == list(two.hypotheses)
        np.testing.assert_allclose(one.edges, two.edges, atol=1e-14)


@every_tree
def test_several_trees(learner):
    """The first is the answer to k = 1, the others differ from it and from each other and fall in edge."""
    X, y, d = some_data(2, m=60, n_features=6)
    oracle = learner.bind(X, y, Rows.of(60))
    several = oracle.best(d, 4)
    assert several.hypotheses[0] == oracle.best(d).hypotheses[0]
    assert len(set(several.hypotheses)) == len(several.hypotheses) > 2
    assert np.all(np.diff(np.abs(several.edges[1:])) <= 0)
    for column, edge in zip(several.columns, several.edges, strict=True):
        assert column @ d == pytest.approx(edge, abs=1e-14)


# ---- votes on raw values --------------------------------------------------------------------------------------------


def random_tree(rng: np.random.Generator, cut_counts: np.ndarray, has_missing: np.ndarray, depth: int) -> tuple:
    """Any shape, not only those that growth makes: leaves that agree, splits that repeat, missing values alone."""
    if depth == 0 or rng.random() < 0.2:
        return ((-1, int(rng.choice([-1, 1])), 0),)
    feature = int(rng.choice(np.flatnonzero(cut_counts)))
    side = int(rng.integers(0, 1 + has_missing[feature]))
    split = (feature, int(rng.integers(0, cut_counts[feature] + side)), side)
    return (split, *(node for _ in range(2) for node in random_tree(rng, cut_counts, has_missing, depth - 1)))


@pytest.mark.parametrize("m", [1, 8, 9, 12, 31, 32, 33, 100, 513, 3000])
@pytest.mark.parametrize("depth", [1, 3, 7])
def test_scores_and_margins_of_any_trees(m, depth):
    """Few rows and many take different ways; 21 trees fill two bytes and a part of a third."""
    X, y, _ = tall_data(3000)
    oracle, rng = Trees(3).bind(X, y, Rows.of(3000)), np.random.default_rng(m + depth)
    missing = oracle.bins.has_missing
    trees = [random_tree(rng, oracle.bins.cut_counts, missing, depth) for _ in range(21)]
    w = rng.normal(size=21) / 21
    values = [np.unique(x[~np.isnan(x)]) for x in X.T]
    votes = np.array([reference_trees.walk(tree, X, values) for tree in trees])
    np.testing.assert_allclose(oracle.margins(trees, w), y * (w @ votes), atol=1e-14)
    np.testing.assert_array_equal(oracle.column(trees[0]), y * votes[0])
    predictor = oracle.predictor(trees, w)
    np.testing.assert_allclose(predictor.scores(X[:m]), (w @ votes)[:m], atol=1e-14)
    np.testing.assert_array_equal(predictor.scores(X[:m]), predictor.scores(X)[:m])
    np.testing.assert_array_equal(predictor.scores(np.asfortranarray(X[:m])), predictor.scores(X[:m]))
    filled = np.nan_to_num(X[:m], nan=-2.0)
    np.testing.assert_array_equal(predictor.scores(sp.csr_array(filled)), predictor.scores(filled))
    np.testing.assert_array_equal(
        predictor.scores(sp.csc_array(filled.astype(np.float32))), predictor.scores(filled.astype(np.float32))
    )


def test_a_value_on_the_cut_goes_left_in_full_precision():
    X = np.array([[1.0], [1.0 + 1e-9], [2.0**53], [2.0**53 + 2]])
    oracle = Trees(2, search="optimal").bind(X, np.array([-1, 1, -1, 1], dtype=np.int8), Rows.of(4))
    answer = oracle.best(np.full(4, 0.25))
    assert abs(answer.edges[0]) == 1.0
    scores = oracle.predictor(answer.hypotheses, np.sign(answer.edges)).scores(X)
    assert scores.tolist() == [-1.0, 1.0, -1.0, 1.0]


def test_trees_abstain_on_values_that_were_never_missing():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    oracle = Trees(2).bind(X, np.array([-1, 1, 1, 1], dtype=np.int8), Rows.of(4))
    tree = ((0, 0, 0), (1, 0, 0), (-1, -1, 0), (-1, 1, 0), (-1, 1, 0))
    predictor = oracle.predictor([tree, ((1, 0, 0), (-1, -1, 0), (-1, 1, 0))], np.array([0.75, 0.25]))
    queries = np.array([[0.0, np.nan], [1.0, np.nan], [np.nan, 1.0], [np.nan, np.nan], [0.0, 1.0]])
    assert predictor.scores(queries).tolist() == [0.0, 0.75, 0.25, 0.0, 1.0]
    many = np.resize(queries, (1000, 2))
    assert np.array_equal(predictor.scores(many), np.resize([0.0, 0.75, 0.25, 0.0, 1.0], 1000))


def test_importances_divide_a_tree_among_its_splits():
    X, y, _ = some_data(2, m=30)
    oracle = Trees(2).bind(X, y, Rows.of(30))
    tree = ((0, 3, 0), (1, 2, 0), (-1, -1, 0), (-1, 1, 0), (0, 7, 0), (-1, 1, 0), (-1, -1, 0))
    predictor = oracle.predictor([tree, ((2, 1, 0), (-1, -1, 0), (-1, 1, 0)), CONSTANT], np.array([0.3, -0.6, 0.1]))
    np.testing.assert_allclose(predictor.importances(4), np.array([0.2, 0.1, 0.6, 0.0]) / 0.9, atol=1e-15)


# ---- in a game ------------------------------------------------------------------------------------------------------


PLAYERS = [Corrective(step="search", smoothing="halving"), TotallyCorrective(), LPBoost()]


@pytest.mark.parametrize("booster", PLAYERS, ids=lambda booster: type(booster).__name__)
@pytest.mark.parametrize("learner", [Trees(3), Trees(2, search="optimal")], ids=str)
def test_trees_in_a_game(booster, learner):
    """The margin is that of the votes, within the bound; trees reach a larger one than stumps can."""
    X, y, _ = some_data(2, m=60)
    loss, rows = SoftMargin(Capped(nu=0.2)), Rows.of(60)
    solution = solve(learner.bind(X, y, rows), loss, booster, tol=0.05, max_rounds=150)
    stumps = solve(Stumps().bind(X, y, rows), loss, tol=0.01)
    assert solution.objective <= solution.bound + 1e-12 and solution.n_rounds > 0
    assert solution.objective > stumps.bound, "two levels see the product, one does not"
    oracle = learner.bind(X, y, rows)
    z = oracle.margins(solution.hypotheses, solution.weights)
    assert np.abs(solution.weights).sum() <= 1 + 1e-12
    assert loss.bind(rows).value(z) == pytest.approx(-solution.objective, abs=1e-12)
    if learner.search == "optimal":
        assert solution.gap <= 0.05, "an exact bound certifies"


@pytest.mark.parametrize("learner", [Trees(3), Trees(2, search="optimal")], ids=str)
def test_trees_in_a_classifier(learner, tmp_path):
    """Any labels, missing values; probabilities and files as with stumps."""
    X, y, _ = tall_data(400)
    names = np.where(y > 0, "yes", "no")
    model = LPBoostClassifier(nu=0.7, learner=learner, max_iter=60).fit(X, names)
    stumps = LPBoostClassifier(nu=0.7, max_iter=60).fit(X, names)
    assert model.certificate_.objective > stumps.certificate_.objective
    np.testing.assert_allclose(model.decision_function(X) * y, model.margins_, atol=1e-14)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    save_model(model, tmp_path / "trees.dualboost")
    again = load_model(tmp_path / "trees.dualboost")
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert again.learner == learner and again.predict(X).tolist() == model.predict(X).tolist()


# ---- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_depth": 0},
        {"max_depth": 11},
        {"max_depth": 2.5},
        {"max_depth": True},
        {"max_leaves": 1},
        {"max_leaves": 2000},
        {"max_depth": None},
        {"search": "best"},
        {"search": "optimal"},
        {"search": "optimal", "max_depth": 2, "max_leaves": 3},
    ],
    ids=str,
)
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match=r"^[A-Zms].*\.$"):
        Trees(**wrong)


def test_trees_without_labels_are_refused():
    with pytest.raises(ValueError, match=r"^Trees need labels: .*\.$"):
        Trees().bind(np.eye(3), None, Rows.of(3))


def test_an_optimal_search_over_too_many_pairs_is_refused():
    X = sp.csr_array((3, 5000))
    with pytest.raises(ValueError, match=r"^The optimal search looks at every pair .*\.$"):
        Trees(2, search="optimal").bind(X, np.array([1, -1, 1]), Rows.of(3))


def tree_search(m: int = 6) -> kernels.TreeSearch:
    X = np.column_stack([np.arange(m), np.where(np.arange(m) % 2, np.nan, np.arange(m))]).astype(float)
    return Trees(2).bind(X, np.resize([1, -1], m).astype(np.int8), Rows.of(m)).search


@pytest.mark.parametrize("method", ["greedy", "optimal"])
@pytest.mark.parametrize("d", [np.full(5, 0.2), np.full(6, 0.5), np.array([np.nan] * 6), -np.ones(6), np.eye(6)[0] * 2])
def test_the_kernel_refuses_bad_weights_and_still_works(method, d):
    search = tree_search()
    limits = ((2, 4),) if method == "greedy" else ()
    before = getattr(search, method)(np.full(6, 1 / 6), *limits)
    with pytest.raises(ValueError, match=r"^d must"):
        getattr(search, method)(d, *limits)
    after = getattr(search, method)(np.full(6, 1 / 6), *limits)
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize(
    "nodes",
    [
        np.zeros((0, 3)),
        [(0, 0, 0)],
        [(0, 0, 0), (-1, 1, 0)],
        [(-1, 1, 0), (-1, 1, 0)],
        [(-1, 0, 0)],
        [(-1, 1, 2)],
        [(5, 0, 0), (-1, -1, 0), (-1, 1, 0)],
        [(0, 5, 0), (-1, -1, 0), (-1, 1, 0)],
        [(0, -1, 0), (-1, -1, 0), (-1, 1, 0)],
        [(0, 0, 1), (-1, -1, 0), (-1, 1, 0)],
        [(1, 3, 1), (-1, -1, 0), (-1, 1, 0)],
        [(0, 0)],
    ],
    ids=str,
)
def test_the_kernel_refuses_what_is_no_tree(nodes):
    search, out = tree_search(), np.empty(6, dtype=np.int8)
    nodes = np.array(nodes, dtype=np.int32)
    with pytest.raises(ValueError, match=r"\w"):
        search.column(nodes, out)
    with pytest.raises(ValueError, match=r"\w"):
        search.margins(nodes, np.array([0, len(nodes)]), np.ones(1), np.empty(6))


def test_the_kernel_refuses_shapes_that_do_not_fit():
    search, stump = tree_search(), np.array([(0, 0, 0), (-1, -1, 0), (-1, 1, 0)], dtype=np.int32)
    ends, w = np.array([0, 3]), np.ones(1)
    for bad in (
        (stump, np.array([1, 3]), w, np.empty(6)),
        (stump, np.array([0, 2]), w, np.empty(6)),
        (stump, np.zeros(0, dtype=np.int64), w, np.empty(6)),
        (stump, ends, np.ones(2), np.empty(6)),
        (stump, ends, w, np.empty(5)),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            search.margins(*bad)
    with pytest.raises(ValueError, match="out"):
        search.column(stump, np.empty(5, dtype=np.int8))
    for limits in ((0, 4), (2, 1), (2, 5000)):
        with pytest.raises(ValueError, match="tree"):
            search.greedy(np.full(6, 1 / 6), limits)
    with pytest.raises(ValueError, match="k must"):
        search.optimal(np.full(6, 1 / 6), 0)


def test_prediction_refuses_a_model_that_does_not_fit():
    X, y, _ = some_data(2, m=30)
    good = Trees(2).bind(X, y, Rows.of(30)).predictor([((1, 4, 0), (-1, -1, 0), (-1, 1, 0))], np.ones(1))
    model = [good.nodes, good.start, good.weights, good.features, good.cut_start, good.cuts, good.met_missing]
    wrong = {
        0: np.array([(1, 0, 0), (-1, -1, 0), (-1, 1, 0)], dtype=np.int32),
        1: np.array([0, 2]),
        2: np.ones(2),
        3: np.array([4], dtype=np.int32),
        4: np.array([0, 2]),
        5: np.arange(300.0),
        6: np.zeros(2, dtype=np.uint8),
    }
    rows = sp.csr_array(X)
    for place, value in wrong.items():
        broken = [*model[:place], value, *model[place + 1 :]]
        with pytest.raises(ValueError, match=r"\w"):
            kernels.TreePredictor(*broken).dense(X, np.empty(30), 1)
    ready = kernels.TreePredictor(*model)
    with pytest.raises(ValueError, match="out of range"):
        ready.sparse(3, rows.indptr, rows.indices, rows.data, np.empty(30), 1)
    with pytest.raises(ValueError, match="out of range"):
        ready.dense(np.ascontiguousarray(X[:, :1]), np.empty(30), 1)
    with pytest.raises(ValueError, match="out"):
        ready.dense(X, np.empty(29), 1)


def test_arrays_of_the_search_are_checked():
    bins = bin_columns(np.arange(6.0)[:, None])
    empty = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.uint8)
    rest = bins.dense_features, np.zeros(1, dtype=np.int64), *empty, *empty
    with pytest.raises(ValueError, match="y must"):
        kernels.TreeSearch(6, np.zeros(6, np.int8), bins.cut_counts, bins.has_missing, bins.dense_codes, *rest)
    with pytest.raises(ValueError, match="dense code"):
        kernels.TreeSearch(6, np.ones(6, np.int8), bins.cut_counts, bins.has_missing, bins.dense_codes + 9, *rest)
