"""AdaBoost*, Servedio's SmoothBoost, Frank-Wolfe steps, the log-loss booster: theorems BASE and golden tests.

Each of the golden tests is a mistake found in some public implementation, or a known lower bound.
"""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_moons

import reference
from conftest import matrix_game
from dualboost import AdaBoostClassifier, FrankWolfeBoostClassifier, LPBoostClassifier, SoftBoostClassifier, solve
from dualboost.boosters import (
    AdaBoostStar,
    Corrective,
    CorrectiveFrankWolfe,
    ERLPBoost,
    LPBoost,
    MLPBoost,
    ServedioSmoothBoost,
    SoftBoost,
    TotalBoost,
    TotallyCorrective,
    corrective_frank_wolfe,
    mlp,
    servedio,
    soft,
    star,
    totally_corrective,
)
from dualboost.game import Game, rounds
from dualboost.learners import Matrix
from dualboost.losses import Logistic, SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Capped, Simplex

HARD = SoftMargin(Simplex())


def signal(seed: int, m: int = 24, n: int = 15, right: float = 0.65) -> np.ndarray:
    return np.where(np.random.default_rng(seed).random((m, n)) < right, 1.0, -1.0)


def contradictory(seed: int, m: int = 24, n: int = 15) -> np.ndarray:
    """With a copied column, a negated one and two contradictory rows."""
    A = signal(seed, m, n, 0.75)
    A[:, 3], A[:, 5], A[1] = A[:, 4], -A[:, 4], -A[0]
    return A


# ---- AdaBoost* ------------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10**6), real=st.booleans(), tol=st.sampled_from([0.1, 0.2, 0.4]))
def test_adaboost_star_margin_and_rounds(seed, real, tol):
    """BASE: margin >= rho - delta within 2 log(m) / delta^2 rounds."""
    rng = np.random.default_rng(seed)
    A = rng.uniform(-0.6, 1.0, (12, 8)) if real else signal(seed, 12, 8, 0.7)
    weights = rng.integers(1, 4, 12).astype(float)
    solution = solve(A, HARD, AdaBoostStar(), tol=tol, sample_weight=weights)
    rho = reference.lp_smallest_edge(A, np.ones(12))
    assert (
        A @ solution.weights
    ).min() >= rho - tol - 1e-12 and solution.objective <= rho + 1e-9 <= solution.bound + 2e-9
    assert solution.n_rounds <= star.rounds_needed(np.log(weights.sum() / weights.min()), tol)
    assert solution.status.startswith("certified") and (solution.n_rounds > 0 or rho < tol)


def slow_adaboost_star(A: np.ndarray, delta: float, n_rounds: int) -> np.ndarray:
    d, smallest, alpha = np.full(len(A), 1 / len(A)), 1.0, np.zeros(A.shape[1])
    for _ in range(n_rounds):
        edges = d @ A
        j = int(np.flatnonzero(np.abs(edges) >= np.abs(edges).max() - 1e-12)[0])
        smallest = min(smallest, abs(edges[j]))
        step = np.arctanh(abs(edges[j])) - np.arctanh(smallest - delta)
        alpha[j] += np.sign(edges[j]) * step
        d = d * np.exp(-np.sign(edges[j]) * step * A[:, j])
        d /= d.sum()
    return alpha


def test_adaboost_star_is_its_slow_twin():
    A = signal(3, 20, 9, 0.6)
    state = next(islice(rounds(matrix_game(A, Simplex(), 0.01), AdaBoostStar()), 30, None))[0]
    alpha = slow_adaboost_star(A, 0.01, 30)
    w = np.zeros(9)
    w[state.pool.keys[: len(state.w)]] = state.w
    np.testing.assert_allclose(w, alpha / state.memory.mass, atol=1e-12)
    assert np.count_nonzero(w) > 2


def test_adaboost_star_finds_a_perfect_hypothesis():
    A = np.column_stack([signal(1, 12, 4, 0.8), np.ones(12)])
    solution = solve(A, HARD, AdaBoostStar(), tol=1e-3)
    assert solution.objective == 1.0 and solution.n_rounds == 1
    np.testing.assert_array_equal(solution.weights, [0, 0, 0, 0, 1])


