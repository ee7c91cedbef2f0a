"""Small optimisation problems inside a round: line searches and restricted masters, the only home of solvers."""

from dualboost.master.line_search import longest_ascent
from dualboost.master.linear import EdgeProgram
from dualboost.master.newton import descend
from dualboost.master.projection import entropy_projection
from dualboost.master.quadratic import l1_quadratic, nonnegative_quadratic

__all__ = ["EdgeProgram", "descend", "entropy_projection", "l1_quadratic", "longest_ascent", "nonnegative_quadratic"]
