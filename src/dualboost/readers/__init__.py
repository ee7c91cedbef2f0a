"""Data files -> numbers: what a column is gets decided once, at fit, and kept in a `Schema` beside the model.

The only home of polars. Whatever was guessed is said in words, in `Problem.notes`.
"""

from dualboost.errors import BadInput
from dualboost.readers.learn import Wishes, learn
from dualboost.readers.parts import stream
from dualboost.readers.problem import NewValues, Problem, apply
from dualboost.readers.schema import Column, Schema
from dualboost.readers.table import FrameTable, Source, SparseTable, Table, read

__all__ = [
    "BadInput",
    "Column",
    "FrameTable",
    "NewValues",
    "Problem",
    "Schema",
    "Source",
    "SparseTable",
    "Table",
    "Wishes",
    "apply",
    "learn",
    "read",
    "stream",
]
