"""dualboost: boosting that proves what it did.

>>> from dualboost import MarginBoostClassifier, solve
"""

from importlib.metadata import version as _version

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
from dualboost.solve import Solution, solve

__all__ = [
    "Comparison",
    "ERLPBoostClassifier",
    "LPBoostClassifier",
    "MLPBoostClassifier",
    "MarginBoostClassifier",
    "SoftBoostClassifier",
    "Solution",
    "TotalBoostClassifier",
    "compare",
    "reweight",
    "solve",
]
__version__ = _version("dualboost")
