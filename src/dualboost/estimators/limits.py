"""Limits on the row weights as a `fit` takes them, the set they make, and what they leave of the training-error bound.

Naghibi & Pfister, Theorem 3 and section 3.2: the bound b of Theorem 1 holds for every group of rows whose errors could
be given the whole weight. Under caps c that takes errors of at least max p / c, so b is replaced by the larger of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real

import numpy as np

from dualboost.estimators.validation import TrainingData
from dualboost.rows import Rows
from dualboost.sets import Capped, Groups, Simplex, WeightSet

__all__ = ["Asked", "Limits", "Promise", "check_smoothness", "limits_of"]


@dataclass(frozen=True, eq=False)
class Asked:
    """What the caller gave: all optional, one entry per row where it is an array."""

    smoothness: float | None = None
    secondary: np.ndarray | None = None
    groups: np.ndarray | None = None
    caps: np.ndarray | None = None
    shares: tuple = (None, None)
    """Caps and floors of the groups."""


@dataclass(frozen=True, eq=False)
class Promise:
    """Of the weight of all rows, the wrong ones among `rows` carry at most the larger of the bound and `least`."""

    name: str
    rows: np.ndarray | slice
    least: float

    def holds_at(self, bound: float) -> float:
        return min(1.0, max(self.least, bound))

    def words(self, prior: np.ndarray, bound: float) -> str:
        most, own = self.holds_at(bound), float(prior[self.rows].sum())
        sentence = f"wrong rows carry at most {most:.3g} of the weight of all rows"
        return sentence if own > 1 - 1e-12 else f"{sentence}, {min(1.0, most / own):.3g} of the weight of their kind"


@dataclass(frozen=True, eq=False)
class Limits:
    """A set of row weights, what is proved inside it (the first promise for most rows), and what is not."""

    set: WeightSet
    promises: tuple[Promise, ...]
    silence: dict[str, str]


def limits_of(data: TrainingData, rows: Rows, asked: Asked) -> Limits:
    """The limits over the rows that have weight."""
    secondary = _per_row("secondary", asked.secondary, data)
    groups, caps = _per_row("groups", asked.groups, data), _per_row("caps", asked.caps, data)
    if caps is not None and (secondary is not None or asked.smoothness is not None):
        raise ValueError("Give either caps, one number per row, or a smoothness from which the caps are made.")
    if groups is None:
        return _row_limits(rows, asked.smoothness, secondary, caps)
    if secondary is not None:
        raise ValueError("Give either secondary or groups: a secondary source is a group with a cap.")
    return _group_limits(rows, groups, asked, caps)


def _per_row(name: str, values, data: TrainingData) -> np.ndarray | None:
    if values is None:
        return None
    array = np.asarray(values)
    if array.shape != (data.n_given,):
        raise ValueError(f"{name} must hold one entry per row: {data.n_given}, not an array of shape {array.shape}.")
    return array if data.present is None else array[data.present]


def _row_limits(rows: Rows, smoothness, secondary, caps) -> Limits:
    everything = slice(None)
    if caps is not None:
        return Limits(Capped(caps=caps), (Promise("all", everything, _least(rows, caps)),), {})
    if secondary is not None:
        return _two_sources(rows, smoothness, secondary)
    if smoothness is None:
        return Limits(Simplex(), (Promise("all", everything, 0.0),), {})
    return Limits(Capped(nu=1 / smoothness), (Promise("all", everything, 1 / smoothness),), {})


def _least(rows: Rows, caps: np.ndarray) -> float:
    """The largest prior over cap: a row of weight k has k copies of its cap, and never more than all."""
    with np.errstate(divide="ignore"):
        return float(np.maximum(rows.prior, 1.0 / (np.asarray(caps, dtype=np.float64) * rows.total)).max())


def _two_sources(rows: Rows, smoothness, secondary: np.ndarray) -> Limits:
    """Caps k p / p(B) on the secondary rows B: their error, as a share of their own weight, is at most 1/k or b."""
    if secondary.dtype != bool:
        raise ValueError("secondary must be a mask: True for the rows of the source that is trusted less.")
    if smoothness is None:
        raise ValueError("secondary needs a smoothness: how many times its share a secondary row may weigh.")
    if not secondary.any():
        return _row_limits(rows, None, None, None)
    share = float(rows.prior[secondary].sum())
    caps = np.where(secondary, smoothness / (share * rows.total), np.inf)
    caps = np.minimum(caps, 1.0 / (rows.prior * rows.total))  # no row can weigh more than all
    least = share / smoothness
    promises = (
        Promise("all", slice(None), least),
        Promise("primary", ~secondary, 0.0),
        Promise("secondary", secondary, least),
    )
    return Limits(Capped(caps=caps), promises if not secondary.all() else promises[:1], {})


def _group_limits(rows: Rows, groups: np.ndarray, asked: Asked, caps) -> Limits:
    present = set(groups.tolist())
    most, floors = _of_present("caps", asked.shares[0], present), _of_present("floors", asked.shares[1], present)
    if most is None and floors is None:
        raise ValueError("groups need limits: group_caps={label: share}, group_floors={label: share}, or both.")
    nu = None if asked.smoothness is None else 1 / asked.smoothness
    weight_set = Groups(groups, most, floors, nu, caps)
    free = [g for g in present if (most or {}).get(g, 1.0) >= 1]
    if floors or not free:
        words = "the errors alone might not be allowed all the weight: nothing is promised about their share"
        return Limits(weight_set, (), {"all": words})
    least = nu or (0.0 if caps is None else _least(rows, caps))
    silence = {str(g): "not allowed all the weight: nothing is promised" for g in present.difference(free)}
    return Limits(weight_set, (Promise("groups without a cap", np.isin(groups, free), least),), silence)


def _of_present(name: str, shares, present: set) -> dict | None:
    """The limits of the groups that have rows here; in a fold of a cross-validation some may have none."""
    if shares is None:
        return None
    if not isinstance(shares, Mapping):
        raise ValueError(f"group_{name} must be a dict from the label of a group to its share, not {shares!r}.")
    found = {label: share for label, share in shares.items() if label in present}
    if shares and not found:
        raise ValueError(f"group_{name} speaks of {next(iter(shares))!r}, but no row is in any of its groups.")
    return found


def check_smoothness(smoothness) -> None:
    if not (isinstance(smoothness, Real) and 1 <= float(smoothness) < np.inf):
        raise ValueError(f"smoothness says how many times its share a row may weigh: at least 1, not {smoothness!r}.")
