"""Diagrams: what is refused, weight pushing against enumeration, constructions against the rules they stand for."""

from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from conftest import bits, few_values, reals, with_missing
from dualboost import kernels
from dualboost.boosters import FrankWolfe, LPBoost
from dualboost.files import load_diagram, save_diagram
from dualboost.learners import NZDD, Stumps
from dualboost.learners.nzdd import (
    Conjunctions,
    Diagram,
    Intervals,
    Paths,
    Thresholds,
    conjunctions,
    diagram_of_family,
    dot_of,
    edge_sums,
    extreme_sums,
    label_flows,
    push,
    sample,
)
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Capped
from dualboost.solve import solve
from dualboost.storage.container import DamagedFile, read, write


def random_edges(rng: np.random.Generator) -> list:
    """A layered graph with multi-edges; each layer draws from its own labels, so that none can occur twice."""
    layers, edges, label = [["r"]], [], 0
    for depth in range(rng.integers(1, 4)):
        layers.append([f"n{depth}.{k}" for k in range(rng.integers(1, 4))])
    layers.append(["leaf"])
    for here, there in pairwise(layers):
        own = list(range(label, label + int(rng.integers(1, 4))))
        label += len(own)
        pairs = {(tail, there[rng.integers(len(there))]) for tail in here}
        pairs |= {(here[rng.integers(len(here))], head) for head in there}
        for tail, head in sorted(pairs) + sorted(pairs)[: int(rng.integers(0, 3))]:
            edges.append((tail, head, sorted({int(x) for x in rng.choice(own, rng.integers(0, len(own) + 1))})))
    return [edges[k] for k in rng.permutation(len(edges))], label


def sums_of_paths(diagram: Diagram, values: np.ndarray) -> np.ndarray:
    return np.array([sum(values[label] for label in diagram.set_of(path)) for path in diagram.paths()])


# ---- the structure -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "edges, words",
    [
        ([("a", "b", []), ("b", "c", []), ("c", "b", []), ("c", "d", [])], r"'[bc]' lies on a cycle"),
        ([("a", "a", [])], "'a' lies on a cycle"),
        ([("a", "b", []), ("x", "b", [])], "'x' cannot be reached from the root 'a'"),
        ([("a", "b", []), ("a", "c", [])], "'b' and 'c' are both leaves"),
        ([("a", "b", [1]), ("b", "c", []), ("c", "d", [1])], "Label 1 occurs twice on a path through node 'c'"),
        ([("a", "b", [2, 2])], "Label 2 occurs twice on a path through node 'a'"),
        ([("a", "b", [3])], "Label 3 of an edge of node 'a' is not between 0 and 2"),
        ([("a", "b", [-1])], "Label -1"),
    ],
)
def test_malformed_diagrams_are_refused(edges, words):
    with pytest.raises(ValueError, match=words):
        Diagram.of_edges(edges, n_labels=3)


def test_a_cycle_is_found_behind_and_before_other_nodes():
    edges = [("a", "b", []), ("b", "c", []), ("c", "d", []), ("d", "c", []), ("d", "e", []), ("e", "f", [])]
    with pytest.raises(ValueError, match=r"'[cd]' lies on a cycle"):
        Diagram.of_edges(edges, 1)


@given(st.integers(0, 10_000))
def test_the_order_of_the_edges_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    edges, n_labels = random_edges(rng)
    one = Diagram.of_edges(edges, n_labels)
    two = Diagram.of_edges([edges[k] for k in rng.permutation(len(edges))], n_labels)
    families = [sorted(sorted(d.set_of(path)) for path in d.paths()) for d in (one, two)]
    assert families[0] == families[1] and len(families[0]) == one.count() == two.count()
    values = rng.normal(size=n_labels)
    flows = [label_flows(d, push(d, edge_sums(d, values), 3.0).flow) for d in (one, two)]
    np.testing.assert_allclose(flows[0], flows[1], atol=1e-12)


