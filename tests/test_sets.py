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
from reference import Model

every_set = pytest.mark.parametrize("case", SETS.values(), ids=SETS)
CAPPED = {name: case for name, case in SETS.items() if case.model(np.ones(6)).exact}
capped_sets = pytest.mark.parametrize("case", CAPPED.values(), ids=CAPPED)
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
    return [
        rng.uniform(-1, 1, m),
        tied,
        np.zeros(m),
        np.full(m, -0.5),
        rng.normal(size=m) * 1e-9,
        rng.normal(size=m) * 1e4,
    ]


# ---- the checks, as functions: planted faults call them too ---------------------------------------------------------


def check_relaxed_margin(case: SetCase, weights: np.ndarray) -> None:
    model, d_set = case.model(weights), bound(case, weights)
    for z in margin_vectors(len(weights)):
        value, scale = d_set.relaxed_margin(z), 1 + np.abs(z).max()
        assert abs(value - model.relaxed_margin(z)) <= (1e-14 * len(z) if model.exact else 1e-12) * scale
        if model.exact:
            assert abs(value - reference.lp_relaxed_margin(z, model.caps)) <= 1e-12 * scale
            assert abs(value - reference.best_level(z, model.caps)) <= 1e-12 * scale
        for d in model.points(5, 3):
            assert d @ z + model.price(d) >= value - 1e-12 * scale, "no point of the set is better"


def check_inside(d: np.ndarray, model: Model, atol: float = 1e-13) -> None:
    assert d.shape == model.prior.shape and np.all(np.isfinite(d)) and model.inside(d, atol)


def check_entropic(case: SetCase, weights: np.ndarray, etas=(1e-3, 1.0, 20.0, 1e3, 1e6)) -> None:
    """Feasible; no point of the set is better; under caps also the optimality conditions (1e-11) and the sort."""
    model, d_set = case.model(weights), bound(case, weights)
    for z in margin_vectors(len(weights)):
        for eta in etas:
            d, spread = d_set.entropic(z, eta), 1 + eta * np.abs(z).max()
            check_inside(d, model, 1e-13 if model.exact else 1e-12)
            check_no_better_point(model, d, z, eta)
            if model.exact:
                assert reference.entropic_residual(d, z, eta, model.caps, model.prior) <= 1e-11
                sorted_d = reference.entropic_by_sorting(z, eta, model.caps, model.prior)
                np.testing.assert_allclose(d, sorted_d, rtol=1e-14 * spread, atol=1e-14 * spread)


def check_no_better_point(model: Model, d: np.ndarray, z: np.ndarray, eta: float) -> None:
    """First-order: stepping a little towards any point of the convex set does not lower the objective."""

    def objective(d):
        return d @ z + model.price(d) + model.divergence(d) / eta

    now, scale = objective(d), np.abs(z).max() + 1 + 1 / eta
    for point in model.points(6, 4):
        for step in (1e-3, 0.1, 1.0):
            assert objective(d + step * (point - d)) >= now - 1e-13 * scale


def check_copies(case: SetCase, weights: np.ndarray) -> None:
    """Weight k is k copies: the same relaxed margin, and entropic weights that add up to the row's."""
    counts = weights.astype(int)
    copy_of = np.repeat(np.arange(len(weights)), counts)
    whole = bound(case, weights)
    copies = for_copies(case.make(len(weights)), copy_of).bind(Rows.of(len(copy_of)))
    slack = 1.0 if case.model(weights).exact else 100.0
    for z in margin_vectors(len(weights)):
        scale = slack * (1 + np.abs(z).max())
        assert abs(whole.relaxed_margin(z) - copies.relaxed_margin(z[copy_of])) <= 1e-14 * scale * len(copy_of)
        for eta in (0.5, 30.0):
            together = np.bincount(copy_of, copies.entropic(z[copy_of], eta))
            np.testing.assert_allclose(whole.entropic(z, eta), together, atol=1e-14 * (1 + eta) * scale)
        together = np.bincount(copy_of, copies.euclidean((z / counts)[copy_of]))
        np.testing.assert_allclose(whole.euclidean(z), together, atol=1e-14 * scale)
    for d in case.model(weights).points(4, 0):
        spread = d[copy_of] / counts[copy_of]
        assert abs(whole.divergence(d) - copies.divergence(spread)) <= 1e-13
        assert copies.contains(spread) and abs(whole.cost(d) - copies.cost(spread)) <= 1e-13


def check_radius(case: SetCase, weights: np.ndarray) -> None:
    """Never below a divergence inside, never above what the whole simplex allows; 0 means one point."""
    model, d_set = case.model(weights), bound(case, weights)
    points = model.points(40, 1)
    assert d_set.radius >= max(model.divergence(d) for d in points) - 1e-12 or d_set.radius == 0
    assert d_set.radius <= model.largest_divergence() + 1e-12
    spans = max(np.abs(a - points[0]).max() for a in points)
    assert (d_set.radius == 0) == (spans < 1e-9), "0 means one point"


# ---- the contract ---------------------------------------------------------------------------------------------------


def test_every_public_set_is_in_the_registry():
    public = {
        c
        for c in vars(dualboost.sets).values()
        if inspect.isclass(c) and issubclass(c, WeightSet) and not inspect.isabstract(c)
    }
    assert {type(case.make(6)) for case in SETS.values()} == public and public


@every_set
@every_weighting
def test_relaxed_margin_is_the_linear_program(case, weights):
    check_relaxed_margin(case, weights)


