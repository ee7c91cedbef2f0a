"""scikit-learn's checks of the classifiers that choose nu, with all their defaults: `pytest -m slow`, minutes.

Choosing nu is the same code in each, and `MarginBoostClassifier` is checked with it in every run of the tests; so are
all other classifiers with their defaults, and these with a nu that is given.
"""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from dualboost import (
    ERLPBoostClassifier,
    FrankWolfeBoostClassifier,
    LPBoostClassifier,
    MLPBoostClassifier,
    SoftBoostClassifier,
)

CHOOSING = (
    LPBoostClassifier,
    ERLPBoostClassifier,
    SoftBoostClassifier,
    MLPBoostClassifier,
    FrankWolfeBoostClassifier,
)


@pytest.mark.slow
@parametrize_with_checks([make() for make in CHOOSING])
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)
