"""Arrays and sparse matrices by scikit-learn's rules, with masked cells as missing values and a word about text."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

__all__ = ["INPUT", "validated"]

INPUT: dict[str, Any] = {
    "accept_sparse": ("csr", "csc"),
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": "allow-nan",
}
"""What all tables of numbers are checked for."""


def validated(estimator, X, y="no_validation", reset: bool = True):
    """X, or X and y, as scikit-learn checks them; text is refused with what to do about it."""
    if np.ma.isMaskedArray(X):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    try:
        return validate_data(estimator, X, y=y, reset=reset, **INPUT)
    except ValueError as error:
        label = str(error).partition("could not convert string to float: ")[2]
        if not label:
            raise
        raise ValueError(
            f"X holds text, such as {label}, and an array has no place to say what is a category: give a frame with "
            'columns of categories (transformers make one after .set_output(transform="pandas")), or encode it.'
        ) from error