@every_set
@every_weighting
def test_vertex_attains_the_relaxed_margin(case, weights):
    model, d_set = case.model(weights), bound(case, weights)
    for z in margin_vectors(len(weights)):
        d = d_set.vertex(z)
        check_inside(d, model, 1e-13 if model.exact else 1e-12)
        assert d_set.contains(d) and abs(d_set.cost(d) - model.price(d)) <= 1e-13
        slack = 1e-14 * len(z) if model.exact else 1e-12
        assert abs(d @ z + model.price(d) - d_set.relaxed_margin(z)) <= slack * (1 + np.abs(z).max())
        if model.exact:
            assert np.sum((d > 0) & (d < model.caps * (1 - 1e-12))) <= 1, "one fractional entry at most"


@capped_sets
def test_vertex_prefers_the_lowest_index(case):
    caps = case.model(np.ones(7)).caps
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
    model, d_set = case.model(weights), bound(case, weights)
    z = margin_vectors(len(weights))[0]
    for eta in (0.5, 4.0, 20.0):  # beta >= 0.05: below, the conic solver gives up
        d = d_set.entropic(z, eta)
        value = d @ z + d_set.cost(d) + d_set.divergence(d) / eta
        assert abs(value - model.conic_entropic(z, eta)) <= (1e-7 if model.exact else 3e-7)


@every_set
@every_weighting
def test_euclidean_is_the_nearest_point(case, weights):
    model, d_set = case.model(weights), bound(case, weights)
    for v in margin_vectors(len(weights)):
        d, scale = d_set.euclidean(v), 1 + np.abs(v).max()
        check_inside(d, model, 1e-13 if model.exact else 1e-12)
        if model.exact:
            twin = reference.euclidean_by_bisection(v, model.caps, model.weights)
            np.testing.assert_allclose(d, twin, atol=1e-14 * scale)
            free = (d > 1e-12) & (d < model.caps * (1 - 1e-12))
            shift = ((v - d) / weights)[free]
            assert shift.size < 2 or np.ptp(shift) <= 1e-14 * scale
        if scale < 10:
            distance = np.sum((d - v) ** 2 / weights) / 2
            assert abs(distance + model.price(d) - model.conic_euclidean(v)) <= 1e-6


@every_set
@every_weighting
def test_divergence_is_zero_at_the_prior_only(case, weights):
    model, d_set = case.model(weights), bound(case, weights)
    assert abs(d_set.divergence(model.prior)) <= 1e-15
    for d in model.points(10, 2):
        assert d_set.divergence(d) >= -1e-15
        assert abs(d_set.divergence(d) - model.divergence(d)) <= 1e-14


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
        assert abs(warm.relaxed_margin(z) - cold.relaxed_margin(z)) <= 1e-13
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
    model, d_set = case.model(weights), bound(case, weights)
    for d in model.points(5, 5):
        assert d_set.contains(d) and abs(d_set.cost(d) - model.price(d)) <= 1e-14
    d = model.points(1, 6)[0]
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
    assert d_set.radius == 0 and d_set.relaxed_margin(z) == pytest.approx(
        -0.25 + case.model(np.ones(1)).price(np.ones(1)), abs=1e-15
    )
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
    check_inside(wide, Model(np.ones(40), np.full(40, 1 / (0.21 * 40))))
    order = np.argsort(z)
    assert np.all(np.diff(wide[order]) <= 1e-16), "equal caps keep the order"


@pytest.mark.parametrize("m", [2000, 3000, 4096, 10_000, 100_000])
@pytest.mark.parametrize("nu", [1e-9, 0.25, 2 / 3])
def test_many_equal_margins(m, nu):
    """All rows alike or in two halves: each rounding error happens m times over, and a run starts at z = 0."""
    d_set, model = Capped(nu=nu).bind(Rows.of(m)), Model(np.ones(m), np.full(m, 1 / (nu * m)))
    halves = np.where(np.arange(m) % 2, 0.5, -0.5)
    for z in (np.zeros(m), np.full(m, 0.3), halves):
        for eta in (1.0, 160.127, 1e4):
            d = d_set.entropic(z, eta)
            check_inside(d, model, atol=1e-12)
            if z is halves and m <= 3000:  # the sort is slow
                np.testing.assert_allclose(
                    d, reference.entropic_by_sorting(z, eta, model.caps, model.prior), rtol=1e-10
                )
        assert d_set.relaxed_margin(z) == pytest.approx(model.relaxed_margin(z), abs=1e-12)
        check_inside(d_set.euclidean(z), model, atol=1e-12)


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=15), st.floats(0.01, 1), st.floats(-4, 5))
def test_any_margins_any_nu_any_smoothing(margins, nu, log_eta):
    z, eta = np.array(margins), 10.0**log_eta
    model, d_set = Model(np.ones(len(z)), np.full(len(z), 1 / (nu * len(z)))), Capped(nu=nu).bind(Rows.of(len(z)))
    assert abs(d_set.relaxed_margin(z) - model.relaxed_margin(z)) <= 1e-13 * (1 + np.abs(z).max())
    d = d_set.entropic(z, eta)
    check_inside(d, model)
    assert reference.entropic_residual(d, z, eta, model.caps, model.prior) <= 1e-11
    np.testing.assert_allclose(d_set.euclidean(z), reference.euclidean_by_bisection(z, model.caps), atol=1e-12)
