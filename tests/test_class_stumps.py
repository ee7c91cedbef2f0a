"""Stumps with a sign for each class: the best of all of them, and the margin over pairs against a linear program."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from dualboost.boosters import ERLPBoost, LPBoost, TotallyCorrective
from dualboost.game import Game
from dualboost.learners.class_stumps import ClassStumps
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Capped
from dualboost.solve import play


def table(seed: int, n: int = 24, n_classes: int = 3):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 2)), 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    codes = rng.permutation(np.arange(n) % n_classes)
    codes[X[:, 0] > 0.3] = 0
    return X, codes


def every_column(X: np.ndarray, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """All hypotheses by hand: thresholds at every value, missing on either side, all signs; (pairs, hypotheses)."""
    sides = [np.ones(len(X))]
    for x in X.T:
        for cut in [-np.inf, *np.unique(x[~np.isnan(x)])]:
            for missing in (-1.0, 1.0):
                sides.append(np.where(np.isnan(x), missing, np.where(x > cut, 1.0, -1.0)))
    columns = []
    for side, votes in product(sides, product((1.0, -1.0), repeat=n_classes)):
        pairs = [
            side[i] * (votes[codes[i]] - votes[r]) / 2
            for i in range(len(codes))
            for r in range(n_classes)
            if r != codes[i]
        ]
        columns.append(pairs)
    return np.array(columns).T


@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(1, 3))
def test_the_best_of_all_stumps_and_all_signs(seed, n_classes, k):
    X, codes = table(seed, 15, n_classes)
    rng = np.random.default_rng(seed)
    rows = ClassStumps.rows_of(rng.integers(1, 4, 15).astype(float), n_classes)
    oracle = ClassStumps().bind(X, codes, rows)
    d = rng.dirichlet(np.full(len(rows), 0.3))
    answer = oracle.best(d, k)
    largest = np.abs(d @ every_column(X, codes, n_classes)).max()
    assert abs(answer.edges[0]) == pytest.approx(largest, abs=1e-12) and largest <= answer.bound <= largest + 1e-9
    for name, column, edge in zip(answer.hypotheses, answer.columns, answer.edges, strict=True):
        assert d @ column == pytest.approx(edge, abs=1e-12) and name[1][0] == 1
        np.testing.assert_array_equal(column, oracle.column(name))
    assert np.all(np.diff(np.abs(answer.edges)) <= 1e-15)


@pytest.mark.parametrize("booster", [TotallyCorrective(), LPBoost(), ERLPBoost()], ids=lambda b: type(b).__name__)
@pytest.mark.parametrize("nu", [0.2, 0.6])
def test_the_margin_over_pairs_is_that_of_a_linear_program(booster, nu):
    X, codes = table(3, 30)
    rows = ClassStumps.rows_of(30, 3)
    oracle = ClassStumps().bind(X, codes, rows)
    game = Game(SoftMargin(Capped(nu=nu)).bind(rows), oracle, rows, tol=1e-3)
    outcome = play(game, booster, 500)
    check_outcome(outcome, soft_margin(every_column(X, codes, 3), nu))
    scores = oracle.predictor(outcome.hypotheses, outcome.weights).scores(X)
    check_leads(outcome.margins, scores, codes)
    assert np.abs(scores).max() <= 1 + 1e-12


def check_outcome(outcome, best: float) -> None:
    """The certificate encloses the optimum of the linear program, tightly."""
    assert best > 0.02 and outcome.certificate.objective <= best + 1e-9 <= outcome.certificate.bound + 2e-9
    assert outcome.certificate.gap <= 1e-3


def check_leads(margins: np.ndarray, scores: np.ndarray, codes: np.ndarray) -> None:
    """Margins of pairs are half the leads of the scores."""
    n, k = scores.shape
    own = scores[np.arange(n), codes]
    lead = [(own[i] - scores[i, r]) / 2 for i in range(n) for r in range(k) if r != codes[i]]
    np.testing.assert_allclose(margins, lead, atol=1e-12)


def soft_margin(A: np.ndarray, nu: float) -> float:
    """max rho - sum(slack) / (nu m) over weights in the l1 ball; the columns hold both signs."""
    m, n = A.shape
    cost = np.concatenate([np.zeros(n), np.full(m, 1 / (nu * m)), [-1.0]])
    constraints = np.hstack([-A, -np.eye(m), np.ones((m, 1))])
    ball = np.concatenate([np.ones(n), np.zeros(m + 1)])[None]
    bounds = [(0, None)] * (n + m) + [(None, None)]
    result = linprog(cost, np.vstack([constraints, ball]), np.append(np.zeros(m), 1.0), bounds=bounds)
    return -result.fun


def test_two_classes_are_the_margin_of_two_classes():
    X, codes = table(5, 40, 2)
    rows = Rows.of(40)
    pairs = Game(SoftMargin(Capped(nu=0.5)).bind(rows), ClassStumps().bind(X, codes, rows), rows, tol=1e-4)
    assert play(pairs, TotallyCorrective(), 500).certificate.objective == pytest.approx(
        soft_margin(every_column(X, codes, 2), 0.5), abs=1e-4
    )


def test_copies_and_threads():
    X, codes = table(7, 50)
    weights = np.random.default_rng(1).integers(1, 4, 50)
    copies = np.repeat(np.arange(50), weights)
    d = np.random.default_rng(2).dirichlet(np.ones(100))
    weighted = ClassStumps(16).bind(X, codes, ClassStumps.rows_of(weights.astype(float), 3))
    copied = ClassStumps(16).bind(X[copies], codes[copies], ClassStumps.rows_of(len(copies), 3))
    spread = np.repeat(d.reshape(50, 2) / weights[:, None], weights, axis=0).ravel()
    one, other = weighted.best(d, 4), copied.best(spread, 4)
    assert one.hypotheses == other.hypotheses
    np.testing.assert_allclose(one.edges, other.edges, atol=1e-12)
    threaded = ClassStumps(16).bind(X, codes, ClassStumps.rows_of(weights.astype(float), 3, threads=3)).best(d, 4)
    assert threaded.hypotheses == one.hypotheses and np.array_equal(threaded.edges, one.edges)
