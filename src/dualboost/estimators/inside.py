"""Where a classifier of ours is inside of a pipeline or a search that was given in its place."""

from __future__ import annotations

from typing import Any

__all__ = ["way_in"]


def way_in(given: Any) -> str:
    """In words, to end a sentence with; empty where it is in neither."""
    if hasattr(given, "best_estimator_"):
        return ": give its best_estimator_"
    if hasattr(given, "steps"):
        return ": give its last step, [-1], and the table that the steps before it make"
    return ""
