"""dualboost: boosting that proves what it did.

>>> from dualboost import MarginBoostClassifier, solve
"""

from importlib.metadata import version as _version

from dualboost.diagnosis import Diagnosis, diagnose
from dualboost.estimators import (
    Comparison,
    ERLPBoostClassifier,
    FrankWolfeBoostClassifier,
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
from dualboost.files import load_model, load_notes, save_model
from dualboost.solve import Solution, solve

__all__ = [
    "Comparison",
    "Diagnosis",
    "ERLPBoostClassifier",
    "FrankWolfeBoostClassifier",
    "LPBoostClassifier",
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
    "load_notes",
    "reweight",
    "save_model",
    "solve",
]
__version__ = _version("dualboost")
