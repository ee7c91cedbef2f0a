"""The theorems of Naghibi & Pfister, every round: training error, margin, smoothness, two sources, sparsity."""

from dataclasses import dataclass
from itertools import islice

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from conftest import matrix_game
from dualboost.boosters import Booster, Corrective, Euclidean, MadaBoost, MirrorAscent, Regularizer, SparseBoost, mada
from dualboost.boosters.ascent import margin_bound, rounds_needed, training_error, training_error_bound
from dualboost.game import State, rounds
from dualboost.rows import Rows
from dualboost.sets import Ball, Capped, Penalty, Simplex

REGULARIZERS = ("entropic", "euclidean")
both_regularizers = pytest.mark.parametrize("regularizer", REGULARIZERS)
both_updates = pytest.mark.parametrize("update", ["active", "lazy"])
WEIGHTS = {"equal": None, "counts": np.array([1, 3, 1, 2, 1, 1, 4, 1, 2, 1, 1, 1.0])}
every_weighting = pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)


def instance(seed: int, m: int = 12, n: int = 9, real: bool = False) -> np.ndarray:
    """Hypotheses that are right somewhat more often than wrong."""
    rng = np.random.default_rng(seed)
    A = np.where(rng.random((m, n)) < 0.65, 1.0, -1.0)
    return A * rng.uniform(0.1, 1, (m, n)) if real else A


INSTANCES = [instance(seed, real=real) for seed in range(3) for real in (False, True)]


def shares(weights, m: int) -> np.ndarray:
    return np.full(m, 1 / m) if weights is None else weights / weights.sum()


@dataclass(frozen=True)
class Round:
    """A state with what was asked and known before it."""

    state: State
    edges: np.ndarray
    sizes: np.ndarray
    error: float

    @property
    def gamma(self) -> float:
        return float(self.edges[-1])


def run(A, weight_set, booster: Booster, weights=None, most: int = 50, least: int = 4) -> list[Round]:
    """Every state; the edges and sizes are those of the rounds that led to it."""
    game, p = matrix_game(A, weight_set, 1e-9, weights), shares(weights, len(A))
    edges, sizes, out = [], [], []
    for state, answer in islice(rounds(game, booster), most):
        out.append(Round(state, np.array(edges), np.array(sizes), float(p[state.z <= 0].sum())))
        edges.append(abs(answer.edges[0]))
        column = answer.columns[0]
        euclidean = isinstance(getattr(booster, "regularizer", Euclidean()), Euclidean)
        sizes.append(p @ column**2 if euclidean else np.abs(column).max() ** 2)
    assert len(out) >= least, "the run did something"
    return out


# ---- twins: the printed algorithms on copies of the rows ------------------------------------------------------------


def slow_ascent(A, caps, regularizer: str, lazy: bool, count: int) -> list[np.ndarray]:
    """Algorithm 1 as printed, L = 1 or N: the distribution of every round."""
    N = len(A)
    w = z = np.full(N, 1 / N)
    out = []
    for _ in range(count):
        out.append(w)
        edges = A.T @ w
        j = int(np.argmax(np.abs(edges) >= np.abs(edges).max() - 1e-12))
        loss, gamma = -np.sign(edges[j]) * A[:, j], abs(edges[j])
        start = z if lazy else w
        if regularizer == "entropic":
            z = start * np.exp(gamma * loss)
            w = reference.entropic_by_sorting(-np.log(z), 1.0, caps, np.full(N, 1 / N))
        else:
            z = start + gamma / N * loss
            w = reference.euclidean_by_bisection(z, caps)
    return out


@both_regularizers
@both_updates
@every_weighting
@pytest.mark.parametrize("nu", [1e-3, 0.4])
def test_the_run_is_the_printed_one_on_copies(regularizer, update, weights, nu):
    """Weight k is k copies, in every regulariser and update; on the simplex the active run is the lazy one."""
    for A in INSTANCES[:4]:
        counts = np.ones(len(A), int) if weights is None else weights.astype(int)
        copy_of = np.repeat(np.arange(len(A)), counts)
        caps = np.full(len(copy_of), min(1.0, 1 / (nu * len(copy_of))))
        slow = slow_ascent(A[copy_of], caps, regularizer, update == "lazy", 25)
        ours = run(A, Capped(nu=nu), MirrorAscent(regularizer, update), weights, 25)
        for there, here in zip(slow, ours, strict=False):
            np.testing.assert_allclose(np.bincount(copy_of, there), here.state.d, atol=1e-10)


