"""dualboost: boosting that proves what it did.

>>> from dualboost import MarginBoostClassifier, solve
"""

from importlib.metadata import version as _version

from dualboost.diagnosis import Diagnosis, diagnose
from dualboost.estimators import (
    Audit,
    Comparison,
    ERLPBoostClassifier,
    FrankWolfeBoostClassifier,
    LogisticDifferenceClassifier,
    LogisticMixtureClassifier,
    LPBoostClassifier,
    MABoostClassifier,
    MadaBoostClassifier,
    MarginBoostClassifier,
    MLPBoostClassifier,
    SmoothBoostClassifier,
    SoftBoostClassifier,
    SparseBoostClassifier,
    TotalBoostClassifier,
    audit,
    compare,
    reweight,
)
from dualboost.files import load_model, save_model
from dualboost.solve import Solution, solve

__all__ = [
    "Audit",
    "Comparison",
    "Diagnosis",
    "ERLPBoostClassifier",
    "FrankWolfeBoostClassifier",
    "LPBoostClassifier",
    "LogisticDifferenceClassifier",
    "LogisticMixtureClassifier",
    "MABoostClassifier",
    "MLPBoostClassifier",
    "MadaBoostClassifier",
    "MarginBoostClassifier",
    "SmoothBoostClassifier",
    "SoftBoostClassifier",
    "Solution",
    "SparseBoostClassifier",
    "TotalBoostClassifier",
    "audit",
    "compare",
    "diagnose",
    "load_model",
    "reweight",
    "save_model",
    "solve",
]
__version__ = _version("dualboost")
