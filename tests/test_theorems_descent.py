"""Telgarsky's theorems about a single round, as properties: the family of losses, the decrease, Wolfe's conditions."""

from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from conftest import LEARNERS, SETS, CountingOracle, problem
from dualboost import solve
from dualboost.boosters import CoordinateDescent
from dualboost.boosters.coordinate_descent import least_decrease, rounds_needed
from dualboost.game import Game, rounds
from dualboost.learners import Answer, Matrix
from dualboost.losses import Exponential, Logistic, Separable
from dualboost.losses.separable import check_family
from dualboost.master.wolfe import exact_step, wolfe_step
from dualboost.rows import Rows

LOSSES = {"exponential": Exponential(), "logistic": Logistic()}
every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
SEARCHES = ("wolfe", "closed", "exact", "adaboost")
# Cycling through columns of A2 without asking for the largest edge (Remark 39), rows turned to this library's sign.
A2 = -np.array([[-1, 1, -1], [1, -1, -1], [-1, -1, -1]], dtype=float)
SCHAPIRE = np.array([[1, -1], [-1, 1], [1, 1]], dtype=float)


def game_of(A: np.ndarray, loss: Separable, tol: float = 1e-7, weights=None, budget: float = np.inf) -> Game:
    rows = Rows.of(len(A) if weights is None else np.asarray(weights, dtype=float))
    return Game(loss.bind(rows), Matrix().bind(A, None, rows), rows, budget=budget, tol=tol)


def instance(seed: int, real: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(1, 12)), int(rng.integers(1, 7)))
    return rng.uniform(-1, 1, shape) if real else rng.choice([-1.0, 1.0], shape)


def plain(loss: Separable, z: np.ndarray, p: np.ndarray) -> tuple[float, np.ndarray]:
    """Value and weights by hand."""
    if isinstance(loss, Exponential):
        return float(p @ np.exp(-z)), p * np.exp(-z)
    return float(p @ np.logaddexp(0, -z)), p / (1 + np.exp(z))


# ---- the family (PD-G) ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [1, 2, 10, 100, 1000])
def test_the_constants_are_right_and_tight(m):
    top = m * np.log(2) + np.log(-np.expm1(-m * np.log(2)))  # log(2^m - 1)
    x = np.concatenate([np.linspace(-700, top, 4001), [top]])
    for loss, g, slope, bend in (
        (Exponential(), np.exp(x), np.exp(x), np.exp(x)),
        (Logistic(), np.logaddexp(0, x), 1 / (1 + np.exp(-x)), 1 / ((1 + np.exp(-x)) * (1 + np.exp(x)))),
    ):
        level = m * float(loss.g(np.zeros(1))[0])
        inside = g <= level * (1 + 1e-12)
        np.testing.assert_allclose(loss.g(x), g, rtol=1e-12)
        np.testing.assert_allclose(loss.slope(x), slope, rtol=1e-12)
        assert np.all(bend <= loss.eta * g * (1 + 1e-12)) and loss.eta == 1
        assert np.all(g[inside] <= loss.beta(level) * slope[inside] * (1 + 1e-12))
        assert np.max(bend / g) > 0.999 and np.max(g[inside] / slope[inside]) > 0.999 * loss.beta(level)
        assert np.max(bend) <= loss.steepest + 1e-12
    assert Logistic().beta(10 * np.log(2)) == pytest.approx(6.9382, abs=1e-4), "not 1 + 2^10"


@every_loss
def test_the_dual_at_the_slope(loss):
    """g*(g'(x)) = x g'(x) - g(x), and no x gives more."""
    x = np.linspace(-20, 20, 401)
    s = loss.slope(x)
    np.testing.assert_allclose(loss.dual(s), x * s - loss.g(x), rtol=1e-9, atol=1e-9)
    for share in (0.01, 0.3, 0.9):
        assert loss.dual(np.array([share]))[0] == pytest.approx(np.max(share * x - loss.g(x)), abs=2e-3)
        assert loss.dual(np.array([share]))[0] >= np.max(share * x - loss.g(x)) - 1e-12


