"""Columns that vote: of what size they may be where a margin is asked for."""

import numpy as np
import pytest

import dualboost
from dualboost import AdaBoostClassifier, LPBoostClassifier
from dualboost.learners import Matrix

NO_MARGIN = {"AdaBoost", "LogisticBoost", "LogisticMixture", "LogisticDifference"}
NAMES = [name for name in dualboost.__all__ if name.endswith("Classifier")]
MARGINS = [getattr(dualboost, name) for name in NAMES if name.removesuffix("Classifier") not in NO_MARGIN]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = (X[:, 0] + 0.5 * RNG.normal(size=60) > 0).astype(int)


@pytest.mark.parametrize("size", [1e7, 1e15, 1e160, 1e300])
@pytest.mark.parametrize("kind", MARGINS)
def test_far_from_one_they_are_refused(kind, size):
    with pytest.raises(ValueError, match=r"a margin wants within \[-1, 1\].*divide each column by its largest entry"):
        kind(learner=Matrix(), calibrate=False).fit(size * X, Y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e-9, 1.0, 1e5])
@pytest.mark.parametrize("kind", MARGINS)
def test_any_other_size_is_fitted(kind, size):
    model = kind(learner=Matrix(), calibrate=False, max_iter=50).fit(size * X, Y)
    assert np.isfinite(model.decision_function(size * X)).all() and model.certificate_.gap >= -1e-9 * size


def test_without_a_margin_size_is_no_matter():
    large = AdaBoostClassifier(learner=Matrix(), calibrate=False).fit(2.0**500 * X, Y)
    small = AdaBoostClassifier(learner=Matrix(), calibrate=False).fit(X, Y)
    np.testing.assert_allclose(large.decision_function(2.0**500 * X), small.decision_function(X), rtol=1e-9)


@pytest.mark.parametrize("size", [2.0**-30, 2.0**-27, 2.0**15])
def test_the_best_vote_does_not_hang_on_the_unit(size):
    """Lengths in nanometres: the solver of linear programs has absolute tolerances, its user has none."""
    plain, scaled = (LPBoostClassifier(0.5, learner=Matrix(), tol=1e-9, calibrate=False) for _ in range(2))
    one, other = plain.fit(X, Y), scaled.fit(size * X, Y)
    assert other.certificate_.objective == pytest.approx(size * one.certificate_.objective, rel=1e-6)
    assert other.certificate_.objective > 0 and other.certificate_.gap < 1e-4 * other.certificate_.objective
