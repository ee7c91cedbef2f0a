"""Explanations, curves and tables add up to the score, and Shapley values are those of the definition."""

import tracemalloc
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import comb, factorial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from dualboost import LogisticBoostClassifier, MarginBoostClassifier, explain, pairs, reweight, shapes
from dualboost.inspection.as_trees import plain_trees
from dualboost.inspection.shapley import background_shares, tree_contributions
from dualboost.inspection.trees import ABSTAIN, LEFT, RIGHT, PlainTrees
from dualboost.learners import LeafTrees, Matrix, SklearnLearner, Stumps, Trees, Words
from fitted import KINDS, NEW, WHOLE, X, Y, fitted, frame, new_rows

CLOSE = {"rtol": 0, "atol": 1e-12}
TREES = [kind for kind in KINDS if kind != "linear"]


def parts(model):
    return getattr(model, "estimators_", [model])


# ---- rows -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("background", [False, True])
def test_contributions_and_base_are_the_score(kind, background):
    model, rows = fitted(kind), new_rows(kind)
    found = explain(model, rows, background=rows[:50] if background else None)
    total = found.base + found.contributions.sum(axis=1)
    wanted = np.column_stack([part.predictor_.scores(np.asarray(rows)) for part in parts(model)])
    np.testing.assert_allclose(total.reshape(wanted.shape), wanted, **CLOSE)
    assert np.any(found.contributions != 0)
    np.testing.assert_array_equal(found.scores.reshape(wanted.shape), wanted)
    if len(parts(model)) == 1:
        np.testing.assert_allclose(found.scores, model.decision_function(rows), **CLOSE)


@pytest.mark.parametrize("kind", KINDS)
def test_the_base_is_the_mean_score_of_the_background(kind):
    model, rows = fitted(kind), new_rows(kind)
    found = explain(model, rows[:3], background=rows)
    wanted = [part.predictor_.scores(np.asarray(rows)).mean() for part in parts(model)]
    np.testing.assert_allclose(np.ravel(found.base), wanted, **CLOSE)


def test_a_stump_contributes_its_vote():
    x = np.array([[1.0], [2.0], [3.0], [4.0]])
    model = MarginBoostClassifier(nu=0.5, calibrate=False).fit(x, [0, 0, 1, 1])
    found = explain(model, x)
    assert found.base == 0
    np.testing.assert_allclose(found.contributions[:, 0], [-1, -1, 1, 1])
    centred = explain(model, x, background=x[1:])
    assert centred.base == pytest.approx(1 / 3)
    np.testing.assert_allclose(centred.contributions[:, 0], np.array([-1, -1, 1, 1]) - 1 / 3)


def test_sparse_rows_are_dense_rows():
    model = fitted("MarginBoostClassifier")
    rows = np.where(np.isnan(NEW), 0.0, NEW)
    dense, sparse = explain(model, rows), explain(model, sp.csr_array(rows), background=sp.csr_array(rows))
    np.testing.assert_allclose(explain(model, rows, background=rows).contributions, sparse.contributions, **CLOSE)
    np.testing.assert_allclose(explain(model, sp.csr_array(rows)).contributions, dense.contributions, **CLOSE)


def test_a_row_in_words():
    found = explain(fitted("names"), frame(NEW[:4]))
    lines = found.row(2, count=2).splitlines()
    assert lines[0] == f"score {found.scores[2]:+.4g} for 1" and lines[1].endswith("base")
    top = int(np.abs(found.contributions[2]).argmax())
    assert lines[2] == f"  {found.contributions[2, top]:+.4g}  {frame(NEW).columns[top]} = {NEW[2, top]:.4g}"
    assert lines[4].endswith("other features")


def test_a_frame_of_contributions():
    found = explain(fitted("names"), frame(NEW))
    table = found.to_frame()
    assert list(table.columns) == ["base", *frame(NEW).columns, "score"]
    np.testing.assert_allclose(table.drop(columns="score").sum(axis=1), table["score"], **CLOSE)


def test_one_class_of_several():
    found = explain(fitted("three classes"), NEW)
    assert found.contributions.shape == (len(NEW), 5, 3)
    one = found.of("b")
    np.testing.assert_array_equal(one.scores, found.scores[:, 1])
    np.testing.assert_allclose(one.base + one.contributions.sum(axis=1), one.scores, **CLOSE)
    assert [line for line in found.row(0).splitlines() if line.startswith("score")][1].endswith("for b")
    assert isinstance(one.to_frame(), pd.DataFrame)
    with pytest.raises(ValueError, match="A frame shows one class"):
        found.to_frame()
    with pytest.raises(ValueError, match="none of the classes"):
        found.of("d")
    with pytest.raises(ValueError, match="no class is to be chosen"):
        one.of("b")


