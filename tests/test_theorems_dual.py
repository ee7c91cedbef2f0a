"""Theorems of the fifth paper on the dual, the hard core and the rates: runs by an independent twin obey them."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import xlogy

import reference
from dualboost import diagnose
from dualboost.diagnosis import (
    Constants,
    Course,
    bregman_projection,
    dual_optimum,
    suboptimality,
    theorem_21,
    theorem_23,
    theorem_27,
)
from dualboost.losses import Exponential, Logistic, SoftMargin
from dualboost.master import BalancedBox, centred, minimise_attained
from dualboost.rows import Rows
from dualboost.sets import Simplex
from reference_descent import SCALARS, descent, hard_margin

LOSSES = {"exponential": Exponential(), "logistic": Logistic()}
SCHAPIRE = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
few = settings(max_examples=10)
both_losses = pytest.mark.parametrize("loss", LOSSES)


@cache
def signs(seed: int, regime: str) -> np.ndarray:
    """A small matrix of +-1 of the regime asked, with something to learn: the first that a random draw gives."""
    rng = np.random.default_rng(seed)
    shapes = {"weak learnable": (6, 6), "attainable": (16, 3), "mixed": (9, 4)}
    while True:
        A = rng.choice([-1.0, 1.0], shapes[regime])
        if A.sum(axis=0).any() and diagnose(A).regime == regime:
            return A


seeds = st.integers(0, 40)
regimes = st.sampled_from(["weak learnable", "attainable", "mixed"])


# ---- PD-DUAL --------------------------------------------------------------------------------------------------------


@both_losses
@given(seeds, st.sampled_from(["attainable", "mixed"]))
def test_dual_optimum_is_balanced_and_tight(loss, seed, regime):
    A = signs(seed, regime)
    core = diagnose(A).hard_core
    best = dual_optimum(A, LOSSES[loss], core)
    assert np.all((best.psi > 0) == core), "the same support for every loss: the hard core"
    assert np.abs(A.T @ best.psi).max() <= 1e-13 * best.psi.sum() and best.edge <= 1e-13
    assert abs(best.gap) <= 1e-12
    on_core = SCALARS[loss].value(-(A @ best.w)[core]).sum() / len(A)
    assert best.value == pytest.approx(on_core, rel=1e-12)
    np.testing.assert_allclose(best.psi[core], SCALARS[loss].slope(-(A @ best.w)[core]) / len(A), rtol=1e-9)


@both_losses
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("regime", ["attainable", "mixed"])
def test_dual_value_is_that_of_a_conic_solver(loss, seed, regime):
    import cvxpy as cp

    A = signs(seed, regime)
    m = len(A)
    share = cp.Variable(m)  # psi in units of the prior
    entropy = -cp.entr(share) - share if loss == "exponential" else -cp.entr(share) - cp.entr(1 - share)
    value = -reference.conic(cp.sum(entropy) / m, [A.T @ share == 0])
    assert dual_optimum(A, LOSSES[loss]).value == pytest.approx(value, abs=2e-7)


@both_losses
@given(seeds)
def test_the_infimum_is_approached_along_the_direction(loss, seed):
    """Theorem 17: the optimum on the core, and from there along the certificate that the core does not see."""
    A = signs(seed, "mixed")
    report = diagnose(A)
    best = dual_optimum(A, LOSSES[loss], report.hard_core)
    bound = LOSSES[loss].bind(Rows.of(len(A)))
    off = report.margins[~report.hard_core].min()
    far = [bound.value(A @ (best.w + c / off * report.direction)) for c in (0.0, 5.0, 40.0)]
    assert far[0] > far[1] > far[2] >= best.value - 1e-12
    assert far[2] == pytest.approx(best.value, abs=1e-9)


@both_losses
@given(seeds, regimes)
def test_sample_weights_are_copies(loss, seed, regime):
    A = signs(seed, regime)
    copies = np.random.default_rng(seed).integers(1, 4, len(A))
    weighted = dual_optimum(A, LOSSES[loss], sample_weight=copies)
    copied = dual_optimum(np.repeat(A, copies, axis=0), LOSSES[loss])
    assert weighted.value == pytest.approx(copied.value, abs=1e-12)
    np.testing.assert_allclose(np.repeat(weighted.psi / copies, copies), copied.psi, atol=1e-12)


@both_losses
@given(seeds, regimes)
def test_weak_duality_certifies_every_ensemble(loss, seed, regime):
    A = signs(seed, regime)
    m, rng = len(A), np.random.default_rng(seed)
    bound, best = LOSSES[loss].bind(Rows.of(m)), dual_optimum(A, LOSSES[loss])
    for scale in (0.1, 1.0, 10.0):
        z = A @ rng.normal(size=A.shape[1]) * scale
        gap = suboptimality(bound, z, best.psi, best.edge)
        assert gap == pytest.approx(bound.value(z) - best.value, abs=1e-11 * max(1.0, bound.value(z)))
        assert gap >= -1e-12
    assert suboptimality(bound, z, np.full(m, 0.5 / m), edge=0.1) == np.inf, "not balanced: no certificate"


def divergence(loss: str, p: np.ndarray, q: np.ndarray, m: int) -> float:
    """Bregman's, of the conjugate of the mean loss."""
    p, q = p * m, q * m
    if loss == "exponential":
        return float(np.sum(xlogy(p, p) - xlogy(p, q) - p + q) / m)
    return float(np.sum(xlogy(p, p) - xlogy(p, q) + xlogy(1 - p, 1 - p) - xlogy(1 - p, 1 - q)) / m)


