"""Where the row weights may live: one file a set, see `base` for what a set must say."""

from dualboost.sets.base import BoundSet, WeightSet
from dualboost.sets.capped import Capped, Simplex

__all__ = ["BoundSet", "Capped", "Simplex", "WeightSet"]
