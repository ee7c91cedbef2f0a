"""How a sentence names a value that is wrong: never by the cells of a table."""

from __future__ import annotations

from numbers import Number
from reprlib import repr as short
from typing import Any

import numpy as np

__all__ = ["in_words"]


def in_words(value: Any) -> str:
    """A single value as it is written, cut short where it is long; else its type.

    >>> in_words("Oslo"), in_words(None), in_words(np.zeros((1000, 3)))
    ("'Oslo'", 'None', 'a value of type ndarray')
    """
    single = value is None or isinstance(value, (str, bytes, Number, np.generic))
    return short(value) if single else f"a value of type {type(value).__name__}"
