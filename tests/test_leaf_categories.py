"""Real-valued trees that split categories by subsets: against brute force, a naive walk, copies, files and frames."""

import itertools
import pickle
from dataclasses import replace
from itertools import islice

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualboost import LogisticMixtureClassifier, Training, kernels, load_model, save_model
from dualboost.boosters import Leveraging
from dualboost.game import Game, rounds
from dualboost.inspection.as_trees import plain_trees
from dualboost.learners import LeafTrees
from dualboost.learners.leaf_scores import BY_MASK, LeafScores, LeafTree
from dualboost.learners.union import SumScores
from dualboost.losses import LogisticDifference
from dualboost.rows import Rows
from test_kept_tries import Crash, crash_in_try
from test_leaf_trees import grown_naively


def mixed(rng, m: int, categories: int = 5, missing: float = 0.1):
    """Columns 0 and 2 hold categories with gaps between their numbers, column 1 holds numbers."""
    X = 2.0 * rng.integers(0, categories, (m, 3))
    X[:, 1] = rng.integers(0, 6, m)
    X[rng.random(X.shape) < missing] = np.nan
    return X, rng.choice([-1, 1], m).astype(np.int8)


def bound(X, y, leaves: int, weights=None, categorical=(0, 2), **settings):
    rows = Rows.of(len(y) if weights is None else weights)
    return LeafTrees(leaves, 255, categorical=categorical, **settings).bind(X, y, rows)


