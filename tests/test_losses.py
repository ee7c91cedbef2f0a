"""What every loss promises: value, gradient, conjugate, a curvature that bounds, and weight k = k copies."""

import inspect

import numpy as np
import pytest

import dualboost.losses
import reference
from conftest import LOSSES, LossCase, for_copies, share
from dualboost.losses import Loss, SoftMargin
from dualboost.rows import Rows

every_loss = pytest.mark.parametrize("case", LOSSES.values(), ids=LOSSES)
smooth_losses = pytest.mark.parametrize(
    "case", [c for c in LOSSES.values() if c.smooth], ids=[n for n, c in LOSSES.items() if c.smooth]
)
convex_losses = pytest.mark.parametrize(
    "case", [c for c in LOSSES.values() if c.convex], ids=[n for n, c in LOSSES.items() if c.convex]
)
bounded_losses = pytest.mark.parametrize(
    "case", [c for c in LOSSES.values() if not c.convex], ids=[n for n, c in LOSSES.items() if not c.convex]
)
WEIGHTS = {"equal": np.ones(8), "counts": np.array([1, 3, 1, 2, 1, 1, 4, 1.0])}
every_weighting = pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)


def bound(case: LossCase, weights: np.ndarray) -> Loss:
    return case.make(len(weights)).bind(Rows.of(weights))


def margin_vectors(m: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1, 1, m), 3 * rng.normal(size=m), np.zeros(m), rng.choice([-1.0, 1.0], m)]


# ---- the checks, as functions ---------------------------------------------------------------------------------------


def check_value(case: LossCase, weights: np.ndarray) -> None:
    for z in margin_vectors(len(weights)):
        value = case.value(z, weights)
        assert bound(case, weights).value(z) == pytest.approx(value, abs=case.accuracy * (1 + abs(value)))


def check_fenchel_young(case: LossCase, weights: np.ndarray) -> None:
    """F(z) + F*(-d) = -<d, z> at d = weights(z), and >= for any other pair of margins and weights."""
    loss, vectors = bound(case, weights), margin_vectors(len(weights))
    for z in vectors:
        d = loss.weights(z)
        assert np.all(d >= 0)
        scale = 1 + abs(loss.value(z)) + np.abs(d @ z)
        assert abs(loss.value(z) + loss.conjugate(d) + d @ z) <= 1e-13 * scale
        for other in vectors:
            assert loss.value(other) + loss.conjugate(d) >= -d @ other - 1e-13 * scale * (1 + loss.value(other))


def check_gradient(case: LossCase, weights: np.ndarray) -> None:
    loss, h = bound(case, weights), 1e-7  # short: the second derivative jumps where a row reaches its cap
    for z in margin_vectors(len(weights)):
        numerical = [(loss.value(z - h * e) - loss.value(z + h * e)) / (2 * h) for e in np.eye(len(z))]
        np.testing.assert_allclose(loss.weights(z), numerical, atol=3e-7 * (1 + abs(loss.value(z))))


def check_curvature(case: LossCase, weights: np.ndarray) -> None:
    """The slope along u may not rise faster than promised, anywhere on the segment."""
    loss, rng = bound(case, weights), np.random.default_rng(1)
    for scale, z in (
        (1.0, rng.uniform(-1, 1, len(weights))),
        (-1.0, np.zeros(len(weights))),
        (2.5, rng.uniform(-2, 2, len(weights))),
    ):
        column = rng.choice([-1, 1], len(weights)).astype(np.int8)
        u = scale * column - z
        bend = loss.curvature(z, column, scale)
        slopes = [-loss.weights(z + x * u) @ u for x in np.linspace(0, 1, 41)]
        assert np.all(np.diff(slopes) <= bend / 40 + 1e-12)
        assert np.all(np.diff(slopes) >= -1e-12) or not case.convex
        assert loss.curvature(z, column.astype(float), scale) == pytest.approx(bend, rel=1e-14)


