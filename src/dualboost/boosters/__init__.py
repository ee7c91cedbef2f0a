"""What to ask the learner and what to do with the answer: one file a booster, see `base` for what one must say."""

from dualboost.boosters.base import Booster
from dualboost.boosters.coordinate_descent import CoordinateDescent
from dualboost.boosters.corrective import Corrective
from dualboost.boosters.corrective_frank_wolfe import CorrectiveFrankWolfe
from dualboost.boosters.frank_wolfe import FrankWolfe
from dualboost.boosters.in_turn import InTurn, automatic
from dualboost.boosters.leveraging import Leveraging
from dualboost.boosters.lp import LPBoost
from dualboost.boosters.mada import MadaBoost
from dualboost.boosters.mirror_ascent import MirrorAscent
from dualboost.boosters.mlp import MLPBoost
from dualboost.boosters.regularizers import Entropic, Euclidean, Regularizer
from dualboost.boosters.servedio import ServedioSmoothBoost
from dualboost.boosters.soft import SoftBoost, TotalBoost
from dualboost.boosters.sparse import SparseBoost
from dualboost.boosters.star import AdaBoostStar
from dualboost.boosters.totally_corrective import ERLPBoost, TotallyCorrective

__all__ = [
    "AdaBoostStar",
    "Booster",
    "CoordinateDescent",
    "Corrective",
    "CorrectiveFrankWolfe",
    "ERLPBoost",
    "FrankWolfe",
    "InTurn",
    "LPBoost",
    "Leveraging",
    "MLPBoost",
    "ServedioSmoothBoost",
    "SoftBoost",
    "TotalBoost",
    "TotallyCorrective",
    "automatic",
]
__all__ += ["Entropic", "Euclidean", "MadaBoost", "MirrorAscent", "Regularizer", "SparseBoost"]