# ---- weight pushing ------------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.sampled_from([0.0, 1.0, -7.0, 300.0, -4000.0]))
def test_pushing_is_enumeration(seed, scale):
    rng = np.random.default_rng(seed)
    diagram = Diagram.of_edges(*random_edges(rng))
    values = rng.normal(size=diagram.n_labels)
    values /= max(1.0, np.abs(values).sum())
    sums = edge_sums(diagram, values)
    pushed, paths = push(diagram, sums, scale), list(diagram.paths())
    weights = scale * sums_of_paths(diagram, values)
    shares = np.exp(weights - weights.max()) / np.exp(weights - weights.max()).sum()
    assert abs(pushed.total[0] - np.logaddexp.reduce(weights)) <= 1e-11 * max(1.0, abs(weights).max())
    member = np.array([[label in diagram.set_of(path) for label in range(diagram.n_labels)] for path in paths])
    np.testing.assert_allclose(label_flows(diagram, pushed.flow), shares @ member, atol=1e-11)
    odds = pushed.odds(diagram, sums, scale)
    np.testing.assert_allclose([np.prod(odds[list(path)]) for path in paths], shares, atol=1e-11)
    assert abs(pushed.flow[: diagram.start[1]].sum() - 1) <= 1e-14, "nothing is lost"
    low, high = extreme_sums(diagram, sums)
    plain = sums_of_paths(diagram, values)
    assert abs(low[0] - plain.min()) <= 1e-14 and abs(high[0] - plain.max()) <= 1e-14


def test_no_overflow():
    diagram = Thresholds().bind(np.random.default_rng(0).normal(size=(400, 3))).diagram
    sums = edge_sums(diagram, np.full(400, 1 / 400))
    for scale in (4000.0, -4000.0, 1e6):
        pushed = push(diagram, sums, scale)
        assert np.all(np.isfinite(pushed.total)) and abs(pushed.flow[: diagram.start[1]].sum() - 1) <= 1e-13


def test_samples_follow_the_weights():
    diagram = diagram_of_family([[0], [1], [0, 2], []], 3)
    sums = edge_sums(diagram, np.array([1.0, -0.5, 0.7]))
    odds, rng = push(diagram, sums, 1.0).odds(diagram, sums, 1.0), np.random.default_rng(0)
    drawn = [sample(diagram, odds, rng) for _ in range(4000)]
    paths = list(diagram.paths())
    weights = np.exp(sums_of_paths(diagram, np.array([1.0, -0.5, 0.7])))
    observed = np.array([drawn.count(path) for path in paths]) / 4000
    np.testing.assert_allclose(observed, weights / weights.sum(), atol=0.03)


def test_kernels_check_their_input():
    start, head, sums = np.array([0, 1, 1]), np.array([1], dtype=np.int32), np.zeros(1)
    with pytest.raises(ValueError, match="later node"):
        kernels.nzdd_push(start, np.zeros(1, dtype=np.int32), sums, 1.0, np.empty(2), np.empty(1))
    with pytest.raises(ValueError, match="total"):
        kernels.nzdd_push(start, head, sums, 1.0, np.empty(1), np.empty(1))
    with pytest.raises(ValueError, match="finite"):
        kernels.nzdd_push(start, head, np.array([np.nan]), 1.0, np.empty(2), np.empty(1))
    with pytest.raises(ValueError, match="every node but the leaf"):
        kernels.nzdd_extremes(np.array([0, 0, 0]), head[:0], sums[:0], np.empty(2), np.empty(2))
    with pytest.raises(ValueError, match="out of range"):
        kernels.nzdd_gather(np.array([0, 1]), np.array([5], dtype=np.int32), np.zeros(3), np.empty(1))


# ---- constructions -------------------------------------------------------------------------------------------------


@given(st.sets(st.frozensets(st.integers(0, 6), max_size=5), min_size=1, max_size=40))
def test_a_family_is_its_paths(family):
    diagram = diagram_of_family(family, 7)
    found = [frozenset(diagram.set_of(path)) for path in diagram.paths()]
    assert len(found) == len(family) == diagram.count() and set(found) == family
    outgoing = np.diff(diagram.start)[1:-1]
    assert np.all(outgoing > 1), "only the root may have a single edge"