def check_hessian(case: LossCase, weights: np.ndarray) -> None:
    """Along any combination of columns at least the numerical second derivative; never negative, even for odd d."""
    loss, rng = bound(case, weights), np.random.default_rng(2)
    columns = rng.choice([-1.0, 1.0], (5, len(weights)))
    columns[4] = columns[0]
    for z in (rng.uniform(-1, 1, len(weights)), np.zeros(len(weights)), 50 * rng.uniform(0, 1, len(weights))):
        H = loss.hessian(loss.weights(z), columns)
        assert np.allclose(H, H.T, atol=1e-12) and np.linalg.eigvalsh(H).min() >= -1e-13 * (1 + np.abs(H).max())
    z, h = rng.uniform(-1, 1, len(weights)), 1e-6
    H = loss.hessian(loss.weights(z), columns)
    for v in rng.normal(size=(6, 5)):
        u = v @ columns
        second = (loss.weights(z - h * u) - loss.weights(z + h * u)) @ u / (2 * h)
        assert v @ H @ v >= second - 1e-5 * (1 + second)
        if case.convex:  # the Hessian is exact
            assert v @ H @ v <= second + 1e-5 * (1 + second)


# ---- the contract ---------------------------------------------------------------------------------------------------


def test_every_public_loss_is_in_the_registry():
    public = {
        c
        for c in vars(dualboost.losses).values()
        if inspect.isclass(c) and issubclass(c, Loss) and not inspect.isabstract(c)
    }
    assert {type(case.make(6)) for case in LOSSES.values()} == public and public


@every_loss
@every_weighting
def test_value_is_the_twins(case, weights):
    check_value(case, weights)


@convex_losses
@every_weighting
def test_fenchel_young(case, weights):
    check_fenchel_young(case, weights)


@smooth_losses
@every_weighting
def test_weights_are_the_numerical_gradient(case, weights):
    check_gradient(case, weights)


@smooth_losses
@every_weighting
def test_curvature_bounds_the_second_difference(case, weights):
    check_curvature(case, weights)


@smooth_losses
@every_weighting
def test_hessian_is_the_second_derivative_or_above(case, weights):
    check_hessian(case, weights)


@bounded_losses
@every_weighting
def test_no_weights_prove_anything_about_a_bounded_loss(case, weights):
    """F*(-d) = sup of -<d, z> - F(z) is infinite but for d = 0, where it is minus the infimum of F."""
    loss = bound(case, weights)
    d = loss.weights(np.zeros(len(weights)))
    assert d.min() > 0 and loss.conjugate(d) == np.inf and loss.conjugate(np.full(len(d), np.nan)) == np.inf
    assert loss.conjugate(0 * d) == pytest.approx(-loss.value(np.full(len(d), 1e4)), abs=1e-15)


@convex_losses
@every_weighting
def test_conjugate_is_infinite_outside(case, weights):
    loss = bound(case, weights)
    d = np.array(loss.weights(np.zeros(len(weights))))
    assert np.isfinite(loss.conjugate(d))
    negative = d.copy()
    negative[0] = -1e-3
    assert loss.conjugate(negative) == np.inf
    assert loss.conjugate(np.full(len(d), np.nan)) == np.inf
    too_much = d + 2.0
    if np.isfinite(loss.conjugate(too_much)):  # then no z may beat it
        values = [-too_much @ (z - 3) - loss.value(z - 3) for z in margin_vectors(len(d))]
        assert loss.conjugate(too_much) >= max(values)


@pytest.mark.parametrize("kind", ["logistic", "exponential"])
def test_conjugate_is_the_numerical_supremum(kind):
    weights = WEIGHTS["counts"]
    loss, grid = bound(LOSSES[kind], weights), np.linspace(-12, 12, 240_001)
    rng = np.random.default_rng(2)
    for _ in range(3):
        d = share(weights) * rng.uniform(0.02, 0.98, len(weights))
        one_row = np.log1p(np.exp(-grid)) if kind == "logistic" else np.exp(-grid)
        supremum = sum(np.max(-x * grid - p * one_row) for x, p in zip(d, share(weights), strict=True))
        assert loss.conjugate(d) == pytest.approx(supremum, abs=1e-8)


