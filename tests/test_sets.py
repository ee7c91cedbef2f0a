"""What every set promises: exact relaxed margins, both projections, an honest radius, and weight k = k copies."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dualboost.sets
import reference
from conftest import SETS, SetCase, for_copies, share
from dualboost.rows import Rows
from dualboost.sets import Capped, Simplex, WeightSet

every_set = pytest.mark.parametrize("case", SETS.values(), ids=SETS)
WEIGHTS = {
    "equal": np.ones(9),
    "counts": np.array([1, 3, 1, 2, 1, 1, 4, 1, 2.0]),
    "reals": np.array([1.5, 1, 2.25, 1, 1, 7, 1, 1.125, 3]),
}
every_weighting = pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)


def bound(case: SetCase, weights: np.ndarray):
    return case.make(len(weights)).bind(Rows.of(weights))


def margin_vectors(m: int) -> list[np.ndarray]:
    """Random, tied, constant, tiny and huge."""
    rng = np.random.default_rng(m)
    tied = rng.integers(-1, 2, m).astype(float)
    return [rng.uniform(-1, 1, m), tied, np.zeros(m), np.full(m, -0.5), rng.normal(size=m) * 1e-9, rng.normal(size=m) * 1e4]


# ---- the checks, as functions: planted faults call them too ---------------------------------------------------------


def check_relaxed_margin(case: SetCase, weights: np.ndarray) -> None:
    caps, d_set = case.caps(weights), bound(case, weights)
    for z in margin_vectors(len(weights)):
        value, scale = d_set.relaxed_margin(z), 1 + np.abs(z).max()
        assert abs(value - reference.average_lowest(z, caps)) <= 1e-14 * len(z) * scale
        assert abs(value - reference.lp_relaxed_margin(z, caps)) <= 1e-12 * scale
        assert abs(value - reference.best_level(z, caps)) <= 1e-12 * scale


def check_inside(d: np.ndarray, caps: np.ndarray, atol: float = 1e-13) -> None:
    assert d.shape == caps.shape and np.all(np.isfinite(d))
    assert np.all(d >= 0) and np.all(d <= caps * (1 + 1e-15) + 1e-16)
    assert abs(d.sum() - 1) <= atol


def check_entropic(case: SetCase, weights: np.ndarray, etas=(1e-3, 1.0, 20.0, 1e3, 1e6)) -> None:
    """Feasible, optimality conditions (section 9: 1e-11), and equal to the sort."""
    caps, prior, d_set = case.caps(weights), share(weights), bound(case, weights)
    for z in margin_vectors(len(weights)):
        for eta in etas:
            d = d_set.entropic(z, eta)
            check_inside(d, caps)
            assert reference.entropic_residual(d, z, eta, caps, prior) <= 1e-11
            spread = 1 + eta * np.abs(z).max()
            np.testing.assert_allclose(d, reference.entropic_by_sorting(z, eta, caps, prior), rtol=1e-14 * spread, atol=1e-14 * spread)


def check_copies(case: SetCase, weights: np.ndarray) -> None:
    """Weight k is k copies: the same relaxed margin, and entropic weights that add up to the row's."""
    counts = weights.astype(int)
    copy_of = np.repeat(np.arange(len(weights)), counts)
    whole = bound(case, weights)
    copies = for_copies(case.make(len(weights)), copy_of).bind(Rows.of(len(copy_of)))
    for z in margin_vectors(len(weights)):
        scale = 1 + np.abs(z).max()
        assert abs(whole.relaxed_margin(z) - copies.relaxed_margin(z[copy_of])) <= 1e-14 * scale * len(copy_of)
        for eta in (0.5, 30.0):
            together = np.bincount(copy_of, copies.entropic(z[copy_of], eta))
            np.testing.assert_allclose(whole.entropic(z, eta), together, atol=1e-14 * (1 + eta * scale))
    for d in reference.random_points(case.caps(weights), 4, 0):
        spread = d[copy_of] / counts[copy_of]
        assert abs(whole.divergence(d) - copies.divergence(spread)) <= 1e-13
        assert copies.contains(spread)


def check_radius(case: SetCase, weights: np.ndarray) -> None:
    """Never below a divergence inside, never above what caps allow, and attained when the caps fit 1 exactly."""
    caps, prior, d_set = case.caps(weights), share(weights), bound(case, weights)
    points = reference.random_points(caps, 40, 1)
    assert d_set.radius >= max(reference.kl(d, prior) for d in points) - 1e-12 or d_set.radius == 0
    assert d_set.radius <= np.log((caps / prior).max()) + 1e-12
    spans = max(np.abs(a - points[0]).max() for a in points)
    assert (d_set.radius == 0) == (spans < 1e-9), "0 means one point"


