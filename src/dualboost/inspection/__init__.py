"""What a fitted model does, as data: contributions of features to a row's score, curves, tables of two features."""

from dualboost.inspection.explain import Explanation, explain
from dualboost.inspection.pairs import PairTable, pairs
from dualboost.inspection.shapes import Shape, shapes

__all__ = ["Explanation", "PairTable", "Shape", "explain", "pairs", "shapes"]
