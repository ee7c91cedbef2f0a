"""Norm balls and penalties: Shalev-Shwartz & Singer, Theorem 7 with its erratum, and the row weights of section 6.

The references are cvxpy with Clarabel on rows that are really copied, and optimality conditions.
"""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from dualboost.rows import Rows
from dualboost.sets import Ball, Lp, Norm, Penalty
from dualboost.sets.penalty import LpPenalty

INF = np.inf
POWERS = [1, 1.5, 2, 3, INF]
every_power = pytest.mark.parametrize("p", POWERS)
both_kinds = pytest.mark.parametrize("kind", ["ball", "penalty"])


def relaxation(kind: str, p: float, m: int, tightness: float = 0.3):
    """A ball between the prior and the simplex, or a price that matters."""
    if kind == "penalty":
        return Penalty(p, nu=2 * tightness)
    least = m ** (1 / p - 1)
    return Ball(p, radius=least + tightness * (1 - least) if p > 1 else 1.5)


def cvx_price(kind: str, weight_set, d):
    """(price, constraints) of the same relaxation for one entry of d per copy."""
    norm = cp.pnorm(d, weight_set.p)
    simplex = [d >= 0, cp.sum(d) == 1]
    return (0, [*simplex, norm <= weight_set.radius]) if kind == "ball" else (weight_set.nu * norm, simplex)


def log_densities(d, prior):
    return np.log(np.maximum(d, 1e-300) / prior)


# ---- Theorem 7 ------------------------------------------------------------------------------------------------------


@both_kinds
@every_power
def test_primal_equals_dual(kind, p):
    """SS-T7: min over d of the largest edge + f = max over |w|_1 <= 1, g of g - f*([g - A w]_+)."""
    rng = np.random.default_rng(5)
    A = rng.uniform(-1, 1, (8, 5))
    weight_set = relaxation(kind, p, 8)
    d, w, g = cp.Variable(8), cp.Variable(5), cp.Variable()
    price, inside = cvx_price(kind, weight_set, d)
    primal = reference.conic(cp.norm_inf(A.T @ d) + price, inside)
    q = 1 if p == INF else INF if p == 1 else p / (p - 1)
    short = cp.pnorm(cp.pos(g - A @ w), q)
    if kind == "ball":
        dual = -reference.conic(weight_set.radius * short - g, [cp.norm1(w) <= 1])
    else:
        dual = -reference.conic(-g, [cp.norm1(w) <= 1, short <= weight_set.nu])
    assert primal == pytest.approx(dual, abs=2e-7)


@both_kinds
@every_power
@pytest.mark.parametrize("tightness", [0.02, 0.3, 0.8])
def test_relaxed_margin_and_vertex(kind, p, tightness):
    rng = np.random.default_rng(int(100 * tightness))
    counts = np.array([1, 3, 1, 2, 1, 2])
    copy_of = np.repeat(np.arange(6), counts)
    weight_set = relaxation(kind, p, len(copy_of), tightness)
    d_set = weight_set.bind(Rows.of(counts.astype(float)))
    for z in (rng.uniform(-1, 1, 6), rng.integers(-1, 2, 6).astype(float)):
        d = cp.Variable(len(copy_of))
        price, inside = cvx_price(kind, weight_set, d)
        value = d_set.relaxed_margin(z)
        assert value == pytest.approx(reference.conic(z[copy_of] @ d + price, inside), abs=2e-7)
        vertex = d_set.vertex(z)
        assert d_set.contains(vertex, 1e-12)
        assert vertex @ z + d_set.price(vertex) == pytest.approx(value, abs=1e-13)


margin_lists = st.lists(st.floats(-50, 50), min_size=1, max_size=12)


@given(margin_lists, st.floats(1.05, 30), st.floats(0.001, 1), st.floats(0.01, 60))
def test_relaxed_margin_is_the_best_level(margins, p, tightness, nu):
    """Weak duality from both sides: no level g gives more, the vertex costs no more."""
    z = np.array(margins)
    m, q, scale = len(z), p / (p - 1), 1 + np.abs(z).max()
    least = m ** (1 / p - 1)
    radius = least + tightness * (1 - least)
    for kind, d_set in (("ball", Ball(p, radius).bind(Rows.of(m))), ("penalty", Penalty(p, nu).bind(Rows.of(m)))):
        value, d = d_set.relaxed_margin(z), d_set.vertex(z)
        assert d_set.contains(d, 1e-11) and d @ z + d_set.price(d) <= value + 1e-12 * scale
        levels = z.min() + np.geomspace(1e-6, 1e4, 400)
        short = np.linalg.norm(np.maximum(levels[:, None] - z, 0), q, axis=1)
        lower = levels - radius * short if kind == "ball" else levels[short <= nu]
        assert lower.size == 0 or value >= lower.max() - 1e-11 * scale


