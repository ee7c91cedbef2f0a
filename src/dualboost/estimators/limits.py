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
from dualboost.frames import check_row_numbers
from dualboost.rows import Rows
from dualboost.sets import Capped, Groups, Simplex, WeightSet

__all__ = ["Asked", "Limits", "Promise", "caps_times_rows", "check_groups", "check_smoothness", "limits_of"]


@dataclass(frozen=True, eq=False)
class Asked:
    """The limits among a classifier's parameters; what belongs to single rows comes with the data."""

    smoothness: float | None = None
    group_caps: Mapping | None = None
    group_floors: Mapping | None = None


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
    """The limits over these rows; `data.extras` may have "secondary", "groups" and "caps_times_rows"."""
    secondary, groups = data.extras.get("secondary"), data.extras.get("groups")
    caps = data.extras.get("caps_times_rows")
    caps = None if caps is None else caps / rows.total  # so that a part of the rows has the limits of the whole
    if caps is not None and (secondary is not None or asked.smoothness is not None):
        raise ValueError("Give either caps, one number per row, or a smoothness from which the caps are made.")
    if groups is None:
        return _row_limits(rows, asked.smoothness, secondary, caps)
    if secondary is not None:
        raise ValueError("Give either secondary or groups: a secondary source is a group with a cap.")
    return _group_limits(rows, groups, asked, caps)


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
    given = (asked.group_caps or {}, asked.group_floors or {})
    most, floors = ({g: shares[g] for g in shares if g in present} for shares in given)
    nu = None if asked.smoothness is None else 1 / asked.smoothness
    weight_set = Groups(groups, most, floors, nu, caps)
    free = [g for g in present if most.get(g, 1.0) >= 1]
    if floors or not free:
        words = "the errors alone might not be allowed all the weight: nothing is promised about their share"
        return Limits(weight_set, (), {"all": words})
    least = nu or (0.0 if caps is None else _least(rows, caps))
    silence = {str(g): "not allowed all the weight: nothing is promised" for g in present.difference(free)}
    return Limits(weight_set, (Promise("groups without a cap", np.isin(groups, free), least),), silence)


def check_smoothness(smoothness) -> None:
    number = isinstance(smoothness, Real) and not isinstance(smoothness, bool)
    if not (number and 1 <= float(smoothness) < np.inf):
        raise ValueError(f"smoothness says how many times its share a row may weigh: at least 1, not {smoothness!r}.")


def check_groups(groups, asked: Asked) -> None:
    """Refuse limits without groups, groups without limits, and limits on other groups."""
    limits = {"group_caps": asked.group_caps, "group_floors": asked.group_floors}
    for name, shares in limits.items():
        if not (shares is None or isinstance(shares, Mapping)):
            raise ValueError(f"{name} must be a dict from the label of a group to its share, not {shares!r}.")
        if shares is not None and groups is None:
            raise ValueError(f"{name} needs the group of each row: fit(X, y, groups=labels).")
        # A fold of a cross-validation may lack some of the groups, but hardly all.
        if shares and not set(shares) & set(np.asarray(groups).tolist()):
            raise ValueError(f"{name} speaks of {next(iter(shares))!r}, but no row is in any of its groups.")
    if groups is not None and not any(limits.values()):
        raise ValueError("groups need limits: group_caps={label: share}, group_floors={label: share}, or both.")


def caps_times_rows(caps, sample_weight) -> np.ndarray | None:
    """Caps relative to equal shares, which is what stays the same on a part of the rows."""
    if caps is None:
        return None
    given = 1.0 if sample_weight is None else sample_weight
    check_row_numbers("caps", caps)
    check_row_numbers("sample_weight", given)
    try:
        caps = np.asarray(caps, dtype=np.float64)
        total = float(np.broadcast_to(np.asarray(given, dtype=np.float64), len(caps)).sum())
    except (TypeError, ValueError) as error:
        raise ValueError("caps and sample_weight must hold one number per row.") from error
    if not np.all(caps > 0):
        raise ValueError("caps must be positive; give a row that may not count the sample weight 0 instead.")
    return caps * total
