"""solve(): certificates that can be recomputed by hand, any matrix in any form, one sentence for every bad call."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import reference
from conftest import BOOSTERS, LEARNERS, SETS, CountingOracle, matrix_game, problem, refused, share
from dualboost import solve
from dualboost.boosters import Corrective, TotallyCorrective
from dualboost.learners import Matrix
from dualboost.losses import Exponential, Logistic, SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Capped, Simplex
from dualboost.solve import play
from reference import Model

SOFT = SoftMargin(Capped(nu=0.3))


def matrix(seed: int = 0, m: int = 15, n: int = 7) -> np.ndarray:
    rng = np.random.default_rng(seed)
    A = rng.uniform(-1, 1, (m, n))
    A[:, 0] = np.abs(A[:, 0])
    return A


def capped(m: int, nu: float) -> Model:
    return Model(np.ones(m), np.full(m, 1 / (nu * m)))


# ---- the checks, as functions ---------------------------------------------------------------------------------------


def check_certificate(A: np.ndarray, solution, model: Model, budget: float = 1.0) -> None:
    """Objective and bound recomputed from nothing but weights and distribution, and the optimum between them."""
    w, d = solution.weights, solution.distribution
    assert w.shape == (A.shape[1],) and np.abs(w).sum() <= budget * (1 + 1e-14)
    assert model.inside(d, atol=1e-12)
    assert solution.objective == pytest.approx(model.relaxed_margin(A @ w), abs=1e-12)
    proof = budget * np.abs(A.T @ d).max() + model.price(d)
    assert proof - 1e-14 <= solution.bound <= proof + 1e-13
    optimum, slack = model.game_value(budget * A), 1e-10 if model.exact else 1e-6
    assert solution.objective <= optimum + slack and optimum <= solution.bound + slack
    assert solution.gap == solution.bound - solution.objective >= -1e-14
    assert type(solution.objective) is type(solution.bound) is float


# ---- certificates ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_rounds", [1, 3, 10, 100_000])
@pytest.mark.parametrize("booster", BOOSTERS.values(), ids=BOOSTERS)
@pytest.mark.parametrize("name", SETS)
def test_the_certificate_by_hand(name, booster, max_rounds):
    A, model = matrix(3), SETS[name].model(np.ones(15))
    if refused(booster, matrix_game(A, SETS[name].make(15), 0.05), linear=model.exact):
        return
    solution = solve(A, SoftMargin(SETS[name].make(15)), booster, tol=0.05, max_rounds=max_rounds)
    check_certificate(A, solution, model)
    assert solution.n_rounds <= max_rounds and solution.status
    assert all(len(column) == solution.n_rounds + 1 for column in solution.history.values())
    if max_rounds == 100_000:
        assert solution.gap <= (0.05 if getattr(booster, "stop", "certified") == "certified" else 0.1) + 1e-12
    elif solution.n_rounds == max_rounds:
        assert "max_rounds" in solution.status or "within" in solution.status


def test_history_is_monotone_and_ends_at_the_result():
    solution = solve(matrix(1), SOFT, Corrective(), tol=0.02)
    objective, bound = solution.history["objective"], solution.history["bound"]
    assert len(objective) > 10 and np.all(np.diff(objective) >= 0) and np.all(np.diff(bound) <= 0)
    assert objective[-1] == pytest.approx(solution.objective, abs=1e-13) and bound[-1] == pytest.approx(
        solution.bound, abs=1e-13
    )
    assert set(solution.history) == {"objective", "bound", "edge", "size"}
    assert np.all(np.diff(solution.history["size"]) >= 0) and np.all(solution.history["edge"] >= 0)


def test_the_defaults_are_a_soft_margin():
    A = matrix(2, m=40)
    check_certificate(A, solve(A, max_rounds=300), capped(40, 0.1))


@pytest.mark.parametrize("budget", [0.25, 4.0])
def test_a_budget_scales_the_margin(budget):
    A = matrix(4)
    solution = solve(A, SOFT, tol=0.02, budget=budget)
    check_certificate(A, solution, capped(15, 0.3), budget)
    assert solution.gap <= 0.02 + 1e-12


@pytest.mark.parametrize("loss, kind", [(Logistic(), "logistic"), (Exponential(), "exponential")])
@pytest.mark.parametrize("booster", [Corrective(), Corrective(step="search")], ids=["closed", "search"])
@pytest.mark.parametrize("weights", [None, np.arange(1.0, 16)], ids=["equal", "weighted"])
def test_other_losses_reach_the_conic_optimum(loss, kind, booster, weights):
    A, budget = 2 * matrix(5), 2.0
    solution = solve(A, loss, booster, tol=0.02, budget=budget, sample_weight=weights)
    prior = share(np.ones(15) if weights is None else weights)
    optimum = -reference.conic_loss(A, prior, budget, kind)
    assert solution.gap <= 0.02 + 1e-12 and solution.n_rounds > 0
    assert solution.objective - 1e-7 <= optimum <= solution.bound + 1e-7
    margins = A @ solution.weights
    value = prior @ (np.log1p(np.exp(-margins)) if kind == "logistic" else np.exp(-margins))
    assert solution.objective == pytest.approx(-value, abs=1e-13)
    assert np.abs(solution.weights).sum() <= budget * (1 + 1e-14)


@pytest.mark.parametrize(
    "booster", [Corrective(), Corrective(step="search"), TotallyCorrective()], ids=["closed", "search", "totally"]
)
@pytest.mark.parametrize("loss", [Logistic(), Exponential()], ids=["logistic", "exponential"])
def test_budgets_at_which_the_exponential_overflows(loss, booster):
    """e^1000 is infinite: such a step is too long, not an error."""
    A = matrix(5)
    solution = solve(A, loss, booster, tol=0.02, budget=1000.0, max_rounds=40)
    assert solution.n_rounds > 0 and np.isfinite(solution.objective) and np.isfinite(solution.bound)
    margins = A @ solution.weights
    value = np.mean(np.logaddexp(0, -margins) if isinstance(loss, Logistic) else np.exp(-margins))
    assert solution.objective == pytest.approx(-value, abs=1e-12) and solution.objective <= solution.bound


# ---- forms of the matrix --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, np.asfortranarray, np.ndarray.tolist]
)
@pytest.mark.parametrize("weights", [None, np.array([2, 0, 1, 1, 3] * 3)], ids=["equal", "some zero"])
def test_every_form_of_a_matrix(form, weights):
    A = np.where(np.random.default_rng(6).random((15, 7)) < 0.5, matrix(6), 0.0)
    dense, other = (solve(X, SOFT, tol=0.05, sample_weight=weights) for X in (A, form(A)))
    assert dense.n_rounds == other.n_rounds > 0
    np.testing.assert_allclose(dense.weights, other.weights, atol=1e-12)
    np.testing.assert_allclose(dense.distribution, other.distribution, atol=1e-11)
    assert dense.bound == pytest.approx(other.bound, abs=1e-12)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32, bool])
def test_every_type_of_entry(dtype):
    A = (matrix(7) > 0).astype(dtype)
    np.testing.assert_array_equal(solve(A, SOFT, tol=0.1).weights, solve(A.astype(float), SOFT, tol=0.1).weights)


def test_a_bound_learner_instead_of_a_matrix():
    made = problem(SETS["nu 0.3"], LEARNERS["stumps, missing"], m=15, seed=1)
    solution = solve(made.game.oracle, SOFT, tol=0.05)
    w = made.weights_over_class(solution.hypotheses, solution.weights)
    assert np.all(solution.weights != 0) and solution.n_rounds > 0
    assert solution.objective == pytest.approx(made.model.relaxed_margin(made.A @ w), abs=1e-13)
    assert solution.bound >= made.model.game_value(made.A) - 1e-10
    with pytest.raises(ValueError, match="weights"):
        solve(made.game.oracle, SOFT, sample_weight=np.ones(15))


def test_the_callers_matrix_is_left_alone():
    for A in (matrix(8), np.asfortranarray(matrix(8)), sp.csc_array(matrix(8))):
        before = A.copy()
        solve(A, SOFT, tol=0.1)
        assert abs(A - before).max() == 0


# ---- sample weights -------------------------------------------------------------------------------------------------


def check_copies(A: np.ndarray, loss, counts: np.ndarray) -> None:
    copy_of = np.repeat(np.arange(len(A)), counts)
    one, two = solve(A, loss, tol=0.05, sample_weight=counts), solve(A[copy_of], loss, tol=0.05)
    assert one.n_rounds == two.n_rounds > 0
    np.testing.assert_allclose(one.weights, two.weights, atol=1e-10)
    np.testing.assert_allclose(one.distribution, np.bincount(copy_of, two.distribution), atol=1e-9)
    assert one.objective == pytest.approx(two.objective, abs=1e-12) and one.bound == pytest.approx(two.bound, abs=1e-11)


@pytest.mark.parametrize(
    "loss", [SoftMargin(Simplex()), SOFT, Logistic(), Exponential()], ids=["hard", "soft", "logistic", "exponential"]
)
@pytest.mark.parametrize("seed", range(3))
def test_weight_k_is_k_copies(loss, seed):
    counts = np.concatenate([[1], np.random.default_rng(seed).integers(1, 5, 14)])
    check_copies(matrix(seed), loss, counts)


def test_weight_zero_is_an_absent_row():
    A, weights = matrix(9), np.array([1.0, 0, 2, 1, 0] * 3)
    kept = weights > 0
    whole, part = (
        solve(A, SOFT, tol=0.05, sample_weight=weights),
        solve(A[kept], SOFT, tol=0.05, sample_weight=weights[kept]),
    )
    assert np.array_equal(whole.weights, part.weights) and whole.bound == part.bound
    assert np.array_equal(whole.distribution[kept], part.distribution) and np.all(whole.distribution[~kept] == 0)


def test_weight_zero_takes_its_cap_along():
    A, weights, caps = matrix(9), np.array([1.0, 0, 2, 1, 0] * 3), np.linspace(0.1, 0.4, 15)
    kept = weights > 0
    whole = solve(A, SoftMargin(Capped(caps=caps)), tol=0.05, sample_weight=weights)
    part = solve(A[kept], SoftMargin(Capped(caps=caps[kept])), tol=0.05, sample_weight=weights[kept])
    assert np.array_equal(whole.weights, part.weights)


def test_caps_must_match_the_rows_that_were_given():
    weights = np.array([1.0, 0, 2, 1, 0] * 3)
    for length in (9, 14):
        with pytest.raises(ValueError, match="one number per row: 15"):
            solve(matrix(9), SoftMargin(Capped(caps=np.ones(length))), sample_weight=weights)


@pytest.mark.parametrize("scale", [1e-200, 0.1, 1e200])
def test_the_scale_of_the_weights_does_not_matter(scale):
    A, weights = matrix(10), np.arange(1.0, 16)
    one, two = (solve(A, SOFT, tol=0.05, sample_weight=weights * s) for s in (1.0, scale))
    assert one.n_rounds == two.n_rounds
    np.testing.assert_allclose(one.weights, two.weights, atol=1e-12)


# ---- any matrix -----------------------------------------------------------------------------------------------------


@st.composite
def matrices(draw):
    """+-1 or real, with copied, opposed and zero rows and columns mixed in."""
    m, n = draw(st.integers(1, 9)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    A = rng.choice([-1.0, 1.0], (m, n)) if draw(st.booleans()) else rng.uniform(-1, 1, (m, n))
    for change in draw(
        st.lists(
            st.sampled_from(["copy row", "oppose row", "copy column", "oppose column", "zero column", "zero row"]),
            max_size=3,
        )
    ):
        B = A if change.endswith("row") else A.T
        i, j = rng.integers(len(B)), rng.integers(len(B))
        B[i] = {"copy": B[j].copy(), "oppose": -B[j], "zero": 0 * B[j]}[change.split()[0]]
    return A


@given(matrices(), st.floats(0.02, 1), st.sampled_from([1, 5, 20_000]), st.sampled_from(list(BOOSTERS)))
def test_any_matrix(A, nu, max_rounds, name):
    if refused(BOOSTERS[name], matrix_game(A, Capped(nu=nu), 0.1), linear=True):
        return
    solution = solve(A, SoftMargin(Capped(nu=nu)), BOOSTERS[name], tol=0.1, max_rounds=max_rounds)
    check_certificate(A, solution, capped(len(A), nu))
    if max_rounds == 20_000:
        assert solution.gap <= (0.1 if getattr(BOOSTERS[name], "stop", "certified") == "certified" else 0.2) + 1e-12


@pytest.mark.parametrize(
    "A", [np.array([[0.5]]), np.array([[-0.5]]), np.array([[0.0]]), np.array([[0.5, -1.0]])], ids=str
)
def test_one_row(A):
    solution = solve(A, SOFT, tol=1e-3)
    assert solution.objective == pytest.approx(np.abs(A).max(), abs=1e-15) == pytest.approx(solution.bound, abs=1e-15)
    assert solution.distribution.tolist() == [1.0]


# ---- stopping -------------------------------------------------------------------------------------------------------


class ImpatientOracle(CountingOracle):
    """A user who presses Ctrl-C while the learner works on the n-th question."""

    limit = 5

    def best(self, d, k=1):
        if self.asked == self.limit:
            self.limit = 10**9
            raise KeyboardInterrupt
        return super().best(d, k)


def test_an_interrupt_keeps_the_best_so_far():
    A = matrix(11)
    oracle = ImpatientOracle(Matrix().bind(A, None, Rows.of(15)))
    solution = solve(oracle, SOFT, Corrective(), tol=1e-3)
    same = solve(A, SOFT, Corrective(), tol=1e-3, max_rounds=4)
    assert "interrupt" in solution.status and len(solution.history["bound"]) == 5
    assert solution.objective == same.objective and solution.bound == same.bound
    assert 0 < np.abs(solution.weights).sum() <= 1 + 1e-14


def test_an_interrupt_before_the_first_answer_is_passed_on():
    oracle = ImpatientOracle(Matrix().bind(matrix(11), None, Rows.of(15)))
    oracle.limit = 0
    with pytest.raises(KeyboardInterrupt):
        solve(oracle, SOFT)


def test_a_watcher_can_stop_the_run():
    game = matrix_game(matrix(12), Capped(nu=0.3), 1e-3)
    outcome = play(game, Corrective(), 1000, watch=lambda state: "seen enough" if state.t == 3 else None)
    assert outcome.status == "seen enough" and outcome.n_rounds == 3
    more = play(game, Corrective(), 9, state=outcome.state)
    assert more.n_rounds == 9 and more.certificate.gap <= outcome.certificate.gap


# ---- bad calls ------------------------------------------------------------------------------------------------------

A0 = matrix(0, m=4, n=3)


def with_entry(value: float) -> np.ndarray:
    A = A0.copy()
    A[1, 1] = value
    return A


BAD = {
    "NaN": lambda: solve(with_entry(np.nan)),
    "infinity": lambda: solve(with_entry(np.inf)),
    "sparse NaN": lambda: solve(sp.csr_array(with_entry(np.nan))),
    "entries above 1": lambda: solve(with_entry(1.5)),
    "sparse entries above 1": lambda: solve(sp.csr_array(with_entry(-1.5))),
    "logistic NaN": lambda: solve(with_entry(np.nan), Logistic()),
    "no rows": lambda: solve(np.empty((0, 3))),
    "no columns": lambda: solve(np.empty((3, 0))),
    "no rows, weighted": lambda: solve(np.empty((0, 3)), sample_weight=[]),
    "a vector": lambda: solve(np.ones(3)),
    "three dimensions": lambda: solve(np.ones((2, 2, 2))),
    "a number": lambda: solve(1.0),
    "text": lambda: solve(np.array([["a", "b"]])),
    "complex": lambda: solve(A0 + 0.5j),
    "sparse complex": lambda: solve(sp.csr_array(A0 + 0.5j)),
    "complex lists": lambda: Matrix().bind([[1j, 1.0]], None, Rows.of(1)),
    "tol 0": lambda: solve(A0, tol=0),
    "tol negative": lambda: solve(A0, tol=-0.1),
    "tol NaN": lambda: solve(A0, tol=np.nan),
    "tol infinite": lambda: solve(A0, tol=np.inf),
    "tol text": lambda: solve(A0, tol="x"),
    "max_rounds 0": lambda: solve(A0, max_rounds=0),
    "max_rounds negative": lambda: solve(A0, max_rounds=-3),
    "max_rounds fraction": lambda: solve(A0, max_rounds=2.5),
    "weights negative": lambda: solve(A0, sample_weight=[1, 1, -1, 1]),
    "weights zero": lambda: solve(A0, sample_weight=np.zeros(4)),
    "weights NaN": lambda: solve(A0, sample_weight=[1, 1, np.nan, 1]),
    "weights infinite": lambda: solve(A0, sample_weight=[1, 1, np.inf, 1]),
    "weights short": lambda: solve(A0, sample_weight=[1, 1, 1]),
    "weights of two dimensions": lambda: solve(A0, sample_weight=np.ones((4, 1))),
    "nu 0": lambda: solve(A0, SoftMargin(Capped(nu=0.0))),
    "nu negative": lambda: solve(A0, SoftMargin(Capped(nu=-1.0))),
    "nu above 1": lambda: solve(A0, SoftMargin(Capped(nu=1.5))),
    "nu NaN": lambda: solve(A0, SoftMargin(Capped(nu=np.nan))),
    "nu text": lambda: solve(A0, SoftMargin(Capped(nu="a"))),
    "neither nu nor caps": lambda: solve(A0, SoftMargin(Capped())),
    "nu and caps": lambda: solve(A0, SoftMargin(Capped(nu=0.5, caps=np.ones(4)))),
    "caps sum below 1": lambda: solve(A0, SoftMargin(Capped(caps=np.full(4, 0.2)))),
    "caps short": lambda: solve(A0, SoftMargin(Capped(caps=np.ones(3)))),
    "caps negative": lambda: solve(A0, SoftMargin(Capped(caps=np.array([1, 1, -1, 1.0])))),
    "caps zero": lambda: solve(A0, SoftMargin(Capped(caps=np.array([1, 1, 0, 1.0])))),
    "caps NaN": lambda: solve(A0, SoftMargin(Capped(caps=np.array([1, 1, np.nan, 1.0])))),
    "max_rounds a truth value": lambda: solve(A0, max_rounds=True),
    "a set for a loss": lambda: solve(A0, Capped(nu=0.5)),
    "a number for a set": lambda: solve(A0, SoftMargin(0.3)),
    "a class for a loss": lambda: solve(A0, SoftMargin),
    "a booster by name": lambda: solve(A0, booster="corrective"),
    "budget 0": lambda: solve(A0, budget=0),
    "budget negative": lambda: solve(A0, budget=-1.0),
    "budget NaN": lambda: solve(A0, budget=np.nan),
    "budget infinite": lambda: solve(A0, budget=np.inf),
    "budget text": lambda: solve(A0, budget="all"),
    "unknown step": lambda: solve(A0, booster=Corrective(step="long")),
    "unknown stop": lambda: solve(A0, booster=Corrective(stop="never")),
    "unknown smoothing": lambda: solve(A0, booster=Corrective(smoothing="rough")),
}


@pytest.mark.parametrize("call", BAD.values(), ids=BAD)
def test_bad_calls_get_one_sentence(call):
    with pytest.raises(ValueError) as error:
        call()
    sentence = str(error.value)
    assert sentence[0].isalpha() and sentence.endswith(".") and "\n" not in sentence and 20 <= len(sentence) <= 260