# ---- Servedio's SmoothBoost -----------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10**6), kappa=st.sampled_from([0.05, 0.1, 0.3]), weighted=st.booleans())
def test_smooth_boosting_keeps_its_promise(seed, kappa, weighted):
    """BASE: at most a fraction kappa has a margin of theta or less; d <= prior / kappa every round; rounds bounded."""
    gamma, A = 0.1, signal(seed, 40, 30, 0.75)
    weights = np.random.default_rng(seed).integers(1, 4, 40) if weighted else np.ones(40)
    game = matrix_game(A, Capped(nu=kappa), 0.01, weights)
    states = [state for state, _ in rounds(game, ServedioSmoothBoost(gamma))]
    final, prior = states[-1], game.rows.prior
    assert all(np.all(state.d <= prior / kappa * (1 + 1e-12)) for state in states)
    if final.status.startswith("too weak"):  # and only then
        assert np.abs(final.d @ A).max() < 2 * gamma
        return
    assert prior[final.z <= servedio.margin_promised(gamma)].sum() <= kappa
    assert 0 < final.t <= servedio.rounds_needed(kappa, gamma) and "smooth" in final.status


def test_smooth_boosting_is_its_slow_twin():
    gamma, kappa, A = 0.1, 0.1, signal(5, 30, 20, 0.75)
    theta, N, M, votes = gamma / (2 + gamma), np.zeros(30), np.ones(30), np.zeros(20)
    run = rounds(matrix_game(A, Capped(nu=kappa), 0.01), ServedioSmoothBoost(gamma))
    count = 0
    while M.mean() >= kappa:
        state, _ = next(run)
        np.testing.assert_allclose(state.d, M / M.sum(), rtol=1e-9)
        edges = (M / M.sum()) @ A
        j = int(np.flatnonzero(np.abs(edges) >= np.abs(edges).max() - 1e-12)[0])
        votes[j] += np.sign(edges[j])
        N += np.sign(edges[j]) * A[:, j] - theta
        M = np.where(N < 0, 1.0, (1 - gamma) ** (N / 2))
        count += 1
    state, _ = next(run)
    np.testing.assert_allclose(state.z, A @ votes / count, atol=1e-12)
    assert state.status.startswith("smooth") and count > 5


def test_an_edge_below_the_promise_is_reported():
    solution = solve(np.random.default_rng(0).choice([-1.0, 1.0], (200, 3)), booster=ServedioSmoothBoost(0.4))
    assert "too weak" in solution.status and "smaller gamma" in solution.status


@pytest.mark.parametrize("gamma", [0, 0.6, -1, "0.1", None])
def test_a_gamma_outside_its_range_is_refused(gamma):
    with pytest.raises(ValueError, match="gamma"):
        ServedioSmoothBoost(gamma)


# ---- Frank-Wolfe steps ----------------------------------------------------------------------------------------------

VARIANTS = [
    CorrectiveFrankWolfe(step, direction)
    for step in ("short", "line search")
    for direction in ("classic", "away", "pairwise")
]


@pytest.mark.parametrize("booster", VARIANTS, ids=str)
@pytest.mark.parametrize("nu", [0.05, 0.4])
def test_the_smoothed_margin_rises_by_what_the_step_is_sure_of(booster, nu):
    game = matrix_game(signal(1), Capped(nu=nu), 0.05)
    smoothed = game.loss.smoothed(game.tol)
    run = [state for state, _ in islice(rounds(game, booster), 150)]
    values = [-smoothed.value(state.z) for state in run]
    assert len(values) > 5 and np.all(np.diff(values) >= -1e-13)
    assert values[-1] > values[0] + 0.01


def test_classic_short_steps_are_the_corrective_booster():
    game = matrix_game(signal(2), Capped(nu=0.2), 0.05)
    ours = rounds(game, CorrectiveFrankWolfe("short", "classic"))
    for (one, _), (two, _) in islice(zip(ours, rounds(game, Corrective()), strict=True), 60):
        np.testing.assert_allclose(one.z, two.z, atol=1e-14)


@pytest.mark.parametrize("direction", ["away", "pairwise"])
def test_bad_hypotheses_lose_all_their_weight(direction):
    """Classic steps only ever shrink a weight; these drop some, exactly."""
    A, rows = signal(5, 40, 30, 0.6), Rows.of(40)
    game = Game(Logistic().bind(rows), Matrix().bind(A, None, rows), rows, budget=4.0, tol=1e-5)
    drops, before = 0, np.zeros(30)
    for state, _ in islice(rounds(game, CorrectiveFrankWolfe(direction=direction)), 300):
        now = np.pad(state.w, (0, 30 - len(state.w)))
        drops += np.count_nonzero((before != 0) & (now == 0))
        before = now
    assert drops > 0 and np.count_nonzero(before) > 1