@dataclass(frozen=True, eq=False)
class Softplus2(Separable):
    """log(1 + e^x) doubled: a user's loss in one class. A wrong constant or formula can be planted."""

    eta_: float = 1.0
    scale: float = 2.0
    beta_: float = np.inf

    def g(self, x):
        return self.scale * np.logaddexp(0, x)

    def slope(self, x):
        return 2 / (1 + np.exp(-x))

    def bend(self, s):
        return s * (1 - s / 2)

    def dual(self, s):
        return np.zeros_like(s)

    def beta(self, level):
        return min(Logistic().beta(level / 2), self.beta_)

    @property
    def eta(self):
        return self.eta_

    @property
    def steepest(self):
        return 0.5

    @property
    def self_concordant(self):
        return True


@dataclass(frozen=True, eq=False)
class Hyperbola(Softplus2):
    """(x + sqrt(x^2 + 4)) / 2 converges but g/g' = sqrt(x^2 + 4) grows to the left: no beta, no rate."""

    def g(self, x):
        return np.where(x < 0, 2 / (np.sqrt(x**2 + 4) - x), (x + np.sqrt(x**2 + 4)) / 2)

    def slope(self, x):
        return self.g(x) / np.sqrt(x**2 + 4)

    def bend(self, s):
        x = (2 * s - 1) / np.sqrt(s * (1 - s))
        return 2 / (x**2 + 4) ** 1.5

    def beta(self, level):
        return 10.0


def test_members_are_told_from_others():
    for loss in (*LOSSES.values(), Softplus2()):
        check_family(loss)
    for wrong, words in (
        (Softplus2(scale=1.9), "slope"),
        (Softplus2(eta_=0.5), "eta"),
        (Softplus2(beta_=1.0), "beta"),
        (Hyperbola(), "beta"),
    ):
        with pytest.raises(ValueError, match=words):
            check_family(wrong)
        with pytest.raises(ValueError, match=r"correct the class\.$"):
            CoordinateDescent().start(game_of(SCHAPIRE, wrong))
    run = list(islice(rounds(game_of(SCHAPIRE, Softplus2()), CoordinateDescent()), 30))
    twin = list(islice(rounds(game_of(SCHAPIRE, Logistic()), CoordinateDescent()), 30))
    assert -run[-1][0].best.objective == pytest.approx(-2 * twin[-1][0].best.objective, rel=1e-12) and len(run) == 30


# ---- the decrease (PD-DEC) ------------------------------------------------------------------------------------------


class SecondBest(CountingOracle):
    """An adversary of quality c0: of all columns within c0 of the largest edge it names the worst."""

    def __init__(self, inner, c0: float):
        super().__init__(inner)
        self.c0 = c0

    def best(self, d, k=1) -> Answer:
        edges = self.inner.A.T @ d
        top = np.abs(edges).max()
        allowed = np.flatnonzero(np.abs(edges) >= self.c0 * top)
        j = int(allowed[np.argmin(np.abs(edges[allowed]))])
        self.asked += j != np.argmax(np.abs(edges))
        return Answer([j], [self.inner.column(j)], edges[[j]], float(top) + 1e-15)


def check_decrease(A, loss, search: str, weights, c0: float = 1.0) -> int:
    """Each round lowers the loss by what is promised, for the largest edge and a learner of quality c0."""
    game = game_of(A, loss, weights=weights)
    if c0 < 1:
        game = replace(game, oracle=SecondBest(game.oracle, c0))
    p = weights / weights.sum()
    last = None
    for state, _ in islice(rounds(game, CoordinateDescent(search)), 60):
        value, d = plain(loss, state.z, p)
        if last is not None and not state.status.startswith("converged"):
            assert last[0] - value >= c0**2 * last[1] - 1e-12 * last[0]
        largest = np.abs(A.T @ d).max()
        last = value, least_decrease(loss, largest, value, search)
        assert last[1] == pytest.approx(largest**2 / ((6 if search == "wolfe" else 2) * value), rel=1e-12, abs=1e-300)
    return state.t


@every_loss
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["wolfe", "closed", "exact"]), st.booleans())
def test_the_decrease_of_a_round(loss, seed, real, search, even):
    A = instance(seed, real)
    weights = np.ones(len(A)) if even else np.random.default_rng(seed).integers(1, 5, len(A)).astype(float)
    check_decrease(A, loss, search, weights)


