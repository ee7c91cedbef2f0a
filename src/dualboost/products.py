"""Products of numbers of two types, such as labels of int8 and weights.

NumPy makes them through a buffer, which it asks for after it has let go of Python's lock: where there is no memory for
it, the process ends. Numbers of one type need no buffer, and are multiplied faster.
"""

from __future__ import annotations

import numpy as np

__all__ = ["times"]


def times(numbers: np.ndarray, factor: np.ndarray | float) -> np.ndarray:
    """numbers * factor as float64; the factor is one number, or one of float64 for each.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.products import times
    >>> times(np.array([1, -1], dtype=np.int8), np.array([0.5, 0.25]))
    array([ 0.5 , -0.25])
    """
    product = numbers.astype(np.float64)
    product *= factor
    return product
