"""polars, imported when a file is read."""

from __future__ import annotations

from types import ModuleType

from dualboost.errors import BadInput

__all__ = ["require_polars"]


def require_polars() -> ModuleType:
    """polars, or one sentence."""
    try:
        import polars
    except ImportError as error:
        raise BadInput('Reading data files needs polars: pip install "dualboost[cli]".') from error
    return polars
