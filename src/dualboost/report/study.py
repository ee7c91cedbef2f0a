"""Everything that a report tells, as one record of finished results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dualboost.estimators.base import BoostedClassifier
from dualboost.estimators.held_out import HeldOut

__all__ = ["Study", "Suspect"]


@dataclass(frozen=True)
class Suspect:
    """A row whose label deserves a second look."""

    row: int
    """Its number in the file, from 1 for the first row of data."""
    given: str
    suggested: str
    probability: float
    """That the given label is wrong."""
    margin: float
    """How much models that have not seen the row speak for its label; negative is against it."""
    reasons: str
    cells: Mapping[str, str] = field(default_factory=dict)
    """Some of what the file holds in this row."""


@dataclass(frozen=True, eq=False)
class Study:
    """A fitted model, what it does on rows it has not seen, and which rows to check."""

    title: str
    model: BoostedClassifier
    y: np.ndarray
    features: tuple[str, ...]
    held_out: HeldOut
    suspects: tuple[Suspect, ...]
    noise_rate: float
    """The estimated share of wrong labels; NaN where nobody estimated it."""
    origin: Mapping[str, Any]
    """How the model was made: names and values for a table."""
    commands: tuple[str, ...] = ()
    """How to make it again and how to use it."""
    diagnosis: Any = None
    """What `dualboost.diagnose` found about votes of stumps, where it was asked."""
    rows: np.ndarray | None = None
    """The row of the file, from 0, of each row of y; None where they are the same."""