# ---- the contract -----------------------------------------------------------------------------------------------------


def test_every_public_set_is_in_the_registry():
    public = {c for c in vars(dualboost.sets).values() if inspect.isclass(c) and issubclass(c, WeightSet) and not inspect.isabstract(c)}
    assert {type(case.make(6)) for case in SETS.values()} == public and public


@every_set
@every_weighting
def test_relaxed_margin_is_the_linear_program(case, weights):
    check_relaxed_margin(case, weights)


@every_set
@every_weighting
def test_vertex_attains_the_relaxed_margin(case, weights):
    caps, d_set = case.caps(weights), bound(case, weights)
    for z in margin_vectors(len(weights)):
        d = d_set.vertex(z)
        check_inside(d, caps)
        assert d_set.contains(d) and d_set.cost(d) == 0
        assert abs(d @ z - d_set.relaxed_margin(z)) <= 1e-14 * len(z) * (1 + np.abs(z).max())
        assert np.sum((d > 0) & (d < caps * (1 - 1e-12))) <= 1, "one fractional entry at most"


@every_set
def test_vertex_prefers_the_lowest_index(case):
    caps = case.caps(np.ones(7))
    d, left = np.zeros(7), 1.0
    for i in range(7):
        d[i] = min(left, caps[i])
        left -= d[i]
    np.testing.assert_allclose(bound(case, np.ones(7)).vertex(np.full(7, 0.25)), d, atol=1e-15)


@every_set
@every_weighting
def test_entropic_satisfies_the_optimality_conditions(case, weights):
    check_entropic(case, weights)


@every_set
@every_weighting
def test_entropic_value_is_the_conic_one(case, weights):
    caps, prior, d_set = case.caps(weights), share(weights), bound(case, weights)
    z = margin_vectors(len(weights))[0]
    for eta in (0.5, 4.0, 20.0):  # beta >= 0.05: below, the conic solver gives up
        d = d_set.entropic(z, eta)
        value = d @ z + d_set.divergence(d) / eta
        assert abs(value - reference.conic_entropic(z, eta, caps, prior)) <= 1e-7


@every_set
@every_weighting
def test_euclidean_is_the_nearest_point(case, weights):
    caps, d_set = case.caps(weights), bound(case, weights)
    for v in margin_vectors(len(weights)):
        d, scale = d_set.euclidean(v), 1 + np.abs(v).max()
        check_inside(d, caps)
        np.testing.assert_allclose(d, reference.euclidean_by_bisection(v, caps), atol=1e-14 * scale)
        free = (d > 1e-12) & (d < caps * (1 - 1e-12))
        shift = (v - d)[free]
        assert shift.size < 2 or np.ptp(shift) <= 1e-14 * scale
        if scale < 10:
            assert abs(np.sum((d - v) ** 2) - reference.conic_euclidean(v, caps)) <= 1e-6


@every_set
@every_weighting
def test_divergence_is_zero_at_the_prior_only(case, weights):
    d_set, prior = bound(case, weights), share(weights)
    assert abs(d_set.divergence(prior)) <= 1e-15
    for d in reference.random_points(case.caps(weights), 10, 2):
        assert d_set.divergence(d) >= -1e-15
        assert abs(d_set.divergence(d) - reference.kl(d, prior)) <= 1e-14


@every_set
@every_weighting
def test_radius_bounds_the_divergence(case, weights):
    check_radius(case, weights)


@pytest.mark.parametrize("nu", [0.25, 0.5, 1 / 8, 1e-4])
def test_radius_is_attained_when_the_caps_fit(nu):
    d_set = Capped(nu=nu).bind(Rows.of(8))
    assert d_set.divergence(d_set.vertex(np.arange(8.0))) == pytest.approx(d_set.radius, abs=1e-14)


@every_set
def test_weight_k_is_k_copies(case):
    check_copies(case, WEIGHTS["counts"])


@every_set
@every_weighting
def test_a_warm_answer_is_the_cold_one(case, weights):
    warm, rng = bound(case, weights), np.random.default_rng(3)
    z, eta = rng.uniform(-1, 1, len(weights)), 2.0
    for _ in range(30):
        z, eta = 0.9 * z + 0.1 * rng.choice([-1.0, 1.0], len(z)), eta * rng.choice([0.5, 1.0, 2.0])
        cold = bound(case, weights)
        assert abs(warm.relaxed_margin(z) - cold.relaxed_margin(z)) <= 1e-14
        np.testing.assert_allclose(warm.entropic(z, eta), cold.entropic(z, eta), atol=1e-12)
        np.testing.assert_allclose(warm.euclidean(z), cold.euclidean(z), atol=1e-12)