def test_what_cannot_be_explained_is_refused():
    learner = SklearnLearner(LogisticRegression())
    model = MarginBoostClassifier(nu=0.3, max_iter=3, learner=learner, calibrate=False).fit(WHOLE, Y)
    with pytest.raises(ValueError, match="needs a vote of stumps, trees or boxes"):
        explain(model, WHOLE)


# ---- trees ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TREES)
def test_every_vote_as_plain_trees(kind):
    for part in parts(fitted(kind)):
        trees, rows = plain_trees(part.predictor_), np.asarray(new_rows(kind))
        np.testing.assert_allclose(trees.scores(rows), part.predictor_.scores(rows), **CLOSE)


def random_trees(rng: np.random.Generator, count: int, depth: int) -> PlainTrees:
    """Trees of any shape over three features, missing values of every kind."""

    def grown(nodes: list, left: int) -> None:
        at = len(nodes)
        if left == 0 or rng.random() < 0.2:
            nodes.append((-1, 0.0, LEFT, 0, 0, float(rng.normal()), -1))
            return
        nodes.append(None)
        grown(nodes, left - 1)
        right = len(nodes)
        grown(nodes, left - 1)
        missing = int(rng.choice([LEFT, RIGHT, ABSTAIN]))
        nodes[at] = (int(rng.integers(3)), float(rng.integers(-1, 2)), missing, at + 1, right, 0.0, -1)

    trees: list[list] = [[] for _ in range(count)]
    for nodes in trees:
        grown(nodes, depth)
    return PlainTrees.of(trees, 0.25)


def known_value(trees: PlainTrees, node: int, x: np.ndarray, known: set, background) -> float:
    """The mean of a tree where only some features are known: the definition, by recursion."""
    feature = trees.feature[node]
    if feature < 0:
        return float(trees.value[node])
    children = int(trees.left[node]), int(trees.right[node])

    def side(values):
        where = np.where(np.isnan(values), trees.missing[node], (values > trees.threshold[node]) * 1)
        return where

    if feature in known:
        where = int(side(x[[feature]])[0])
        return (
            0.0
            if where == ABSTAIN
            else known_value(trees, children[where], x, known, going(background, side, feature, where))
        )
    total = 0.0
    for where, child in enumerate(children):
        there = going(background, side, feature, where)
        share = len(there) / len(background) if background is not None and len(background) else 0.5
        total += share * known_value(trees, child, x, known, there) if share else 0.0
    return total


def going(background, side, feature, where):
    return None if background is None else background[side(background[:, feature]) == where]


def shapley(trees: PlainTrees, x: np.ndarray, background) -> np.ndarray:
    """The average over all orders of what a feature changes when it becomes known."""

    def value(known) -> float:
        return sum(known_value(trees, int(root), x, set(known), background) for root in trees.roots[:-1])

    out = np.zeros(3)
    for j in range(3):
        others = [k for k in range(3) if k != j]
        for size in range(3):
            weight = factorial(size) * factorial(2 - size) / 6
            out[j] += weight * sum(value((*rest, j)) - value(rest) for rest in combinations(others, size))
    return out


@given(st.integers(0, 10_000), st.integers(1, 4), st.booleans())
def test_shapley_values_are_those_of_the_definition(seed, depth, with_background):
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, 3, depth)
    rows = rng.integers(-2, 3, (5, 3)).astype(float)
    rows[rng.random(rows.shape) < 0.2] = np.nan
    background = rng.integers(-2, 3, (7, 3)).astype(float) if with_background else None
    found, base = tree_contributions(trees, rows, background_shares(trees, background))
    for row, contributions in zip(rows, found, strict=True):
        np.testing.assert_allclose(contributions, shapley(trees, row, background), **CLOSE)
    np.testing.assert_allclose(base + found.sum(axis=1), trees.scores(rows), **CLOSE)


def chain(values: Sequence[float]) -> PlainTrees:
    """One tree: the first feature that is not above 0 ends at its leaf, and a row without one at the last leaf."""
    leaves = [(-1, 0.0, LEFT, 0, 0, float(value), -1) for value in values]
    splits = [(j, 0.0, LEFT, 2 * j + 1, 2 * j + 2, 0.0, -1) for j in range(len(leaves) - 1)]
    return PlainTrees.of([[node for both in zip(splits, leaves, strict=False) for node in both] + leaves[-1:]])