@both_losses
@given(seeds, st.sampled_from(["attainable", "mixed"]))
def test_bregman_projection(loss, seed, regime):
    """Nearest of all balanced weights, by Pythagoras; and from the weights of any ensemble the dual optimum."""
    A = signs(seed, regime)
    m, rng = len(A), np.random.default_rng(seed)
    core = diagnose(A).hard_core
    d = rng.uniform(0.05, 0.95, m) / m
    psi = bregman_projection(A, d, LOSSES[loss], core)
    assert np.abs(A.T @ psi).max() <= 1e-12 * psi.sum() and np.all((psi > 0) == core)
    other = dual_optimum(A, LOSSES[loss], core).psi
    whole = divergence(loss, other, d, m)
    assert whole == pytest.approx(divergence(loss, other, psi, m) + divergence(loss, psi, d, m), abs=1e-11)
    of_ensemble = LOSSES[loss].bind(Rows.of(m)).weights(A @ rng.normal(size=A.shape[1]))
    np.testing.assert_allclose(bregman_projection(A, of_ensemble, LOSSES[loss], core), other, atol=1e-11)


def test_newton_at_extreme_starts():
    """Weights that differ by 1e30, and a loss that overflows on the way: no warning, the same optimum."""
    A = signs(1, "attainable")
    U = np.linalg.qr(A)[0]
    loss = Exponential().bind(Rows.of(len(A)))
    best = minimise_attained(loss, U, np.zeros(len(A)))
    far = minimise_attained(loss, U, U @ np.linspace(-40, 40, U.shape[1]))
    np.testing.assert_allclose(U @ best, U @ (far + np.linspace(-40, 40, U.shape[1])), atol=1e-10)


def test_the_dual_of_a_weak_learnable_problem_is_nothing():
    best = dual_optimum(np.ones((4, 2)))
    assert best.value == 0 and not best.psi.any() and best.gap == 0


@given(seeds)
def test_centred_weights_stay_balanced(seed):
    A = signs(seed, "attainable")
    psi = dual_optimum(A, Exponential()).psi
    even = centred(A, psi / psi.sum(), 1.0)  # as even as can be
    assert np.abs(A.T @ even).max() <= 1e-13 and even.sum() == pytest.approx(1.0, abs=1e-13)
    assert even.min() >= psi.min() / psi.sum() * (1 - 1e-9) and even.min() > 0
    # At the centre the reciprocals are margins of an ensemble up to one constant.
    left = np.linalg.lstsq(np.column_stack([A, np.ones(len(A))]), 1 / even, rcond=None)[1]
    assert np.all(left <= 1e-4 * len(A) / even.min() ** 2)


# ---- PD-T11, T14, T17: what a run shows ------------------------------------------------------------------------------


