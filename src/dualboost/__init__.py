"""dualboost: boosting that proves what it did.

>>> from dualboost import MarginBoostClassifier, solve
"""

from importlib.metadata import version as _version

from dualboost.estimators import (
    AdaBoostClassifier,
    Comparison,
    ERLPBoostClassifier,
    LogisticBoostClassifier,
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
    "AdaBoostClassifier",
    "Comparison",
    "ERLPBoostClassifier",
    "LPBoostClassifier",
    "LogisticBoostClassifier",
    "MLPBoostClassifier",
    "MarginBoostClassifier",
    "SoftBoostClassifier",
    "Solution",
    "TotalBoostClassifier",
    "compare",
    "load_model",
    "reweight",
    "save_model",
    "solve",
]
__version__ = _version("dualboost")
