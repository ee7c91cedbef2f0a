"""The second derivative of every smoothed margin against differences of its weights, and the rounds that it saves."""

import numpy as np
import pytest

from conftest import SETS
from dualboost import solve
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Ball, Groups, Penalty


def by_differences(bound, z: np.ndarray, eta: float, columns: np.ndarray) -> np.ndarray:
    h = 1e-5 / eta
    change = [(bound.entropic(z - h * u, eta) - bound.entropic(z + h * u, eta)) / (2 * h) for u in columns]
    return np.array(change) @ columns.T


@pytest.mark.parametrize("weights", [np.ones(9), np.array([1, 3, 1, 2, 1, 1, 4, 1, 2.0])], ids=["equal", "counts"])
@pytest.mark.parametrize("name", SETS)
def test_hessian_is_the_derivative_of_the_weights(name, weights):
    rng = np.random.default_rng(5)
    bound = SETS[name].make(len(weights)).bind(Rows.of(weights))
    for eta in (0.5, 8.0, 60.0):
        z, columns = rng.uniform(-1, 1, len(weights)), rng.uniform(-1, 1, (4, len(weights)))
        expected = by_differences(bound, z, eta, columns)
        H = SoftMargin(bound, eta).hessian(bound.entropic(z, eta), columns)
        np.testing.assert_allclose(H, expected, atol=2e-4 * (0.1 + np.abs(expected).max()))


@pytest.mark.parametrize("name", SETS)
def test_hessian_of_other_weights_is_one_above_or_equal(name):
    """Weights that the set has not just made: what is not known of them may only make it larger."""
    rng, rows = np.random.default_rng(6), Rows.of(9)
    bound, fresh = SETS[name].make(9).bind(rows), SETS[name].make(9).bind(rows)
    z, columns = rng.uniform(-1, 1, 9), rng.uniform(-1, 1, (4, 9))
    d = bound.entropic(z, 8.0)
    known, unknown = SoftMargin(bound, 8.0).hessian(d, columns), SoftMargin(fresh, 8.0).hessian(d, columns)
    assert np.linalg.eigvalsh(unknown - known).min() >= -1e-12


def test_a_row_that_is_all_of_a_pegged_group_does_not_respond():
    bound = Groups(np.array([0, 1, 1]), caps={0: 0.2}).bind(Rows.of(3))
    d = bound.entropic(np.array([-1.0, 0.5, 0.3]), 4.0)
    np.testing.assert_array_equal(bound.responsive(d), [False, True, True])


def test_a_light_group_at_its_limit_responds_as_a_heavy_one():
    """What is left out weighs next to nothing beside the rows that move with it, not beside all."""
    rng, m = np.random.default_rng(0), 60
    group = np.arange(m) % 3 == 0
    bound = Groups(np.arange(m) % 3, caps={0: 1e-10}).bind(Rows.of(m))
    columns = np.where(group, rng.uniform(-1, 1, (2, m)), 0.0)
    d = bound.entropic(np.zeros(m), 1e6)
    expected = 1e6 * 1e-10 * np.cov(columns[:, group], bias=True)
    np.testing.assert_allclose(bound.hessian(d, columns, 1e6), expected, rtol=1e-9)


CRAWLED = np.array(
    [
        [-0.5, 0.5, -1, -1, -1],
        [1, 0, -0.5, -1, 1],
        [-1, -1, 1, 0, 1],
        [0, 1, 0, 0.5, 1],
        [-0.5, -0.5, 0.5, -0.5, 1],
        [-0.5, 0.5, -1, -1, -1],
        [0, 1, 1, -1, 0],
        [0, 1, 1, -1, 0],
    ]
)


def test_groups_at_their_limits_do_not_slow_newton_down():
    limits = Groups(np.array([0, 2, 1, 1, 0, 0, 0, 0]), caps=0.8212452694673356, floors=0.1)
    assert solve(CRAWLED, SoftMargin(limits), tol=1e-3, max_rounds=10).gap <= 1e-3


@pytest.mark.parametrize("weight_set", [Penalty(2, nu=0.5), Penalty(np.inf, nu=0.5), Ball(2, 0.6), Ball(3, 0.6)])
def test_nor_do_curved_prices(weight_set):
    rng = np.random.default_rng(0)
    for n in (1, 2, 4):
        found = solve(rng.uniform(-1, 1, (7, n)), SoftMargin(weight_set), tol=1e-4, max_rounds=15)
        assert found.gap <= 1e-4