def test_closed_forms_of_the_relaxed_margin():
    rng = np.random.default_rng(2)
    z = rng.uniform(-1, 1, 20)
    rows = Rows.of(20)
    assert Ball(2, 20**-0.5).bind(rows).relaxed_margin(z) == pytest.approx(z.mean(), abs=1e-14)
    assert Ball(2, 1.0).bind(rows).relaxed_margin(z) == z.min()
    almost = 20**-0.5 * 1.01  # so small that all rows are active: mean - deviation * sqrt(radius^2 m - 1)
    expected = z.mean() - z.std() * np.sqrt(almost**2 * 20 - 1)
    assert Ball(2, almost).bind(rows).relaxed_margin(z) == pytest.approx(expected, abs=1e-13)
    assert Ball(INF, 0.1).bind(rows).relaxed_margin(z) == pytest.approx(np.sort(z)[:10].mean(), abs=1e-14)
    assert Penalty(1, 0.25).bind(rows).relaxed_margin(z) == z.min() + 0.25
    level = Penalty(INF, 0.5).bind(rows).relaxed_margin(z)
    assert np.maximum(level - z, 0).sum() == pytest.approx(0.5, abs=1e-13)
    level = Penalty(2, 0.5).bind(rows).relaxed_margin(z)
    assert (np.maximum(level - z, 0) ** 2).sum() == pytest.approx(0.25, abs=1e-13)


# ---- the erratum ----------------------------------------------------------------------------------------------------

Q = np.array([[1, -0.95], [-0.95, 1]])


class Tilted(Norm):
    """sqrt(d' Q^-1 d), whose dual sqrt(x' Q x) depends on signs."""

    size = 2

    def value(self, d):
        return float(np.sqrt(d @ np.linalg.solve(Q, d)))

    def dual(self, x):
        return float(np.sqrt(x @ Q @ x))


def test_the_printed_dual_fails_for_a_norm_that_is_not_absolute():
    """SS-T7x: gap > 0.2 with [g - A w]_+ as printed, none with the least dual norm over x >= g - A w."""
    A, radius = np.array([1.0, 0.2]), 3.17
    root = np.linalg.cholesky(Q)
    d, w, g, x = cp.Variable(2), cp.Variable(), cp.Variable(), cp.Variable(2)
    ball = cp.norm(np.linalg.inv(root) @ d) <= radius  # d' Q^-1 d = |root^-1 d|^2
    primal = reference.conic(cp.abs(A @ d), [d >= 0, cp.sum(d) == 1, ball])
    corrected = -reference.conic(radius * cp.norm(root.T @ x) - g, [cp.abs(w) <= 1, x >= g - A * w])
    assert primal == pytest.approx(0.4253, abs=1e-4)
    assert abs(primal - corrected) < 1e-6
    weight, level = np.meshgrid(np.linspace(-1, 1, 401), np.linspace(-1, 2, 3001))
    short = np.maximum(level[..., None] - weight[..., None] * A, 0)
    printed = (level - radius * np.sqrt(np.maximum(np.einsum("...i,ij,...j", short, Q, short), 0))).max()
    assert printed == pytest.approx(0.2, abs=2e-3) and primal - printed > 0.2


def test_a_norm_that_is_not_absolute_is_refused():
    with pytest.raises(ValueError, match="not absolute"):
        Ball(norm=Tilted(), radius=3.17)
    with pytest.raises(ValueError, match="not absolute"):
        Penalty(norm=Tilted(), nu=1.0)


# ---- row weights ----------------------------------------------------------------------------------------------------


@both_kinds
@every_power
@pytest.mark.parametrize("eta", [0.7, 4.0, 20.0])
def test_entropic_value_is_the_conic_one(kind, p, eta):
    """SS-D on copied rows, which also says that weight k is k copies."""
    rng = np.random.default_rng(int(eta))
    counts = np.array([2, 1, 1, 3, 1])
    copy_of = np.repeat(np.arange(5), counts)
    weight_set = relaxation(kind, p, 8)
    d_set, z = weight_set.bind(Rows.of(counts.astype(float))), rng.uniform(-1, 1, 5)
    ours = d_set.entropic(z, eta)
    assert d_set.contains(ours, 1e-12)
    d = cp.Variable(8)
    price, inside = cvx_price(kind, weight_set, d)
    conic = reference.conic(z[copy_of] @ d + price + cp.sum(cp.rel_entr(d, np.full(8, 1 / 8))) / eta, inside)
    value = ours @ z + d_set.price(ours) + d_set.divergence(ours) / eta
    assert value <= conic + 1e-7 and value >= conic - 1e-6