@given(st.integers(0, 10**6), st.booleans())
def test_the_decrease_of_adaboost(seed, real):
    A = instance(seed, real)
    check_decrease(A, Exponential(), "adaboost", np.ones(len(A)))


@every_loss
@given(st.integers(0, 10**6), st.sampled_from(["wolfe", "closed", "exact"]), st.sampled_from([0.3, 0.5, 0.9]))
def test_the_decrease_with_an_approximate_learner(loss, seed, search, c0):
    A = instance(seed, real=True)
    check_decrease(A, loss, search, np.ones(len(A)), c0)


@given(st.integers(0, 10**6), st.booleans())
def test_the_closed_form_of_the_logistic_loss_keeps_the_larger_of_two_promises(seed, real):
    """edge^2 / (2 min(F, 1/4)), or (edge + H) log(1 + edge / H) - edge where H is the curvature now."""
    A = instance(seed, real)
    p, last, longer = np.full(len(A), 1 / len(A)), None, 0
    for state, answer in islice(rounds(game_of(A, Logistic()), CoordinateDescent("closed")), 30):
        value, d = plain(Logistic(), state.z, p)
        if last is not None:
            assert last[0] - value >= last[1] - 1e-12 * last[0]
        size = np.abs(answer.columns[0]).max()
        edge, bend = abs(d @ answer.columns[0]) / size, (d * (1 - d / p)) @ (answer.columns[0] / size) ** 2
        promises = edge**2 / (2 * min(value, 0.25)), (edge + bend) * np.log1p(edge / bend) - edge
        longer += promises[1] > promises[0]
        last = value, max(promises)
    assert state.t == 0 or last is not None


def test_the_adversary_does_harm_and_the_runs_do_something():
    A = np.random.default_rng(2).uniform(-1, 1, (11, 6))
    assert check_decrease(A, Logistic(), "wolfe", np.ones(11)) > 10
    game = game_of(A, Logistic())
    oracle = SecondBest(game.oracle, 0.5)
    assert len(list(islice(rounds(replace(game, oracle=oracle), CoordinateDescent()), 20))) == 20
    assert oracle.asked > 10


@every_loss
@pytest.mark.parametrize("seed", range(4))
def test_the_smallest_edge_of_a_run(loss, seed):
    """min over t < T of edge_t^2 <= 6 eta F_0 (F_0 - F_T) / T, 2 for the closed form; always."""
    A = np.random.default_rng(seed).choice([-1.0, 1.0], (10, 4))
    for search, factor in (("wolfe", 6), ("closed", 2), ("exact", 2)):
        run = list(islice(rounds(game_of(A, loss, tol=1e-12), CoordinateDescent(search)), 40))
        edges = np.array([abs(answer.edges[0]) for _, answer in run[:-1]])
        first, end = (loss.bind(Rows.of(10)).value(state.z) for state in (run[0][0], run[-1][0]))
        assert len(edges) > 0
        assert np.min(edges) ** 2 <= factor * first * (first - end) / len(edges) + 1e-15


# ---- the steps ------------------------------------------------------------------------------------------------------


@every_loss
@given(st.integers(0, 10**6))
def test_wolfes_conditions_hold_at_the_step(loss, seed):
    A = np.random.default_rng(seed).uniform(-1, 1, (9, 4))
    game, booster, p = game_of(A, loss, tol=1e-6), CoordinateDescent("wolfe"), np.full(9, 1 / 9)
    met = 0
    for state, answer in islice(rounds(game, booster), 25):
        if state.status:
            break
        step = np.copysign(booster.step(game, state, answer, 60.0), answer.edges[0])
        u = step * answer.columns[0]
        (before, d), (after, d_after) = plain(loss, state.z, p), plain(loss, state.z + u, p)
        assert after <= before - (d @ u) / 3 + 1e-15
        assert -(d_after @ u) >= -(d @ u) / 2 - 1e-15 or abs(step) == 60
        met += 1
    assert met > 0


