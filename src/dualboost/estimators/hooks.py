"""scikit-learn's own callbacks, `model.set_callbacks(ProgressBar())`, from version 1.9 on: every round is a task.

Of several classes each is a task, and its rounds are tasks of that. In older versions there is nothing to support.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["CallbackSupport", "Hooks", "with_hooks"]

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks as with_hooks
except ImportError:  # before 1.9

    class CallbackSupport:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_hooks(method):  # type: ignore[no-redef]
        """The method as it is."""
        return method


@dataclass(frozen=True, eq=False)
class Hooks:
    """The callbacks of a fit, and the task that they are in."""

    estimator: Any
    task: Any
    X: Any
    y: np.ndarray

    @classmethod
    def of(cls, estimator, X, y: np.ndarray, tasks: int | None) -> Hooks:
        """The whole fit, of at most so many tasks, begun; None where that is not known."""
        hooks = cls(estimator, estimator._init_callback_context(max_subtasks=tasks), X, y)
        hooks.begin()
        return hooks

    def part(self, name: str, tasks: int | None) -> Hooks:
        """A task of this one, begun."""
        inner = Hooks(self.estimator, self.task.subcontext(task_name=name, max_subtasks=tasks), self.X, self.y)
        inner.begin()
        return inner

    def begin(self) -> None:
        self.task.call_on_fit_task_begin(estimator=self.estimator, X=self.X, y=self.y)

    def end(self, fitted: Callable[[], dict[str, Any]] | None = None) -> bool:
        """Whether to stop here; `fitted` gives the attributes of a model that ended with this task.

        Callbacks have X in numbers, and that model must take it, whatever table `fit` was given.
        """
        attributes = None if fitted is None else lambda: {**fitted(), "_reads_codes": True}
        return self.task.call_on_fit_task_end(
            estimator=self.estimator, X=self.X, y=self.y, reconstruction_attributes=attributes
        )

    def round(self, fitted: Callable[[], dict[str, Any]] | None) -> str:
        """A round was played; the reason to stop that a callback has, or nothing."""
        return "stopped by a callback of scikit-learn" if self.part("round", 0).end(fitted) else ""
