"""scikit-learn's own callbacks, `model.set_callbacks(ProgressBar())`, from version 1.9 on: every round is a task.

Of several classes each is a task, and its rounds are tasks of that. In older versions there is nothing to support.
Who looks on has views of the arrays that cannot be written to, for the fit goes on with these arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from dualboost.estimators.nested import NestedParameters

__all__ = ["CallbackSupport", "Hooks", "read_only", "with_hooks"]

_OF_TABLE = ("categories_", "column_names_", "feature_names_in_")
"""What a fit knows before its first round. Any other attribute may still be that of an earlier fit."""
_OF_SPARSE = ("data", "indices", "indptr")

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
        hooks = cls(estimator, estimator._init_callback_context(max_subtasks=tasks), read_only(X), read_only(y))
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
        attributes = None if fitted is None else lambda: {**self._shown(fitted()), "_reads_codes": True}
        return self.task.call_on_fit_task_end(
            estimator=self.estimator, X=self.X, y=self.y, reconstruction_attributes=attributes
        )

    def _shown(self, fitted: dict[str, Any]) -> dict[str, Any]:
        """These attributes, or all of a model that is finished, and those of the table: to be looked at only."""
        own = vars(self.estimator)
        names = [name for name in (_OF_TABLE if fitted else own) if name in own and _is_fitted(name)]
        return read_only({**{name: own[name] for name in names}, **fitted})

    def round(self, fitted: Callable[[], dict[str, Any]] | None) -> str:
        """A round was played; the reason to stop that a callback has, or nothing."""
        return "stopped by a callback of scikit-learn" if self.part("round", 0).end(fitted) else ""


def _is_fitted(name: str) -> bool:
    """Whether an attribute of this name is what a fit gives."""
    return name.endswith("_") and not name.startswith("_")


def read_only(value: Any) -> Any:
    """The same with views in the place of arrays, which cannot be written to; nothing that is large is copied."""
    if isinstance(value, np.ndarray):
        view = value.view()
        view.setflags(write=False)
        return view
    if type(value) in (list, tuple):
        return type(value)(map(read_only, value))
    if type(value) is dict:
        return {key: read_only(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: read_only(getattr(value, f.name)) for f in fields(value)})
    if issparse(value):
        return _with_views(value, _OF_SPARSE)
    if isinstance(value, NestedParameters):  # a class against the rest
        return _with_views(value, filter(_is_fitted, vars(value)))
    return value


def _with_views(value: Any, names: Iterable[str]) -> Any:
    """A copy with views of these attributes, where it has them."""
    view = copy(value)
    for name in names:
        if hasattr(value, name):
            setattr(view, name, read_only(getattr(value, name)))
    return view