def exact_value(j: int, met: np.ndarray, ratios: np.ndarray) -> Fraction:
    """The Shapley value of factor j in a product of (met or ratio): the definition in fractions."""
    sums = [Fraction(1)]  # over all subsets of the other factors, those of a size together
    for known, ratio in zip(np.delete(met, j), np.delete(ratios, j), strict=True):
        left_out = [Fraction(ratio) * part for part in sums] + [Fraction(0)]
        sums = [a + int(known) * b for a, b in zip(left_out, [Fraction(0), *sums], strict=True)]
    mean = sum(part / comb(len(sums) - 1, size) for size, part in enumerate(sums)) / len(sums)
    return (int(met[j]) - Fraction(ratios[j])) * mean


def rows_of_a_chain(rng: np.random.Generator, count: int, width: int) -> np.ndarray:
    """Rows of a chain that end early, late or at its last leaf; of the first three the first does."""
    likely = rng.choice([0.0, 1 / width, 0.5], size=(count, 1))
    rows = np.where(rng.random((count, width)) < likely, -1.0, 1.0)
    rows[:3] = 1.0
    rows[1, 5], rows[2, ::2] = -1.0, -1.0
    return rows


@pytest.mark.parametrize("width", [40, 64, 200])
def test_a_path_of_many_features_is_exact(width):
    """Shares near 1 are those where subtractions would lose all digits."""
    rng = np.random.default_rng(width)
    trees, rows = chain([0.0] * width + [1.0]), rows_of_a_chain(rng, 100, width)
    ratios = rng.choice([0.5, 0.75, 0.9375, 0.984375], width)
    right = np.zeros(len(trees.feature))
    right[trees.feature >= 0] = ratios
    found, base = tree_contributions(trees, rows, (1 - right, right))
    np.testing.assert_allclose(base + found.sum(axis=1), trees.scores(rows), rtol=0, atol=1e-13)
    for row, contributions in zip(rows[:3], found, strict=False):
        alike = np.unique([row, ratios], axis=1, return_index=True)[1]  # equal factors have equal values
        wanted = [float(exact_value(j, row > 0, ratios)) for j in alike]
        np.testing.assert_allclose(contributions[alike], wanted, rtol=0, atol=1e-14)
    alone = [tree_contributions(trees, row[None], (1 - right, right))[0][0] for row in rows]
    np.testing.assert_allclose(found, alone, rtol=0, atol=1e-14)


@pytest.mark.parametrize("with_background", [False, True])
def test_a_path_of_many_features_takes_memory_for_its_rows(with_background):
    rng = np.random.default_rng(0)
    trees, rows = chain(rng.normal(size=101).tolist()), rows_of_a_chain(rng, 2000, 100)
    shares = background_shares(trees, rows[:200] if with_background else None)
    tracemalloc.start()
    found, base = tree_contributions(trees, rows, shares)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * found.nbytes
    np.testing.assert_allclose(base + found.sum(axis=1), trees.scores(rows), rtol=0, atol=1e-13)


def test_no_rows_have_no_contributions():
    trees, none = chain([1.0] * 101), np.empty((0, 100))
    found, base = tree_contributions(trees, none, background_shares(trees, none))
    assert found.shape == (0, 100) and base == 1


def any_of_many(learner):
    if learner == "forest":
        return lambda X, y: reweight(RandomForestClassifier(20, random_state=0).fit(X, y), X, y, nu=0.3)
    return LogisticBoostClassifier(n_estimators=3, calibrate=False, learner=learner).fit


@pytest.mark.parametrize(
    "learner",
    [LeafTrees(64), SklearnLearner(DecisionTreeClassifier(random_state=0)), "forest"],
    ids=["leaf trees", "scikit-learn's trees", "a forest"],
)
def test_grown_paths_of_many_features_take_no_memory_for_subsets(learner):
    """Any of some rare things: a tree asks for one after the other."""
    rare = (np.random.default_rng(0).random((3000, 24)) < 0.03).astype(float)
    model = any_of_many(learner)(rare, rare.any(axis=1).astype(int))
    assert max(map(len, plain_trees(model.predictor_).by_paths())) > 20
    tracemalloc.start()
    found = explain(model, rare[:50], background=rare)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8e6, "2^21 numbers are 16 MB"
    np.testing.assert_allclose(found.base + found.contributions.sum(axis=1), found.scores, **CLOSE)