@pytest.mark.parametrize("minimum", [1e-3, 0.4, 3.0, 50.0])
def test_line_searches_on_a_parabola(minimum):
    def along(x):
        return (x - minimum) ** 2, 2 * (x - minimum)

    step = wolfe_step(along, 60.0)
    assert minimum / 2 <= step <= 4 / 3 * minimum, "the two conditions, solved for the step"
    assert exact_step(along, 60.0) == pytest.approx(minimum, rel=1e-12)
    assert exact_step(along, minimum / 2) == minimum / 2 == wolfe_step(along, minimum / 2)
    assert wolfe_step(lambda x: (1.0, 0.0) if x == 0 else (np.inf, np.inf), 60.0) is None, "at the minimum"


@given(st.integers(0, 10**6))
def test_exact_is_the_minimum_along_the_line(seed):
    A = np.random.default_rng(seed).uniform(-1, 1, (8, 3))
    for loss in LOSSES.values():
        game, p = game_of(A, loss), np.full(8, 1 / 8)
        for state, answer in islice(rounds(game, CoordinateDescent("exact")), 6):
            booster = CoordinateDescent("exact")
            step = np.copysign(booster.step(game, state, answer, 60.0), answer.edges[0])
            _, d = plain(loss, state.z + step * answer.columns[0], p)
            assert abs(d @ answer.columns[0]) <= 1e-9 * d.sum() or abs(step) == 60, "before rounding"


def adaboost(A: np.ndarray, p: np.ndarray, count: int) -> list[tuple[int, float]]:
    """The textbook: distribution, weighted error, half the log odds, reweigh."""
    d, steps = p.copy(), []
    for _ in range(count):
        edges = A.T @ d
        j = int(np.argmax(np.abs(edges) >= np.abs(edges).max() - 1e-12))
        error = d[A[:, j] < 0].sum()
        step = 0.5 * np.log((1 - error) / error)
        d *= np.exp(-step * A[:, j])
        d /= d.sum()
        steps.append((j, step))
    return steps


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("search", ["adaboost", "exact"])
def test_adaboost_is_coordinate_descent_on_the_exponential_loss(seed, search):
    rng = np.random.default_rng(seed)
    A = rng.choice([-1.0, 1.0], (30, 8))
    weights = rng.integers(1, 4, 30).astype(float)
    game = game_of(A, Exponential(), tol=1e-9, weights=weights)
    run = list(islice(rounds(game, CoordinateDescent(search)), 26))
    w = np.zeros(8)
    for j, step in adaboost(A, weights / weights.sum(), 25):
        w[j] += step
    ours = np.zeros(8)
    ours[run[-1][0].pool.keys] = run[-1][0].w
    assert run[-1][0].t == 25
    np.testing.assert_allclose(ours, w, atol=1e-10)


def test_cycling_does_not_converge():
    """Remark 39: exact steps along columns 1 and 2 in turn leave the loss of A2 at 2, whose infimum is 0."""
    z = np.zeros(3)
    for t in range(4000):
        column = A2[:, t % 2]
        right, wrong = np.exp(-z)[column > 0].sum(), np.exp(-z)[column < 0].sum()
        z += 0.5 * np.log(right / wrong) * column
    assert np.exp(-z).sum() == pytest.approx(2.00025, abs=1e-5)
    solution = solve(A2, Exponential(), CoordinateDescent("exact"), tol=1e-6, budget=np.inf, max_rounds=1000)
    assert -solution.objective < 1e-5, "the largest edge makes the difference"


SCHAPIRE_RUNS = {
    "logistic": (Logistic(), [0.52324814, 0.19228761, 0.06165632, 0.02818244, 0.00515943], 2 * np.log(2)),
    "exponential": (Exponential(), [0.82842712, 0.44948974, 0.19089023, 0.0976177, 0.01990099], 2.0),
}


@pytest.mark.parametrize("name", SCHAPIRE_RUNS)
def test_the_lower_bound_instance(name):
    """Theorem 28: three rows on which exact steps come no closer than 1/(8 t)."""
    loss, expected, infimum = SCHAPIRE_RUNS[name]
    game = game_of(SCHAPIRE, loss, tol=1e-12)
    last = 3000 if name == "logistic" else 300
    states = [state for state, _ in islice(rounds(game, CoordinateDescent("exact")), last + 1)]
    run = [3 * game.loss.value(state.z) - infimum for state in states]
    np.testing.assert_allclose([run[t] for t in (1, 2, 5, 10, 50)], expected, atol=1e-7)
    t = np.arange(1, len(run))
    assert len(run) == last + 1 and np.all(8 * t * np.array(run[1:]) >= 1)
    if name == "logistic":
        largest = np.array([np.abs(state.w).max() for state in states[1:]])
        assert np.all(largest <= 0.5 * np.log(4 * t) + 1e-9)