@every_weighting
@pytest.mark.parametrize(
    "booster", [SparseBoost(0.5), SparseBoost(0.2, project=False), MadaBoost(), MadaBoost("error")]
)
def test_other_boosters_take_weights_as_copies(booster, weights):
    weights = np.arange(1, 13) % 4 + 1.0 if weights is None else weights
    copy_of = np.repeat(np.arange(12), weights.astype(int))
    for A in INSTANCES:
        one, many = run(A, Simplex(), booster, weights, 30), run(A[copy_of], Simplex(), booster, None, 30)
        for a, b in zip(one, many, strict=True):
            np.testing.assert_allclose(a.state.z[copy_of], b.state.z, atol=1e-10)
            assert a.state.memory.gain == pytest.approx(b.state.memory.gain, abs=1e-10)


# ---- Theorem 1 ------------------------------------------------------------------------------------------------------


@both_regularizers
@both_updates
@every_weighting
@pytest.mark.parametrize("step", ["edge", "adaptive", "search"])
def test_theorem_1_the_training_error(regularizer, update, weights, step):
    for A in INSTANCES:
        played = run(A, Simplex(), MirrorAscent(regularizer, update, step), weights)
        for here in played[1:]:
            sizes = 1.0 if step == "edge" else here.sizes
            bound = training_error_bound(here.edges, sizes, regularizer)[-1]
            sums = float(np.sum(here.edges**2 / sizes))
            printed = np.exp(-sums / 2) if regularizer == "entropic" else 1 / (1 + sums)
            assert bound == pytest.approx(printed, rel=1e-12)
            assert here.error <= bound + 1e-12
            assert here.state.memory.gain == pytest.approx(sums / 2, rel=1e-9)
        assert bound < 0.7


@given(st.integers(0, 10_000), st.integers(2, 25), st.integers(1, 8), st.sampled_from(REGULARIZERS), st.booleans())
def test_theorem_1_on_any_matrix(seed, m, n, regularizer, lazy):
    rng = np.random.default_rng(seed)
    A = rng.choice([-1.0, 1.0], (m, n)) if seed % 2 else rng.uniform(-1, 1, (m, n))
    weights = rng.uniform(0.2, 3, m)
    game = matrix_game(A, Simplex(), 1e-9, weights)
    booster = MirrorAscent(regularizer, "lazy" if lazy else "active", "adaptive")
    for state, _ in islice(rounds(game, booster), 25):
        assert training_error(shares(weights, m), state.z) <= booster.regularizer.error_bound(state.memory.gain) + 1e-12


@both_regularizers
def test_the_number_of_rounds(regularizer):
    """With edges of at least gamma the error is below `error` after `rounds_needed`."""
    for A in INSTANCES:
        played = run(A, Simplex(), MirrorAscent(regularizer), most=400)
        for error in (0.5, 0.2, 1 / 13):
            needed = rounds_needed(error, float(played[-1].edges.min()), regularizer)
            assert all(here.error <= error + 1e-12 for here in played[needed:])


@dataclass(frozen=True)
class Stiff(Regularizer):
    """c times the Euclidean one: as strongly convex as any, and hardly moving."""

    c: float
    exact = True

    def check(self, bound_set):
        pass

    def nearest(self, bound_set, z, eta):
        return Euclidean().nearest(bound_set, z, eta / self.c)

    def gradient(self, bound_set, d, theta):
        return self.c * Euclidean().gradient(bound_set, d, theta)

    def distance(self, bound_set, d):
        return self.c * Euclidean().distance(bound_set, d)

    def size(self, rows, column):
        return Euclidean().size(rows, column)

    def radius(self, bound_set):
        return self.c * Euclidean().radius(bound_set)

    def error_bound(self, gain):
        return Euclidean().error_bound(gain / self.c)

    def forgets_its_path(self, bound_set):
        return False


def test_theorem_1_is_not_for_every_regulariser():
    """The printed bound fails for a stiff R; its own error_bound, from the general statement, holds."""
    A = np.where(np.arange(10) < 6, 1.0, -1.0)[:, None]
    played = run(A, Simplex(), MirrorAscent(Stiff(1e6)), most=401)
    last = played[-1]
    printed = 1 / (1 + 0.5 * np.sum(last.edges**2))
    assert last.error == pytest.approx(0.4) and printed == pytest.approx(0.111, abs=1e-3)
    for here in played:
        assert here.error <= Stiff(1e6).error_bound(here.state.memory.gain) + 1e-12