# ---- curves and tables ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", ["MarginBoostClassifier", "AdaBoostClassifier", "bagged stumps", "leaf stumps", "categories", "words"]
)
def test_curves_add_up_to_the_score(kind):
    model, NEW = fitted(kind), np.asarray(new_rows(kind))
    X = NEW[:120]
    curves = shapes(model, X)
    base = plain_trees(model.predictor_).base
    total = base + sum(curve(NEW[:, curve.feature]) for curve in curves)
    np.testing.assert_allclose(total, model.decision_function(NEW), **CLOSE)
    for curve in curves:
        assert len(curve.values) == len(curve.edges) + 1 == len(curve.counts)
        assert np.all(np.diff(curve.edges) > 0)
        inside = (X[:, curve.feature] <= curve.edges[0]).sum() if len(curve.edges) else len(X)
        assert curve.counts[0] == inside
        assert curve.counts.sum() + curve.missing_count == len(X)
        assert curve.missing_count == np.isnan(X[:, curve.feature]).sum()


@pytest.mark.parametrize("kind", ["trees of one level", "trees of two levels", "categories in trees"])
def test_tables_and_curves_add_up_to_the_score(kind):
    model, NEW = fitted(kind), np.asarray(new_rows(kind))
    X = NEW[:120]
    curves, tables = shapes(model), pairs(model, X)
    constant = plain_trees(model.predictor_).by_paths().get(())
    total = np.full(len(NEW), 0.0 if constant is None else constant.value.sum())
    total += sum(curve(NEW[:, curve.feature]) for curve in curves)
    total += sum(table(*NEW[:, table.features].T) for table in tables)
    np.testing.assert_allclose(total, model.decision_function(NEW), **CLOSE)
    assert bool(tables) == (kind != "trees of one level")
    for table in tables:
        assert table.values.shape == tuple(len(edges) + 2 for edges in table.edges) == table.counts.shape
        assert table.counts.sum() == len(X)
        assert table.counts[-1].sum() == np.isnan(X[:, table.features[0]]).sum()


def test_what_has_no_curve_or_table_is_refused():
    with pytest.raises(ValueError, match=r"estimators_\[k\]"):
        shapes(fitted("three classes"))
    with pytest.raises(ValueError, match="which is no table"):
        pairs(fitted("trees of three levels"))
    with pytest.raises(ValueError, match="needs a vote of stumps"):
        shapes(fitted("linear"))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_names_of_curves():
    assert {curve.name for curve in shapes(fitted("names"))} <= set(frame(X).columns)
    assert shapes(MarginBoostClassifier(nu=0.3, max_iter=5, learner=Stumps(4)).fit(X, Y))[0].name.startswith("feature ")


@pytest.mark.parametrize("kind", ["categories in trees", "categories, never missing"])
def test_splits_of_categories_are_rules(kind):
    trees = plain_trees(fitted(kind).predictor_)
    assert len(trees.rules) > 1 and {rule.feature for rule in trees.rules} <= {0, 1}
    whole = {ABSTAIN} if kind.endswith("never missing") else {LEFT, RIGHT}
    assert {int(side) for rule in trees.rules if rule.feature == 1 for side in rule.sides[[0, -1]]} <= whole


@pytest.mark.parametrize(
    "learner", [Stumps(), Trees(2), Matrix(), Words()], ids=["stumps", "trees", "columns", "words"]
)
def test_a_wide_sparse_background_is_not_written_out(learner):
    """Of a million columns few are asked about."""
    rng = np.random.default_rng(0)
    few = rng.integers(0, 2, (80, 6)).astype(float)
    labels = (few[:, 0] + few[:, 1] + 0.3 * rng.normal(size=80) > 1).astype(int)
    empty = sp.csr_array((80, 500_000))
    wide = sp.csr_array(sp.hstack([empty, sp.csr_array(few)]))
    model = MarginBoostClassifier(nu=0.3, max_iter=20, learner=learner, calibrate=False).fit(wide, labels)
    tracemalloc.start()
    found = explain(model, wide[:2], background=wide)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6, "80 rows of half a million doubles are 320 MB"
    scores = model.decision_function(wide)
    np.testing.assert_allclose(found.base + found.contributions.sum(axis=1), scores[:2], **CLOSE)
    assert found.base == pytest.approx(scores.mean(), abs=1e-12)
    assert found.contributions[:, 500_000:].any() and not found.contributions[:, :500_000].any()
