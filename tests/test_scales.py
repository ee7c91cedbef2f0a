"""Totally corrective rounds whatever the units: scaled columns, linear losses, budgets, accuracies near rounding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualboost import solve
from dualboost.boosters import TotallyCorrective
from dualboost.learners import Trees
from dualboost.losses import Exponential, Logistic, SoftMargin
from dualboost.master import L1Ball, l1_quadratic
from dualboost.rows import Rows
from dualboost.sets import Capped, Simplex


def signs(seed: int, m: int = 30, n: int = 10) -> np.ndarray:
    return np.random.default_rng(seed).choice([-1.0, 1.0], (m, n))


@pytest.mark.parametrize("loss", [Logistic(), Exponential()])
@pytest.mark.parametrize("unit", [1e-8, 1e-3, 1e4])
def test_the_unit_of_the_columns_does_not_matter(loss, unit):
    plain, scaled = (solve(signs(0) * u, loss, budget=5 / u, tol=1e-6, max_rounds=50) for u in (1.0, unit))
    assert plain.gap <= 1e-6 and scaled.gap <= 1e-6
    assert scaled.n_rounds == plain.n_rounds
    assert scaled.objective == pytest.approx(plain.objective, abs=1e-6)


@given(seed=st.integers(0, 10**6), m=st.integers(1, 8), n=st.integers(1, 8), budget=st.sampled_from([0.01, 1.0, 40.0]))
def test_a_linear_loss_spends_the_whole_budget(seed, m, n, budget):
    """With nu = 1 one weighting is feasible; the best vote is the best column, or any mixture of equal ones."""
    A = signs(seed, m, n)
    found = solve(A, SoftMargin(Capped(nu=1.0)), tol=1e-9 * budget, budget=budget, max_rounds=20)
    assert found.gap <= 1e-9 * budget
    assert found.objective == pytest.approx(budget * np.abs(A.mean(axis=0)).max(), rel=1e-9)


def test_the_quadratic_keeps_to_a_budget_that_hardly_bends():
    x = l1_quadratic(np.eye(5) * 1e-12, np.full(5, 0.3), L1Ball(1.0), np.zeros(5))
    assert abs(x.sum() - 1) <= 1e-12


@pytest.mark.parametrize(("tol", "budget"), [(1e-6, 7.0), (1e-8, 1.0)])
def test_accuracies_near_rounding(tol, budget):
    A = np.array(
        [[1, -1, 1, 1], [1, 1, 1, 1], [1, -1, 1, -1], [-1, 1, 1, 1],
         [-1, -1, -1, 1], [-1, -1, 1, 1], [1, -1, 1, 1], [1, 1, -1, 1]], dtype=float,
    )  # fmt: skip
    assert solve(A, SoftMargin(Simplex()), tol=tol, budget=budget, max_rounds=100).gap <= tol


def test_a_run_that_rounding_has_ended_says_so():
    found = solve(signs(3, 8), SoftMargin(Simplex()), TotallyCorrective(), tol=1e-18, max_rounds=500)
    assert found.n_rounds < 500 and found.status.startswith("no weight moves any more")
    assert found.gap <= 1e-6


def test_a_learner_that_names_nothing_better_ends_the_run():
    """Greedy trees prove nothing: without this rule the rounds would go on to the last."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = np.where((X[:, 0] > 0) ^ (X[:, 1] > 0), 1, -1).astype(np.int8)
    oracle = Trees(2).bind(X, y, Rows.of(200))
    found = solve(oracle, SoftMargin(Capped(nu=0.3)), TotallyCorrective(), tol=0.01, max_rounds=1000)
    assert found.n_rounds < 1000 and found.status.startswith("the learner names nothing")
    assert found.objective > 0


@pytest.mark.parametrize("loss", [Logistic(), SoftMargin(Simplex())])
def test_a_budget_without_end_is_refused(loss):
    with pytest.raises(ValueError, match="CoordinateDescent"):
        solve(signs(0), loss, budget=np.inf, max_rounds=3)