# ---- Theorem 2 ------------------------------------------------------------------------------------------------------


@both_regularizers
@both_updates
@pytest.mark.parametrize("step", ["max margin", "edge", "search"])
@pytest.mark.parametrize("nu", [1e-3, 0.4])
@every_weighting
def test_theorem_2_the_margin(regularizer, update, step, nu, weights):
    """On caps it is the soft margin."""
    for A in (INSTANCES[0], INSTANCES[3]):
        booster = MirrorAscent(regularizer, update, step)
        game = matrix_game(A, Capped(nu=nu), 1e-9, weights)
        radius = booster.regularizer.radius(game.loss.set)
        caps = np.minimum(shares(weights, len(A)) / nu, 1.0)
        for here in run(A, Capped(nu=nu), booster, weights, 40)[1:]:
            margin = reference.average_lowest(here.state.z, caps)
            assert margin >= margin_bound(here.state.memory, radius) - 1e-9


@both_regularizers
def test_the_margin_tends_to_the_largest(regularizer):
    A = instance(5, m=14, n=30)
    largest, _ = reference.lp_largest_margin(A, np.ones(14))
    game = matrix_game(A, Simplex(), 1e-9)
    booster = MirrorAscent(regularizer, step="max margin")
    state = next(islice(rounds(game, booster), 2500, None))[0]
    assert largest > 0.1 and state.z.min() >= 0.8 * largest
    certified = margin_bound(state.memory, booster.regularizer.radius(game.loss.set))
    assert 0 < certified <= state.z.min() <= largest + 1e-12


@pytest.mark.parametrize("weights", [np.ones(6), np.array([1, 4, 1, 2, 1, 3.0])])
@pytest.mark.parametrize("nu", [1e-3, 0.3, 0.8])
def test_the_euclidean_radius_bounds_the_distance(weights, nu):
    bound_set = Capped(nu=nu).bind(Rows.of(weights))
    caps = np.minimum(shares(weights, 6) / nu, 1.0)
    distances = [Euclidean().distance(bound_set, d) for d in reference.random_points(caps, 30, 1)]
    assert 0 < max(distances) <= Euclidean().radius(bound_set) + 1e-12


# ---- Theorem 3 and two sources --------------------------------------------------------------------------------------


def bound_of(here: Round, booster) -> float:
    return booster.regularizer.error_bound(here.state.memory.gain)


@both_regularizers
@both_updates
@every_weighting
@pytest.mark.parametrize("k", [1.5, 3.0, 6.0])
def test_theorem_3_smooth_weights(regularizer, update, weights, k):
    booster = MirrorAscent(regularizer, update)
    for A in INSTANCES:
        caps = np.minimum(k * shares(weights, len(A)), 1.0)
        for here in run(A, Capped(nu=1 / k), booster, weights, least=2 if k < 2 else 4):
            assert np.all(here.state.d <= caps + 1e-12)
            assert here.error <= max(1 / k, bound_of(here, booster)) + 1e-12


@both_regularizers
@both_updates
@every_weighting
@pytest.mark.parametrize("k", [1.5, 3.0])
@pytest.mark.parametrize("share_of", ["all", "secondary"])
def test_two_sources(regularizer, update, weights, k, share_of):
    """Caps on the secondary rows only; the first error is relative to all rows, the second one to its own."""
    booster = MirrorAscent(regularizer, update)
    secondary = np.arange(12) % 3 == 0
    for A in INSTANCES:
        A = np.where(secondary[:, None], -A, A) * (1 - 0.5 * secondary[:, None])
        p = shares(weights, len(A))
        whole = 1.0 if share_of == "all" else float(p[secondary].sum())
        total = 12 if weights is None else weights.sum()
        caps = np.where(secondary, k / (whole * total), 1.0)
        for here in run(A, Capped(caps=caps), booster, weights):
            wrong, bound = here.state.z <= 0, bound_of(here, booster)
            assert p[wrong & ~secondary].sum() <= bound + 1e-12
            if share_of == "all":
                assert here.error <= max(1 / k, bound) + 1e-12
            assert p[wrong & secondary].sum() / whole <= max(1 / k, bound / whole) + 1e-12


