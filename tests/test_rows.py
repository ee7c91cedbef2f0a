"""Rows: the prior sums to one whatever the scale of the weights, and bad weights are refused in one sentence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualboost.rows import Rows

weights_of = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20)


@given(weights_of)
def test_the_prior_is_the_share_of_the_weight(weights):
    rows = Rows.of(np.array(weights))
    np.testing.assert_allclose(rows.prior, np.array(weights) / np.sum(weights), rtol=1e-14)
    assert abs(rows.prior.sum() - 1) < 1e-14
    assert rows.total == pytest.approx(np.sum(weights), rel=1e-14)
    assert len(rows) == len(weights)
    assert rows.uniform == (min(weights) == max(weights))


@pytest.mark.parametrize("scale", [1e-300, 1e-10, 1.0, 1e300])
def test_the_scale_of_the_weights_does_not_matter(scale):
    small = np.array([1.0, 2.0, 5.0])
    assert np.array_equal(Rows.of(small * scale).prior, Rows.of(small).prior) or scale != 1.0
    np.testing.assert_allclose(Rows.of(small * scale).prior, Rows.of(small).prior, rtol=1e-15)


def test_weights_of_1e308_do_not_overflow_the_prior():
    rows = Rows.of(np.array([1e308, 1e308, 0.5e308]))
    np.testing.assert_allclose(rows.prior, [0.4, 0.4, 0.2], rtol=1e-15)
    assert rows.total == np.inf  # the number of copies really is out of range


@pytest.mark.parametrize("weights", [[1e-320, 1e300, 1e300], [1.0, 1e308, 1e308], [5e-324, 1.0, 1.0]])
def test_no_share_vanishes(weights):
    rows = Rows.of(np.array(weights))
    np.testing.assert_array_equal(rows.prior, [0.5e-100, 0.5, 0.5])
    assert rows.prior.sum() == 1


@pytest.mark.parametrize(
    "made", [Rows.of(5), Rows.of(np.int64(5)), Rows.of(np.ones(5)), Rows.of([7.0] * 5), Rows.of([2] * 5)]
)
def test_equal_weights_are_uniform_and_cost_one_number(made):
    assert made.uniform
    assert np.array_equal(made.prior, np.full(5, 0.2))
    assert made.prior.strides == (0,)
    with pytest.raises(ValueError):
        made.prior[0] = 1.0


def test_total_counts_copies():
    assert Rows.of(5).total == 5
    assert Rows.of([7.0] * 5).total == 35
    assert Rows.of([1.0, 2.0]).total == 3


def test_reductions_are_the_identity_in_one_process():
    rows = Rows.of(3)
    assert rows.add(1.25) == 1.25 and rows.max(-2.0) == -2.0


@pytest.mark.parametrize(
    "bad",
    [0, -1, [], [1.0, 0.0], [1.0, -1.0], [1.0, np.nan], [1.0, np.inf], [[1.0, 2.0]], 4.0],
    ids=str,
)
def test_bad_weights_are_refused(bad):
    with pytest.raises(ValueError) as error:
        Rows.of(bad if isinstance(bad, int) else np.array(bad))
    assert str(error.value).endswith(".") and "\n" not in str(error.value)
