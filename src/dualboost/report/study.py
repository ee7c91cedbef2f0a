"""Everything that a report tells, as one record of finished results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
    diagnoses: Mapping[str, Any] = field(default_factory=dict)
    """What `dualboost.diagnose` found about votes of stumps, by what was asked; of two classes one, without a name."""
    rows: np.ndarray | None = None
    """The row of the file, from 0, of each row of y; None where they are the same."""
    names: tuple[str, str] | None = None
    """Of the two classes, where the model does not know them."""
    unlisted: int = 0
    """Rows that deserve a second look beyond the `suspects`, which are the first of them."""

    @property
    def classes(self) -> tuple:
        """What the model tells apart."""
        return self.names or tuple(self.model.classes_.tolist())

    def parts(self) -> tuple[Study, ...]:
        """Of several classes: a study of each against the rest, largest first; of two none."""
        counts = {label: int(np.sum(self.y == label)) for label in self.classes}
        order = sorted(range(len(self.classes)), key=lambda k: -counts[self.classes[k]])
        return tuple(self._part(k) for k in order) if hasattr(self.model, "estimators_") else ()

    def _part(self, k: int) -> Study:
        label, held = self.classes[k], self.held_out
        names = ("the rest", str(label))
        own = (held.truth == k).astype(int)
        judged = HeldOut(np.array(names), own, held.votes[:, k], held.folds, held.weights)
        y = np.where(self.y == label, names[1], names[0])
        title, model = f"{label} against the rest", self.model.estimators_[k]
        return replace(self, title=title, model=model, y=y, held_out=judged, suspects=(), names=names)