def test_equal_parts_of_a_family_are_stored_once():
    """All subsets of 40 items: a million million paths, two edges an item."""
    edges = [(i, i + 1, labels) for i in range(40) for labels in ([], [i])]
    assert Diagram.of_edges(edges, 40).count() == 2**40
    small = diagram_of_family([combo for k in range(9) for combo in combinations(range(8), k)], 8)
    assert small.count() == 256 and small.n_edges == 16 and small.n_nodes == 9


def test_a_deep_family_needs_no_recursion():
    assert diagram_of_family([range(5000), range(0, 5000, 2)], 5000).count() == 2


def test_an_empty_family_is_refused():
    with pytest.raises(ValueError, match="at least one set"):
        diagram_of_family([], 3)


def hypotheses_of(rules, X) -> set:
    diagram = rules.bind(X).diagram
    return {tuple(np.isin(np.arange(len(X)), list(diagram.set_of(path)))) for path in diagram.paths()}


@pytest.mark.parametrize("data", [reals, few_values, with_missing], ids=lambda f: f.__name__)
def test_thresholds_are_stumps(data):
    """The same hypotheses as `Stumps`, the same J, average and best edge: chain, closed form, enumeration."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = data(rng, 25)
        y = rng.choice([-1, 1], 25).astype(np.int8)
        listed = [tuple(values > 0) for _, values in reference.all_stumps(X)]
        diagram = Thresholds().bind(X).diagram
        assert hypotheses_of(Thresholds(), X) == set(listed) and diagram.count() == len(listed)
        chain, closed = (learner.bind(X, y, Rows.of(25)) for learner in (NZDD(Thresholds()), Stumps()))
        for eta in (1.0, 100.0, 2000.0):
            d = rng.dirichlet(np.ones(25))
            (one, J), (two, K) = chain.average(d, eta), closed.average(d, eta)
            assert abs(J - K) <= 1e-12
            np.testing.assert_allclose(one.columns[0], two.columns[0], atol=1e-10)
            assert abs(abs(chain.best(d).edges[0]) - abs(closed.best(d).edges[0])) <= 1e-14


def test_the_size_of_the_chains():
    """O(rows * features): two edges a cut, and the constant."""
    diagram = Thresholds().bind(np.random.default_rng(0).normal(size=(400, 5))).diagram
    assert diagram.n_edges == 2 * 5 * 399 + 1 and diagram.count() == 5 * 399 + 1
    assert Intervals().bind(np.random.default_rng(0).normal(size=(400, 5))).diagram.count() == 5 * 400 * 401 // 2 + 1


@pytest.mark.parametrize("data", [reals, few_values, with_missing], ids=lambda f: f.__name__)
def test_intervals(data):
    X = data(np.random.default_rng(1), 12)
    expected = {(True,) * 12}
    for x in X.T:
        values = np.unique(x[~np.isnan(x)])
        if len(values) > 1:
            expected |= {tuple((x >= low) & (x <= high)) for low, high in product(values, values) if low <= high}
    assert hypotheses_of(Intervals(), X) == expected


@pytest.mark.parametrize("k", [1, 2, 3])
def test_conjunctions(k):
    """Every conjunction of at most k literals that holds somewhere, as the rows that violate it."""
    X = bits(np.random.default_rng(2), 14)
    expected = set()
    for size in range(k + 1):
        for features in combinations(range(4), size):
            for truths in product([0, 1], repeat=size):
                holds = np.all(X[:, list(features)] == truths, axis=1)
                if holds.any():
                    expected.add(tuple(~holds))
    assert hypotheses_of(Conjunctions(k), X) == expected


def test_conjunctions_need_bits():
    with pytest.raises(ValueError, match="column 1 has other values"):
        Conjunctions(2).bind(np.array([[0, 2], [1, 0]]))
    with pytest.raises(ValueError, match="k is a number"):
        Conjunctions(0)


def test_too_many_conjunctions_are_refused(monkeypatch):
    monkeypatch.setattr(conjunctions, "_MOST_LABELS", 100)
    with pytest.raises(ValueError, match="more than 100 labels: use a smaller k"):
        Conjunctions(3).bind(bits(np.random.default_rng(0), 50))


def test_drawn_graphs():
    """Two disjoint boxes in a row: each is taken or not."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 5.0], [np.nan, 5.0]])
    left, right = [(0, -np.inf, 0.5)], [(0, 0.5, np.inf), (1, 1, 9)]
    rules = Paths([("b", "c", right), ("b", "c", None), ("a", "b", left), ("a", "b", None)])
    assert hypotheses_of(rules, X) == {
        (False,) * 4, (True, False, False, False), (False, False, True, False), (True, False, True, False)
    }  # fmt: skip
    oracle = NZDD(rules).bind(X, np.array([1, -1, 1, -1], dtype=np.int8), Rows.of(4))
    best = oracle.best(np.full(4, 0.25))
    assert best.edges[0] == 1.0
    scores = oracle.predictor(best.hypotheses, np.ones(1)).scores(np.array([[-3.0, 0.0], [0.7, 2.0], [0.7, 20.0]]))
    assert scores.tolist() == [1.0, 1.0, -1.0]