# ---- runs -----------------------------------------------------------------------------------------------------------


@every_loss
@pytest.mark.parametrize("search", ["wolfe", "closed", "exact"])
@pytest.mark.parametrize("seed", range(3))
def test_theorem_21_bounds_the_rounds(loss, search, seed):
    rng = np.random.default_rng(seed)
    A = rng.choice([-1.0, 1.0], (6, 8))
    A[:, :3] = np.where(rng.random((6, 3)) < 0.85, 1.0, A[:, :3])
    gamma = reference.Model(np.ones(6)).game_value(A)
    assert gamma > 0.05
    game = game_of(A, loss, tol=1e-3)
    for state, _ in islice(rounds(game, CoordinateDescent(search)), 200_000):  # noqa: B007
        pass
    first = 1.0 if isinstance(loss, Exponential) else np.log(2)
    assert state.status.startswith("the loss") and -state.best.objective <= 1e-3 * first
    assert 0 < state.t <= rounds_needed(loss, gamma, 1e-3, rows=6, line_search=search)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("search", SEARCHES)
def test_the_state_every_round(learner, search):
    """z = A w, weights of the loss, no certificate without a budget, a loss that only falls, one question a round."""
    weights = np.array([1, 3, 1, 2, 1, 1, 4, 1, 2, 1, 1, 1.0])
    made = problem(SETS["simplex"], LEARNERS[learner], seed=3, weights=weights)
    p = weights / weights.sum()
    for loss in [Exponential()] if search == "adaboost" else LOSSES.values():
        oracle = CountingOracle(made.game.oracle)
        game = Game(loss.bind(made.game.rows), oracle, made.game.rows, budget=np.inf, tol=1e-5)
        last = np.inf
        for t, (state, answer) in enumerate(islice(rounds(game, CoordinateDescent(search)), 30)):
            w = made.weights_over_class(state.pool.keys[: len(state.w)], state.w)
            np.testing.assert_allclose(state.z, made.A @ w, atol=1e-11)
            value, d = plain(loss, state.z, p)
            np.testing.assert_allclose(state.d, d, rtol=1e-12)
            edges = made.A.T @ state.d
            assert np.abs(edges).max() <= answer.bound + 1e-15
            if made.exact:
                assert abs(answer.edges[0]) == pytest.approx(np.abs(edges).max(), abs=1e-12)
                assert answer.bound <= np.abs(edges).max() + 1e-12
            assert state.best.bound == np.inf and -state.best.objective == pytest.approx(value, rel=1e-12)
            assert value <= last * (1 + 1e-13) and state.t == t == oracle.asked - 1
            last = value
        assert state.t > 0 and state.best.w is state.w and state.best.d is state.d


@every_loss
def test_with_a_budget_it_is_certified(loss):
    """The optimum of the budget, by a conic solver, lies between the loss reached and the bound."""
    rng = np.random.default_rng(5)
    A = rng.choice([-1.0, 1.0], (20, 5))
    optimum = reference.conic_loss(A, np.full(20, 1 / 20), 0.7, type(loss).__name__.lower())
    solution = solve(A, loss, CoordinateDescent("exact"), tol=1e-5, budget=0.7)
    assert np.abs(solution.weights).sum() <= 0.7 * (1 + 1e-14)
    assert -solution.bound - 1e-7 <= optimum <= -solution.objective + 1e-7
    assert "budget" in solution.status or "certified" in solution.status
    wide = solve(A, loss, CoordinateDescent("exact"), tol=1e-5, budget=50.0, max_rounds=20_000)
    assert wide.status.startswith("certified") and wide.gap <= 1e-5


