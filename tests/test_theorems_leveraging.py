"""Krause & Singer: every step lowers the loss by what is promised; the noise rate; the synthetic figure (LM-*)."""

from dataclasses import replace
from itertools import islice, product

import numpy as np
import pytest
import scipy.sparse as sp

import reference
from dualboost.boosters import Leveraging
from dualboost.boosters.leveraging import half_log_odds, ratio
from dualboost.game import Game, rounds
from dualboost.learners import Matrix, Stumps
from dualboost.losses import Logistic, LogisticDifference, LogisticMixture, Loss
from dualboost.rows import Rows
from dualboost.solve import play

TEMPLATES = ["sequential", "parallel", "mixed"]


def matrix(kind: str, seed: int) -> np.ndarray:
    """Random margins; some kinds have a column of zeros, a copied column, rows of any size."""
    rng = np.random.default_rng(seed)
    if kind == "signs":
        return rng.choice([-1.0, 1.0], (25, 6), p=[0.4, 0.6])
    A = rng.normal(0.2, 1, (30, 7)) * 10.0 ** rng.integers(-2, 2, 7)
    A[:, 3], A[:, 5] = 0, A[:, 1]
    return A


def matrix_game(A, loss: Loss, weights=None) -> Game:
    rows = Rows.of(A.shape[0] if weights is None else weights)
    return Game(loss.bind(rows), Matrix().bind(A, None, rows), rows, budget=np.inf, tol=1e-12)


def check_promises(game: Game, booster: Leveraging, count: int = 40) -> float:
    """The loss that is descended falls by at least the promise in every round; returns the sum of the promises."""
    total, seen = 0.0, 0
    run = islice(rounds(game, booster), count)
    before, answer = next(run)
    for after, next_answer in run:
        promise = booster.promise(booster.update_of(game, before, answer), ratio(before.loss))
        assert promise >= 0
        slack = 1e-12 * (1 + before.loss.value(before.z))
        assert before.loss.value(before.z) - after.loss.value(after.z) >= promise - slack
        total, seen, before, answer = total + promise, seen + 1, after, next_answer
    assert seen > 0 and total > 0, "the run did something"
    return total


# ---- LM-MONO and LM-LLD ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("estimate", [0, 1, 3])
@pytest.mark.parametrize("kind", ["signs", "reals"])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_step_of_llm_lowers_the_loss_as_promised(template, estimate, kind, weighted):
    for seed, eps in enumerate((1e-3, 0.1, 0.4)):
        A = matrix(kind, seed)
        weights = np.random.default_rng(seed).integers(1, 5, len(A)).astype(float) if weighted else None
        game = matrix_game(A, LogisticMixture(eps), weights)
        check_promises(game, Leveraging("em", template, every=4, estimate=estimate))
        check_promises(game, Leveraging("em", template, every=4, estimate=estimate, shrink=0.3))


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("step", ["printed", "tight", "spectral"])
@pytest.mark.parametrize("estimate", [0, 2])
def test_every_step_of_lld_lowers_the_loss_as_promised(template, step, estimate):
    for seed, kind in product(range(3), ["signs", "reals"]):
        A = matrix(kind, seed)
        game = matrix_game(A, LogisticMixture(0.15), 1.0 + np.arange(len(A)) % 3)
        check_promises(game, Leveraging("difference", template, step, every=4, estimate=estimate))
        check_promises(game, Leveraging("difference", template, step, every=4, shrink=0.5))


def test_longer_steps_promise_more():
    game = matrix_game(matrix("reals", 1), LogisticMixture(0.15))
    promises = [
        check_promises(game, Leveraging("difference", "parallel", s), count=3) for s in ("printed", "tight", "spectral")
    ]
    assert promises[0] < promises[1] < promises[2]


def test_promises_by_the_printed_formulas():
    """sum of a (sqrt W+ - sqrt W-)^2 from the definitions of Figure 1, in sums over rows, not through the code."""
    A, eps = matrix("reals", 2), 0.2
    game, booster = matrix_game(A, LogisticMixture(eps)), Leveraging("em", "parallel")
    state, answer = list(islice(rounds(game, booster), 5))[-1]
    alpha = eps / (eps + (1 - eps) * np.exp(state.z))
    c = (1 - alpha) / (1 + np.exp(state.z))
    r = eps / (1 - eps)
    plus, minus = np.maximum(A, 0).T @ c, np.maximum(-A, 0).T @ c
    up, down = plus + r * minus, minus + r * plus
    a = 1 / np.abs(A).sum(axis=1).max()
    block = booster.update_of(game, state, answer)
    promised = booster.promise(block, ratio(state.loss)) * len(A)
    assert promised == pytest.approx(a * np.sum((np.sqrt(up) - np.sqrt(down)) ** 2), rel=1e-12)
    moved = np.divide(up, down, out=np.ones_like(up), where=up > 0)
    np.testing.assert_allclose(booster.steps(block, ratio(state.loss)), a * 0.5 * np.log(moved), atol=1e-13)


