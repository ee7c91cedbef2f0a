"""What is wrong with a file or an option, in one sentence that says what to do."""

from __future__ import annotations

from types import ModuleType

__all__ = ["BadInput", "require_polars"]


class BadInput(ValueError):
    """The caller can put this right; the sentence says how."""


def require_polars() -> ModuleType:
    """polars, or one sentence."""
    try:
        import polars
    except ImportError as error:
        raise BadInput('Reading data files needs polars: pip install "dualboost[cli]".') from error
    return polars
