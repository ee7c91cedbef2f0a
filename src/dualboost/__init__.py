"""dualboost: boosting that proves what it did.

>>> from dualboost import MarginBoostClassifier, solve
"""

from importlib.metadata import version as _version

from dualboost.estimators import (
    ERLPBoostClassifier,
    LPBoostClassifier,
    MarginBoostClassifier,
    MLPBoostClassifier,
    SoftBoostClassifier,
    TotalBoostClassifier,
    reweight,
)
from dualboost.solve import Solution, solve

__all__ = [
    "ERLPBoostClassifier",
    "LPBoostClassifier",
    "MLPBoostClassifier",
    "MarginBoostClassifier",
    "SoftBoostClassifier",
    "Solution",
    "TotalBoostClassifier",
    "reweight",
    "solve",
]
__version__ = _version("dualboost")