@pytest.mark.parametrize("weight_set", [Ball(2, 0.5), Penalty(2, 0.2)], ids=["ball", "penalty"])
def test_any_set_that_knows_its_projections(weight_set):
    """The row weights stay inside and the certified gap closes to some degree."""
    booster = MirrorAscent(step="max margin", update="lazy")
    played = run(instance(5, n=20), weight_set, booster, most=600)
    gaps = [here.state.best.bound - here.state.best.objective for here in played]
    assert gaps[-1] < 0.5 * gaps[5] and gaps[-1] > -1e-9


# ---- Theorem 4 ------------------------------------------------------------------------------------------------------


@every_weighting
@pytest.mark.parametrize("alpha", [0.0, 0.25, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("convention", ["printed", "half"])
def test_theorem_4_sparse_boost(weights, alpha, convention):
    """The objective with 1/2 before its square shifts twice as far: it is the printed one with twice the alpha."""
    if convention == "half" and alpha >= 0.5:
        return
    for A in INSTANCES[::2]:
        booster = SparseBoost(alpha if convention == "printed" else 2 * alpha)
        for here in run(A, Simplex(), booster, weights)[1:]:
            squares = np.sum(here.edges**2)
            sharp = 1 / (1 + squares * (1 - (alpha if convention == "printed" else 2 * alpha)))
            assert here.error <= Euclidean().error_bound(here.state.memory.gain) + 1e-12 <= sharp + 1e-9
            if convention == "half" or alpha <= 0.5:
                assert here.error <= 1 / (1 + 0.5 * squares * (1 - 2 * alpha)) + 1e-12
            y = here.state.memory.theta
            assert abs(y.sum() - 1) <= 1e-12 or y.sum() > 1 or np.all(here.state.d > 0), "what was taken is given back"


def test_the_l1_term_makes_the_weights_denser():
    """Counted over many instances; without the projection it does what it was meant to."""

    def zeros(booster):
        runs = [run(instance(seed, m=40, n=30), Simplex(), booster, most=60) for seed in range(4)]
        return np.mean([np.mean(here.state.d == 0) for played in runs for here in played])

    assert zeros(MirrorAscent("euclidean")) > zeros(SparseBoost(0.0)) > zeros(SparseBoost(0.5))
    assert zeros(SparseBoost(0.5)) >= zeros(SparseBoost(0.99))
    assert zeros(SparseBoost(0.2, project=False)) > zeros(SparseBoost(0.0, project=False)) > zeros(SparseBoost(0.0))


@every_weighting
@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.4])
def test_sparse_boost_without_the_projection(weights, alpha):
    fell = False
    for A in INSTANCES:
        for here in run(A, Simplex(), SparseBoost(alpha, project=False), weights):
            assert here.error <= Euclidean().error_bound(here.state.memory.gain) + 1e-12
            fell |= Euclidean().error_bound(here.state.memory.gain) < (0.6 if alpha < 0.4 else 0.9)
    assert fell


def test_the_shift_is_the_proximal_step():
    rng = np.random.default_rng(3)
    z, c = rng.uniform(-0.3, 0.6, 15), 0.17
    y = cp.Variable(15)
    value = reference.conic(cp.sum_squares(y - z) + c * cp.norm1(y), [y >= 0, y <= 1])
    clipped = np.clip(z - c / 2, 0, 1)
    assert np.sum((clipped - z) ** 2) + c * clipped.sum() == pytest.approx(value, abs=1e-8)


# ---- Theorem 5 ------------------------------------------------------------------------------------------------------


@every_weighting
@pytest.mark.parametrize("step", ["weight", "error"])
def test_theorem_5_mada_boost(weights, step):
    for A in INSTANCES:
        p, spent = shares(weights, len(A)), 0.0
        played = run(A, Simplex(), MadaBoost(step), weights, 150)
        potentials = [mada.potential(p, here.state.memory.mass * here.state.z) for here in played]
        assert potentials[0] == pytest.approx(1.0, abs=1e-14)
        for before, here, old, new in zip(played, played[1:], potentials, potentials[1:], strict=False):
            spent += (before.error * here.gamma) ** 2
            assert old - new >= (before.error * here.gamma) ** 2 / 2 - 1e-12
            assert old - new >= here.state.memory.gain - before.state.memory.gain - 1e-12
            assert here.error <= new + 1e-12 and new <= 1 - here.state.memory.gain + 1e-12
        assert 0 < spent <= 2
        gamma = played[-1].edges.min()
        for error in (0.5, 0.2, 0.1):
            assert sum(here.error > error for here in played) <= mada.rounds_needed(error, gamma)