def test_drawn_graphs_that_capture_a_row_twice_are_refused():
    rules = Paths([("a", "b", [(0, 0, 5)]), ("b", "c", [(0, 3, 9)])])
    with pytest.raises(ValueError, match="Label 1 occurs twice on a path through node 'b'"):
        rules.bind(np.array([[1.0], [4.0]]))
    with pytest.raises(ValueError, match="feature 3"):
        Paths([("a", "b", [(3, 0, 5)])]).bind(np.ones((2, 1)))
    with pytest.raises(ValueError, match="A box is"):
        Paths([("a", "b", [0])]).bind(np.ones((2, 1)))


# ---- as a class of hypotheses --------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [Conjunctions(2), Intervals()], ids=["conjunctions", "intervals"])
def test_boosting_over_rules_reaches_the_optimum(rules):
    rng = np.random.default_rng(3)
    X = bits(rng, 40) if isinstance(rules, Conjunctions) else rng.integers(0, 6, (40, 3)).astype(float)
    y = np.where(X[:, 0] * X[:, 1] + X[:, 2] > np.median(X[:, 0] * X[:, 1] + X[:, 2]), 1, -1).astype(np.int8)
    oracle = NZDD(rules).bind(X, y, Rows.of(40))
    A = np.array([oracle.column(path) for path in oracle.diagram.paths()], dtype=float).T
    optimum = reference.lp_smallest_edge(A, np.full(40, 1 / 12))
    loss = SoftMargin(Capped(nu=0.3))
    for booster in (LPBoost(), FrankWolfe("line search"), FrankWolfe(polish=20)):
        solution = solve(oracle, loss, booster, tol=0.05)
        assert solution.gap <= 0.05 and solution.objective - 1e-9 <= optimum <= solution.bound + 1e-9
    unseen = bits(rng, 9) if isinstance(rules, Conjunctions) else rng.uniform(-1, 8, (9, 3))
    scores = oracle.predictor(solution.hypotheses, solution.weights).scores(unseen)
    one_by_one = [oracle.predictor([key], np.ones(1)).scores(unseen) for key in solution.hypotheses]
    np.testing.assert_allclose(scores, np.array(one_by_one).T @ solution.weights, atol=1e-12)


def test_intervals_on_new_rows():
    """The ends are half way to the next value; what is missing is outside."""
    x, y = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([-1, 1, 1, -1, -1], dtype=np.int8)
    oracle = NZDD(Intervals()).bind(x[:, None], y, Rows.of(5))
    best = oracle.best(np.full(5, 0.2))
    new = np.array([0.0, 1.5, 1.6, 3.5, 3.6, np.nan])
    assert best.edges[0] == pytest.approx(1.0)
    assert oracle.predictor(best.hypotheses, np.ones(1)).scores(new[:, None]).tolist() == [-1, -1, 1, 1, -1, -1]


def test_conjunctions_on_new_rows():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
    oracle = NZDD(Conjunctions(2)).bind(X, np.array([-1, -1, -1, 1], dtype=np.int8), Rows.of(4))
    best = oracle.best(np.full(4, 0.25))
    sign = np.sign(best.edges[0])
    scores = oracle.predictor(best.hypotheses, np.array([sign])).scores(X[[3, 0, 3, 1]])
    assert abs(best.edges[0]) == 1.0 and scores.tolist() == [1.0, -1.0, 1.0, -1.0]


