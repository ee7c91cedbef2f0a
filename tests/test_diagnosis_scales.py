"""The hard core of matrices with rows and columns of very different sizes: that of the plain matrix, or undecided."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from dualboost import Diagnosis, diagnose
from dualboost.learners import Matrix
from dualboost.rows import Rows
from reference_descent import hard_core_by_rows, hard_margin


def core_of(A: np.ndarray) -> np.ndarray:
    """The rows that carry weight in some balanced weighting: s of the largest sum, s <= 1, with A'(s + r) = 0."""
    m, n = A.shape
    cost, bounds = np.repeat([-1.0, 0.0], m), [(0, 1)] * m + [(0, None)] * m
    return linprog(cost, A_eq=np.hstack([A.T, A.T]), b_eq=np.zeros(n), bounds=bounds, method="highs").x[:m] > 0.5


def check(A: np.ndarray, report: Diagnosis, core: np.ndarray) -> None:
    """What is called proved is true."""
    separable = ~(report.hard_core | report.undecided)
    assert not (report.hard_core & ~core).any() and not (separable & core).any(), A.tolist()
    assert 0 <= report.gamma <= report.gamma_bound
    assert core.any() or report.gamma_bound > 0
    if report.hard_core.any():
        psi, sizes = report.weighting, np.abs(A)
        assert np.all(np.abs(A.T @ psi) <= 1e-8 * (sizes.T @ psi)) and psi[report.hard_core].all()


WRONGLY_PROVED = [
    ([[1.0, -1.0], [-1e-9, 0.0], [0.0, -1e-4]], [[1, -1], [-1, 0], [0, -1]]),
    ([[-1.0, -1.0], [1e-9, 0.0], [0.01, 0.0]], [[-1, -1], [1, 0], [1, 0]]),
    ([[1e-9, 1e-9], [-1.0, 1.0], [0.0, 1e-6], [1.0, -1.0]], [[1, 1], [-1, 1], [0, 1], [1, -1]]),
]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("A", "plain"), WRONGLY_PROVED)
def test_small_rows_are_not_balanced_by_any_weights(A, plain, form):
    report = diagnose(form(np.array(A)))
    np.testing.assert_array_equal(report.hard_core, hard_core_by_rows(np.array(plain, dtype=float)))
    assert not report.undecided.any()


def test_a_learner_of_listed_columns_is_scaled_too():
    A, y = np.array(WRONGLY_PROVED[0][0]), np.array([1, -1, 1])
    assert diagnose(A * y[:, None], y, Matrix()).regime == "weak learnable"


@pytest.mark.parametrize("as_class", [False, True], ids=["program", "generation"])
@pytest.mark.parametrize("scaled", ["rows", "columns", "both"])
def test_core_of_scaled_matrices(scaled, as_class):
    rng = np.random.default_rng(["rows", "columns", "both"].index(scaled) + 3 * as_class)
    undecided = 0
    for _ in range(80 if as_class else 250):
        m, n = rng.integers(1, 8), rng.integers(1, 6)
        plain = rng.integers(-2, 3, (m, n)).astype(np.float64)
        by_row = 10.0 ** rng.uniform(-9, 0, (m, 1)) if scaled != "columns" else 1.0
        by_column = 10.0 ** rng.uniform(-9, 0, n) if scaled != "rows" else 1.0
        A = plain * by_row * by_column
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            report = diagnose(Matrix().bind(A, None, Rows.of(m)) if as_class else A)
        check(A, report, core_of(plain))
        undecided += report.undecided.any()
    assert undecided <= 2


@pytest.mark.parametrize(
    ("A", "regime"),
    [
        ([[0.0], [1e-9], [1.0]], "mixed"),
        ([[0.01, 0.01], [1e-7, 0.0], [-1.0, 1.0], [0.0, 1e-5]], "weak learnable"),
        ([[1e300]], "weak learnable"),
        ([[1e-300]], "weak learnable"),
        ([[1e-300], [1e300]], "weak learnable"),
        ([[1.7e308, 1.7e308]], "weak learnable"),
        ([[1e300], [1e-300], [-1e300]], "undecided"),  # the weights of a proof differ by 1e600
    ],
)
def test_extreme_sizes_neither_warn_nor_fail(A, regime):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = diagnose(np.array(A))
    assert report.regime == regime
    assert np.isfinite([report.gamma, report.gamma_bound, report.edge, *report.margins, *report.weighting]).all()
    assert 0 <= report.gamma <= report.gamma_bound


@pytest.mark.parametrize("unit", [1e3, 1e300])
def test_rates_are_promised_in_units_of_the_largest_entry(unit):
    """The theorems speak of entries up to 1: a round takes no more than all of the loss."""
    A = np.array([[1.0, 0.5], [0.5, 1.0]])
    plain, large = diagnose(A), diagnose(unit * A)
    for one, other in zip(plain.promises, large.promises, strict=True):
        assert other.gamma == pytest.approx(one.gamma) and other.sentence() == one.sentence()
    assert str(large)


def test_gamma_does_not_depend_on_the_unit():
    A = np.array([[1.0, 0.5, -0.2], [0.3, 1.0, 0.1], [0.2, -0.1, 1.0]])
    for unit in (1e-200, 1e-3, 1.0, 1e200):
        report = diagnose(unit * A)
        assert report.gamma / unit == pytest.approx(hard_margin(A), rel=1e-7)
        assert report.gamma_bound / unit == pytest.approx(hard_margin(A), rel=1e-7)
