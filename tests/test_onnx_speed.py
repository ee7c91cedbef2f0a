"""The quick ways of an ONNX model say what the slow one says: at every cut and beside it, at infinity, for NaN.

The reference looks each value up in a sorted list, or walks the tree in Python.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualboost import AdaBoostClassifier, MarginBoostClassifier, to_onnx
from dualboost.export.bits import CountedTrees, by_size, counted_trees
from dualboost.export.blocks import add_block, add_rows
from dualboost.export.curves import Curve, curves_and_trees
from dualboost.export.efforts import Effort
from dualboost.export.graph import Graph
from dualboost.export.leaf_numbers import numbered
from dualboost.export.lookup import lookups
from dualboost.export.questions import Questions
from dualboost.export.right_turns import RightTurns, right_turns
from dualboost.export.votes import _Ways, add_votes
from dualboost.inspection.as_trees import plain_trees, step_tree
from dualboost.inspection.trees import ABSTAIN, LEFT, RIGHT, PlainTrees, Rule
from dualboost.learners import Trees

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

MANY = 1024  # rows for which no tree is walked


@pytest.fixture(params=["the quickest way", "right turns", "counting"])
def way(request, monkeypatch) -> str:
    """All but a few rows go the same way, whatever it takes."""
    if request.param != "the quickest way":
        forced = RightTurns if request.param == "right turns" else CountedTrees
        monkeypatch.setattr(forced, "effort", Effort(0.0, 0.0))
    return request.param


def run(votes, rows) -> np.ndarray:
    graph = Graph()
    return scores(graph, add_votes(graph, votes, rows.shape[1]), len(votes), rows)


def scores(graph, result, n_votes, rows) -> np.ndarray:
    graph.call(result, "score")
    model = graph.model(rows.shape[1], {"score": ("DOUBLE", [None, n_votes])}, {})
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return session.run(None, {"X": rows})[0]


def operators(model) -> list[str]:
    return [node.op_type for node in model.graph.node]


def tree_of(curve: Curve) -> PlainTrees:
    return step_tree([*curve.cuts, np.inf], [*curve.values, curve.missing], curve.feature)


def beside(cuts) -> np.ndarray:
    """Every cut, its neighbours, the ends of the line and a missing value."""
    cuts = np.asarray(cuts)
    with np.errstate(over="ignore"):
        near = [cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf)]
    return np.concatenate([*near, [-np.inf, np.inf, np.nan, 0.0, -0.0, 1e308, -1e308, 5e-324]])


SPACINGS = {
    "even": lambda k, rng: np.arange(k) - 7.5,
    "normal": lambda k, rng: rng.normal(size=k),
    "long tail": lambda k, rng: np.exp(4 * rng.normal(size=k)),
    "two long tails": lambda k, rng: rng.standard_cauchy(k) ** 3,
    "neighbours": lambda k, rng: 1 + 2.0**-52 * np.arange(k),
    "tiny": lambda k, rng: 1e-310 * np.arange(1, k + 1),
    "huge": lambda k, rng: 1.7e308 * np.linspace(-1, 1, k),
}


@pytest.mark.parametrize("spacing", SPACINGS)
@pytest.mark.parametrize("k", [1, 2, 3, 12, 100])
def test_step_functions_are_looked_up_exactly(spacing, k):
    rng = np.random.default_rng(k)
    cuts = np.unique(SPACINGS[spacing](k, rng))
    curve = Curve(1, cuts, rng.normal(size=len(cuts) + 1), 0.5)
    x = beside(cuts)
    wanted = np.where(np.isnan(x), 0.5, curve.values[np.searchsorted(cuts, x)])
    found = run([tree_of(curve)], np.column_stack([np.zeros(len(x)), x]))
    np.testing.assert_array_equal(found.ravel(), wanted)


def test_which_step_functions_fit_a_table():
    rng = np.random.default_rng(0)
    for spacing, fits in {"even": 1, "normal": 1, "long tail": 1, "two long tails": 1, "tiny": 1, "huge": 0}.items():
        cuts = np.unique(SPACINGS[spacing](12, rng))
        tables, left = lookups([Curve(0, cuts, rng.normal(size=len(cuts) + 1), 0.0)])
        assert (len(tables), len(left)) == (fits, 1 - fits), spacing


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=9), min_size=1))
def test_any_cuts_of_several_features(features):
    rng = np.random.default_rng(0)
    cuts = [np.unique(np.array(own) + 0.0) for own in features]
    curves = [Curve(j, own, rng.normal(size=len(own) + 1), rng.normal()) for j, own in enumerate(cuts)]
    table = np.column_stack([rng.choice(beside(own), 50) for own in cuts])
    wanted = np.zeros(50)
    for curve, x in zip(curves, table.T, strict=True):
        wanted += np.where(np.isnan(x), curve.missing, curve.values[np.searchsorted(curve.cuts, x)])
    found = run([PlainTrees.joined([tree_of(curve) for curve in curves], 0.0)], table)
    np.testing.assert_allclose(found.ravel(), wanted, rtol=0, atol=1e-12)


def random_tree(rng, levels, n_features) -> list[tuple]:
    """Nodes in preorder; some paths end early, missing values go anywhere."""
    if levels == 0 or rng.random() < 0.1:
        return [(-1, 0.0, LEFT, 0, 0, float(rng.normal()), -1)]
    left = random_tree(rng, levels - 1, n_features)
    right = random_tree(rng, levels - 1, n_features)
    missing = (LEFT, RIGHT, ABSTAIN)[rng.integers(3)]
    cut = np.inf if rng.random() < 0.1 else float(rng.integers(-3, 4))

    def moved(nodes, by):
        return [(f, c, m, a + by, b + by, v, r) for f, c, m, a, b, v, r in nodes]

    root = (int(rng.integers(n_features)), cut, missing, 1, 1 + len(left), 0.0, -1)
    return [root, *moved(left, 1), *moved(right, 1 + len(left))]


def grown_tree(rng, leaves: int, last: float) -> PlainTrees:
    """Leaf by leaf; the closer `last` is to 1, the likelier it is the newest leaf that is split, as in a chain."""
    nodes, ends = [[-1, 0.0, LEFT, 0, 0, float(rng.normal()), -1]], [0]
    while len(ends) < leaves:
        at = ends.pop(-1 if rng.random() < last else int(rng.integers(len(ends))))
        nodes[at][:5] = int(rng.integers(4)), float(rng.integers(-3, 4)), RIGHT, len(nodes), len(nodes) + 1
        ends += rng.permutation([len(nodes), len(nodes) + 1]).tolist()
        nodes += [[-1, 0.0, LEFT, 0, 0, float(rng.normal()), -1] for _ in range(2)]
    return PlainTrees.of([[tuple(node) for node in nodes]])


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 256), st.sampled_from([0.0, 0.5, 0.9, 1.0]), st.integers(0, 2**32))
def test_leaves_have_numbers_of_their_own(leaves, last, seed):
    vote = grown_tree(np.random.default_rng(seed), leaves, last)
    tree = numbered(vote, 0)
    assert set(tree.number) == set(np.flatnonzero(vote.feature < 0).tolist()) and tree.digits <= 8
    numbers = np.arange(1 << tree.digits)
    owners = np.sum([numbers & own.known == own.digits for own in tree.number.values()], axis=0)
    assert owners.max() == 1, "a number of two leaves"
    assert set(vote.value[vote.feature < 0]) <= set(tree.values), "a leaf without a number"


@pytest.mark.parametrize(("leaves", "last"), [(256, 0.0), (256, 1.0), (29, 0.5), (100, 0.9), (257, 0.0)])
@pytest.mark.usefixtures("way")
def test_trees_of_any_shape(leaves, last):
    rng = np.random.default_rng(leaves)
    vote = PlainTrees.joined([grown_tree(rng, leaves, last) for _ in range(3)], 0.0)
    table = rng.integers(-5, 6, (MANY, 4)).astype(float)
    np.testing.assert_allclose(run([vote], table).ravel(), vote.scores(table), rtol=0, atol=1e-12)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("levels", [1, 2, 3, 5, 7, 9])
@pytest.mark.parametrize("rows", [3, 40, 700, MANY, 20_011])
@pytest.mark.parametrize("lost", [0.0, 0.05])
@pytest.mark.parametrize("signs", [False, True])
def test_trees_are_walked_and_counted_alike(levels, rows, lost, signs, capfd):
    rng = np.random.default_rng(levels)
    votes = [PlainTrees.of([random_tree(rng, levels, 6) for _ in range(12)], 0.25) for _ in range(2)]
    votes = [replace(vote, value=np.sign(vote.value)) for vote in votes] if signs else votes
    table = rng.integers(-4, 5, (rows, 6)).astype(float)
    table[rng.random(table.shape) < lost] = np.nan
    found = run(votes, table)
    np.testing.assert_allclose(found, np.column_stack([vote.scores(table) for vote in votes]), rtol=0, atol=1e-12)
    assert not capfd.readouterr().err


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("size", "count"), [(1.5e308, 1), (1e300, 5), (1e-290, 5), (5e-324, 5)])
def test_trees_of_huge_and_tiny_values(size, count):
    """A right turn may add more than the largest number; and what is added has as many digits as it needs."""
    rng = np.random.default_rng(0)
    vote = PlainTrees.of([random_tree(rng, 3, 4) for _ in range(count)])
    vote = replace(vote, value=size * np.sign(vote.value) * rng.choice([1, 1e-9], len(vote.value)))
    table = rng.integers(-4, 5, (200, 4)).astype(float)
    np.testing.assert_allclose(run([vote], table).ravel(), vote.scores(table), rtol=1e-12, atol=1e-15 * size)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("levels", [2, 4])
def test_trees_without_abstention_count_missing_values_too(levels):
    rng = np.random.default_rng(5)
    trees = PlainTrees.of([random_tree(rng, levels, 4) for _ in range(20)])
    trees.missing[trees.missing == ABSTAIN] = LEFT
    table = rng.integers(-4, 5, (MANY, 4)).astype(float)
    table[rng.random(table.shape) < 0.3] = np.nan
    np.testing.assert_allclose(run([trees], table).ravel(), trees.scores(table), rtol=0, atol=1e-12)


def random_rules(rng, trees: PlainTrees, abstains: bool) -> PlainTrees:
    """The splits of feature 0 by any sets of the numbers -4 to 4, with gaps between these."""
    sides = (LEFT, RIGHT, ABSTAIN) if abstains else (LEFT, RIGHT)
    splits = np.flatnonzero(trees.feature == 0)
    numbers = np.arange(-4.0, 5.0)
    cuts = np.sort(np.concatenate([np.nextafter(numbers, -np.inf), numbers]))
    rules = tuple(Rule(0, cuts, rng.choice(sides, len(cuts) + 1)) for _ in splits)
    rule = trees.rule.copy()
    rule[splits] = np.arange(len(splits))
    return replace(trees, rule=rule, rules=rules)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("abstains", [False, True])
@pytest.mark.parametrize("rows", [100, MANY])
def test_sets_of_categories_are_counted_too(rows, abstains):
    rng = np.random.default_rng(3)
    trees = PlainTrees.of([random_tree(rng, 4, 3) for _ in range(15)])
    trees.missing[trees.missing == ABSTAIN] = RIGHT
    trees = random_rules(rng, trees, abstains)
    assert len(trees.rules) > 10
    table = rng.integers(-5, 6, (rows, 3)) + rng.choice([0.0, 0.0, 0.0, 0.5, np.nan], (rows, 3))
    np.testing.assert_allclose(run([trees], table).ravel(), trees.scores(table), rtol=0, atol=1e-12)


def trees_of_categories(rng, count: int, known: np.ndarray, missing: int, features: int = 2) -> PlainTrees:
    """All splits by sets of the known categories; any other value is nowhere, a missing one where it is told."""
    trees = PlainTrees.of([random_tree(rng, 3, features) for _ in range(count)])
    splits = np.flatnonzero(trees.feature >= 0)
    cuts = np.unique(np.concatenate([known - 0.5, known + 0.5]))
    inside = np.isin(cuts[1:] - 0.5, known)
    rules = []
    for feature in trees.feature[splits].tolist():
        sides = np.where(inside, rng.choice([LEFT, RIGHT], len(inside)), ABSTAIN)
        rules.append(Rule(feature, np.append(cuts, np.inf), np.array([ABSTAIN, *sides, ABSTAIN, missing])))
    rule = np.full(len(trees.feature), -1)
    rule[splits] = np.arange(len(splits))
    return replace(trees, rule=rule, rules=tuple(rules))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("missing", [LEFT, RIGHT, ABSTAIN])
@pytest.mark.parametrize("known", [np.arange(3.0), np.arange(90.0), np.array([0.0, 1.0, 5.0, 6.0, 40.0])], ids=len)
@pytest.mark.parametrize("rows", [5, 200, MANY, 3 * MANY + 5])
@pytest.mark.parametrize("strange", [0.0, 0.01])
def test_trees_of_categories_alone(rows, known, missing, strange, capfd):
    """No column has a ladder; of each more than 64 sets are asked; strange categories and missing values are few."""
    rng = np.random.default_rng(len(known))
    trees = trees_of_categories(rng, 60, known, missing)
    table = rng.choice(known, (rows, 2))
    cells = rng.random(table.shape) < strange
    table[cells] = rng.choice([-1.0, -0.5, known[-1] + 0.5, known[-1] + 1, 3.0, np.inf, np.nan], cells.sum())
    np.testing.assert_allclose(run([trees], table).ravel(), trees.scores(table), rtol=0, atol=1e-12)
    assert not capfd.readouterr().err


@pytest.mark.parametrize("seed", range(12))
def test_right_turns_add_up_to_the_scores(seed):
    """Of votes of different sizes; no number where a category is strange, and nowhere else."""
    rng = np.random.default_rng(seed)
    known = np.arange(2.0, 7.0)
    ruled = [trees_of_categories(rng, int(rng.integers(1, 30)), known, LEFT) for _ in range(int(rng.integers(1, 5)))]
    plain = [PlainTrees.of([random_tree(rng, 4, 4) for _ in range(3)]) for _ in ruled]
    votes = [PlainTrees.joined(pair, 0.0) for pair in zip(ruled, plain, strict=True)]
    for vote in votes:
        vote.missing[vote.abstains] = RIGHT
    table = rng.choice([*known, *known, *known, *known, 1.0, 7.0, np.nan], (60, 4))
    graph = Graph()
    found = scores(graph, add_block(graph, add_rows(graph), right_turns(votes), 4), len(votes), table)
    asked = {rule.feature for vote in votes for rule in vote.rules}
    strange = np.isin(table[:, sorted(asked)], [1.0, 7.0]).any(axis=1)
    assert np.isnan(found[strange]).all()
    wanted = np.column_stack([vote.scores(table) for vote in votes])
    np.testing.assert_allclose(found[~strange], wanted[~strange], rtol=0, atol=1e-12)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("rows", [200, 3 * MANY + 5])
@pytest.mark.parametrize("kinds", list(product("tsl", repeat=3)), ids="".join)
def test_votes_of_which_some_have_no_trees(rows, kinds):
    """Trees, steps of one feature, trees of many leaves: each is summed in its own way, for its own vote."""
    rng = np.random.default_rng(7)
    make = {
        "t": lambda: trees_of_categories(rng, 5, np.arange(4.0), LEFT),
        "s": lambda: PlainTrees.of([random_tree(rng, 1, 1) for _ in range(4)]),
        "l": lambda: grown_tree(rng, 300, 0.5),
    }
    votes = [make[kind]() for kind in kinds]
    table = rng.choice([0.0, 1.0, 2.0, 3.0, 9.0, np.nan], (rows, 4), p=[0.24, 0.24, 0.24, 0.24, 0.02, 0.02])
    wanted = np.column_stack([vote.scores(table) for vote in votes])
    np.testing.assert_allclose(run(votes, table), wanted, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("most", [64, 100, 193, 256, 640])
@pytest.mark.parametrize("lost", [False, True])
def test_blocks_of_any_size(most, lost, monkeypatch):
    """Blocks are whole words, and not a power of two of them: all rows have their place, in one or in several."""
    for kind in (RightTurns, CountedTrees):
        monkeypatch.setattr(kind, "block", most)
    rng = np.random.default_rng(most)
    trees = PlainTrees.of([random_tree(rng, 3, 4) for _ in range(12)])
    table = rng.integers(-4, 5, (4 * most + 1, 4)).astype(float)
    graph = Graph()
    graph.call(add_votes(graph, [trees], 4), "score")
    model = graph.model(4, {"score": ("DOUBLE", [None, 1])}, {})
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for rows in (5, 63, 64, 65, most, most + 1, 2 * most, 2 * most + 1, 3 * most + 64, 4 * most + 1):
        part = np.where(rng.random((rows, 4)) < 0.02, np.nan, table[:rows]) if lost else table[:rows]
        (found,) = session.run(None, {"X": part})
        np.testing.assert_allclose(found.ravel(), trees.scores(part), rtol=0, atol=1e-12, err_msg=f"{rows} rows")


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("rows", [5, 200, MANY, 3 * MANY + 5])
def test_missing_values_in_columns_that_no_tree_looks_at(rows):
    """They change nothing, and harm nothing; nor do they hide those in other columns."""
    rng = np.random.default_rng(0)
    trees = PlainTrees.of([random_tree(rng, 3, 7) for _ in range(40)])
    trees = replace(trees, missing=np.full(len(trees.missing), ABSTAIN))
    table = rng.normal(size=(rows, 8))
    table[:, 7] = np.nan
    np.testing.assert_allclose(run([trees], table).ravel(), trees.scores(table), rtol=0, atol=1e-12)
    table[rows // 2, :3] = np.nan
    np.testing.assert_allclose(run([trees], table).ravel(), trees.scores(table), rtol=0, atol=1e-12)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("rows", [5, 200, 2 * MANY])
def test_trees_that_ask_and_say_the_same_all_the_same(rows):
    leaf = (-1, 0.0, LEFT, 0, 0, 2.0, -1)
    trees = PlainTrees.of([[(0, 1.0, LEFT, 1, 2, 0.0, -1), leaf, (1, 1.0, LEFT, 3, 4, 0.0, -1), leaf, leaf]])
    table = np.random.default_rng(0).normal(size=(rows, 2))
    np.testing.assert_array_equal(run([trees], table).ravel(), np.full(rows, 2.0))


def test_answers_that_change_often_are_looked_up():
    rng = np.random.default_rng(0)
    many = Questions.of([trees_of_categories(rng, 60, np.arange(90.0), LEFT)])
    assert set(many.listed) == {0, 1} and not many.ladders and many.listed[0].shape[1] > 64
    numbers = Questions.of([PlainTrees.of([random_tree(rng, 4, 30) for _ in range(200)])])
    assert not numbers.listed and numbers.ladders
    few = Questions.of([PlainTrees.of([random_tree(rng, 2, 3) for _ in range(5)])])
    assert few.listed and not few.ladders, "a ladder would take longer than looking a few answers up"


@pytest.mark.usefixtures("way")
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1e-310, 1.0, 1e-9, 1e300]))
def test_cuts_of_any_size(seed, scale):
    """Bits and walking agree at every cut and beside it, also where a grid does not part the cuts."""
    rng = np.random.default_rng(seed)
    trees = PlainTrees.of([random_tree(rng, 4, 2) for _ in range(6)])
    finite = np.isfinite(trees.threshold)
    trees.threshold[finite] = scale * rng.standard_cauchy(finite.sum()) ** 3
    trees.missing[trees.missing == ABSTAIN] = LEFT
    x = beside(trees.threshold[finite])
    table = np.column_stack([rng.permutation(x), rng.permutation(x)])
    table = np.tile(table, (MANY // len(table) + 1, 1))
    np.testing.assert_allclose(run([trees], table).ravel(), trees.scores(table), rtol=0, atol=1e-12)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize(
    "cuts", [(7, 1), (6, 2), (8, 54, 55, 56), (63, 62, 64), (127, 255, 2, 300), (511, 512, 4100, 9)]
)
def test_columns_with_any_number_of_cuts(cuts, lost):
    """Where the codes of a column need another digit, or a ladder another rung; rows that fill 64 or not."""
    rng = np.random.default_rng(len(cuts))
    asked = [(feature, float(k)) for feature, count in enumerate(cuts) for k in range(count)]
    rng.shuffle(asked)
    roots = [(int(f), cut, (LEFT, RIGHT)[int(rng.integers(2))] if lost else ABSTAIN) for f, cut in asked]

    def tree(k: int) -> list[tuple]:
        """Three questions, each to the right of the one before and with a leaf to its left; all of them in turn."""
        leaves = [(-1, 0.0, LEFT, 0, 0, float(value), -1) for value in rng.normal(size=4)]
        splits = [(*roots[(k + j) % len(roots)], 2 * j + 1, 2 * j + 2, 0.0, -1) for j in range(3)]
        return [splits[0], leaves[0], splits[1], leaves[1], splits[2], *leaves[2:]]

    trees = PlainTrees.of([tree(k) for k in range(len(roots))])
    rows = 64 * 20 + int(rng.integers(0, 2))
    table = np.column_stack([rng.choice(beside(np.arange(count)), rows) for count in cuts])
    table[np.isnan(table) & (not lost)] = -1.0
    np.testing.assert_allclose(run([trees], table).ravel(), trees.scores(table), rtol=0, atol=1e-9)


@pytest.mark.usefixtures("way")
def test_which_trees_are_counted():
    rng = np.random.default_rng(0)
    large = [random_tree(rng, 10, 4) for _ in range(3)]
    small = [random_tree(rng, 3, 4) for _ in range(3)]
    counted, walked = by_size(PlainTrees.of([*large, *small]))
    assert len(counted) == len(walked) == 3
    digits = sum(tree.digits for tree in (numbered(counted, t) for t in range(3)))
    assert counted_trees([counted]).tables.shape == (-(-digits // 8), 256)
    table = rng.integers(-4, 5, (MANY, 4)).astype(float)
    both = PlainTrees.of([*large, *small])
    np.testing.assert_allclose(run([both], table).ravel(), both.scores(table), rtol=0, atol=1e-12)


@pytest.mark.parametrize("gained", [1e-9, 0.0, -1.0])
def test_few_rows_are_summed_at_once(gained, monkeypatch):
    """Right turns of many rows would fill the memory, even where counting hardly gains on them."""
    rng = np.random.default_rng(0)
    vote = PlainTrees.of([random_tree(rng, 4, 4) for _ in range(20)])
    monkeypatch.setattr(RightTurns, "effort", Effort(0.0, 1.0))
    monkeypatch.setattr(CountedTrees, "effort", Effort(1e6, 1.0 - gained))
    ways = _Ways.of([vote], right_turns([vote]), 4)
    counts = gained > 0
    assert isinstance(ways.blocks, CountedTrees) if counts else ways.blocks is ways.turns
    assert ways.ranges.counting == 1 + (ways.turns.at_once if counts else ways.turns.block)
    assert ways.turns.at_once * len(ways.turns.adds) < 1e8
    table = rng.integers(-4, 5, (ways.ranges.counting + 5, 4)).astype(float)
    np.testing.assert_allclose(run([vote], table).ravel(), vote.scores(table), rtol=0, atol=1e-12)


def test_every_part_goes_its_way():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X[:, 0] + X[:, 1] * X[:, 2] > 0
    stumps = to_onnx(MarginBoostClassifier(nu=0.5, max_iter=20, calibrate=False).fit(X, y))
    assert "GatherElements" in operators(stumps) and "TreeEnsemble" not in operators(stumps)
    for levels in (2, 5):
        trees = to_onnx(AdaBoostClassifier(n_estimators=5, learner=Trees(levels)).fit(X, y))
        assert "If" in operators(trees) and "TreeEnsemble" not in operators(trees)


@pytest.mark.usefixtures("way")
def test_only_the_used_columns_of_a_wide_table_are_turned():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 100))
    model = MarginBoostClassifier(nu=0.6, max_iter=5, calibrate=False).fit(X, X[:, 40] + X[:, 77] > 0)
    assert operators(to_onnx(model))[:3] == ["ArrayFeatureExtractor", "Pad", "Transpose"]
    votes = [plain_trees(model.predictor_)]
    np.testing.assert_allclose(run(votes, X).ravel(), model.decision_function(X), rtol=0, atol=1e-12)


def test_trees_on_one_feature_become_one_curve():
    nodes = [(2, 1.0, RIGHT, 1, 2, 0.0, -1), (-1, 0.0, LEFT, 0, 0, -1.0, -1), (-1, 0.0, LEFT, 0, 0, 3.0, -1)]
    both = [(0, 1.0, LEFT, 1, 2, 0.0, -1), (1, 1.0, LEFT, 3, 4, 0.0, -1), *nodes[1:], *nodes[1:]]
    curves, trees = curves_and_trees(PlainTrees.of([nodes, both, [(2, 5.0, *nodes[0][2:]), *nodes[1:]]]))
    assert len(curves) == 1 and len(trees) == 1
    np.testing.assert_array_equal(curves[0].cuts, [1.0, 5.0])
    np.testing.assert_array_equal(curves[0].values, [-2.0, 2.0, 6.0])
    assert curves[0].feature == 2 and curves[0].missing == 6.0
