"""Where the row weights may live: one file a set, see `base` for what a set must say."""

from dualboost.sets.ball import Ball
from dualboost.sets.base import BoundSet, WeightSet
from dualboost.sets.binary_entropy import BinaryEntropy
from dualboost.sets.capped import Capped, Simplex
from dualboost.sets.groups import Balanced, Groups
from dualboost.sets.norms import Lp, Norm
from dualboost.sets.penalty import Penalty

__all__ = ["Ball", "BinaryEntropy", "BoundSet", "Capped", "Lp", "Norm", "Penalty", "Simplex", "WeightSet"]
__all__ += ["Balanced", "Groups"]