@every_set
def test_forgetting_makes_answers_repeat_to_the_bit(case):
    z = np.random.default_rng(4).uniform(-1, 1, 9)
    d_set = bound(case, WEIGHTS["reals"])
    first = d_set.relaxed_margin(z), d_set.entropic(z, 10.0).tobytes(), d_set.euclidean(z).tobytes()
    d_set.entropic(-z, 500.0), d_set.relaxed_margin(-z), d_set.euclidean(-z)
    d_set.forget()
    assert first == (d_set.relaxed_margin(z), d_set.entropic(z, 10.0).tobytes(), d_set.euclidean(z).tobytes())


@every_set
@every_weighting
def test_contains_knows_inside_from_outside(case, weights):
    caps, d_set = case.caps(weights), bound(case, weights)
    for d in reference.random_points(caps, 5, 5):
        assert d_set.contains(d) and d_set.cost(d) == 0
    d = reference.random_points(caps, 1, 6)[0]
    low, high = np.argmin(d), np.argmax(d)
    for change in ([(high, 1e-6)], [(high, -1e-6)], [(low, -1 - d[low]), (high, 1.0)], [(high, np.nan)]):
        wrong = d.copy()
        for i, step in change:
            wrong[i] += step
        assert not d_set.contains(wrong) and d_set.cost(wrong) == np.inf


@every_set
def test_what_a_set_returned_stays_as_it_was(case):
    """The set vouches for its last projection without looking; so nobody may write to it."""
    d = bound(case, np.ones(9)).entropic(np.linspace(-1, 1, 9), 3.0)
    with pytest.raises(ValueError):
        d[0] = 0.5


@every_set
def test_one_row(case):
    d_set = case.make(1).bind(Rows.of(1))
    z = np.array([-0.25])
    assert d_set.radius == 0 and d_set.relaxed_margin(z) == -0.25
    for d in (d_set.vertex(z), d_set.entropic(z, 7.0), d_set.euclidean(z)):
        assert d.tolist() == [1.0]


def test_the_ends_of_nu():
    z = np.random.default_rng(7).uniform(-1, 1, 11)
    rows = Rows.of(11)
    for nu in (1e-9, 0.05, 1 / 11):
        hard, simplex = Capped(nu=nu).bind(rows), Simplex().bind(rows)
        assert hard.relaxed_margin(z) == simplex.relaxed_margin(z) == z.min()
        assert hard.radius == pytest.approx(simplex.radius, abs=1e-14) == pytest.approx(np.log(11), abs=1e-14)
        np.testing.assert_allclose(hard.entropic(z, 9.0), simplex.entropic(z, 9.0), atol=1e-15)
    for weights in (np.ones(11), np.arange(1.0, 12)):
        mean = Capped(nu=1.0).bind(Rows.of(weights))
        assert mean.radius == 0
        np.testing.assert_allclose(mean.entropic(z, 9.0), share(weights), atol=1e-16)
        assert mean.relaxed_margin(z) == pytest.approx(share(weights) @ z, abs=1e-15)


def test_translation_and_scale_of_the_margins():
    """SS-PROJ: adding a constant to the margins changes nothing; 1e5 apart is no trouble."""
    z = np.random.default_rng(8).uniform(-1, 1, 40)
    d_set = Capped(nu=0.21).bind(Rows.of(40))
    for eta, shift in ((1.0, 3.0), (100.0, 1e3), (1e5, 1.0)):
        moved = Capped(nu=0.21).bind(Rows.of(40)).entropic(z + shift, eta)
        np.testing.assert_allclose(moved, d_set.entropic(z, eta), rtol=1e-15 * eta * (2 + shift) * 4, atol=1e-16)
    wide = d_set.entropic(z * 1e5, 1.0)
    check_inside(wide, np.full(40, 1 / (0.21 * 40)))
    order = np.argsort(z)
    assert np.all(np.diff(wide[order]) <= 1e-16), "equal caps keep the order"


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=15), st.floats(0.01, 1), st.floats(-4, 5))
def test_any_margins_any_nu_any_smoothing(margins, nu, log_eta):
    z, eta = np.array(margins), 10.0**log_eta
    prior = np.full(len(z), 1 / len(z))
    caps, d_set = np.minimum(prior / nu, 1), Capped(nu=nu).bind(Rows.of(len(z)))
    assert abs(d_set.relaxed_margin(z) - reference.average_lowest(z, caps)) <= 1e-13 * (1 + np.abs(z).max())
    d = d_set.entropic(z, eta)
    check_inside(d, caps)
    assert reference.entropic_residual(d, z, eta, caps, prior) <= 1e-11
    np.testing.assert_allclose(d_set.euclidean(z), reference.euclidean_by_bisection(z, caps), atol=1e-12)
