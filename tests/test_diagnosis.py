"""The diagnosis against one linear program a row, and its certificates recomputed with plain NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import dualboost.diagnosis.generation as generation
import dualboost.diagnosis.hard_core as hard_core
from dualboost import Diagnosis, diagnose
from dualboost.data import bin_columns
from dualboost.diagnosis.basis import Basis
from dualboost.diagnosis.finding import by_program
from dualboost.learners import Answer, Matrix, Oracle, Stumps
from dualboost.master import separate
from dualboost.rows import Rows
from reference_descent import hard_core_by_rows, hard_margin

MIXED = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])


def matrix_of(kind: str, seed: int) -> np.ndarray:
    """Small matrices of every regime."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(2, 24)), int(rng.integers(1, 9))
    if kind == "signs":
        return rng.choice([-1.0, 1.0], (m, n))
    if kind == "abstaining":
        return rng.choice([-1.0, 0.0, 1.0], (m, n), p=[0.2, 0.5, 0.3])
    if kind == "real":
        return rng.normal(size=(m, n))
    A = rng.choice([-1.0, 1.0], (m, n))
    A *= np.where(A @ rng.normal(size=n) > 0, 1.0, -1.0)[:, None]
    return np.vstack([A, -A[: max(1, m // 6)]])  # separable, and a few rows with the other label


KINDS = ["signs", "abstaining", "real", "contradicted"]
matrices = st.builds(matrix_of, st.sampled_from(KINDS), st.integers(0, 10**6))


def stump_matrix(X: np.ndarray, y: np.ndarray, max_bins: int = 255) -> np.ndarray:
    """The whole class of stumps, listed."""
    bins = bin_columns(X, None, max_bins)
    columns = [np.ones(len(y))]
    for f in range(X.shape[1]):
        for cut in bins.cuts[bins.cut_start[f] : bins.cut_start[f + 1]]:
            columns.append(np.where(X[:, f] > cut, 1.0, -1.0))
    return np.array(columns).T * y[:, None]


def check_certificates(A: np.ndarray, report: Diagnosis, w: np.ndarray, accuracy: float = 1e-9) -> None:
    """Both, from the matrix alone."""
    core, scale = report.hard_core, np.maximum(np.abs(A).max(axis=0), 1e-300)
    psi = report.weighting
    assert np.all(psi[core] > 0) and np.all(psi[~core] == 0)
    assert np.abs((A / scale).T @ psi).max() <= accuracy
    z = A @ w
    np.testing.assert_allclose(z, report.margins, atol=1e-12 * max(1.0, np.abs(A).max()))
    assert np.abs(z[core]).max(initial=0.0) <= accuracy * max(np.abs(z).max(), 1.0)
    if not core.all():
        assert z[~core].min() > 1e3 * np.abs(z[core]).max(initial=0.0)
        assert np.abs(w).sum() == pytest.approx(1.0)


# ---- matrices -------------------------------------------------------------------------------------------------------


@given(matrices)
def test_core_is_that_of_one_program_a_row(A):
    report = diagnose(A)
    np.testing.assert_array_equal(report.hard_core, hard_core_by_rows(A))
    assert not report.undecided.any()
    check_certificates(A, report, report.direction)


def test_every_regime_was_met():
    met = {diagnose(matrix_of(kind, seed)).regime for kind in KINDS for seed in range(12)}
    assert met == {"weak learnable", "attainable", "mixed"}


@given(matrices)
def test_newton_finds_the_core_of_the_program(A):
    """The two ways to the core share no code."""
    left = np.ones(len(A), dtype=bool)
    while left.any():
        found = separate(A[left], np.zeros(A.shape[1]))
        assert found.kind in ("separated", "balanced")
        if found.kind == "balanced":
            break
        z = A[left] @ found.w
        assert z[found.separated].min() > 1e6 * np.abs(z[~found.separated]).max(initial=0.0)
        left[np.flatnonzero(left)[found.separated]] = False
    np.testing.assert_array_equal(left, hard_core_by_rows(A))


@given(matrices)
def test_column_generation_agrees_with_the_program(A):
    """Without ever using all columns at once."""
    oracle = Matrix().bind(A / np.maximum(np.abs(A).max(axis=0), 1e-300), None, Rows.of(len(A)))
    report = diagnose(oracle)
    np.testing.assert_array_equal(report.hard_core, diagnose(A).hard_core)
    assert not report.undecided.any()
    check_certificates(oracle.A, report, oracle.spread(report.hypotheses, report.direction))


@given(matrices, st.integers(0, 10**6))
def test_core_is_invariant(A, seed):
    """To the order of rows and columns, the scale and sign of columns, copies of either, sample weights."""
    rng = np.random.default_rng(seed)
    core = diagnose(A).hard_core
    rows, columns = rng.permutation(len(A)), rng.permutation(A.shape[1])
    np.testing.assert_array_equal(diagnose(A[rows][:, columns]).hard_core, core[rows])
    scale = rng.choice([-1.0, 1.0], A.shape[1]) * 10.0 ** rng.uniform(-3, 3, A.shape[1])
    np.testing.assert_array_equal(diagnose(A * scale).hard_core, core)
    copies = rng.integers(1, 4, len(A))
    np.testing.assert_array_equal(diagnose(np.repeat(A, copies, axis=0)).hard_core, np.repeat(core, copies))
    np.testing.assert_array_equal(diagnose(np.hstack([A, A[:, ::2]])).hard_core, core)
    np.testing.assert_array_equal(diagnose(A, sample_weight=rng.uniform(0.01, 100, len(A))).hard_core, core)
    np.testing.assert_array_equal(diagnose(sp.csr_array(A)).hard_core, core)


@given(matrices)
def test_gamma_is_the_hard_margin(A):
    """Theorem 11: positive exactly without a hard core."""
    report, margin = diagnose(A), hard_margin(A)
    assert report.gamma == pytest.approx(margin, abs=1e-8 * max(1.0, np.abs(A).max()))
    assert report.gamma <= report.gamma_bound
    assert (report.regime == "weak learnable") == (margin > 1e-9) == (report.gamma > 1e-9)


@pytest.mark.parametrize("kind", ["program", "generation"])
@pytest.mark.parametrize("m", [150, 700])
def test_larger_matrices(kind, m):
    """A clean rule and nine rows with the other label as well: mixed with few rows, attainable with many."""
    rng = np.random.default_rng(3)
    A = rng.choice([-1.0, 1.0], (m, 120))
    A *= np.where(A @ rng.normal(size=120) > 0, 1.0, -1.0)[:, None]
    A = np.vstack([A, -A[:9]])
    report = diagnose(A if kind == "program" else Matrix().bind(A, None, Rows.of(len(A))))
    assert report.regime == ("mixed" if m == 150 else "attainable") and not report.undecided.any()
    w = np.zeros(120)
    np.add.at(w, np.asarray(report.hypotheses, dtype=int), report.direction)
    check_certificates(A, report, w)
    np.testing.assert_array_equal(report.hard_core, by_program(A, np.arange(len(A))).psi > 0)
    assert np.all(report.hard_core[:9]) and np.all(report.hard_core[-9:])


def test_the_example_of_the_paper():
    report = diagnose(MIXED)
    assert report.regime == "mixed"
    np.testing.assert_array_equal(report.hard_core, [True, True, False])
    np.testing.assert_allclose(report.weighting, [0.5, 0.5, 0], atol=1e-15)
    np.testing.assert_allclose(report.margins, [0, 0, 1], atol=1e-15)
    np.testing.assert_array_equal(report.split[0], [2])
    np.testing.assert_array_equal(report.split[1], [0, 1])


def test_perfect_hypothesis():
    """Its exponential weights underflow; the margin is 1 whatever else there is."""
    rng = np.random.default_rng(0)
    A = np.column_stack([np.ones(50), rng.choice([-1.0, 1.0], (50, 5))])
    report = diagnose(A)
    assert report.regime == "weak learnable" and report.gamma == pytest.approx(1.0)
    assert report.promises[0].rounds_needed(1e-9) == np.ceil(np.log(1e-9) / np.log(0.5))


def test_zero_edges():
    """Nothing to learn: every hypothesis is right half of the time, or says nothing."""
    report = diagnose(np.array([[1.0, 0.0], [-1.0, 0.0]]))
    assert report.regime == "attainable" and report.gamma == report.gamma_bound == 0
    nothing = diagnose(np.zeros((3, 2)))
    assert nothing.regime == "attainable" and nothing.edge == 0
    np.testing.assert_allclose(nothing.weighting, 1 / 3)


def test_an_edge_of_rounding_size_is_not_called_separable():
    """1e-13 of a margin is neither provably there nor provably absent: such rows stay undecided or in the core."""
    report = diagnose(np.array([[1.0, 1.0], [-1.0, -1.0 + 1e-13]]))
    assert report.regime in ("attainable", "undecided")
    assert not report.split[0].size


def test_absent_rows_change_nothing():
    A = np.vstack([MIXED, [[-1.0, -1.0]]])
    report = diagnose(A, sample_weight=[1.0, 2.0, 0.5, 0.0])
    np.testing.assert_array_equal(report.hard_core, [True, True, False, False])
    assert np.isnan(report.margins[3]) and report.weighting[3] == 0
    assert report.split[0].tolist() == [2]
    assert "Of 3 rows" in report.summary()
    assert diagnose(A).regime == "attainable", "with its opposite present nothing is separable"


# ---- stumps and other classes ---------------------------------------------------------------------------------------


def stump_problem(seed: int, m: int = 60, features: int = 3, values: int = 6):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, values, (m, features)).astype(float)
    score = X[:, 0] - values / 2 + (X[:, 1] > 2) * 1.5 + 0.8 * rng.normal(size=m)
    y = np.where(score > 0, 1, -1)
    y[0] = -y[1]  # two classes
    return X, y


@given(st.integers(0, 10**6), st.integers(8, 60), st.integers(2, 12))
def test_stumps_agree_with_the_listed_class(seed, m, values):
    X, y = stump_problem(seed, m, values=values)
    report = diagnose(X, np.where(y > 0, "yes", "no"))
    A = stump_matrix(X, y)
    np.testing.assert_array_equal(report.hard_core, by_program(A, np.arange(m)).psi > 0)
    oracle = Stumps().bind(X, y.astype(np.int8), Rows.of(m))
    columns = np.array([oracle.column(h) for h in report.hypotheses]).reshape(-1, m).T
    np.testing.assert_allclose(columns @ report.direction, report.margins, atol=1e-12)
    assert np.abs(A.T @ report.weighting).max() <= 1e-9
    assert np.all((report.weighting > 0) == report.hard_core)
    assert not report.undecided.any()


def test_stump_problems_of_every_regime():
    problems = [stump_problem(0, 200, 3, 4), stump_problem(1, 12, 3, 12), stump_problem(0, 60, 3, 6)]
    assert {diagnose(X, y).regime for X, y in problems} == {"attainable", "weak learnable", "mixed"}


def test_many_columns_are_not_listed():
    """Of 1,000 stumps a clean rule needs a few: the search must stop there."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 10))
    y = X[:, 3] > 0.2
    seen = []
    report = diagnose(X, y, watch=lambda progress: seen.append(progress.n_hypotheses))
    assert report.regime == "weak learnable" and max(seen) < 100
    assert report.margins.min() > 0


def test_contradictions():
    X = np.array([[1.0, np.nan], [2.0, 0.0], [1.0, np.nan], [2.0, -0.0], [2.0, 0.0], [3.0, 1.0]])
    y = [0, 0, 1, 0, 1, 1]
    pairs = diagnose(X, y).contradictions
    found = {(tuple(sorted(one.tolist())), tuple(sorted(other.tolist()))) for one, other in pairs}
    assert found == {((2,), (0,)), ((4,), (1, 3))}
    sparse = diagnose(sp.csr_array(np.nan_to_num(X)), y).contradictions
    assert [(one.tolist(), other.tolist()) for one, other in sparse] == [([2], [0]), ([4], [1, 3])]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_contradictions_of_a_matrix_are_opposite_rows(form):
    A = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 1.0], [-0.0, 1.0], [0.0, 0.0]])
    pairs = diagnose(form(A)).contradictions
    assert [(one.tolist(), other.tolist()) for one, other in pairs] == [([0, 3], [1])]


class Rough(Oracle):
    """A learner that finds the best column and promises nothing."""

    def __init__(self, inner):
        self.inner, self.rows = inner, inner.rows

    def best(self, d, k=1):
        answer = self.inner.best(d, k)
        return Answer(answer.hypotheses, answer.columns, answer.edges, float(d.sum()))

    def column(self, hypothesis):
        return self.inner.column(hypothesis)

    def margins(self, hypotheses, w):
        return self.inner.margins(hypotheses, w)

    def predictor(self, hypotheses, w):
        return self.inner.predictor(hypotheses, w)

    def forget(self):
        self.inner.forget()


def test_a_learner_without_a_promise_leaves_rows_undecided():
    """Rows off the core are proved by an ensemble; rows on it by a promise, which is missing."""
    report = diagnose(Rough(Matrix().bind(MIXED, None, Rows.of(3))))
    assert report.regime == "undecided" and not report.hard_core.any()
    np.testing.assert_array_equal(report.undecided, [True, True, False])
    assert "undecided" in report.summary() and report.promises == ()


@pytest.mark.parametrize("stop", ["max_rounds", "watch"])
def test_an_interim_answer_is_true(stop):
    """What a search that was cut short says is proved agrees with the full answer."""
    X, y = stump_problem(5, 400, 6, 40)
    X[:4], y[:4] = X[0], [1, -1, 1, -1]
    full = diagnose(X, y)
    assert not full.undecided.any() and full.n_rounds > 3
    early = diagnose(X, y, max_rounds=2) if stop == "max_rounds" else diagnose(X, y, watch=lambda _: "enough")
    assert early.undecided.any() and early.n_rounds < full.n_rounds
    assert early.status == ("stopped after max_rounds = 2" if stop == "max_rounds" else "enough")
    assert np.all(early.hard_core[:4]), "rows that contradict each other prove themselves"
    assert not np.any(early.hard_core & ~full.hard_core)
    assert not np.any(full.hard_core[early.split[0]])
    assert np.abs(stump_matrix(X, y).T @ early.weighting).max() <= 1e-12


def test_the_program_decides_where_newton_does_not(monkeypatch):
    """Newton's method may get stuck; then a linear program takes its place."""
    monkeypatch.setattr("dualboost.master.separation._STEPS", 1)
    report = diagnose(Matrix().bind(MIXED, None, Rows.of(3)))
    assert report.regime == "mixed" and not report.undecided.any()
    monkeypatch.setattr(generation, "_PROGRAM", 0)
    assert diagnose(Matrix().bind(MIXED, None, Rows.of(3))).undecided.any()


def test_large_matrices_go_to_column_generation(monkeypatch):
    monkeypatch.setattr(hard_core, "_PROGRAM", 0)
    report = diagnose(MIXED * [1.0, 7.0])
    assert "linear program" not in report.status
    check_certificates(MIXED * [1.0, 7.0], report, report.direction)
    np.testing.assert_array_equal(report.hard_core, [True, True, False])


@given(st.integers(0, 10**6))
def test_basis_is_a_change_of_basis(seed):
    rng = np.random.default_rng(seed)
    X, y = stump_problem(seed, 30)
    oracle = Stumps().bind(X, y.astype(np.int8), Rows.of(30))
    answers = [oracle.best(rng.dirichlet(np.ones(30)), 3) for _ in range(5)]
    keys = list({h: None for answer in answers for h in answer.hypotheses})
    columns = [oracle.column(h) for h in keys]
    rows = rng.random(30) < 0.7
    basis, w = Basis.of(keys, columns, rows), rng.normal(size=len(keys))
    x = basis.from_hypotheses(w)
    np.testing.assert_allclose(basis.to_hypotheses(x), w, atol=1e-12)
    np.testing.assert_allclose(basis.B @ x, np.array(columns).T[rows] @ w, atol=1e-12)


def test_neighbouring_stumps_make_a_sparse_basis():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 2)), rng.choice([-1, 1], 500)
    oracle = Stumps().bind(X, y.astype(np.int8), Rows.of(500))
    keys = [(f, cut, 0) for f in range(2) for cut in range(0, 250, 5)]
    basis = Basis.of(keys, [oracle.column(h) for h in keys], np.ones(500, dtype=bool))
    assert sp.issparse(basis.B) and basis.B.nnz <= 4 * 500


# ---- words ----------------------------------------------------------------------------------------------------------


def test_summary_and_html():
    report = diagnose(MIXED)
    text = report.summary()
    assert text.startswith("Mixed") and str(report) == text
    assert "2 are in the hard core" in text and "Theorem 27" in text and "both labels" in text
    assert report._repr_html_().startswith("<pre>")
    weak = diagnose(np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, 1.0]])[1:2])
    assert "Theorem 21" in weak.summary() and weak.regime == "weak learnable"
    assert "Theorem 23" in diagnose(np.array([[1.0], [-1.0]])).summary()


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.zeros((0, 2)),), {}, "not empty"),
        ((np.ones(3),), {}, "not empty"),
        ((np.array([[1.0, np.nan]]),), {}, "NaN or infinity"),
        ((MIXED,), {"learner": Stumps()}, "needs labels"),
        ((MIXED, [1, 0, 1]), {"learner": "stumps"}, "such as Stumps"),
        ((MIXED, [1, 1, 1]), {}, "two classes"),
        ((MIXED, [1, 0]), {}, "one label for each of the 3 rows"),
        ((MIXED,), {"sample_weight": [1.0, -1.0, 1.0]}, "non-negative"),
        ((MIXED,), {"sample_weight": [0.0, 0.0, 0.0]}, "not only zeros"),
        ((MIXED,), {"max_rounds": 0}, "whole number"),
        ((Matrix().bind(MIXED, None, Rows.of(3)), [1, 0, 1]), {}, "give it alone"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        diagnose(*arguments, **options)