@every_loss
def test_weight_k_is_k_copies(case):
    weights = WEIGHTS["counts"]
    copy_of = np.repeat(np.arange(len(weights)), weights.astype(int))
    whole = bound(case, weights)
    copies = case.make(len(weights))
    if isinstance(copies, SoftMargin):
        copies = SoftMargin(for_copies(copies.set, copy_of), copies.eta)
    copies = copies.bind(Rows.of(len(copy_of)))
    for z in margin_vectors(len(weights)):
        assert whole.value(z) == pytest.approx(copies.value(z[copy_of]), abs=1e-13 * (1 + abs(whole.value(z))))
        d = copies.weights(z[copy_of])
        if case.smooth:  # at a corner any subgradient will do
            np.testing.assert_allclose(whole.weights(z), np.bincount(copy_of, d), atol=1e-13 * (1 + d.sum()))
        joined = np.bincount(copy_of, d)  # spreading it evenly over the copies can only lower the conjugate
        assert whole.conjugate(joined) <= copies.conjugate(d) + 1e-12 * (1 + d.sum())


@every_loss
@every_weighting
@pytest.mark.parametrize("tol", [0.5, 0.1, 1e-3])
def test_smoothed_is_within_half_of_tol(case, weights, tol):
    loss = bound(case, weights)
    smooth = loss.smoothed(tol)
    if isinstance(loss, SoftMargin) and loss.eta < np.inf:
        loss = SoftMargin(loss.set)
    for z in margin_vectors(len(weights)):
        assert loss.value(z) - tol / 2 - 1e-12 <= smooth.value(z) <= loss.value(z) + 1e-12 * (1 + abs(loss.value(z)))


@every_loss
@every_weighting
def test_extreme_margins(case, weights):
    loss = bound(case, weights)
    right = np.full(len(weights), 1e4)
    mixed = np.where(np.arange(len(weights)) % 2, 1e4, -1e4)
    for z in (right, mixed, -right):
        d = loss.weights(z)
        assert not np.any(np.isnan(d)) and np.all(d >= 0)
        value = loss.value(z)
        assert not np.isnan(value)
        if np.isfinite(value):
            assert np.all(np.isfinite(d)) and (np.isfinite(loss.conjugate(d)) or not case.convex)
            assert abs(value + loss.conjugate(d) + d @ z) <= 1e-11 * (1 + abs(d @ z)) or not case.convex
        else:
            assert not isinstance(loss, SoftMargin) and z.min() < -700, "only e^10000 is infinite"
    assert np.isfinite(bound(case, weights).value(right))


@every_loss
def test_a_loss_that_was_not_bound_says_so(case):
    loss = case.make(3)
    for call in (loss.value, loss.weights, loss.conjugate):
        with pytest.raises(ValueError, match=r"^Bind the loss to rows first: .*\.$"):
            call(np.zeros(3))


def test_smoothing_follows_theorem_9():
    """eta = 2 R / tol, with R the largest divergence of the set."""
    loss = bound(LOSSES["margin, nu 0.3"], np.ones(30))
    assert loss.smoothed(0.05).eta == pytest.approx(2 * np.log(1 / 0.3) / 0.05, rel=1e-12)
    hard = bound(LOSSES["margin, simplex"], np.ones(30))
    assert hard.smoothed(0.05).eta == pytest.approx(2 * np.log(30) / 0.05, rel=1e-12)


def test_the_smooth_margin_lies_between_margin_and_margin_plus_entropy():
    weights, z = WEIGHTS["counts"], margin_vectors(8)[0]
    caps = np.minimum(share(weights) / 0.3, 1)
    sharp = -reference.average_lowest(z, caps)
    values = [
        SoftMargin(LOSSES["margin, nu 0.3"].make(8).set, eta).bind(Rows.of(weights)).value(z)
        for eta in (1.0, 10.0, 100.0, 1e4)
    ]
    assert np.all(np.diff(values) > 0) and values[-1] <= sharp + 1e-12
    assert sharp - values[-1] <= np.log(1 / 0.3) / 1e4 + 1e-12
