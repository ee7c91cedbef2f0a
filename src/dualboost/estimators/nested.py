"""Parameters inside of parameters, as scikit-learn names them: `learner__max_depth`, `training__seconds`.

Learners, boosters and `Training` are frozen records, which cannot change: a record with the new value takes the place
of the old one. So a grid search goes over the depth of trees as over any other number.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields, is_dataclass, replace
from typing import Any

from sklearn.base import BaseEstimator

__all__ = ["NestedParameters"]


class NestedParameters(BaseEstimator):
    """An estimator whose parameters may be frozen records. Abstract."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with `deep` those of the records among them too.

        Parameters
        ----------
        deep : bool, default True

        Returns
        -------
        dict
        """
        params = super().get_params(deep=deep)
        records = {name: value for name, value in params.items() if deep and _is_record(value)}
        inner = {f"{name}__{f.name}": getattr(value, f.name) for name, value in records.items() for f in fields(value)}
        return {**params, **inner}

    def set_params(self, **params: Any):
        """Set parameters, or those of records among them, such as `learner__max_depth`.

        Parameters
        ----------
        **params : the new values by name

        Returns
        -------
        the estimator itself
        """
        own = self.get_params(deep=False)
        inner: dict[str, dict[str, Any]] = defaultdict(dict)
        plain = dict(params)
        for key in params:
            name, _, part = key.partition("__")
            if part and name in own and not hasattr(params.get(name, own[name]), "set_params"):
                inner[name][part] = plain.pop(key)
        super().set_params(**plain)
        for name, parts in inner.items():
            setattr(self, name, _changed(getattr(self, name), name, parts))
        return self


def _is_record(value: Any) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


def _changed(record: Any, name: str, parts: dict[str, Any]) -> Any:
    if not _is_record(record):
        part = next(iter(parts))
        raise ValueError(f"{name} is {record!r}, which has no {part!r} to set: give {name} itself first.")
    known = [f.name for f in fields(record)]
    unknown = [part for part in parts if part not in known]
    if unknown:
        raise ValueError(
            f"Invalid parameter {unknown[0]!r} for {name} = {type(record).__name__}(...): it has {', '.join(known)}."
        )
    return replace(record, **parts)