@both_losses
@pytest.mark.parametrize("search", ["closed", "wolfe"])
@few
@given(seeds, regimes)
def test_regime_and_trajectory(loss, search, seed, regime):
    A = signs(seed, regime)
    report = diagnose(A)
    assert (report.regime == "weak learnable") == (hard_margin(A) > 1e-9)
    path = descent(A, loss, 60, search)
    margins = path @ A.T
    losses = SCALARS[loss].value(-margins).mean(axis=1)
    assert len(path) > 2 and losses[-1] < losses[0]
    divisor = {"closed": 2, "wolfe": 6}[search]
    edges = np.abs(SCALARS[loss].slope(-margins) @ A).max(axis=1) / len(A)
    T = len(path) - 1
    assert edges[:-1].min() ** 2 <= divisor * losses[0] * (losses[0] - losses[-1]) / T * (1 + 1e-9)
    best = dual_optimum(A, LOSSES[loss], report.hard_core)
    assert np.all(losses >= best.value - 1e-12)
    off = ~report.hard_core
    share = SCALARS[loss].value(-margins[:, off]).sum(axis=1) / len(A)
    assert np.all(share <= losses - best.value + 1e-12), "rows off the core cost no more than the whole is too high"


# ---- PD-RATE --------------------------------------------------------------------------------------------------------


def course_of(A: np.ndarray, loss: str, search: str, rounds: int = 40, prior=None):
    path = descent(A, loss, rounds, search, prior)
    margins = path @ A.T
    rows = Rows.of(len(A)) if prior is None else Rows.of(prior)
    course = Course.of(A, margins, LOSSES[loss], diagnose(A).hard_core, rows)
    losses = SCALARS[loss].value(-margins) @ rows.prior
    return course, losses, Constants.of(LOSSES[loss], rows, search)


@both_losses
@pytest.mark.parametrize("search", ["closed", "wolfe", "exact"])
@few
@given(seeds)
def test_theorem_21(loss, search, seed):
    A = signs(seed, "weak learnable")
    course, losses, constants = course_of(A, loss, search)
    t = np.arange(len(losses))
    promised = theorem_21(constants, losses[0], diagnose(A).gamma, t)
    assert np.all(losses <= promised * (1 + 1e-9)) and promised[-1] < promised[0]
    assert course.gamma >= diagnose(A).gamma - 1e-9, "the rate along a run is no smaller than the problem's"
    assert np.all(losses <= theorem_21(constants, losses[0], course.gamma, t) * (1 + 1e-9))


@both_losses
@pytest.mark.parametrize("search", ["closed", "wolfe"])
@few
@given(seeds)
def test_theorem_23(loss, search, seed):
    course, losses, constants = course_of(signs(seed, "attainable"), loss, search)
    promised = theorem_23(constants, course, np.arange(len(losses)))
    assert np.all(losses - course.optimum <= promised + 1e-12)
    assert course.curvature > 0 and 0 < course.gamma < np.inf
    assert promised[-1] < promised[0] * (1 - 1e-8), "a curve that says something"


@both_losses
@pytest.mark.parametrize("search", ["closed", "wolfe"])
@few
@given(seeds)
def test_theorem_27(loss, search, seed):
    course, losses, constants = course_of(signs(seed, "mixed"), loss, search)
    promised = theorem_27(constants, course, np.arange(len(losses)))
    assert np.all(losses - course.optimum <= promised + 1e-12)
    assert promised[-1] < promised[0] and 0 < course.width < 1


@both_losses
@few
@given(seeds)
def test_rates_with_sample_weights(loss, seed):
    """A prior stands for copies: the same curves hold for the weighted run."""
    A = signs(seed, "mixed")
    prior = np.random.default_rng(seed).integers(1, 5, len(A)).astype(float)
    course, losses, constants = course_of(A, loss, "closed", prior=prior / prior.sum())
    assert np.all(losses - course.optimum <= theorem_27(constants, course, np.arange(len(losses))) + 1e-12)


def test_tight_constants_of_the_logistic_loss():
    """beta = m log 2 / (1 - 2^-m), against a grid; a learner of quality c0 costs c0^2."""
    for m in (1, 2, 10, 50):
        most = np.log(np.expm1(m * np.log(2)))  # the x of the largest loss allowed
        x = np.linspace(-30, most, 20001)
        ratio = np.logaddexp(0, x) / SCALARS["logistic"].slope(x)
        beta = Constants.of(Logistic(), Rows.of(m)).beta
        assert beta == pytest.approx(ratio.max(), rel=1e-9)
    assert beta == pytest.approx(50 * np.log(2), rel=1e-12)
    rough = Constants.of(Exponential(), Rows.of(3), "wolfe", c0=0.5)
    assert rough.divisor == 24


