"""scikit-learn classes: they choose the parts, play the game and keep flat arrays."""

from dualboost.estimators.compare import Comparison, compare
from dualboost.estimators.descent import AdaBoostClassifier, LogisticBoostClassifier
from dualboost.estimators.family import (
    ERLPBoostClassifier,
    LPBoostClassifier,
    MLPBoostClassifier,
    SoftBoostClassifier,
    TotalBoostClassifier,
)
from dualboost.estimators.margin import MarginBoostClassifier
from dualboost.estimators.reweight import reweight

__all__ = [
    "AdaBoostClassifier",
    "Comparison",
    "ERLPBoostClassifier",
    "LPBoostClassifier",
    "LogisticBoostClassifier",
    "MLPBoostClassifier",
    "MarginBoostClassifier",
    "SoftBoostClassifier",
    "TotalBoostClassifier",
    "compare",
    "reweight",
]
