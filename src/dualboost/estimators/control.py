"""What a fit carries along to control its runs: the wishes of the caller, the clock, where runs are kept."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from dualboost.estimators.clock import Clock
from dualboost.estimators.ctrl_c import CtrlC
from dualboost.estimators.hooks import Hooks
from dualboost.estimators.training import Training

__all__ = ["Control"]


@dataclass(frozen=True, eq=False)
class Control:
    """Of one fit, or of the part of it that fits one class against the rest."""

    training: Training = field(default_factory=Training)
    clock: Clock = field(default_factory=Clock)
    warm: bool = False
    """Whether a later fit may go on where this one ends."""
    part: str = ""
    """Which part of the fit this is, as the end of a file's name."""
    broken_off: set[str] = field(default_factory=set)
    """The parts that the clock or Ctrl-C has ended: they can be taken up again."""
    stopped: set[str] = field(default_factory=set)
    """These, and the parts whose rounds a callback or held-out rows have chosen."""
    ctrl_c: CtrlC = field(default_factory=CtrlC)
    hooks: Hooks | None = None
    """scikit-learn's callbacks."""

    @classmethod
    def of(cls, training: Training | None, warm: bool) -> Control:
        """The clock starts here."""
        training = Training() if training is None else training
        return cls(training, Clock(training.seconds), warm)

    def share(self, share: float) -> Control:
        """With a clock for this share of the time left."""
        return replace(self, clock=self.clock.part(share))

    def of_class(self, k: int, n_classes: int) -> Control:
        """For one class of several, in their order: the time left is shared equally."""
        return replace(self, clock=self.clock.turn(n_classes - k), part=f".{k}")

    def unkept(self) -> Control:
        """For a run that a later fit does not go on with: it plays another game."""
        return replace(self, training=replace(self.training, checkpoint=None), warm=False)

    def aside(self) -> Control:
        """For models on a part of the rows: they have the same time, and nothing else of it."""
        return Control(clock=self.clock, ctrl_c=self.ctrl_c)

    @property
    def checkpoint(self) -> str | None:
        path = self.training.checkpoint
        return None if path is None else path + self.part
