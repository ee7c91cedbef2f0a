"""What a learning problem is like, before and after boosting: its hard core, its dual, the rates of the theorems."""

from dualboost.diagnosis.course import Course
from dualboost.diagnosis.dual import DualOptimum, bregman_projection, dual_optimum, suboptimality
from dualboost.diagnosis.finding import Progress
from dualboost.diagnosis.hard_core import diagnose
from dualboost.diagnosis.rates import SEARCHES, Constants, Promise, theorem_21, theorem_23, theorem_27
from dualboost.diagnosis.report import Diagnosis

__all__ = [
    "SEARCHES",
    "Constants",
    "Course",
    "Diagnosis",
    "DualOptimum",
    "Progress",
    "Promise",
    "bregman_projection",
    "diagnose",
    "dual_optimum",
    "suboptimality",
    "theorem_21",
    "theorem_23",
    "theorem_27",
]