@pytest.mark.parametrize("seed", range(3))
def test_rounds_of_away_steps_are_bounded_and_pairwise_ones_fewer(seed):
    A, tol, nu = signal(seed), 0.05, 0.3
    counts = {b.direction: solve(A, SoftMargin(Capped(nu=nu)), b, tol=tol).n_rounds for b in VARIANTS[:3]}
    for direction in ("classic", "away"):
        assert 0 < counts[direction] <= corrective_frank_wolfe.rounds_needed(np.log(1 / nu), tol, direction)
    assert counts["pairwise"] < counts["classic"]
    with pytest.raises(ValueError, match="pairwise"):
        corrective_frank_wolfe.rounds_needed(1.0, 0.1, "pairwise")


@pytest.mark.parametrize("direction", ["classic", "away", "pairwise"])
def test_the_searched_step_is_the_best_on_a_grid(direction):
    """A reversed line search, as found elsewhere, would end at the wrong end."""
    booster = CorrectiveFrankWolfe(direction=direction)
    game = matrix_game(signal(4), Capped(nu=0.3), 0.05)
    for state, answer in islice(rounds(game, booster), 12):
        move = corrective_frank_wolfe._DIRECTIONS[direction](game, state, answer)

        def value(x, state=state, move=move):
            return -state.loss.value((1 - x) * state.z + x * move.scale * move.column)

        reached = -state.loss.value(booster.update(game, state, answer).z)
        grid = max(value(x) for x in np.linspace(0, 1, 201))
        assert reached >= grid - 0.02 * (grid - value(0.0)) - 1e-12
        slope = (value(1e-7) - value(0.0)) / 1e-7
        assert slope == pytest.approx(move.gain, abs=1e-4 * (1 + abs(move.gain))), "the gain is the slope at the start"


@pytest.mark.parametrize("field", ["step", "direction", "smoothing"])
def test_unknown_choices_are_refused(field):
    with pytest.raises(ValueError, match=field):
        CorrectiveFrankWolfe(**{field: "other"})


# ---- the log-loss booster of a bounded budget -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "booster", [TotallyCorrective(), CorrectiveFrankWolfe(), CorrectiveFrankWolfe(direction="away")], ids=str
)
@pytest.mark.parametrize("budget", [1.0, 6.0])
def test_log_loss_against_the_conic_solver(booster, budget):
    """Section 1.7: the certificate holds, and the accuracy asked is reached."""
    A, weights = signal(6, 40, 12), np.random.default_rng(6).integers(1, 4, 40).astype(float)
    solution = solve(A, Logistic(), booster, tol=1e-4, budget=budget, sample_weight=weights, max_rounds=2000)
    optimum = -reference.conic_loss(A, weights / weights.sum(), budget, "logistic")
    assert optimum - 1e-4 <= solution.objective <= optimum + 1e-7 and solution.bound >= optimum - 1e-7
    assert solution.gap <= 1e-4 and np.abs(solution.weights).sum() == pytest.approx(budget)


def test_the_gap_of_the_log_loss_is_the_frank_wolfe_gap():
    """F(z) + F*(-d) + B |e| = B |e| - <d, z> at d = the weights of z."""
    A, rows = signal(6, 30, 8), Rows.of(30)
    game = Game(Logistic().bind(rows), Matrix().bind(A, None, rows), rows, budget=3.0, tol=1e-6)
    for state, answer in islice(rounds(game, CorrectiveFrankWolfe()), 3, 8):
        gap = 3 * np.abs(A.T @ state.d).max() - state.d @ state.z
        now = game.loss.value(state.z) + game.loss.conjugate(state.d) + 3 * answer.bound
        assert gap == pytest.approx(now, abs=1e-12) and gap > 0


# ---- golden tests of the whole family -------------------------------------------------------------------------------

