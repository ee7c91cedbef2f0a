"""Several hypotheses beyond a price at once: true edges for every learner, different runs of cuts for stumps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import LEARNERS, SETS, problem
from dualboost import kernels, solve
from dualboost.boosters import TotallyCorrective
from dualboost.learners import Stumps
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Capped


@pytest.mark.parametrize("case", LEARNERS.values(), ids=LEARNERS)
@pytest.mark.parametrize("k", [1, 4])
def test_the_best_comes_first_and_the_edges_are_true(case, k):
    made, rng = problem(SETS["simplex"], case, m=14, seed=1), np.random.default_rng(0)
    for price in (0.0, 0.2, 0.9):
        d = rng.dirichlet(np.ones(14))
        answer, best = made.game.oracle.beating(d, price, k), made.game.oracle.best(d, k)
        assert answer.hypotheses[0] == best.hypotheses[0] and answer.bound == best.bound
        assert len(answer.hypotheses) == len(answer.columns) == len(answer.edges) <= k
        assert len(set(answer.hypotheses)) == len(answer.hypotheses)
        for key, column, edge in zip(answer.hypotheses, answer.columns, answer.edges, strict=True):
            assert abs(column @ d - edge) <= 1e-14
            np.testing.assert_array_equal(column, made.game.oracle.column(key))


def runs_by_hand(edges: np.ndarray, price: float) -> list[float]:
    """The largest |edge| of each maximal stretch of one sign beyond the price."""
    tops: list[float] = []
    before = 0.0
    for edge in edges:
        sign = np.sign(edge) if abs(edge) > price else 0.0
        if sign and sign == before:
            tops[-1] = max(tops[-1], abs(edge))
        elif sign:
            tops.append(abs(edge))
        before = sign
    return tops


@given(seed=st.integers(0, 10**6), missing=st.booleans(), price=st.sampled_from([0.0, 0.02, 0.1, 0.5]))
def test_one_stump_a_run(seed, missing, price):
    """Of one feature: every run that is as good as the k best sends its best stump, and no run sends two."""
    rng, m = np.random.default_rng(seed), 60
    x = rng.integers(0, 25, m).astype(float)
    if missing:
        x[rng.random(m) < 0.2] = np.nan
    y, d = rng.choice([-1, 1], m).astype(np.int8), rng.dirichlet(np.ones(m))
    oracle = Stumps().bind(x[:, None], y, Rows.of(m))
    stumps = [stump for stump in oracle.everything if stump[0] == 0]
    lines = [[oracle.column(s) @ d for s in stumps if s[2] == side] for side in (0, 1)]
    expected = sorted((top for line in lines for top in runs_by_hand(np.array(line), price)), reverse=True)
    answer = oracle.beating(d, price, 50)
    found = [abs(edge) for stump, edge in zip(answer.hypotheses, answer.edges, strict=True) if stump[0] == 0]
    if expected and expected[0] > price + 1e-9:
        np.testing.assert_allclose(sorted(found, reverse=True), np.unique(expected)[::-1], atol=1e-12)
    else:
        assert len(found) <= 1, "below the price only the best of all"


def test_fewer_rounds_on_few_features():
    """What it is for: the master hears of several cuts of a feature at once."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = np.where(np.sin(3 * X[:, 0]) + np.sin(4 * X[:, 1]) + 0.3 * rng.normal(size=600) > 0, 1, -1).astype(np.int8)

    def rounds(booster) -> int:
        return solve(Stumps().bind(X, y, Rows.of(600)), SoftMargin(Capped(nu=0.2)), booster, 0.005, 500).n_rounds

    assert rounds(TotallyCorrective(columns=12)) < 0.7 * rounds(TotallyCorrective(columns=4))


@pytest.mark.parametrize(
    ("sums", "cuts", "price", "sentence"),
    [(np.zeros(255), 3, 0.1, "256"), (np.zeros(256), 255, 0.1, "254 cuts"), (np.zeros(256), 3, -0.1, "price")],
)
def test_the_boundary(sums, cuts, price, sentence):
    with pytest.raises(ValueError, match=sentence):
        kernels.stump_runs(sums, cuts, False, price)