def naive_values(tree: LeafTree, X: np.ndarray, codes: dict) -> np.ndarray:
    """What a tree says about each row, node by node; `codes` lists the categories or the cuts of each column."""
    feature, cut, missing_right, left, right, value, masks = tree.arrays()
    out = np.empty(len(X))
    for i, row in enumerate(X):
        node = 0
        while feature[node] >= 0:
            x, known = row[feature[node]], codes[feature[node]]
            name = np.ceil(x - 0.5)  # the nearest whole number, of two the lower
            if np.isnan(x) or (cut[node] == BY_MASK and name not in known):
                goes_right = missing_right[node]
            elif cut[node] == BY_MASK:
                code = known.index(name)
                goes_right = masks[node][code // 8] >> (code % 8) & 1
            else:
                goes_right = cut[node] < len(known) and x > known[cut[node]]
            node = right[node] if goes_right else left[node]
        out[i] = value[node]
    return out


def codes_of(X: np.ndarray, oracle) -> dict:
    cuts = oracle.bins.cuts[oracle.bins.cut_start[1] : oracle.bins.cut_start[2]].tolist()
    return {f: np.unique(X[~np.isnan(X[:, f]), f]).tolist() for f in (0, 2)} | {1: cuts}


# ---- the best subset ------------------------------------------------------------------------------------------------

sums = st.lists(st.tuples(st.integers(-40, 40), st.integers(1, 30)), min_size=2, max_size=7)


def gain(g, h, right, ridge: float = 0.0) -> float:
    return sum(g[side].sum() ** 2 / (h[side].sum() + ridge) for side in (right, ~right))


def all_gains(g, h, ridge: float, least: float) -> list[float]:
    """Of every way to send the categories to two sides that weigh enough."""
    sides = [np.array(side) for side in itertools.product([False, True], repeat=len(g) - 1)]
    sides = [np.append(False, side) for side in sides if side.any()]
    return [gain(g, h, s, ridge) for s in sides if min(h[s].sum(), h[~s].sum()) >= least * (1 - 1e-9)]


def split_of(g, h, ridge: float, least: float):
    """(which categories go right, whether there is a split) of a table with a row for each category."""
    count = len(g)
    search = kernels.LeafSearch(
        np.arange(count, dtype=np.uint8)[:, None], np.array([count - 1], np.int32), np.ones(1, np.uint8)
    )
    feature, cut, *_, masks = search.grow(g, h, 2, least, ridge, 1.0, 0)
    if feature[0] < 0:
        return None
    assert cut[0] == BY_MASK
    return np.unpackbits(masks[0], bitorder="little")[:count].astype(bool)


@given(sums, st.sampled_from([0.0, 0.01, 0.3, 5.0]))
def test_a_split_is_the_best_of_all_subsets_for_any_ridge(pairs, ridge):
    g, h = (np.array(part, float) for part in zip(*pairs, strict=True))
    g, h = g / max(np.abs(g).sum(), 1.0), h / h.sum()
    right = split_of(g, h, ridge, 0.0)
    best = max(all_gains(g, h, ridge, 0.0))
    if right is None:
        assert best <= g.sum() ** 2 / (1 + ridge) * (1 + 2e-6) + 1e-15, "nothing is gained"
        return
    assert not right[0], "the lowest category goes left"
    assert gain(g, h, right, ridge) >= best * (1 - 2e-6)


def cut_corners(g, h, least: float) -> float:
    """The most that any mixture of subsets could gain if both sides must weigh this much: no subset gains more.

    The criterion is largest at a corner of the hull of all subsets, cut off at both ends: the first categories in the
    order of g / h, or these and a part of the next one.
    """
    best = 0.0
    for order in (np.argsort(g / h, kind="stable"), np.argsort(-g / h, kind="stable")):
        weight, pull = np.append(0.0, np.cumsum(h[order])), np.append(0.0, np.cumsum(g[order]))
        at = [w for w in weight if least <= w <= 1 - least] + [least, 1 - least]
        for w, p in zip(at, np.interp(at, weight, pull), strict=True):
            best = max(best, p**2 / w + (g.sum() - p) ** 2 / (1 - w))
    return best


@given(sums, st.sampled_from([0.05, 0.2, 0.4, 0.5]))
def test_under_a_least_share_the_split_is_exact_where_it_can_be_and_bounded_elsewhere(pairs, least):
    g, h = (np.array(part, float) for part in zip(*pairs, strict=True))
    g, h = g / max(np.abs(g).sum(), 1.0), h / h.sum()
    right, free = split_of(g, h, 0.0, least), split_of(g, h, 0.0, 0.0)
    allowed = all_gains(g, h, 0.0, least)
    assert not allowed or max(allowed) <= cut_corners(g, h, least) * (1 + 1e-9)
    if right is not None:
        assert min(h[right].sum(), h[~right].sum()) >= least * (1 - 1e-8)
    if free is not None and min(h[free].sum(), h[~free].sum()) >= least:
        assert gain(g, h, right) >= max(allowed) * (1 - 2e-6), "the best of all keeps the share: it is taken"


def test_a_least_share_can_make_the_best_subset_no_first_part():
    """Sides of a half each: only one pair of subsets weighs that, and it is no first part of the order."""
    g, h = np.array([-3.0, -1.0, 1.0, 2.0]) / 7, np.array([3.0, 2.0, 2.0, 3.0]) / 10
    assert split_of(g, h, 0.0, 0.5) is not None and split_of(g, h, 0.0, 0.0) is not None
    order = np.array([3.0, 1.0, 4.0, 2.0]) / 10
    pull = order * np.array([-1.0, -0.5, 0.5, 1.0])
    assert split_of(pull, order, 0.0, 0.5) is None
    assert max(all_gains(pull, order, 0.0, 0.5)) > pull.sum() ** 2


@given(st.integers(0, 10_000), st.integers(2, 9), st.sampled_from([0.0, 0.2]), st.sampled_from([0.0, 0.03]))
def test_the_tree_is_the_naive_twins(seed, leaves, missing, row):
    """Which tries all subsets at every node."""
    rng = np.random.default_rng(seed)
    X, y = mixed(rng, 30, missing=missing)
    rows = Rows.of(rng.dirichlet(np.full(30, 5.0)))
    d = rows.prior * rng.uniform(0.05, 1, 30)
    oracle = LeafTrees(leaves, 255, categorical=(0, 2), row_share=row).bind(X, y, rows)
    naive = grown_naively(X, y * d, rows.prior, leaves, 0.0, (0, 2), row)
    np.testing.assert_allclose(oracle.best(d).columns[0] * y, naive / np.abs(naive).max(), atol=1e-9)


def test_of_equal_splits_the_first_feature_is_taken():
    """Whether it holds categories or numbers, and in whatever order they are searched."""
    rng = np.random.default_rng(9)
    x, y = rng.integers(0, 2, 40).astype(float), rng.choice([-1, 1], 40).astype(np.int8)
    d, noise = rng.dirichlet(np.ones(40)), rng.integers(0, 3, 40).astype(float)
    for categorical in ((), (0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)):
        oracle = LeafTrees(2, categorical=categorical).bind(np.column_stack([x, 1 - x, x]), y, Rows.of(40))
        assert oracle.best(d).hypotheses[0].arrays()[0][0] == 0
    table = np.column_stack([noise, noise + 5 * (noise > 1), noise])
    oracle = LeafTrees(2, categorical=(0, 1, 2)).bind(table, y, Rows.of(40))
    assert oracle.best(d).hypotheses[0].arrays()[0][0] == 0


def test_categories_that_mean_nothing_do_not_beat_a_number_that_does():
    """A hundred categories gain by chance what a hundred rows would; with a share for a row that is taken off."""
    rng = np.random.default_rng(10)
    chosen = {0.0: 0, 1 / 300: 0}
    for _ in range(20):
        x, noise = rng.normal(size=300), rng.integers(0, 100, 300)
        y = np.where(x + 2 * rng.normal(size=300) > 0, 1, -1).astype(np.int8)
        for row in chosen:
            oracle = LeafTrees(2, categorical=(0,), row_share=row).bind(np.column_stack([noise, x]), y, Rows.of(300))
            chosen[row] += oracle.best(np.full(300, 1 / 300)).hypotheses[0].arrays()[0][0] == 1
    assert chosen[0.0] <= 2 and chosen[1 / 300] >= 18


def test_categories_that_mean_something_are_found_all_the_same():
    rng = np.random.default_rng(11)
    x, name = rng.normal(size=300), rng.integers(0, 30, 300)
    y = np.where((name % 2 == 0) ^ (rng.random(300) < 0.2), 1, -1).astype(np.int8)
    oracle = LeafTrees(2, categorical=(0,), row_share=1 / 300).bind(np.column_stack([name, x]), y, Rows.of(300))
    feature, *_, masks = oracle.best(np.full(300, 1 / 300)).hypotheses[0].arrays()
    right = np.unpackbits(masks[0], bitorder="little")[:30]
    assert feature[0] == 0 and abs((right == np.arange(30) % 2).mean() - 0.5) > 0.4


# ---- what a tree says -----------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(2, 40), st.integers(2, 12), st.sampled_from([0.0, 0.05]))
def test_what_a_tree_says_about_rows(seed, m, leaves, share):
    """Columns, margins, scores of raw values, seen or not: all as a naive walk down the tree."""
    rng = np.random.default_rng(seed)
    X, y = mixed(rng, m, missing=rng.choice([0.0, 0.2]))
    oracle = bound(X, y, leaves, rng.uniform(0.5, 2, m), min_share=share)
    trees = [oracle.best(rng.dirichlet(np.ones(m))).hypotheses[0] for _ in range(3)]
    codes, w = codes_of(X, oracle), rng.normal(size=3)
    values = np.array([naive_values(tree, X, codes) for tree in trees])
    np.testing.assert_array_equal([oracle.column(tree) for tree in trees], values * y)
    np.testing.assert_allclose(oracle.margins(trees, w), y * (w @ values), atol=1e-13)
    predictor = oracle.predictor(trees, w)
    new = np.concatenate([X, rng.choice([np.nan, -1.0, 0.5, 1.0, 3.0, 4.0, 77.0, 1e9], (20, 3))])
    expected = w @ [naive_values(tree, new, codes) for tree in trees]
    np.testing.assert_allclose(predictor.scores(new), expected, atol=1e-13)
    for again in (pickle.loads(pickle.dumps(predictor)), oracle.predictor(pickle.loads(pickle.dumps(trees)), w)):
        np.testing.assert_array_equal(again.scores(new), predictor.scores(new))


def test_categories_need_fewer_leaves_than_numbers():
    """An exclusive or of two subsets: four leaves by subsets; in the order of the codes not even 16 are enough."""
    grid = np.array(list(itertools.product(range(8), range(8))), dtype=float)
    y = np.where(np.isin(grid[:, 0], [0, 3, 5, 6]) ^ np.isin(grid[:, 1], [1, 2, 7]), 1, -1).astype(np.int8)
    d = np.where(np.isin(grid[:, 0], [0, 3, 5, 6]), 1.1, 1.0)  # else no first split gains anything
    d /= d.sum()

    def right(leaves: int, categorical: tuple) -> float:
        oracle = LeafTrees(leaves, categorical=categorical).bind(grid, y, Rows.of(64))
        return np.mean(oracle.best(d).columns[0] > 0)

    assert right(4, (0, 1)) == 1.0 and right(4, ()) < 0.8 and right(16, ()) < 1.0


def test_weight_k_is_k_copies():
    rng = np.random.default_rng(3)
    for seed in range(5):
        X, y = mixed(np.random.default_rng(seed), 300, categories=40)
        counts = rng.integers(1, 5, 300)
        copy_of, d = np.repeat(np.arange(300), counts), rng.dirichlet(np.ones(300))
        whole = bound(X, y, 12, counts.astype(float), row_share=seed / 8000).best(d)
        copies = bound(X[copy_of], y[copy_of], 12, row_share=seed / 8000).best(d[copy_of] / counts[copy_of])
        one, two = whole.hypotheses[0], copies.hypotheses[0]
        assert one._replace(value=b"") == two._replace(value=b"") and one.mask
        np.testing.assert_allclose(whole.columns[0][copy_of], copies.columns[0], atol=1e-12)


def test_what_a_node_has_not_met_goes_with_the_larger_part():
    """A category, a missing value and a number that is no category; ties go where the lowest category goes."""
    new = np.array([[np.nan], [7.0], [2.7], [-1.0], [1e7]])
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([-1, 1, 1])
    for weights, unseen in ([1.0, 1.0, 1.0], 1.0), ([3.0, 1.0, 1.0], -1.0), ([2.0, 1.0, 1.0], -1.0):
        rows = Rows.of(np.array(weights))
        oracle = LeafTrees(2, categorical=(0,)).bind(X, y, rows)
        answer = oracle.best(np.array(rows.prior))
        scores = oracle.predictor(answer.hypotheses, np.ones(1)).scores(np.concatenate([X, new]))
        assert scores.tolist() == [-1.0, 1.0, 1.0] + [unseen] * 5
    # Category 2 is met by the other leaf of the first split only.
    table = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 2.0], [1.0, 0.0]])
    oracle = LeafTrees(3, categorical=(1,)).bind(table, np.array([-1, 1, 1, 1, 1]), Rows.of(5))
    tree = oracle.best(np.full(5, 0.2)).hypotheses
    assert oracle.predictor(tree, np.ones(1)).scores(np.array([[0.0, 2.0], [0.0, np.nan]])).tolist() == [1.0, 1.0]


