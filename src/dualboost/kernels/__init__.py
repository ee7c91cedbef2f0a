"""The hot loops: plain functions on arrays, and the only compiled code.

They check dtypes, shapes and ranges, raise one sentence when something is off, release the interpreter lock, and return
the same bits for any number of threads: integers are summed in any order, floats in fixed chunks joined in order.
"""

from dualboost.kernels._compiled import *  # noqa: F403
