"""Small optimisation problems inside a round: line searches and restricted masters, the only home of solvers."""

from dualboost.master.attained import minimise_attained
from dualboost.master.centre import centred
from dualboost.master.core_program import core_program
from dualboost.master.distance import BalancedBox
from dualboost.master.line_search import longest_ascent
from dualboost.master.linear import EdgeProgram
from dualboost.master.newton import descend
from dualboost.master.projection import entropy_projection
from dualboost.master.quadratic import L1Ball, l1_quadratic, nonnegative_quadratic
from dualboost.master.separation import PROOF, Separation, separate
from dualboost.master.spectral import largest_singular_value

__all__ = [
    "PROOF",
    "BalancedBox",
    "EdgeProgram",
    "L1Ball",
    "Separation",
    "centred",
    "core_program",
    "descend",
    "entropy_projection",
    "l1_quadratic",
    "largest_singular_value",
    "longest_ascent",
    "minimise_attained",
    "nonnegative_quadratic",
    "separate",
]