def multiplier_residual(d_set, d, stationary, p):
    """KKT: stationary_i + s x_i^(p-1) is one constant, for the s of least squares; relative to the size of its terms.

    Rows that underflowed say nothing, and s is known only if two others differ; else it is given as nan.
    """
    x = d / d_set.rows.prior
    seen = d > 1e-200
    if np.ptp(x[seen]) <= 1e-9 * x.max():
        return np.ptp(stationary[seen]) / (1 + np.abs(stationary[seen]).max()), np.nan
    columns = np.stack([x[seen] ** (p - 1) / (x.max() ** (p - 1)), np.ones(seen.sum())], axis=1)
    solution, *_ = np.linalg.lstsq(columns, -stationary[seen], rcond=None)
    left = stationary[seen] + columns @ solution
    return np.abs(left).max() / (1 + np.abs(stationary[seen]).max()), solution[0]


@pytest.mark.parametrize("p", [1.05, 1.5, 2, 3, 10])
@pytest.mark.parametrize("eta", [1e-3, 1.0, 1e2, 1e4])
def test_entropic_satisfies_the_optimality_conditions(p, eta):
    rng = np.random.default_rng(7)
    for m in (2, 7, 60):
        rows = Rows.of(rng.integers(1, 5, m).astype(float))
        least = rows.total ** (1 / p - 1)
        for z in (rng.uniform(-1, 1, m), rng.integers(-1, 2, m).astype(float)):
            for weight_set in (Ball(p, least * 1.001), Ball(p, least * 1.3), Penalty(p, 0.4)):
                d_set = weight_set.bind(rows)
                d = d_set.entropic(z, eta)
                assert d_set.contains(d, 1e-12)
                residual, toll = multiplier_residual(d_set, d, log_densities(d, rows.prior) + eta * z, p)
                assert residual <= 1e-11 and not toll < -1e-9
                if np.isnan(toll):
                    continue
                if isinstance(d_set, LpPenalty):
                    slope = eta * 0.4 * (d / rows.prior).max() ** (p - 1) * rows.total ** (1 - p)  # of eta nu |d| in d
                    slope /= Lp(p).bind(rows).value(d) ** (p - 1)
                    assert toll == pytest.approx(slope, rel=1e-6, abs=1e-8)
                elif toll > 1e-6 and np.ptp(z) > 0:
                    norm = Lp(p).bind(rows).value(d)
                    assert norm == pytest.approx(weight_set.radius, rel=1e-12), "a toll means a full ball"


def test_price_of_the_maximum_lifts_the_least_margins():
    """Penalty(inf): the largest densities are equal, the others are softmax weights, and the lifted margins cost nu."""
    rng = np.random.default_rng(3)
    z, rows = rng.uniform(-1, 1, 30), Rows.of(rng.integers(1, 4, 30).astype(float))
    for eta in (1.0, 50.0, 1e4):
        d = Penalty(INF, 2.0).bind(rows).entropic(z, eta)
        multiplier = log_densities(d, rows.prior) / eta + z
        lifted = np.where(d > 1e-290, multiplier[d > 1e-290].max() - multiplier, 0.0)
        assert (rows.prior * rows.total) @ lifted == pytest.approx(2.0, rel=1e-9)
        assert np.ptp((d / rows.prior)[lifted > 1e-9]) <= 1e-12 * (d / rows.prior).max()


@both_kinds
@every_power
def test_euclidean_is_the_nearest_point(kind, p):
    rng = np.random.default_rng(11)
    counts = np.array([1.0, 2, 1, 3, 1, 1])
    weight_set = relaxation(kind, p, 9)
    d_set = weight_set.bind(Rows.of(counts))
    for v in (rng.normal(size=6), rng.normal(size=6) * 0.1 + 1 / 6, np.full(6, 0.3)):
        d = cp.Variable(6)
        scaled = cp.multiply(d, counts ** (1 / p - 1.0))
        price, inside = cvx_price(kind, weight_set, scaled)
        distance = (1 / counts) @ cp.square(d - v) / 2
        conic = reference.conic(distance + price, [d >= 0, cp.sum(d) == 1, *inside[2:]])
        ours = d_set.euclidean(v)
        assert d_set.contains(ours, 1e-12)
        value = np.sum((ours - v) ** 2 / counts) / 2 + d_set.price(ours)
        assert value <= conic + 1e-7 and value >= conic - 3e-6
        if 1 < p < INF and np.ptp(v) > 0:
            inside_rows = ours > 1e-12
            sub = ((ours - v) / counts)[inside_rows]
            columns = np.stack([(ours / counts)[inside_rows] ** (p - 1), np.ones(len(sub))], axis=1)
            assert np.abs(sub - columns @ np.linalg.lstsq(columns, sub, rcond=None)[0]).max() <= 1e-10
