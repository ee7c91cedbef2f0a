"""Non-deterministic zero-suppressed decision diagrams: classes of hypotheses far too large to list."""

from dualboost.learners.nzdd.boxes import Paths
from dualboost.learners.nzdd.conjunctions import Conjunctions
from dualboost.learners.nzdd.diagram import Diagram
from dualboost.learners.nzdd.family import diagram_of_family
from dualboost.learners.nzdd.learner import NZDD, NZDDOracle
from dualboost.learners.nzdd.picture import dot_of
from dualboost.learners.nzdd.ranges import Intervals, Thresholds
from dualboost.learners.nzdd.rules import Rules
from dualboost.learners.nzdd.weighting import Pushed, edge_sums, extreme_sums, label_flows, push, sample

__all__ = [
    "NZDD", "Conjunctions", "Diagram", "Intervals", "NZDDOracle", "Paths", "Pushed", "Rules", "Thresholds",
    "diagram_of_family", "dot_of", "edge_sums", "extreme_sums", "label_flows", "push", "sample",
]  # fmt: skip