def test_a_missing_value_is_a_category_of_its_own():
    X = np.array([[0.0], [2.0], [np.nan], [5.0]] * 5)
    y = np.array([1, -1, 1, -1] * 5, dtype=np.int8)
    oracle = LeafTrees(2, categorical=(0,)).bind(X, y, Rows.of(20))
    answer = oracle.best(np.full(20, 0.05))
    assert answer.edges[0] == pytest.approx(1.0)
    scores = oracle.predictor(answer.hypotheses, np.ones(1)).scores(np.array([[np.nan], [3.0], [0.0], [5.0]]))
    assert scores.tolist() == [1.0, 1.0, 1.0, -1.0]


@pytest.mark.parametrize("factor", [1.0, 5_000.0])
def test_many_categories(factor):
    """More than there are codes, with small and with large numbers: the rare ones share a code."""
    rng = np.random.default_rng(4)
    x = factor * rng.integers(0, 1000, 5_000)
    y = np.where(x / factor % 3 == 0, 1, -1).astype(np.int8)
    oracle = LeafTrees(2, categorical=(0,)).bind(x[:, None], y, Rows.of(5_000))
    answer = oracle.best(np.full(5_000, 1 / 5_000))
    codes = oracle.categories[0].coded(x)
    values = answer.columns[0] * y
    sides = [np.unique(values[(codes < 254) & (y == label)]) for label in (1, -1)]
    assert [len(side) for side in sides] == [1, 1] and sides[0] > sides[1], "all of a label go to one side"
    scores = oracle.predictor(answer.hypotheses, np.ones(1)).scores(x[:, None])
    np.testing.assert_array_equal(scores * y, answer.columns[0])
    unseen = oracle.predictor(answer.hypotheses, np.ones(1)).scores(np.array([[x.max() + 1], [np.nan]]))
    assert unseen[0] == unseen[1]