FAMILY = {
    "LPBoost": LPBoost(),
    "LPBoost, textbook": LPBoost(columns=1, stabilise=0),
    "ERLPBoost": ERLPBoost(),
    "SoftBoost": SoftBoost(),
    "MLPBoost": MLPBoost(),
    "totally corrective": TotallyCorrective(),
    "pairwise": CorrectiveFrankWolfe(),
}


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("nu", [1e-6, 1 / 24, 0.1, 0.37, 0.8, 1.0])
def test_from_the_hard_margin_to_the_uniform_distribution(name, nu):
    """Dense and sparse, +-1 and real, contradictory rows, copied columns: value, bound, budget and caps."""
    rng, tol = np.random.default_rng(8), 0.03
    for A in (
        contradictory(8),
        rng.uniform(-0.7, 1, (24, 15)),
        sp.csr_array(np.where(rng.random((24, 15)) < 0.5, contradictory(9), 0)),
    ):
        dense = A.toarray() if sp.issparse(A) else A
        caps = np.full(24, min(1.0, 1 / (nu * 24)))
        solution, rho = (
            solve(A, SoftMargin(Capped(nu=nu)), FAMILY[name], tol=tol),
            reference.lp_smallest_edge(dense, caps),
        )
        assert rho - tol - 1e-9 <= solution.objective <= rho + 1e-9 and solution.bound >= rho - 1e-9
        assert solution.objective == pytest.approx(reference.average_lowest(dense @ solution.weights, caps), abs=1e-12)
        assert np.abs(solution.weights).sum() <= 1 + 1e-12
        d = solution.distribution
        assert d.min() >= 0 and np.all(d <= caps * (1 + 1e-9)) and d.sum() == pytest.approx(1)


@pytest.mark.parametrize("name", ["LPBoost, textbook", "SoftBoost", "MLPBoost"])
@pytest.mark.parametrize("nu", [0.3, 0.6])
def test_where_the_cap_bites_rows_sit_at_it(name, nu):
    """The proof of the optimum is a vertex: but for one kind of rows a hypothesis met, all are at 0 or at the cap.

    Rows that the hypotheses met do not tell apart are of one kind and share its weight.
    """
    solution, cap = solve(signal(3), SoftMargin(Capped(nu=nu)), FAMILY[name], tol=1e-8), 1 / (nu * 24)
    at_cap = np.isclose(solution.distribution, cap, rtol=1e-9)
    between = ~at_cap & (solution.distribution > 1e-9)
    kinds = np.unique(np.round(solution.distribution[between], 12))
    assert at_cap.sum() > 0 and len(kinds) <= solution.history["size"][-1] + 1


@pytest.mark.parametrize("name", FAMILY)
def test_nu_of_one_row_is_hard_and_nu_of_all_is_uniform(name):
    A = contradictory(7)
    one, none, all_ = (
        solve(A, SoftMargin(s), FAMILY[name], tol=1e-2) for s in (Capped(nu=1 / 24), Simplex(), Capped(nu=1.0))
    )
    assert one.objective == pytest.approx(none.objective, abs=1e-2)
    np.testing.assert_allclose(all_.distribution, 1 / 24, rtol=1e-12)
    assert all_.objective == pytest.approx(np.abs(A.mean(axis=0)).max(), abs=1e-12)


def adversarial(m: int, eps: float = 1e-3) -> np.ndarray:
    """On which the program always sits on one row, and each answer is right on that row alone.

    Warmuth, Glocer & Vishwanathan, mapped from [-1, 1] to [0, 1], where no hypothesis is better negated. The last
    column, with the first, has a margin near 1/2; under a d on one row another is always a little better.
    """
    half = m // 2
    U = np.tile(-1 + (2 * np.arange(1, half + 2) + 1) * eps, (m, 1))
    for t in range(1, half + 1):
        U[half + t - 1, t - 1] = -1 + 2 * t * eps
        U[half + t - 2, t - 1] = 1 if t > 1 else U[half + t - 2, t - 1]
    U[:half, 0] = 1
    U[:half, half], U[half:, half] = -1 + eps, 1 - eps
    return (U + 1) / 2


