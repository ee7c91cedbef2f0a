"""dualboost: boosting that proves what it did.

>>> from dualboost import MarginBoostClassifier, solve
"""

from importlib.metadata import version as _version

from dualboost.estimators import MarginBoostClassifier
from dualboost.solve import Solution, solve

__all__ = ["MarginBoostClassifier", "Solution", "solve"]
__version__ = _version("dualboost")
