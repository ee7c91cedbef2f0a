"""Mitsuboshi, Hatano & Takimoto as tests: the smoothed dual, its gradient, the gap, what the stop rules guarantee."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from conftest import LEARNERS, SETS, LearnerCase, Problem, few_values, matrix_game, problem, with_missing
from dualboost import kernels
from dualboost.boosters import Corrective, FrankWolfe, LPBoost, frank_wolfe, steps
from dualboost.boosters.active_set import ActiveSet, vertex_of
from dualboost.boosters.frank_wolfe import frank_wolfe_gap, rounds_needed
from dualboost.boosters.steps import STEPS, direction, eta_for, searched_step
from dualboost.game import Game, rounds
from dualboost.learners import Matrix, Stumps
from dualboost.learners.averaging import Averaging, Mixture
from dualboost.learners.matrix import MatrixOracle
from dualboost.learners.nzdd import learner as nzdd_learner
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Ball, Capped, Simplex
from dualboost.solve import play, solve

AVERAGING = [name for name in LEARNERS if isinstance(problem(SETS["simplex"], LEARNERS[name]).game.oracle, Averaging)]
every_averaging = pytest.mark.parametrize("name", AVERAGING)
every_step = pytest.mark.parametrize("step", STEPS)


def softmax(A: np.ndarray, d: np.ndarray, eta: float) -> tuple[float, np.ndarray]:
    """J and the net weight of each column, by listing both signs."""
    edges = np.concatenate([A.T @ d, -A.T @ d])
    top = edges.max()
    weights = np.exp(eta * (edges - top))
    weights /= weights.sum()
    J = top + np.log(np.exp(eta * (edges - top)).sum()) / eta
    n = A.shape[1]
    return float(J), weights[:n] - weights[n:]


def entropy(A: np.ndarray, d: np.ndarray, eta: float) -> float:
    edges = np.concatenate([A.T @ d, -A.T @ d])
    weights = np.exp(eta * (edges - edges.max()))
    weights /= weights.sum()
    return float(-np.sum(weights[weights > 0] * np.log(weights[weights > 0])))


def distributions(m: int, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [np.full(m, 1 / m), rng.dirichlet(np.ones(m)), rng.dirichlet(np.full(m, 0.1)), np.eye(m)[m // 2]]


def check_average(made: Problem, eta: float, seed: int) -> None:
    oracle = made.game.oracle
    for d in distributions(len(made.y), seed):
        answer, J = oracle.average(d, eta)
        expected, net = softmax(made.A, d, eta)
        assert abs(J - expected) <= 1e-12 * max(1.0, abs(J))
        np.testing.assert_allclose(answer.columns[0], made.A @ net, atol=1e-11)
        top = np.abs(made.A.T @ d).max()
        assert top <= answer.bound <= top + 1e-13
        assert abs(answer.edges[0] - d @ answer.columns[0]) <= 1e-12
        assert np.abs(answer.columns[0]).max() <= 1 + 1e-14


# ---- FW-STUMP, FW-NZDD: closed form = enumeration ------------------------------------------------------------------


@every_averaging
@pytest.mark.parametrize("eta", [0.01, 3.0, 150.0, 2000.0])
def test_the_average_is_that_of_the_whole_class(name, eta):
    for seed in range(3):
        check_average(problem(SETS["simplex"], LEARNERS[name], m=14, seed=seed), eta, seed)


@every_averaging
def test_the_size_counts_both_signs(name):
    made = problem(SETS["simplex"], LEARNERS[name], m=14, seed=0)
    assert made.game.oracle.log_size == pytest.approx(np.log(2 * made.A.shape[1]), abs=1e-12)


@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 5), st.floats(0.01, 2000))
def test_stumps_on_any_small_data(seed, m, n_features, eta):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, rng.integers(1, 6), (m, n_features)).astype(float)
    X[rng.random(X.shape) < rng.choice([0, 0.3])] = np.nan
    case = LearnerCase(Stumps, lambda *_: X, LEARNERS["stumps, ties"].members, LEARNERS["stumps, ties"].group)
    check_average(problem(SETS["simplex"], case, m=m, seed=seed), eta, seed)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_large_data_and_threads(threads):
    """Several chunks and tiles, dense and sparse storage; the same bits for any number of threads."""
    rng = np.random.default_rng(0)
    m = 40_000
    X = np.column_stack([rng.normal(size=m), rng.integers(0, 7, m), rng.random(m) < 0.02, rng.normal(size=m).round(1)])
    X[rng.random(m) < 0.1, 3] = np.nan
    y = np.where(X[:, 0] + (X[:, 1] > 3) + rng.normal(size=m) > 0.5, 1, -1).astype(np.int8)
    d = rng.dirichlet(np.ones(m))
    oracle = Stumps().bind(X, y, Rows.of(m, threads))
    answer, J = oracle.average(d, 300.0)
    alone, same = Stumps().bind(X, y, Rows.of(m)).average(d, 300.0)
    assert same == J and answer.columns[0].tobytes() == alone.columns[0].tobytes() and answer.bound == alone.bound
    stumps = list(zip(*(part.tolist() for part in oracle.index.stumps(np.arange(len(oracle.index)))), strict=True))
    edges = np.array([oracle.column(stump) @ d for stump in stumps])
    weights = np.exp(300 * (np.abs(edges) - np.abs(edges).max()))
    assert abs(J - np.logaddexp.reduce(np.concatenate([300 * edges, -300 * edges])) / 300) <= 1e-12
    heavy = np.flatnonzero(weights > 1e-18)
    expected = oracle.margins([stumps[j] for j in heavy], softmax(np.diag(edges), np.ones(len(edges)), 300.0)[1][heavy])
    np.testing.assert_allclose(answer.columns[0], expected, atol=1e-11)
    assert answer.bound >= oracle.best(d).bound - 1e-15


def test_bad_row_weights_are_refused():
    oracle = Stumps().bind(np.arange(4.0)[:, None], np.array([1, -1, 1, 1], dtype=np.int8), Rows.of(4))
    for d in (np.full(4, np.nan), np.full(4, 0.5), np.array([-0.1, 0.5, 0.3, 0.3])):
        with pytest.raises(ValueError, match="d must"):
            oracle.average(d, 1.0)
    with pytest.raises(ValueError, match="eta"):
        oracle.average(np.full(4, 0.25), np.inf)


# ---- FW-GRAD -------------------------------------------------------------------------------------------------------


@every_averaging
@pytest.mark.parametrize("eta", [5.0, 100.0])
def test_the_average_is_the_gradient(name, eta):
    made, rng = problem(SETS["simplex"], LEARNERS[name], m=10, seed=1), np.random.default_rng(1)
    d, h = rng.dirichlet(np.full(10, 5.0)), 1e-4 / eta
    answer, J = made.game.oracle.average(d, eta)
    for i in range(10):
        step = h * np.eye(10)[i]
        slope = (softmax(made.A, d + step, eta)[0] - softmax(made.A, d - step, eta)[0]) / (2 * h)
        assert abs(slope - answer.columns[0][i]) <= 1e-6
    top = np.abs(made.A.T @ d).max()
    assert top - 1e-13 <= J <= top + made.game.oracle.log_size / eta + 1e-13
    fenchel = d @ answer.columns[0] + entropy(made.A, d, eta) / eta
    assert abs(J - fenchel) <= 1e-12, "J = <d, g> + entropy / eta"


@every_averaging
def test_the_slope_along_a_line(name):
    made, rng = problem(SETS["simplex"], LEARNERS[name], m=10, seed=2), np.random.default_rng(2)
    d, ahead, behind = rng.dirichlet(np.ones(10), 3)
    slope, level = made.game.oracle.slope(d, ahead, behind, 40.0), made.game.oracle.level(d, ahead, behind, 40.0)
    values = [slope(a) for a in np.linspace(0, 1, 9)]
    for a, value in zip(np.linspace(0, 1, 9), values, strict=True):
        point = d + a * (ahead - behind)
        J, net = softmax(made.A, point, 40.0)
        assert abs(value - (made.A @ net) @ (ahead - behind)) <= 1e-11 and abs(level(a) - J) <= 1e-12
    assert np.all(np.diff(values) >= -1e-12), "J is convex"


# ---- FW-LMO, FW-GAP ------------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(1, 30), st.floats(0.02, 1.0))
def test_the_vertex(seed, m, nu):
    g = np.random.default_rng(seed).uniform(-1, 1, m)
    bound = Capped(nu=nu).bind(Rows.of(m))
    s, caps = bound.vertex(g), np.full(m, min(1.0, 1 / (nu * m)))
    assert abs(s @ g - reference.average_lowest(g, caps)) <= 1e-12
    assert abs(s @ g - reference.lp_relaxed_margin(g, caps)) <= 1e-9
    assert abs(s.sum() - 1) <= 1e-12 and np.all(s <= caps * (1 + 1e-12))
    assert np.count_nonzero((s > 1e-12) & (s < caps * (1 - 1e-12))) <= 1, "at most one fractional entry"


@every_averaging
@pytest.mark.parametrize("set_name", ["simplex", "nu 0.3", "nu 0.77", "caps"])
def test_the_gap_is_J_less_margin_less_entropy(name, set_name):
    made = problem(SETS[set_name], LEARNERS[name], m=12, seed=3, tol=0.1)
    eta, seen = eta_for(made.game, 0.1), 0
    for state, answer in islice(rounds(made.game, FrankWolfe("line search")), 12):
        J = made.game.oracle.average(state.d, eta)[1]
        gap = frank_wolfe_gap(made.game, state.d, answer.columns[0])
        reached = made.model.relaxed_margin(state.z) + entropy(made.A, state.d, eta) / eta
        assert abs(gap - (J - reached)) <= 1e-11
        seen += 1
    assert seen


# ---- FW-OPT --------------------------------------------------------------------------------------------------------


def random_game(seed: int, tol: float, nu: float) -> tuple[Game, np.ndarray, float]:
    rng = np.random.default_rng(seed)
    A = np.sign(rng.normal(0.25, 1, (30, 12)))
    caps = np.full(30, min(1.0, 1 / (nu * 30)))
    return matrix_game(A, Capped(nu=nu), tol), A, reference.lp_smallest_edge(A, caps)


@every_step
@pytest.mark.parametrize("nu", [0.04, 0.2, 0.55])
@pytest.mark.parametrize("stop", ["certified", "printed"])
def test_what_the_stop_rules_guarantee(step, nu, stop):
    """rho - tol <= margin of the average <= rho <= largest edge <= rho + tol, within the proved number of rounds."""
    for seed in range(2):
        game, A, rho = random_game(seed, 0.1, nu)
        played = [state for state, _ in islice(rounds(game, FrankWolfe(step, stop)), 4000)]
        state, needed = played[-1], rounds_needed(game.oracle.log_size, 0.1)
        assert state.status and len(played) > 1
        caps = np.full(30, min(1.0, 1 / (nu * 30)))
        reached = state.best.objective if stop == "certified" else reference.average_lowest(state.z, caps)
        edge = state.best.bound if stop == "certified" else np.abs(A.T @ state.d).max()
        assert rho - 0.1 - 1e-8 <= reached <= rho + 1e-8 and rho - 1e-8 <= edge <= rho + 0.1 + 1e-8
        assert len(played) <= 0.1 * needed, "a tenth of the bound: it is far from tight"


@pytest.mark.parametrize("step", ["classic", "line search"])
def test_the_rate_of_J(step):
    """J(d_t) - J* <= 8 eta / (t + 2)."""
    game, A, _ = random_game(4, 0.2, 0.2)
    eta = eta_for(game, 0.2)
    values = [softmax(A, state.d, eta)[0] for state, _ in islice(rounds(game, FrankWolfe(step, "printed")), 400)]
    close = matrix_game(A, Capped(nu=0.2), 0.2)
    best = min(softmax(A, s.d, eta)[0] for s, _ in islice(rounds(close, FrankWolfe("pairwise", "printed")), 400))
    assert len(values) > 5
    for t, value in enumerate(values):
        assert value - best <= 8 * eta / (t + 2) + 1e-9


@every_step
def test_searched_steps_descend(step):
    if step == "classic":
        return
    game, A, _ = random_game(5, 0.1, 0.2)
    eta = eta_for(game, 0.1)
    values = [softmax(A, state.d, eta)[0] for state, _ in islice(rounds(game, FrankWolfe(step, "printed")), 60)]
    assert len(values) > 10 and np.all(np.diff(values) <= 1e-12)


def test_a_line_search_finds_the_minimum():
    game, A, _ = random_game(6, 0.1, 0.2)
    d = game.loss.set.entropic(np.zeros(30), 1.0)
    eta = eta_for(game, 0.1)
    g = A @ softmax(A, d, eta)[1]
    move = direction(game, "line search", d, g, ActiveSet.at(d))
    step = searched_step(game, d, move, eta)
    along = lambda a: softmax(A, d + a * (move.ahead - move.behind), eta)[0]  # noqa: E731
    best = min(along(a) for a in np.geomspace(1e-5, 1, 4000))
    assert 0 < step <= 1 and along(step) <= along(0) and along(step) - best <= 0.02 * (along(0) - best)


# ---- FW-VAR --------------------------------------------------------------------------------------------------------


def test_all_steps_reach_the_same_value():
    values = []
    for step in STEPS:
        game, A, _ = random_game(7, 0.05, 0.3)
        state = list(islice(rounds(game, FrankWolfe(step, "printed")), 4000))[-1][0]
        assert state.status.startswith("printed rule")
        values.append(softmax(A, state.d, eta_for(game, 0.05))[0])
    assert np.ptp(values) <= 0.025


@pytest.mark.parametrize("step", ["away", "pairwise", "blended pairwise"])
@pytest.mark.parametrize("set_name", ["simplex", "nu 0.3", "caps"])
def test_the_active_set_makes_up_d(step, set_name):
    largest, dropped = 0, 0
    for seed in (1, 4, 8):
        made = problem(SETS[set_name], LEARNERS["matrix, reals"], m=12, seed=seed, tol=0.01)
        size = 0
        for state, _ in islice(rounds(made.game, FrankWolfe(step)), 120):
            active = state.memory.active
            assert abs(active.weights.sum() - 1) <= 1e-12 and active.weights.min() > 0
            d = sum(w * atom.point(12) for w, atom in zip(active.weights, active.atoms, strict=True))
            np.testing.assert_allclose(d, state.d, atol=1e-12)
            assert len({atom.key for atom in active.atoms}) == len(active.atoms)
            dropped += len(active.atoms) < size
            size = len(active.atoms)
            largest = max(largest, size)
    assert largest > 3 and dropped, "atoms come and go"


def test_vertices_are_known_by_their_support():
    caps = np.full(5, 0.4)
    one, two = np.array([0.4, 0.4, 0.2, 0, 0]), np.array([0.4, 0.4, 0.2 + 1e-16, 0, 0])
    other = np.array([0.4, 0.2, 0.4, 0, 0])
    assert vertex_of(one, caps).key == vertex_of(two, caps).key != vertex_of(other, caps).key


# ---- polish, smoothing, warm start ---------------------------------------------------------------------------------


def test_polish_is_sparse_and_nearly_optimal():
    rng = np.random.default_rng(0)
    A = np.sign(rng.normal(0.2, 1, (80, 60)))
    plain = solve(A, SoftMargin(Capped(nu=0.2)), FrankWolfe(), tol=0.05)
    polished = solve(A, SoftMargin(Capped(nu=0.2)), FrankWolfe(polish=60), tol=0.05)
    best = solve(A, SoftMargin(Capped(nu=0.2)), LPBoost(), tol=1e-9).objective
    assert best - polished.objective <= 1e-3 < best - plain.objective
    assert np.count_nonzero(polished.weights) < np.count_nonzero(plain.weights)
    assert polished.n_rounds < plain.n_rounds and polished.gap <= 0.05


def test_halving_gets_to_a_relative_tolerance():
    A = np.sign(np.random.default_rng(1).normal(0.4, 1, (60, 30)))
    rows = Rows.of(60)
    game = Game(SoftMargin(Capped(nu=0.3)).bind(rows), Matrix().bind(A, None, rows), rows, tol=1e-4, rtol=0.1)
    outcome = play(game, FrankWolfe(smoothing="halving"), 4000)
    assert outcome.certificate.gap <= 0.1 * outcome.certificate.objective and outcome.state.memory.accuracy > 1e-4


@every_step
def test_a_warm_start_is_no_worse(step):
    """From the end of a run at a nearby nu: the ensemble is there at once, and few rounds are left."""
    A = np.sign(np.random.default_rng(2).normal(0.25, 1, (60, 20)))
    first = matrix_game(A, Capped(nu=0.3), 0.05)
    end = list(islice(rounds(first, FrankWolfe(step)), 4000))[-1][0]
    game = Game(SoftMargin(Capped(nu=0.28)).bind(first.rows), first.oracle, first.rows, tol=0.05)
    booster = FrankWolfe(step)
    cold = list(islice(rounds(game, booster), 4000))
    warm = list(islice(rounds(game, booster, booster.start(game, end)), 4000))
    assert warm[0][0].best.objective > cold[0][0].best.objective
    assert warm[-1][0].status and len(warm) < len(cold)


def test_a_start_from_another_booster():
    A = np.sign(np.random.default_rng(3).normal(0.25, 1, (60, 20)))
    game = matrix_game(A, Capped(nu=0.3), 0.05)
    previous = list(islice(rounds(game, Corrective()), 50))[-1][0]
    state = next(rounds(game, FrankWolfe(), FrankWolfe().start(game, previous)))[0]
    assert state.best.objective == pytest.approx(-game.loss.value(previous.z), abs=1e-12)


# ---- parts that do not fit -----------------------------------------------------------------------------------------


def test_other_sets_are_refused():
    with pytest.raises(ValueError, match=r"linear program.*\.$"):
        FrankWolfe().start(matrix_game(np.eye(3), Ball(2, 0.8), 0.1))


@pytest.mark.parametrize("field", ["step", "stop", "smoothing"])
def test_unknown_choices_are_refused(field):
    with pytest.raises(ValueError, match=field):
        FrankWolfe(**{field: "other"})
    with pytest.raises(ValueError, match="polish"):
        FrankWolfe(polish=-1)


def test_mixtures_are_keys():
    one, two = Mixture(np.array([0.5, 0.0])), Mixture(np.array([0.5, 0.0]))
    assert one == two and hash(one) == hash(two) and {one: 1}[two] == 1
    assert one != Mixture(np.array([0.5, 0.1])) and "1 of 2" in repr(one)


@pytest.mark.parametrize("data", [few_values, with_missing], ids=lambda f: f.__name__)
def test_a_mixture_predicts_by_one_table_a_feature(data):
    rng = np.random.default_rng(4)
    X = data(rng, 40)
    y = rng.choice([-1, 1], 40).astype(np.int8)
    oracle = Stumps().bind(X, y, Rows.of(40))
    answer, _ = oracle.average(rng.dirichlet(np.ones(40)), 20.0)
    stump = oracle.best(np.full(40, 1 / 40)).hypotheses[0]
    keys, w = [answer.hypotheses[0], stump], np.array([0.75, -0.25])
    predictor = oracle.predictor(keys, w)
    np.testing.assert_allclose(predictor.scores(X) * y, oracle.margins(keys, w), atol=1e-13)
    assert len(predictor.features) <= X.shape[1] and len(np.unique(predictor.features)) == len(predictor.features)


def test_the_smallest_games():
    for A in (np.ones((1, 1)), np.zeros((3, 2)), np.array([[1.0], [-1.0]])):
        solution = solve(A, SoftMargin(Simplex()), FrankWolfe(), tol=0.01)
        exact = reference.lp_smallest_edge(A, np.ones(len(A)))
        assert solution.objective - 1e-12 <= exact <= solution.bound + 1e-12 and solution.gap <= 0.01


# ---- does this file see anything? ----------------------------------------------------------------------------------


def only_right(original):
    def softmax_of_one_sign(edges, eta, out):
        J = original(edges, eta, out)
        np.abs(out, out=out)
        return J

    return softmax_of_one_sign


def climbing(original):
    def slope(self, *args):
        right = original(self, *args)
        return lambda a: -right(a)

    return slope


def check_class(name: str) -> None:
    check_average(problem(SETS["simplex"], LEARNERS[name], m=14, seed=1), 30.0, 1)


FAULTS = {
    "weights of one sign": (kernels, "signed_softmax", only_right, lambda: check_class("stumps, missing")),
    "the factor 2 of a captured row": (
        nzdd_learner,
        "push",
        lambda original: lambda diagram, sums, scale: original(diagram, sums, scale / 2),
        lambda: check_class("nzdd, thresholds"),
    ),
    "steps as long as possible": (
        steps,
        "longest_ascent",
        lambda original: lambda slope, sure, limit, trials: limit,
        lambda: test_searched_steps_descend("line search"),
    ),
    "a search that climbs": (
        MatrixOracle,
        "slope",
        climbing,
        test_a_line_search_finds_the_minimum,
    ),
    "a coarser smoothing than the theorem's": (
        frank_wolfe,
        "eta_for",
        lambda original: lambda game, accuracy: original(game, accuracy) / 20,
        lambda: test_what_the_stop_rules_guarantee("line search", 0.04, "printed"),
    ),
    "atoms that are never dropped": (
        ActiveSet,
        "shifted",
        lambda original: lambda self, k, atom, step, drop: original(self, k, atom, 0.9 * step, False),
        lambda: test_the_active_set_makes_up_d("pairwise", "nu 0.3"),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_seen(name, monkeypatch):
    owner, attribute, change, check = FAULTS[name]
    check()
    monkeypatch.setattr(owner, attribute, change(getattr(owner, attribute)))
    with pytest.raises(AssertionError):
        check()