@pytest.mark.parametrize("m", [20, 60])
def test_the_adversarial_learner(m):
    """The textbook program needs m/2 rounds; smoothing, or asking nearer to the best d so far, needs a few."""
    A = adversarial(m)
    run = solve(A, HARD, LPBoost(columns=1, stabilise=0), tol=0.3)
    assert run.n_rounds >= m / 2 and np.all(run.history["objective"][: m // 2] < 0.1)
    for booster in (ERLPBoost(), LPBoost(columns=1), SoftBoost(), TotalBoost(), MLPBoost(), CorrectiveFrankWolfe()):
        solution = solve(A, HARD, booster, tol=0.1)
        assert solution.n_rounds <= 5 and solution.objective >= 0.39


@pytest.mark.parametrize("seed", range(3))
def test_erlpboost_with_little_smoothing_meets_lpboost(seed):
    """As eta grows its objective reaches the program's; with much smoothing it does not."""
    A, loss = contradictory(seed), SoftMargin(Capped(nu=0.3))
    exact = solve(A, loss, LPBoost(), tol=1e-10).objective
    errors = [exact - solve(A, loss, ERLPBoost(), tol=tol).objective for tol in (0.2, 1e-2, 1e-4, 1e-6)]
    assert errors[-1] <= 1e-6 and errors[-2] <= 1e-4 and min(errors) >= -1e-9 and errors[0] > 1e-3


@pytest.mark.parametrize("seed", range(4))
def test_proved_numbers_of_rounds(seed):
    """And well below: the proofs are 30 to 80 times above what is seen."""
    A, tol, nu = signal(seed), 0.05, 0.3
    radius, loss = np.log(1 / nu), SoftMargin(Capped(nu=nu))
    for booster, bound in (
        (ERLPBoost(), totally_corrective.rounds_needed(radius, tol)),
        (SoftBoost(), soft.rounds_needed(radius, tol)),
        (MLPBoost(), mlp.rounds_needed(radius, tol)),
    ):
        assert 0 < solve(A, loss, booster, tol=tol).n_rounds <= 0.1 * bound
    assert 0 < solve(A, HARD, TotalBoost(), tol=tol).n_rounds <= 0.1 * soft.rounds_needed(np.log(24), tol)


@pytest.mark.parametrize("shape", [(60, 40), (40, 120)])
@pytest.mark.parametrize("nu", [0.05, 0.3])
def test_mlpboost_needs_about_as_many_rounds_as_lpboost(shape, nu):
    A, loss = np.random.default_rng(0).choice([-1.0, 1.0], shape), SoftMargin(Capped(nu=nu))
    program, both = (solve(A, loss, b, tol=1e-2).n_rounds for b in (LPBoost(columns=1, stabilise=0), MLPBoost()))
    assert 5 < both <= 1.7 * program


def test_column_generation_ends_with_a_learner_that_promises_nothing():
    """Its certificate stays loose; the run ends when nothing new comes at the program's own row weights."""

    class Unsure(type(Matrix().bind(np.eye(2), None, Rows.of(2)))):
        def best(self, d, k=1):
            return replace(super().best(d, k), bound=float(d.sum()))

    A, rows = signal(2), Rows.of(24)
    rho = reference.lp_smallest_edge(A, np.full(24, 1 / (0.3 * 24)))
    for booster in (LPBoost(), MLPBoost(), SoftBoost()):
        solution = solve(Unsure(np.asfortranarray(A), rows), SoftMargin(Capped(nu=0.3)), booster, tol=1e-6)
        assert solution.status.startswith("optimal") and solution.objective == pytest.approx(rho, abs=1e-6)
        assert solution.bound == pytest.approx(1.0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", [LPBoostClassifier, SoftBoostClassifier, FrankWolfeBoostClassifier])
def test_the_status_says_of_which_vote_a_gap_is_proved(kind):
    """Where no vote has a margin the empty one is best; another one is kept, with a gap of its own."""
    rng = np.random.default_rng(0)
    model = kind(0.05, calibrate=False).fit(rng.integers(0, 3, (30, 2)).astype(float), rng.integers(0, 2, 30))
    assert model.certificate_.objective < 0 and "of the empty vote, which is no classifier" in model.status_
    X = np.arange(30.0)[:, None]
    assert "empty" not in kind(0.3, calibrate=False).fit(X, X[:, 0] > 11).status_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", [LPBoostClassifier, SoftBoostClassifier, FrankWolfeBoostClassifier])
def test_where_no_vote_has_a_margin_the_model_is_useful_all_the_same(kind):
    """Two overlapping moons: at a small nu the best soft margin is that of the empty vote."""
    X, y = make_moons(600, noise=0.5, random_state=0)
    X = np.round(2 * X)
    model = kind(0.1, calibrate=False, max_iter=150).fit(X, y)
    assert "of the empty vote" in model.status_ and model.certificate_.bound < 0.05
    assert model.score(X, y) > AdaBoostClassifier(n_estimators=1).fit(X, y).score(X, y) + 0.02
    signs = np.where(y == 1, 1.0, -1.0)
    np.testing.assert_allclose(model.margins_, signs * model.decision_function(X), atol=1e-12)
    lowest = np.sort(model.margins_)[:60].mean()  # nu m of them: the soft margin, from scratch
    assert model.certificate_.objective == pytest.approx(lowest, abs=1e-9)