def test_mada_weights_are_a_projection_to_the_cube():
    rng = np.random.default_rng(2)
    z = np.exp(rng.normal(size=12))
    y = cp.Variable(12)
    value = reference.conic(cp.sum(cp.kl_div(y, z)), [y >= 0, y <= 1])
    ours = np.minimum(1.0, z)
    assert np.sum(ours * np.log(ours / z) - ours + z) == pytest.approx(value, abs=1e-7)


# ---- Lemma 4 --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [np.ones(8), np.array([1, 3, 1, 2, 1, 1, 4, 1.0])])
def test_lemma_4_the_double_projection(weights):
    rng, bound_set = np.random.default_rng(4), Capped(nu=0.3).bind(Rows.of(weights))
    differ = False
    for _ in range(100):
        v = rng.normal(size=8) * rng.choice([0.1, 1.0])
        twice, once = bound_set.euclidean(np.maximum(v, 0.0)), bound_set.euclidean(v)
        differ |= np.abs(twice - once).max() > 1e-3
        for x in reference.random_points(np.minimum(shares(weights, 8) / 0.3, 1), 3, 0):
            assert (x - v) ** 2 @ (1 / weights) >= (x - twice) ** 2 @ (1 / weights) - 1e-14
    assert differ


@every_weighting
def test_theorem_1_with_the_double_projection(weights):
    booster = MirrorAscent(Euclidean(double=True))
    for A in INSTANCES:
        assert all(here.error <= bound_of(here, booster) + 1e-12 for here in run(A, Simplex(), booster, weights))


def test_the_lazy_update_refuses_the_double_projection():
    with pytest.raises(ValueError, match="lazy"):
        MirrorAscent(Euclidean(double=True), "lazy")


@both_regularizers
@both_updates
@pytest.mark.parametrize("nu", [1e-3, 0.4])
def test_a_run_that_starts_from_another_ensemble_keeps_its_bound(regularizer, update, nu):
    for A in INSTANCES[:3]:
        game = matrix_game(A, Capped(nu=nu), 1e-9)
        first = next(islice(rounds(game, Corrective(step="search")), 5, None))[0]
        booster = MirrorAscent(regularizer, update)
        for state, _ in islice(rounds(game, booster, booster.start(game, first)), 40):
            wrong = training_error(shares(None, 12), state.z)
            assert wrong <= max(nu, booster.regularizer.error_bound(state.memory.gain)) + 1e-12
        again = booster.start(game, state)
        np.testing.assert_array_equal(again.z, state.z)
        assert again.memory.mass == state.memory.mass


# ---- numbers and words ----------------------------------------------------------------------------------------------


@both_regularizers
@both_updates
def test_thousands_of_rounds_lose_nothing(regularizer, update):
    """Weights that underflowed keep their place: a row that turns bad again is found again."""
    A = np.ones((6, 2))
    A[0, 0], A[1:, 1] = -1.0, 0.9
    game = matrix_game(A, Capped(nu=0.2), 1e-12)
    with np.errstate(all="raise", under="ignore"):
        for state, _ in islice(rounds(game, MirrorAscent(regularizer, update)), 3000):
            assert np.isfinite(state.memory.gain) and abs(state.d.sum() - 1) <= 1e-12
    assert state.z.min() > 0


def test_a_vanished_weight_keeps_its_exponent():
    entropic, bound_set = MirrorAscent().regularizer, Capped(nu=0.4).bind(Rows.of(4))
    theta = np.array([0.0, -1.0, -2000.0, -900.0])
    d = entropic.nearest(bound_set, -theta, 1.0)
    gradient = entropic.gradient(bound_set, d, theta)
    assert d[2] == d[3] == 0 and gradient[3] - gradient[2] == pytest.approx(1100.0)


@pytest.mark.parametrize("field", ["regularizer", "update", "step"])
def test_unknown_choices_are_refused(field):
    with pytest.raises(ValueError, match=field):
        MirrorAscent(**{field: "other"})


@pytest.mark.parametrize("make", [lambda: SparseBoost(1.0), lambda: SparseBoost(-0.1), lambda: MadaBoost("other")])
def test_other_unknown_choices_are_refused(make):
    with pytest.raises(ValueError):
        make()
