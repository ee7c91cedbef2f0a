"""dualboost: boosting that proves what it did.

>>> from dualboost import MarginBoostClassifier, solve
"""

from importlib.metadata import version as _version

from dualboost.diagnosis import Diagnosis, diagnose
from dualboost.estimators import (
    AdaBoostClassifier,
    Comparison,
    ERLPBoostClassifier,
    FrankWolfeBoostClassifier,
    LogisticBoostClassifier,
    LPBoostClassifier,
    MABoostClassifier,
    MadaBoostClassifier,
    MarginBoostClassifier,
    MLPBoostClassifier,
    SmoothBoostClassifier,
    SoftBoostClassifier,
    SparseBoostClassifier,
    TotalBoostClassifier,
    compare,
    reweight,
)
from dualboost.files import load_model, save_model
from dualboost.solve import Solution, solve

__all__ = [
    "AdaBoostClassifier",
    "Comparison",
    "Diagnosis",
    "ERLPBoostClassifier",
    "FrankWolfeBoostClassifier",
    "LPBoostClassifier",
    "LogisticBoostClassifier",
    "MABoostClassifier",
    "MLPBoostClassifier",
    "MadaBoostClassifier",
    "MarginBoostClassifier",
    "SmoothBoostClassifier",
    "SoftBoostClassifier",
    "Solution",
    "SparseBoostClassifier",
    "TotalBoostClassifier",
    "compare",
    "diagnose",
    "load_model",
    "reweight",
    "save_model",
    "solve",
]
__version__ = _version("dualboost")
