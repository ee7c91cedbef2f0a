"""Krause & Singer, sections 3 and 5: the two bounded losses are one, with the stated constants (LM-BIJ)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualboost.losses import LogisticDifference, LogisticMixture
from dualboost.losses.logistic_mixture import error_bound
from dualboost.rows import Rows

rates = st.floats(0.001, 0.45)
GRID = np.linspace(-60, 60, 24_001)


def twin(eps: float) -> LogisticDifference:
    return LogisticDifference(mu=float(np.log((1 - eps) / eps)))


def mixture_by_definition(z, eps):
    return -np.logaddexp(np.log1p(-eps) - np.logaddexp(0, -z), np.log(eps) - np.logaddexp(0, z))


def difference_by_definition(z, mu):
    return np.logaddexp(0, -z) - np.logaddexp(0, -z - mu)


@given(rates)
def test_the_bijection(eps):
    """Normalised, both are the same function; the definitions, not the code that they share, are compared."""
    mixture, difference = LogisticMixture(eps), twin(eps)
    scale = np.log(2) + np.log(1 - eps)
    by_mixture = (mixture_by_definition(GRID, eps) + np.log(1 - eps)) / scale
    by_difference = difference_by_definition(GRID, difference.mu) / (np.log(2) - np.log1p(np.exp(-difference.mu)))
    np.testing.assert_allclose(by_mixture, by_difference, atol=1e-12)
    np.testing.assert_allclose(mixture.normalised(GRID), by_mixture, atol=1e-12)
    np.testing.assert_allclose(difference.normalised(GRID), by_difference, atol=1e-12)
    assert mixture.mu == pytest.approx(difference.mu, rel=1e-12)
    assert difference.noise_rate == pytest.approx(eps, rel=1e-12)


@given(rates)
def test_the_normalised_loss_bounds_the_errors(eps):
    loss = LogisticMixture(eps)
    values = loss.normalised(GRID)
    assert loss.normalised(np.zeros(1))[0] == pytest.approx(1, abs=1e-14)
    assert np.all(values >= (GRID <= 0) - 1e-14) and np.all(np.diff(values) <= 1e-14)
    assert loss.normalised(np.array([1e4]))[0] == pytest.approx(0, abs=1e-300)


@given(rates)
def test_ceiling_and_steepest_slope(eps):
    mixture, difference = LogisticMixture(eps), twin(eps)
    for loss in (mixture, difference):
        assert loss.normalised(np.array([-1e4]))[0] == pytest.approx(loss.ceiling, rel=1e-12)
        slopes = -np.diff(loss.normalised(GRID)) / np.diff(GRID)
        assert slopes.max() == pytest.approx(loss.lipschitz, abs=1e-5)
        assert abs(GRID[np.argmax(slopes)] + loss.mu / 2) < 0.01
    assert mixture.lipschitz == pytest.approx(difference.lipschitz, rel=1e-9)


@pytest.mark.parametrize(
    "eps, slope, top", [(0.01, 1.196535, 6.7269), (0.1, 0.850649, 3.7381), (0.3, 0.620295, 2.5182)]
)
def test_anchors(eps, slope, top):
    loss = LogisticMixture(eps)
    assert loss.lipschitz == pytest.approx(slope, abs=1e-6) and loss.ceiling == pytest.approx(top, abs=1e-4)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("loss", [LogisticMixture(0.1), LogisticMixture(1e-9), LogisticDifference(30.0)])
def test_extreme_margins_are_exact(loss):
    bound = loss.bind(Rows.of(2))
    z = np.array([-1e4, 1e4])
    assert np.array_equal(loss.normalised(z), [pytest.approx(loss.ceiling, rel=1e-13), 0.0])
    assert bound.weights(z).max() == 0
    assert np.all(np.isfinite(bound.weights(np.array([-700.0, 700.0]))))


@given(rates, st.floats(-50, 50))
def test_suspicion_is_bayes_rule(eps, z):
    flipped, kept = eps / (1 + np.exp(z)), (1 - eps) / (1 + np.exp(-z))
    assert LogisticMixture(eps).suspicion(np.array([z]))[0] == pytest.approx(flipped / (flipped + kept), rel=1e-10)


def test_the_bound_on_the_error_is_three_terms():
    loss, margins = LogisticMixture(0.1), np.linspace(-1, 3, 400)
    terms = (
        np.mean(loss.normalised(margins)),
        8 * loss.ceiling * np.sqrt(np.log(4 / 0.05) / 800),
        4 * 2.0 * loss.lipschitz / 20,
    )
    assert error_bound(loss, margins, norm=2.0) == pytest.approx(sum(terms), rel=1e-14)
    assert error_bound(loss, np.tile(margins, 1000), norm=2.0) < error_bound(loss, margins, norm=2.0)


@pytest.mark.parametrize("rate", [0, 0.5, -0.1, 0.7, float("nan"), "estimate"])
def test_impossible_rates_are_refused(rate):
    with pytest.raises(ValueError, match=r"^noise_rate is the share of flipped labels: .*\.$"):
        LogisticMixture(rate)
    with pytest.raises(ValueError, match=r"^mu is added to the margin .*\.$"):
        LogisticDifference(rate if rate in (0, -0.1, "estimate") else float("nan"))