def test_a_diagram_over_rows_can_be_boosted_but_not_applied():
    diagram = diagram_of_family([[0, 1], [1, 2], [3]], 4)
    y = np.array([1, 1, -1, -1], dtype=np.int8)
    oracle = NZDD(diagram).bind(None, y, Rows.of(4))
    assert solve(oracle, SoftMargin(Capped(nu=0.5)), FrankWolfe(), tol=0.05).gap <= 0.05
    with pytest.raises(ValueError, match="cannot score new"):
        oracle.predictor([(0,)], np.ones(1))
    with pytest.raises(ValueError, match="4 labels, but there are 3 rows"):
        NZDD(diagram).bind(None, y[:3], Rows.of(3))
    with pytest.raises(ValueError, match="NZDD takes rules"):
        NZDD("stumps")
    with pytest.raises(ValueError, match="NZDD needs labels"):
        NZDD(Thresholds()).bind(np.eye(3), None, Rows.of(3))


def test_the_diagram_of_the_empty_set():
    """Root = leaf: one hypothesis, -1 everywhere."""
    oracle = NZDD(diagram_of_family([[]], 3)).bind(None, np.array([1, 1, -1], dtype=np.int8), Rows.of(3))
    d = np.array([0.5, 0.3, 0.2])
    answer, J = oracle.average(d, 10.0)
    assert oracle.log_size == pytest.approx(np.log(2)) and oracle.best(d).bound == pytest.approx(0.6)
    assert pytest.approx(np.log(np.exp(6) + np.exp(-6)) / 10) == J
    np.testing.assert_allclose(answer.columns[0], np.array([1, 1, -1]) * np.tanh(6), atol=1e-12)


# ---- files and pictures --------------------------------------------------------------------------------------------


def test_files_keep_everything(tmp_path):
    diagram = Intervals().bind(few_values(np.random.default_rng(0), 12)).diagram
    save_diagram(diagram, tmp_path / "a.dualboost")
    again = load_diagram(tmp_path / "a.dualboost")
    for name in ("n_labels", "start", "head", "label_start", "labels"):
        assert np.array_equal(getattr(diagram, name), getattr(again, name))
    assert list(diagram.paths()) == list(again.paths())


@pytest.mark.parametrize(
    "name, change",
    [
        ("head", lambda a: a * 0),
        ("labels", lambda a: a + 100),
        ("labels", lambda a: a * 0),
        ("start", lambda a: a[::-1]),
        ("start", lambda a: a[:-1]),
        ("label_start", lambda a: a[1:]),
        ("head", lambda a: a.astype(float) + 0.5),
    ],
)
def test_files_that_hold_no_diagram_are_refused(tmp_path, name, change):
    path = tmp_path / "a.dualboost"
    save_diagram(diagram_of_family([[0, 1], [1, 2], [2], [0, 3]], 4), path)
    header, arrays = read(path, 1 << 20)
    header.pop("arrays")
    write(path, header, {**arrays, name: change(arrays[name])})
    with pytest.raises(DamagedFile):
        load_diagram(path)


def test_files_of_another_kind_are_refused(tmp_path):
    path = tmp_path / "a.dualboost"
    save_diagram(diagram_of_family([[0]], 1), path)
    content = path.read_bytes()
    for damaged in (b"", b"nonsense", content[:-7], content[:60] + b"x" + content[61:]):
        path.write_bytes(damaged)
        with pytest.raises(DamagedFile):
            load_diagram(path)
    write(path, {"format": "dualboost model", "version": 1}, {})
    with pytest.raises(DamagedFile, match="not a diagram"):
        load_diagram(path)


def test_pictures_are_for_small_diagrams():
    text = dot_of(diagram_of_family([[0, 1], [2]], 3), names=['say "a"', "b", "c"])
    assert text.startswith("digraph") and text.count("->") == 2 and '\\"a\\", b' in text
    with pytest.raises(ValueError, match="shows nothing"):
        dot_of(Intervals().bind(np.arange(300.0)[:, None]).diagram)