# ---- rounds and models ----------------------------------------------------------------------------------------------


def test_compiled_rounds_are_those_of_the_loop_and_tell_the_others_the_votes():
    rng = np.random.default_rng(12)
    X, y = mixed(rng, 120, categories=9)
    inside = rng.random(120) < 0.6
    prior = np.where(inside, rng.integers(1, 4, 120), 0.0)
    prior /= prior.sum()
    learner = LeafTrees(5, 255, 0.02, categorical=(0, 2), row_share=0.004)
    some, oracle = Rows.of(prior[inside]), learner.bind(X, y, Rows.of(120))
    game = Game(LogisticDifference(3.0).bind(some), learner.bind(X[inside], y[inside], some), some, np.inf, tol=1e-9)
    states = [state for state, _ in islice(rounds(game, Leveraging("difference", step="newton", shrink=0.5)), 11)]
    z = np.zeros(120)
    nodes, sizes, amounts, _ = oracle.search.rounds(
        y, prior, z, 3.0, 0.5, np.empty((10, 120)), 5, 0.02, 1.0, 0, True, learner.row_share
    )
    np.testing.assert_allclose(z[inside], states[-1].z, atol=1e-9)
    ends = np.cumsum(sizes)
    trees = [LeafTree.of([part[e - n : e] for part in nodes]) for e, n in zip(ends, sizes, strict=True)]
    np.testing.assert_allclose(oracle.predictor(trees, amounts).scores(X) * y, z, atol=1e-12)
    assert sum(len(tree.mask) > 0 for tree in trees) > 5


