"""Parameters inside of parameters, as scikit-learn names them: `learner__max_depth`, `training__seconds`.

Learners, boosters and `Training` are frozen records, which cannot change: a record with the new value takes the place
of the old one. So a grid search goes over the depth of trees as over any other number, and over what stands inside of a
record as well: `learner__estimator__max_depth`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields, is_dataclass, replace
from typing import Any

from sklearn.base import BaseEstimator, clone

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
        return {**params, **_inner(records)}

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
            name, inside, part = key.partition("__")
            if inside and name in own and not hasattr(params.get(name, own[name]), "set_params"):
                inner[name][part] = plain.pop(key)
        super().set_params(**plain)
        for name, parts in inner.items():
            setattr(self, name, _changed(getattr(self, name), name, parts))
        return self


def _is_record(value: Any) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


def _inner(values: dict[str, Any]) -> dict[str, Any]:
    """The parts of records and estimators among the values, and their parts."""
    return {f"{name}__{key}": part for name, value in values.items() for key, part in _parts(value).items()}


def _parts(value: Any) -> dict[str, Any]:
    if _is_record(value):
        own = {f.name: getattr(value, f.name) for f in fields(value)}
        return {**own, **_inner(own)}
    return value.get_params() if hasattr(value, "get_params") and not isinstance(value, type) else {}


def _changed(value: Any, name: str, parts: dict[str, Any]) -> Any:
    if hasattr(value, "set_params"):
        return clone(value).set_params(**parts)
    if not _is_record(value):
        part = next(iter(parts))
        raise ValueError(f"{name} is {value!r}, which has no {part!r} to set: give {name} itself first.")
    own: dict[str, Any] = {}
    inner: dict[str, dict[str, Any]] = defaultdict(dict)
    for key, part in parts.items():
        head, _, rest = key.partition("__")
        if rest:
            inner[head][rest] = part
        else:
            own[head] = part
    _check_known(value, name, [*own, *inner])
    for head, further in inner.items():
        own[head] = _changed(own.get(head, getattr(value, head)), f"{name}__{head}", further)
    return replace(value, **own)


def _check_known(record: Any, name: str, parts: list[str]) -> None:
    known = [f.name for f in fields(record)]
    unknown = [part for part in parts if part not in known]
    if unknown:
        raise ValueError(
            f"Invalid parameter {unknown[0]!r} for {name} = {type(record).__name__}(...): it has {', '.join(known)}."
        )