def test_rates_without_curvature_say_nothing():
    course = Course(1.0, 0.2, 0.3, 0.0, 0.5)
    np.testing.assert_array_equal(theorem_27(Constants(1.0, 1.0, 2.0), course, np.arange(3)), 1.0)
    np.testing.assert_array_equal(theorem_23(Constants(1.0, 1.0, 2.0), course, np.arange(3)), 0.8)


@few
@given(seeds)
def test_distance_to_the_balanced_box(seed):
    """Against a conic solver."""
    import cvxpy as cp

    A, rng = signs(seed, "attainable"), np.random.default_rng(seed)
    psi = dual_optimum(A, Exponential()).psi
    low, high = psi * rng.uniform(0, 1, len(psi)), psi * rng.uniform(1, 2, len(psi))
    d = rng.uniform(low, high)
    x = cp.Variable(len(psi))
    value = reference.conic(cp.norm1(x - d), [A.T @ x == 0, x >= low, x <= high])
    assert BalancedBox(A, low, high).distance(d) == pytest.approx(value, abs=1e-7)


# ---- PD-T28, Remark 40 ----------------------------------------------------------------------------------------------


def test_theorem_28():
    """Schapire's matrix: no faster than 1/(8t), with the values of the exact search."""
    path = descent(SCHAPIRE, "logistic", 300, "exact")
    losses = 3 * SCALARS["logistic"].value(-(path @ SCHAPIRE.T)).mean(axis=1)
    best = 3 * dual_optimum(SCHAPIRE, Logistic()).value
    assert best == pytest.approx(2 * np.log(2), abs=1e-14)
    t = np.arange(1, 301)
    assert np.all(8 * t * (losses[1:] - best) >= 1)
    listed = {1: 0.52324814, 2: 0.19228761, 5: 0.06165632, 10: 0.02818244, 50: 0.00515943}
    for rounds, value in listed.items():
        assert losses[rounds] - best == pytest.approx(value, abs=1e-7)
    assert np.all(path[1:] <= 0.5 * np.log(4 * t)[:, None] + 1e-7)


def test_theorem_28_exponential():
    path = descent(SCHAPIRE, "exponential", 50, "exact")
    losses = 3 * SCALARS["exponential"].value(-(path @ SCHAPIRE.T)).mean(axis=1)
    listed = {1: 0.82842712, 2: 0.44948974, 5: 0.19089023, 10: 0.0976177, 50: 0.01990099}
    for rounds, value in listed.items():
        assert losses[rounds] - 2 == pytest.approx(value, abs=1e-6)


def test_remark_40():
    """The naive weak-learning rate is 0 on a mixed problem: edges vanish while the distance to 0 does not."""
    for alpha in (0.5, 0.1, 0.01):
        d = np.array([1.0, 1.0, 2 * alpha])
        edges = np.abs(SCHAPIRE.T @ d).max()
        assert edges / (2 + 2 * alpha) == pytest.approx(alpha / (1 + alpha))
        course = Course.of(SCHAPIRE, -np.log(d)[None, :] + 0.0, Exponential(), np.array([True, True, False]))
        assert course.gamma == pytest.approx(1.0), "relative to the balanced weights it stays"


# ---- input ----------------------------------------------------------------------------------------------------------


def test_bad_input():
    with pytest.raises(ValueError, match="add up"):
        dual_optimum(SCHAPIRE, SoftMargin(Simplex()))
    with pytest.raises(ValueError, match="rates are known"):
        Constants.of(SoftMargin(Simplex()), Rows.of(3))
    with pytest.raises(ValueError, match="search must be"):
        Constants.of(Exponential(), Rows.of(3), "golden")
    with pytest.raises(ValueError, match="c0"):
        Constants.of(Exponential(), Rows.of(3), c0=0.0)
    with pytest.raises(ValueError, match="one positive weight"):
        bregman_projection(SCHAPIRE, np.array([0.5, 0.5, 0.0]))
    with pytest.raises(ValueError, match="one positive number for each"):
        dual_optimum(SCHAPIRE, sample_weight=[1.0, 2.0])
    with pytest.raises(ValueError, match="two-dimensional"):
        dual_optimum(np.ones(3))