def test_a_perfect_hypothesis():
    for m in (1, 5):
        A = np.column_stack([np.ones(m), np.where(np.arange(m) % 2, 1.0, -1.0)])
        for loss, search in [(l, s) for l in LOSSES.values() for s in SEARCHES]:
            if search == "adaboost" and not isinstance(loss, Exponential):
                continue
            solution = solve(A, loss, CoordinateDescent(search), tol=1e-6, budget=np.inf, max_rounds=100)
            assert solution.status.startswith("the loss") and np.all(np.isfinite(solution.weights))
            assert solution.weights[0] > 10 and solution.bound == np.inf


def test_weights_that_underflow():
    """A perfect column beside others, played far beyond what a float can hold: it stops in words, without a warning."""
    A = np.column_stack([np.ones(4), [1, 1, 1, -1.0]])
    for loss in LOSSES.values():
        solution = solve(A, loss, CoordinateDescent("wolfe"), tol=1e-300, budget=np.inf, max_rounds=200)
        assert np.all(np.isfinite(solution.weights)) and -solution.objective < 1e-100
        assert solution.status and np.all(np.isfinite(solution.distribution))
    rng = np.random.default_rng(0)
    A = rng.choice([-1.0, 1.0], (6, 9))
    run = solve(A, Exponential(), CoordinateDescent("adaboost"), tol=1e-290, budget=np.inf, max_rounds=5000)
    assert np.all(np.isfinite(run.weights)) and np.all(np.diff(run.history["objective"]) >= -1e-12)


def test_zero_edges():
    solution = solve(np.zeros((3, 2)), Logistic(), CoordinateDescent(), budget=np.inf)
    assert solution.n_rounds == 0 and "no hypothesis" in solution.status
    A = np.array([[1.0, 1.0], [-1.0, -1.0]])  # contradictory rows
    solution = solve(A, Exponential(), CoordinateDescent("adaboost"), budget=np.inf)
    assert solution.n_rounds == 0 and -solution.objective == pytest.approx(1.0)


class CannotPromise(CountingOracle):
    """A learner whose bound is the sum of the weights."""

    def best(self, d, k=1) -> Answer:
        return replace(self.inner.best(d, k), bound=float(d.sum()))


def test_a_learner_that_cannot_promise_stops_in_other_words():
    rng = np.random.default_rng(1)
    game = game_of(rng.choice([-1.0, 1.0], (20, 3)), Logistic(), tol=1e-3)
    words = [
        list(islice(rounds(g, CoordinateDescent()), 2000))[-1][0].status
        for g in (game, replace(game, oracle=CannotPromise(game.oracle)))
    ]
    assert words[0].startswith("no hypothesis") and "does not promise" in words[1]


def test_a_learning_rate_shortens_steps_and_weight_k_is_k_copies():
    rng = np.random.default_rng(3)
    A, k = rng.choice([-1.0, 1.0], (8, 4)), rng.integers(1, 4, 8)
    slow = solve(A, Exponential(), CoordinateDescent("adaboost", 0.1), tol=1e-6, budget=np.inf, max_rounds=1)
    fast = solve(A, Exponential(), CoordinateDescent("adaboost"), tol=1e-6, budget=np.inf, max_rounds=1)
    np.testing.assert_allclose(slow.weights, 0.1 * fast.weights, rtol=1e-12)
    for search in SEARCHES[:3]:
        for loss in LOSSES.values():
            one = solve(A, loss, CoordinateDescent(search), tol=1e-6, budget=np.inf, max_rounds=15, sample_weight=k)
            two = solve(
                np.repeat(A, k, axis=0), loss, CoordinateDescent(search), tol=1e-6, budget=np.inf, max_rounds=15
            )
            np.testing.assert_allclose(one.weights, two.weights, atol=1e-6)
            assert np.any(one.weights)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: CoordinateDescent("other"), "line_search must be one of"),
        (lambda: CoordinateDescent(learning_rate=0), "learning_rate"),
        (lambda: CoordinateDescent(learning_rate=1.5), "learning_rate"),
        (lambda: solve(SCHAPIRE, booster=CoordinateDescent()), "adds up over the rows"),
        (lambda: solve(SCHAPIRE, Logistic(), CoordinateDescent("adaboost")), "exponential loss"),
        (lambda: solve(SCHAPIRE, Logistic(), CoordinateDescent(), budget=-np.inf), "budget"),
    ],
)
def test_what_does_not_fit_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
