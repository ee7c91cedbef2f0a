"""scikit-learn classes: they choose the parts, play the game and keep flat arrays."""

from dualboost.estimators.audit import Audit, audit
from dualboost.estimators.compare import Comparison, compare
from dualboost.estimators.descent import AdaBoostClassifier, LogisticBoostClassifier
from dualboost.estimators.family import (
    ERLPBoostClassifier,
    LPBoostClassifier,
    MLPBoostClassifier,
    SoftBoostClassifier,
    TotalBoostClassifier,
)
from dualboost.estimators.frank_wolfe import FrankWolfeBoostClassifier
from dualboost.estimators.margin import MarginBoostClassifier
from dualboost.estimators.mirror import (
    MABoostClassifier,
    MadaBoostClassifier,
    SmoothBoostClassifier,
    SparseBoostClassifier,
)
from dualboost.estimators.noisy import LogisticDifferenceClassifier, LogisticMixtureClassifier
from dualboost.estimators.reweight import reweight
from dualboost.estimators.training import Training

__all__ = [
    "AdaBoostClassifier",
    "Audit",
    "Comparison",
    "ERLPBoostClassifier",
    "FrankWolfeBoostClassifier",
    "LPBoostClassifier",
    "LogisticBoostClassifier",
    "LogisticDifferenceClassifier",
    "LogisticMixtureClassifier",
    "MABoostClassifier",
    "MLPBoostClassifier",
    "MadaBoostClassifier",
    "MarginBoostClassifier",
    "SmoothBoostClassifier",
    "SoftBoostClassifier",
    "SparseBoostClassifier",
    "TotalBoostClassifier",
    "Training",
    "audit",
    "compare",
    "reweight",
]
