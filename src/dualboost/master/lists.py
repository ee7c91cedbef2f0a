"""What a solver has found, which highspy gives as lists."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["read_lists"]


@contextmanager
def read_lists() -> Iterator[None]:
    """Lists are read in here: highspy has a RuntimeError for one that it has no memory for."""
    try:
        yield
    except RuntimeError as error:
        if "allocate" not in str(error):
            raise
        raise MemoryError(str(error)) from error