def towns(seed: int = 5, m: int = 240):
    rng = np.random.default_rng(seed)
    town, x = rng.choice(list("abcdefgh"), m), rng.normal(size=m)
    y = (np.isin(town, ["a", "d", "g"]) ^ (x > 0.5)).astype(int)
    return pd.DataFrame({"town": pd.Categorical(town), "x": x}), y


def noise_model(**others):
    return LogisticMixtureClassifier(
        **{"learner": LeafTrees(6), "bags": 3, "max_iter": 40, "random_state": 0, **others}
    )


def test_frames_files_and_threads(tmp_path):
    frame, y = towns()
    model = noise_model().fit(frame, y)
    assert model.score(frame, y) > 0.97 and model.feature_importances_.min() > 0.2
    save_model(model, tmp_path / "m.dualboost")
    again = load_model(tmp_path / "m.dualboost")
    np.testing.assert_array_equal(again.decision_function(frame), model.decision_function(frame))
    threaded = noise_model(n_jobs=3).fit(frame, y)
    np.testing.assert_array_equal(threaded.decision_function(frame), model.decision_function(frame))


def test_trees_by_default_read_categories_by_subsets():
    """With the linear start or without; better than by the order of the codes."""
    frame, y = towns(6, 400)
    model = noise_model(learner=None, max_iter=30).fit(frame, y)
    coded = noise_model(learner=None, max_iter=30).fit(by_codes(frame), y)
    new, truth = towns(7, 1000)
    assert model.score(new, truth) > max(0.9, coded.score(by_codes(new), truth))
    trees = plain_trees(model.predictor_)
    np.testing.assert_allclose(trees.scores(by_codes(new).to_numpy()), model.decision_function(new), atol=1e-9)
    assert len(trees.rules)


def by_codes(frame):
    return frame.assign(town=frame["town"].cat.codes.astype(float))