def test_a_step_is_never_longer_than_half_mu():
    for eps in (1e-6, 0.1, 0.4):
        mu, r = np.log((1 - eps) / eps), eps / (1 - eps)
        steps = half_log_odds(np.array([1.0, 0.0, 0.3, 0.0]), np.array([0.0, 0.5, 0.3, 0.0]), r)
        np.testing.assert_allclose(steps, [mu / 2, -mu / 2, 0, 0], atol=1e-12)


def test_both_methods_descend_one_function():
    """LLM and LLD end at the same loss on data with an interior optimum."""
    rng = np.random.default_rng(3)
    X = rng.choice([-1.0, 1.0], (300, 3))
    y = np.where(rng.logistic(size=300) < X @ [0.5, 0.3, -0.2], 1.0, -1.0)
    ends = []
    for method, template in product(["em", "difference"], ["sequential", "parallel"]):
        outcome = play(matrix_game(X * y[:, None], LogisticMixture(0.1)), Leveraging(method, template), 3000)
        assert 0.1 < np.abs(outcome.weights).max() < 5
        ends.append(outcome.certificate.objective)
    assert np.ptp(ends) < 1e-6


# ---- LM-BASE --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("template", TEMPLATES)
def test_without_noise_it_is_log_loss_boosting(template):
    """Collins, Schapire & Singer: d_j = log(W+/W-) / 2 with W the weights 1/(1 + e^z)."""
    A = matrix("signs", 4)
    booster = Leveraging("em", template, every=3)
    tiny, none = (matrix_game(A, loss) for loss in (LogisticMixture(1e-10), Logistic()))
    runs = [[state.z for state, _ in islice(rounds(game, booster), 12)] for game in (tiny, none)]
    np.testing.assert_allclose(*runs, atol=1e-8)
    q = np.full(len(A), 0.5 / len(A))
    if template == "parallel":
        by_hand = 0.5 * np.log((np.maximum(A, 0).T @ q) / (np.maximum(-A, 0).T @ q)) / A.shape[1]
        np.testing.assert_allclose(runs[1][1], A @ by_hand, atol=1e-9)


def test_the_baseline_keeps_its_promise_and_survives_a_perfect_column():
    A = np.column_stack([np.ones(8), np.array([1, -1] * 4)])
    game = matrix_game(A, Logistic())
    check_promises(game, Leveraging(), count=5)
    outcome = play(game, Leveraging(), 50)
    assert np.all(np.isfinite(outcome.weights)) and outcome.margins.min() > 5


# ---- LM-EPS and LM-FIG4: the data of the figure ---------------------------------------------------------------------


def figure(repeat: int, p: float, groups: int):
    """X, noisy y, test X, test y: Gaussian rows, the surest `groups` quarters flipped with probability p."""
    rng = np.random.default_rng(1000 + repeat)
    X, direction = rng.normal(size=(1000, 40)), rng.normal(size=40)
    test, chance = rng.normal(size=(1000, 40)), rng.random(1000)
    score = X @ direction
    quarter = np.argsort(np.argsort(-np.abs(score), kind="stable")) // 250
    y = np.where((quarter < groups) & (chance < p), -np.sign(score), np.sign(score))
    return X, y, test, np.sign(test @ direction)


def percent_wrong(loss: Loss, booster: Leveraging, groups: int, repeats: int = 10) -> float:
    errors = []
    for repeat in range(repeats):
        X, y, test, truth = figure(repeat, 0.2, groups)
        game = matrix_game(X * y[:, None], loss)
        outcome = play(game, booster, 1000)
        errors.append(np.mean(np.sign(test @ game.oracle.spread(outcome.hypotheses, outcome.weights)) != truth))
    return 100 * float(np.mean(errors))


CELLS = [
    ("LLM", LogisticMixture(0.2), Leveraging(template="parallel"), 2, 4.64),
    ("LLD spectral", LogisticDifference(np.log(4)), Leveraging("difference", "parallel"), 3, 2.25),
]


@pytest.mark.parametrize("name, loss, booster, groups, percent", CELLS, ids=[c[0] for c in CELLS])
def test_cells_of_the_figure(name, loss, booster, groups, percent):
    """Mean test error of ten draws at p = 0.2 after 1000 rounds; benchmarks/noisy_labels.py makes the whole table."""
    assert percent_wrong(loss, booster, groups) == pytest.approx(percent, abs=0.02)


def test_the_shape_of_the_figure():
    """One contaminated quarter bends boosting, not LLM."""
    booster = Leveraging(template="parallel")
    bent = percent_wrong(Logistic(), booster, 1, repeats=2)
    assert bent > 1.7 * percent_wrong(LogisticMixture(0.2), booster, 1, repeats=2)


def test_the_estimated_rate_does_not_depend_on_its_start():
    X, y, *_ = figure(0, 0.2, 4)
    rates = []
    for start in (0.05, 0.3):
        game = matrix_game(X * y[:, None], LogisticMixture(start))
        seen = [s.loss.noise_rate for s, _ in islice(rounds(game, Leveraging(template="parallel", estimate=1)), 2000)]
        assert min(seen) > 0 and max(seen) < 0.5
        rates.append(seen[-1])
    assert abs(rates[0] - rates[1]) < 1e-3
    assert 0.1 < rates[0] < 0.2, "below the true rate: the surest flips are explained away"


