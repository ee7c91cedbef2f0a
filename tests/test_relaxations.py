"""What every relaxation promises besides Theorem 7: copies, warm starts, extremes, certificates, clear refusals."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.special import wrightomega

import reference
from dualboost import solve
from dualboost.boosters import Corrective
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Ball, BinaryEntropy, Capped, Lp, Norm, Penalty, Simplex, lp_curve
from test_theorems_relaxations import cvx_price, relaxation

INF = np.inf

# ---- what every relaxation promises ---------------------------------------------------------------------------------

RELAXATIONS = {
    **{f"ball {p:g}": relaxation("ball", p, 16) for p in (1, 1.01, 1.5, 2, 3, 40, INF)},
    **{f"penalty {p:g}": relaxation("penalty", p, 16) for p in (1, 1.01, 1.5, 2, 3, 40, INF)},
    "binary entropy": BinaryEntropy(),
}
every_relaxation = pytest.mark.parametrize("weight_set", RELAXATIONS.values(), ids=RELAXATIONS)
COUNTS = np.array([1, 3, 1, 2, 1, 1, 4, 1, 2])


@every_relaxation
def test_weight_k_is_k_copies(weight_set):
    copy_of = np.repeat(np.arange(9), COUNTS)
    whole, copies = weight_set.bind(Rows.of(COUNTS.astype(float))), weight_set.bind(Rows.of(16))
    rng = np.random.default_rng(0)
    for z in (rng.uniform(-1, 1, 9), rng.integers(-1, 2, 9).astype(float), np.zeros(9)):
        assert whole.relaxed_margin(z) == pytest.approx(copies.relaxed_margin(z[copy_of]), abs=1e-12)
        for eta in (0.5, 30.0, 3e3):
            d = whole.entropic(z, eta)
            np.testing.assert_allclose(d, np.bincount(copy_of, copies.entropic(z[copy_of], eta)), atol=1e-11)
            spread = (d / COUNTS)[copy_of]
            assert whole.divergence(d) == pytest.approx(copies.divergence(spread), abs=1e-12)
            assert whole.price(d) == pytest.approx(copies.price(spread), abs=1e-13)


@every_relaxation
def test_warm_is_cold_and_forgetting_repeats_to_the_bit(weight_set):
    rows, rng = Rows.of(COUNTS.astype(float)), np.random.default_rng(3)
    warm, z, eta = weight_set.bind(rows), rng.uniform(-1, 1, 9), 2.0
    for _ in range(15):
        z, eta = 0.9 * z + 0.1 * rng.choice([-1.0, 1.0], 9), eta * rng.choice([0.5, 1.0, 4.0])
        cold = weight_set.bind(rows)
        answers = [(s.relaxed_margin(z), s.entropic(z, eta), s.euclidean(z)) for s in (warm, cold)]
        for ours, fresh in zip(*answers, strict=True):
            np.testing.assert_allclose(ours, fresh, atol=1e-11)
    warm.forget()
    again = warm.relaxed_margin(z), warm.entropic(z, eta), warm.euclidean(z)
    assert all(np.array_equal(a, b) for a, b in zip(again, answers[1], strict=True))


@every_relaxation
def test_extreme_margins_ties_and_levels(weight_set):
    """1e4 / eta apart and far beyond: finite, inside, ordered like the margins, blind to a common offset."""
    rows, rng = Rows.of(16), np.random.default_rng(4)
    d_set, x = weight_set.bind(rows), rng.uniform(-1, 1, 16)
    cases = [(x, 1e4), (x * 1e4, 1.0), (x * 1e4, 1e4), (x * 1e-9, 1.0), (np.round(x), 1e4), (np.full(16, 0.5), 10.0)]
    for z, eta in cases:
        d = d_set.entropic(z, eta)
        assert d_set.contains(d, 1e-11) and np.all(np.isfinite(d))
        assert np.all(np.diff(d[np.argsort(z)]) <= 1e-12)
        value = d_set.relaxed_margin(z)
        assert z.min() - 1e-12 * np.abs(z).max() <= value
        smooth = d @ z + d_set.price(d) + d_set.divergence(d) / eta
        slack = 1e-11 * (1 + np.abs(z).max())
        assert value - slack <= d @ z + d_set.price(d) and smooth <= value + d_set.radius / eta + slack
        np.testing.assert_allclose(d_set.entropic(z + 8.0, eta), d, atol=1e-14 * eta * (8 + np.abs(z).max()) + 1e-12)


@every_relaxation
def test_one_row(weight_set):
    d_set = (weight_set if not isinstance(weight_set, Ball) else Ball(weight_set.p, 1.0)).bind(Rows.of(1))
    z = np.array([-0.25])
    assert d_set.radius == 0 and d_set.relaxed_margin(z) == pytest.approx(-0.25 + d_set.price(np.ones(1)), abs=1e-15)
    for d in (d_set.vertex(z), d_set.entropic(z, 7.0), d_set.euclidean(z)):
        np.testing.assert_allclose(d, [1.0], atol=1e-15)


@every_relaxation
def test_radius_bounds_the_divergence(weight_set):
    rng = np.random.default_rng(6)
    for counts in (np.ones(9), COUNTS.astype(float)):
        rows = Rows.of(counts)
        if isinstance(weight_set, Ball) and weight_set.p > 1:
            weight_set = Ball(weight_set.p, rows.total ** (1 / weight_set.p - 1) * 1.2)
        d_set = weight_set.bind(rows)
        assert abs(d_set.divergence(np.array(rows.prior))) <= 1e-14
        for _ in range(20):
            d = d_set.vertex(rng.normal(size=9))
            assert 0 <= d_set.divergence(d) <= d_set.radius + 1e-12
            assert not d_set.contains(d * 1.001) and d_set.cost(d * 1.001) == INF


@pytest.mark.parametrize("p", [1.5, 2, 3, INF])
def test_the_ends_of_the_radius(p):
    rows, z = Rows.of(COUNTS.astype(float)), np.random.default_rng(8).uniform(-1, 1, 9)
    least = 16 ** (1 / p - 1)
    point = Ball(p, least).bind(rows)
    assert point.radius == 0
    for d in (point.vertex(z), point.entropic(z, 9.0), point.euclidean(z)):
        np.testing.assert_allclose(d, rows.prior, atol=1e-12)
    whole = Ball(p, 1.0).bind(rows)
    assert whole.relaxed_margin(z) == z.min()
    np.testing.assert_allclose(whole.entropic(z, 9.0), Simplex().bind(rows).entropic(z, 9.0), atol=1e-15)
    with pytest.raises(ValueError, match=f"{least:.6g}"):
        Ball(p, least * 0.999).bind(rows)


def test_max_norm_ball_is_the_soft_margin():
    z, rows = np.random.default_rng(9).uniform(-1, 1, 20), Rows.of(20)
    ball, capped = Ball(INF, 1 / 6).bind(rows), Capped(nu=0.3).bind(rows)
    assert ball.relaxed_margin(z) == pytest.approx(capped.relaxed_margin(z), abs=1e-15)
    assert ball.radius == pytest.approx(capped.radius, abs=1e-15)
    np.testing.assert_allclose(ball.entropic(z, 20.0), capped.entropic(z, 20.0), atol=1e-15)


@pytest.mark.parametrize("weight_set", [Ball(2, 0.1), Ball(3, 0.03), Penalty(2, 1.0), Penalty(1.5, 1.0)])
def test_a_warm_projection_takes_a_few_dozen_passes(weight_set, monkeypatch):
    passes, rng = [], np.random.default_rng(16)
    monkeypatch.setattr(lp_curve, "wrightomega", lambda u: passes.append(1) or wrightomega(u))
    d_set, z = weight_set.bind(Rows.of(400)), rng.uniform(-1, 1, 400)
    d_set.entropic(z, 200.0)
    assert 0 < len(passes) <= 60
    passes.clear()
    d_set.entropic(z + rng.normal(size=400) * 1e-3, 200.0)
    assert 0 < len(passes) <= 24


# ---- binary entropy -------------------------------------------------------------------------------------------------


def test_binary_entropy_is_the_conic_optimum_and_a_sigmoid():
    rng = np.random.default_rng(10)
    z, d_set = rng.uniform(-1, 1, 9), BinaryEntropy().bind(Rows.of(9))
    d = cp.Variable(9)
    least = -9 * (1 / 9 * np.log(9) + 8 / 9 * np.log(9 / 8))
    for eta in (0.7, 4.0, 20.0):
        conic = reference.conic(z @ d - cp.sum(cp.entr(d) + cp.entr(1 - d)) / eta, [cp.sum(d) == 1]) - least / eta
        ours = d_set.entropic(z, eta)
        assert ours @ z + d_set.divergence(ours) / eta == pytest.approx(conic, abs=1e-7)
        logit = np.log(ours / (1 - ours)) + eta * z
        assert np.ptp(logit) <= 1e-11 * (1 + eta)


def test_binary_entropy_range():
    for m in (2, 3, 50):
        d_set = BinaryEntropy().bind(Rows.of(m))
        assert d_set.radius == pytest.approx(np.log(m) + (m - 1) * np.log(m / (m - 1)), abs=1e-12)
        assert d_set.radius <= np.log(m) + 1
        assert d_set.divergence(np.eye(m)[0]) == pytest.approx(d_set.radius, abs=1e-12), "attained at a unit vector"
    with pytest.raises(ValueError, match="at least 1"):
        BinaryEntropy().bind(Rows.of(np.array([0.5, 2.0])))


# ---- a norm of one's own --------------------------------------------------------------------------------------------


class Euclid(Norm):
    def value(self, d):
        return float(np.sqrt(d @ d))

    def dual(self, x):
        return float(np.sqrt(x @ x))

    def gradient(self, d):
        return d / np.sqrt(d @ d)


class TwoLargest(Norm):
    """Polyhedral: the sum of the two largest entries."""

    def value(self, d):
        return float(np.sort(np.abs(d))[-2:].sum())

    def dual(self, x):
        return float(max(np.abs(x).max(), np.abs(x).sum() / 2))


def test_a_norm_of_ones_own_agrees_with_the_built_in_one():
    z, rows = np.random.default_rng(12).uniform(-1, 1, 6), Rows.of(6)
    balls = Ball(norm=Euclid(), radius=0.5), Ball(2, 0.5)
    penalties = Penalty(norm=Euclid(), nu=0.7), Penalty(2, 0.7)
    for own, built_in in (balls, penalties):
        a, b = own.bind(rows), built_in.bind(rows)
        assert a.relaxed_margin(z) == pytest.approx(b.relaxed_margin(z), abs=1e-12)
        np.testing.assert_allclose(a.vertex(z), b.vertex(z), atol=1e-6)
        for eta in (1.0, 20.0):
            d = a.entropic(z, eta)
            assert a.contains(d)
            np.testing.assert_allclose(d, b.entropic(z, eta), atol=1e-4)
        with pytest.raises(ValueError, match="l_p norms only"):
            a.euclidean(z)
    given_norm = Ball(norm=Lp(2), radius=0.5).bind(rows)
    assert np.array_equal(given_norm.entropic(z, 5.0), Ball(2, 0.5).bind(rows).entropic(z, 5.0))


def test_a_norm_with_corners_has_exact_margins_and_honest_projections():
    """The relaxed margin is the linear program; a projection is right or refused."""
    z, rows = np.random.default_rng(13).uniform(-1, 1, 6), Rows.of(6)
    d, t = cp.Variable(6), cp.sum_largest
    simplex = [d >= 0, cp.sum(d) == 1]
    ball, price = Ball(norm=TwoLargest(), radius=0.6).bind(rows), Penalty(norm=TwoLargest(), nu=0.5).bind(rows)
    assert ball.relaxed_margin(z) == pytest.approx(reference.conic(z @ d, [*simplex, t(d, 2) <= 0.6]), abs=2e-7)
    assert price.relaxed_margin(z) == pytest.approx(reference.conic(z @ d + 0.5 * t(d, 2), simplex), abs=2e-7)
    conic = reference.conic(z @ d + 0.5 * t(d, 2) + cp.sum(cp.rel_entr(d, np.full(6, 1 / 6))) / 3, simplex)
    try:
        ours = price.entropic(z, 3.0)
    except ValueError as refusal:
        assert "corners" in str(refusal)
    else:
        assert ours @ z + price.price(ours) + price.divergence(ours) / 3 == pytest.approx(conic, abs=1e-5)


# ---- end to end -----------------------------------------------------------------------------------------------------


@every_relaxation
def test_certificates_end_to_end(weight_set):
    """lo <= rho <= up with rho from Clarabel, within the accuracy asked, with sample weights = copies."""
    rng = np.random.default_rng(14)
    A = np.sign(rng.normal(size=(9, 6)) + 0.4)
    copy_of, tol = np.repeat(np.arange(9), COUNTS), 0.15
    d = cp.Variable(16)
    kind = "ball" if isinstance(weight_set, Ball) else "penalty"
    if isinstance(weight_set, BinaryEntropy):
        price, inside = 0, [d >= 0, cp.sum(d) == 1]
    else:
        price, inside = cvx_price(kind, weight_set, d)
    rho = reference.conic(cp.norm_inf(A[copy_of].T @ d) + price, inside)
    solution = solve(A, SoftMargin(weight_set), Corrective(), tol=tol, sample_weight=COUNTS)
    assert solution.objective - 1e-6 <= rho <= solution.bound + 1e-6
    assert solution.gap <= tol and solution.n_rounds > 0 and "certified" in solution.status
    copied = solve(A[copy_of], SoftMargin(weight_set), Corrective(), tol=tol)
    assert copied.objective == pytest.approx(solution.objective, abs=1e-9)


def test_a_norm_of_ones_own_end_to_end():
    A = np.sign(np.random.default_rng(15).normal(size=(6, 4)) + 0.4)
    own = solve(A, SoftMargin(Penalty(norm=Euclid(), nu=0.6)), tol=0.4)
    built_in = solve(A, SoftMargin(Penalty(2, 0.6)), tol=0.05)
    assert own.objective <= built_in.bound + 1e-9 and built_in.objective <= own.bound + 1e-9 and own.gap <= 0.4


# ---- bad input ------------------------------------------------------------------------------------------------------


class NotHomogeneous(Euclid):
    def value(self, d):
        return float(d @ d)


class WrongDual(Euclid):
    def dual(self, x):
        return float(0.1 * np.sqrt(x @ x))


BAD = {
    "p below 1": lambda: Ball(0.5, 1.0),
    "p just above 1": lambda: Ball(1.005, 1.0),
    "price of p just above 1": lambda: Penalty(1.0 + 1e-9, 1.0),
    "norm just above 1": lambda: Ball(norm=Lp(1.0099), radius=1.0),
    "p is complex": lambda: Ball(np.complex128(2), 1.0),
    "p is nan": lambda: Penalty(np.nan, 1.0),
    "p is text": lambda: Ball("2", 1.0),
    "neither p nor norm": lambda: Ball(radius=1.0),
    "both p and norm": lambda: Ball(2, 1.0, norm=Euclid()),
    "no radius": lambda: Ball(2),
    "negative radius": lambda: Ball(2, -0.3),
    "infinite radius": lambda: Ball(2, INF),
    "no nu": lambda: Penalty(2),
    "nu is 0": lambda: Penalty(2, 0.0),
    "nu is nan": lambda: Penalty(2, np.nan),
    "norm is a function": lambda: Ball(norm=np.linalg.norm, radius=1.0),
    "norm not homogeneous": lambda: Ball(norm=NotHomogeneous(), radius=1.0),
    "wrong dual": lambda: Penalty(norm=WrongDual(), nu=1.0),
    "radius too small": lambda: Ball(2, 0.3).bind(Rows.of(9)),
    "own norm, radius too small": lambda: Ball(norm=Euclid(), radius=0.3).bind(Rows.of(9)),
    "own norm, sample weights": lambda: Ball(norm=Euclid(), radius=0.9).bind(Rows.of(np.array([1.0, 2.0]))),
    "l_1 ball below 1": lambda: Ball(1, 0.9).bind(Rows.of(4)),
    "weights beyond all bounds": lambda: Ball(2, 0.9).bind(Rows.of(np.array([1e308, 1.5e308]))),
}


@pytest.mark.parametrize("call", BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence(call):
    with pytest.raises(ValueError) as error:
        call()
    assert str(error.value).endswith(".") and "\n" not in str(error.value)
