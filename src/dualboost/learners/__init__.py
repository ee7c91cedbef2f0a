"""The classes of hypotheses: one file a learner, see `base` for what a learner must say."""

from dualboost.learners.base import Answer, Learner, Oracle, Predictor
from dualboost.learners.leaf_trees import LeafTrees
from dualboost.learners.matrix import Matrix
from dualboost.learners.nzdd import NZDD
from dualboost.learners.sklearn import SklearnLearner
from dualboost.learners.stumps import Stumps
from dualboost.learners.subsets import Subsets
from dualboost.learners.trees import Trees
from dualboost.learners.union import Union
from dualboost.learners.words import Words

__all__ = [
    "NZDD",
    "Answer",
    "LeafTrees",
    "Learner",
    "Matrix",
    "Oracle",
    "Predictor",
    "SklearnLearner",
    "Stumps",
    "Subsets",
    "Trees",
    "Union",
    "Words",
]