def test_checkpoints_and_warm_starts_go_on_to_the_same_bits(tmp_path):
    frame, y = towns(8)
    whole = noise_model(learner=None).fit(frame, y)
    training = Training(checkpoint=str(tmp_path / "run"), checkpoint_seconds=0)
    with pytest.raises(Crash):
        noise_model(learner=None, training=replace(training, callbacks=(crash_in_try(3),))).fit(frame, y)
    assert list(tmp_path.iterdir())
    taken_up = noise_model(learner=None, training=training).fit(frame, y)
    np.testing.assert_array_equal(taken_up.decision_function(frame), whole.decision_function(frame))
    single = noise_model(bags=0, max_iter=20).fit(frame, y)
    warm = noise_model(bags=0, max_iter=9, warm_start=True).fit(frame, y).set_params(max_iter=20).fit(frame, y)
    np.testing.assert_array_equal(warm.decision_function(frame), single.decision_function(frame))
    assert any(len(part.mask) for part in trees_of(taken_up)) and len(single.predictor_.mask)


def trees_of(model) -> list[LeafScores]:
    """The trees of a model, with or without a line before them."""
    vote = model.predictor_
    bags = vote.parts[1] if isinstance(vote, SumScores) else vote
    return list(bags.parts)


def test_a_checkpoint_from_before_there_were_masks_is_a_tree():
    tree = LeafTree(*(b"",) * 6)
    assert tree.mask == b"" and tree.arrays()[-1].shape == (0, 32)


# ---- bad input ------------------------------------------------------------------------------------------------------


def test_broken_trees_are_refused():
    X, y = mixed(np.random.default_rng(6), 30, missing=0.0)
    oracle = bound(X, y, 2)
    leaf = [np.array(v, np.int32) for v in ([1, -1, -1], [2, -1, -1])]

    def tree(feature: int, cut: int, code: int | None):
        masks = np.zeros((0 if code is None else 3, 32), np.uint8)
        if code is not None:
            masks[0, code // 8] = 1 << (code % 8)
        splits = np.array([feature, -1, -1], np.int32), np.array([cut, 0, 0], np.int32), np.zeros(3, np.uint8)
        return (*splits, *leaf, np.zeros(3), masks)

    out = np.empty(30)
    oracle.search.values(*tree(0, -1, 2), out)
    for wrong in (tree(0, -1, None), tree(0, 2, None), tree(1, -1, 2), tree(0, -1, 5), tree(0, -1, 255), tree(1, 0, 9)):
        with pytest.raises(ValueError, match="mask"):
            oracle.search.values(*wrong, out)
    with pytest.raises(ValueError, match="32 bytes"):
        oracle.search.values(*tree(0, -1, 2)[:-1], np.zeros((2, 32), np.uint8), out)
    with pytest.raises(ValueError, match="one entry per feature"):
        kernels.LeafSearch(oracle.codes, oracle.bins.cut_counts, np.ones(2, np.uint8))
    with pytest.raises(ValueError, match="another bind"):
        oracle.grown_as(LeafTrees(3, 255))


def test_broken_categories_of_a_vote_are_refused():
    X, y = mixed(np.random.default_rng(7), 60)
    oracle = bound(X, y, 4)
    vote = oracle.predictor([oracle.best(np.full(60, 1 / 60)).hypotheses[0]], np.ones(1))
    good = {name: getattr(vote, name) for name in ("mask", "masks", "named", "name_start", "names", "name_codes")}
    wrong = {
        "mask": (np.full(len(vote.mask), 99, np.int32), vote.mask[1:], vote.mask - 1),
        "masks": (vote.masks[:, :31].copy(), vote.masks[:0]),
        "named": (np.array([1, 2], np.int32), np.array([2, 0], np.int32), vote.named[:1], np.array([-1, 0], np.int32)),
        "name_start": (vote.name_start[:-1], vote.name_start[::-1].copy(), vote.name_start + 1),
        "names": (vote.names + 0.5, -vote.names, vote.names[:-1], vote.names * 1e9, vote.names * np.nan),
        "name_codes": (vote.name_codes[:-1],),
    }
    plain = (vote.feature, vote.threshold, vote.missing_right, vote.left, vote.right, vote.value, vote.roots)
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(ValueError):
                kernels.LeafPredictor(*plain).add_categories(*{**good, name: value}.values())
    ready = kernels.LeafPredictor(*plain)
    ready.add_categories(*good.values())
    with pytest.raises(ValueError, match="known already"):
        ready.add_categories(*good.values())
    with pytest.raises(ValueError, match="does not have"):
        ready.scores(X[:, :2].copy(), np.empty(60), 1)
