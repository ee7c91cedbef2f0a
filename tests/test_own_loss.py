"""A user's loss of the family: the dual, the projection and the rates are computed for it as for the library's own."""

from dataclasses import dataclass

import numpy as np
import pytest

from dualboost.diagnosis import Constants, Course, bregman_projection, dual_optimum
from dualboost.losses import Logistic, Separable
from dualboost.losses.separable import check_family
from dualboost.rows import Rows

MIXED = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
UNEVEN = np.array([[1.0, -1.0], [-1.0, 1.0], [-1.0, 1.0], [1.0, 1.0], [-1.0, -1.0], [1.0, 1.0]])


@dataclass(frozen=True, eq=False)
class Doubled(Separable):
    """Twice the logistic loss, written down by itself."""

    claims_concave: bool = True

    def g(self, x):
        return 2 * np.logaddexp(0, x)

    def slope(self, x):
        return 2 / (1 + np.exp(-np.clip(x, -700, 700)))

    def bend(self, s):
        return s * (1 - s / 2)

    def dual(self, s):
        return 2 * Logistic().dual(s / 2)

    def beta(self, level):
        return Logistic().beta(level / 2)

    @property
    def eta(self):
        return 1.0

    @property
    def steepest(self):
        return 0.5

    @property
    def self_concordant(self):
        return True

    @property
    def concave_bend(self):
        return self.claims_concave


@dataclass(frozen=True, eq=False)
class TwoExponentials(Doubled):
    """e^x + e^2x: of the family, but its second derivative is a convex function of the first."""

    def g(self, x):
        return np.exp(x) + np.exp(2 * x)

    def slope(self, x):
        return np.exp(x) + 2 * np.exp(2 * x)

    def bend(self, s):
        return 2 * s - 2 * s / (1 + np.sqrt(1 + 8 * s))

    def beta(self, level):
        return 1.0

    @property
    def eta(self):
        return 4.0

    @property
    def steepest(self):
        return np.inf

    @property
    def self_concordant(self):
        return False


@pytest.mark.parametrize("A", [MIXED, UNEVEN])
def test_the_dual_of_twice_the_loss_is_twice_the_dual(A):
    ours, known = dual_optimum(A, Doubled()), dual_optimum(A, Logistic())
    np.testing.assert_allclose(ours.psi, 2 * known.psi, atol=1e-12)
    assert ours.value == pytest.approx(2 * known.value, abs=1e-12) and abs(ours.gap) <= 1e-12
    d = np.linspace(0.2, 0.8, len(A)) / len(A)
    projected = bregman_projection(A, 2 * d, Doubled())
    np.testing.assert_allclose(projected, 2 * bregman_projection(A, d, Logistic()), atol=1e-12)
    assert np.abs(A.T @ projected).max() <= 1e-10


def test_the_rates():
    check_family(Doubled())
    rows = Rows.of(10)
    assert Constants.of(Doubled(), rows) == Constants.of(Logistic(), rows), "both constants are ratios"
    margins = np.array([[0.0, 0.0, 0.0], [0.3, -0.3, 0.3]])
    core = np.array([True, True, False])
    ours, known = (Course.of(MIXED, margins, loss, core) for loss in (Doubled(), Logistic()))
    assert ours.curvature == pytest.approx(2 * known.curvature) and ours.gamma == pytest.approx(known.gamma)


def test_a_claim_of_concavity_is_checked():
    check_family(TwoExponentials(claims_concave=False))
    with pytest.raises(ValueError, match="not concave"):
        check_family(TwoExponentials())
    with pytest.raises(ValueError, match="concave"):
        Course.of(MIXED, np.zeros((1, 3)), Doubled(claims_concave=False), np.array([True, True, False]))