# ---- the ends -------------------------------------------------------------------------------------------------------


def test_labels_without_signal_end_at_one_half():
    """Each row comes with both labels: nothing is better than the empty ensemble."""
    half = matrix("signs", 6)
    game = replace(matrix_game(np.vstack([half, -half]), LogisticMixture(0.1)), tol=1e-15)
    outcome = play(game, Leveraging(estimate=1), 200)
    assert len(outcome.weights) == 0 and "stationary" in outcome.status
    noisy = matrix_game(np.vstack([half, -half]) + 1e-9, LogisticMixture(0.499))
    state = replace(Leveraging(estimate=1).start(noisy), loss=replace(noisy.loss, noise_rate=0.5 - 1e-6))
    assert "no signal" in list(islice(rounds(noisy, Leveraging(estimate=1), state), 2))[-1][0].status


def test_without_noise_the_rate_goes_to_zero():
    A = np.abs(matrix("signs", 7)) * np.array([1, 1, 1, 1, 1, 1.0])
    game = matrix_game(A, LogisticMixture(0.3))
    *_, (state, _) = islice(rounds(game, Leveraging(estimate=1)), 300)
    assert state.loss.noise_rate < 1e-3 and state.z.min() > 0


# ---- the same over other learners and forms -------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["em", "difference"])
@pytest.mark.parametrize("template", TEMPLATES)
def test_sparse_is_dense(method, template):
    A = np.where(np.random.default_rng(0).random((30, 7)) < 0.5, matrix("reals", 8), 0.0)
    booster = Leveraging(method, template, every=3, estimate=2)
    one, two = (play(matrix_game(form(A), LogisticMixture(0.2)), booster, 25) for form in (np.asarray, sp.csr_array))
    assert list(one.hypotheses) == list(two.hypotheses) and len(one.weights)
    np.testing.assert_allclose(one.weights, two.weights, rtol=1e-9)


@pytest.mark.parametrize("method", ["em", "difference"])
def test_on_signs_the_largest_edge_is_the_best_choice(method):
    """The criterion over the tally of all stumps picks the stump of the largest edge, which `best` gives."""
    rng = np.random.default_rng(9)
    X, y = rng.integers(0, 6, (40, 4)).astype(float), rng.choice([-1, 1], 40).astype(np.int8)
    X[rng.random(X.shape) < 0.2] = np.nan
    rows = Rows.of(1.0 + np.arange(40) % 3)
    game = Game(LogisticMixture(0.2).bind(rows), Stumps().bind(X, y, rows), rows, budget=np.inf, tol=1e-12)
    booster, oracle = Leveraging(method), game.oracle
    for state, answer in islice(rounds(game, booster), 15):
        gains = booster.gains(*oracle.tally(state.d), oracle.scales(), ratio(state.loss))
        best = np.flatnonzero(gains >= gains.max() * (1 - 1e-9))
        assert answer.hypotheses[0] in [oracle.everything[j] for j in best]
    assert state.t == 14


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_tally_of_stumps_is_that_of_their_columns(missing, sparse):
    rng = np.random.default_rng(10)
    X, y = rng.integers(0, 5, (30, 4)).astype(float), rng.choice([-1, 1], 30).astype(np.int8)
    X[:, 2] = np.where(rng.random(30) < 0.8, 0.0, X[:, 2])
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    rows = Rows.of(30)
    oracle = Stumps().bind(sp.csr_array(X) if sparse else X, y, rows)
    expected = reference.all_stumps(X)
    assert list(oracle.everything) == [key for key, _ in expected]
    d = rng.dirichlet(np.ones(30))
    right, wrong = oracle.tally(d)
    for j, (_, values) in enumerate(expected):
        assert right[j] == pytest.approx(d[y * values > 0].sum(), abs=1e-14)
        assert wrong[j] == pytest.approx(d[y * values < 0].sum(), abs=1e-14)


@pytest.mark.parametrize("template", TEMPLATES)
def test_promises_hold_over_stumps(template):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=60) > 0, 1, -1).astype(np.int8)
    rows = Rows.of(60)
    for method in ("em", "difference"):
        game = Game(LogisticMixture(0.1).bind(rows), Stumps().bind(X, y, rows), rows, budget=np.inf, tol=1e-12)
        check_promises(game, Leveraging(method, template, every=3, estimate=2), count=15)


@pytest.mark.parametrize(
    "booster, loss, budget, message",
    [
        (Leveraging(), Logistic(), 1.0, "no budget"),
        (Leveraging(estimate=1), LogisticDifference(1.0), np.inf, "estimate=0"),
    ],
)
def test_parts_that_do_not_fit_are_refused(booster, loss, budget, message):
    game = replace(matrix_game(matrix("signs", 0), loss), budget=budget)
    with pytest.raises(ValueError, match=message):
        booster.start(game)


@pytest.mark.parametrize("wrong", [{"method": "x"}, {"every": 0}, {"estimate": -1}, {"shrink": 0.0}, {"step": "long"}])
def test_unknown_choices_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Leveraging(**wrong)
