"""dualboost: boosting that proves what it did.

>>> from dualboost import MarginBoostClassifier, solve
"""

from importlib.metadata import version as _version

from dualboost.diagnosis import Diagnosis, diagnose
from dualboost.estimators import (
    Comparison,
    ERLPBoostClassifier,
    LPBoostClassifier,
    MarginBoostClassifier,
    MLPBoostClassifier,
    SoftBoostClassifier,
    TotalBoostClassifier,
    compare,
    reweight,
)
from dualboost.files import load_model, save_model
from dualboost.solve import Solution, solve

__all__ = [
    "Comparison",
    "Diagnosis",
    "ERLPBoostClassifier",
    "LPBoostClassifier",
    "MLPBoostClassifier",
    "MarginBoostClassifier",
    "SoftBoostClassifier",
    "Solution",
    "TotalBoostClassifier",
    "compare",
    "diagnose",
    "load_model",
    "reweight",
    "save_model",
    "solve",
]
__version__ = _version("dualboost")
