"""Limits on the weight of groups of rows: {d a distribution, low_g <= sum of d over group g <= high_g, d_i <= c_i}.

"Never more than this on that source", "at least this on that group", "each class half". Row weights then solve the
problem min over d of <d, z> and a distance, which is separable over the groups once each knows its total: the totals
are found by pegging (Bitran & Hax), every group's rows by the projection on a capped simplex.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import rel_entr

from dualboost import kernels
from dualboost.rows import Rows
from dualboost.sets.base import BoundSet, WeightSet
from dualboost.sets.capped import Capped, CappedSimplex
from dualboost.sets.covariance import covariance
from dualboost.sets.norms import frozen

__all__ = ["Balanced", "GroupedSimplex", "Groups"]

_ROUNDING = 1e-13  # in the total of a group
_MOST_PARTS = 64  # patterns of pegged groups that are kept warm


@dataclass(frozen=True, eq=False)
class Groups(WeightSet):
    """Distributions that give no group of rows more (or less) than its share.

    Parameters
    ----------
    groups : array of shape (m,)
        The group of each row; labels of any kind.
    caps : float or mapping from label to float, optional
        The most weight a group may have in all; one number is for every group, a label that is not mentioned is free.
    floors : float or mapping from label to float, optional
        The least weight of a group.
    nu, row_caps : float, array of shape (m,), optional
        Limits on single rows besides, as in `Capped`.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.rows import Rows
    >>> from dualboost.sets import Groups
    >>> sources = np.array(["web", "web", "web", "lab"])
    >>> limited = Groups(sources, caps={"web": 0.3}).bind(Rows.of(4))
    >>> limited.entropic(np.zeros(4), 1.0)
    array([0.1, 0.1, 0.1, 0.7])
    >>> round(limited.relaxed_margin(np.array([-1.0, 1.0, 1.0, 0.5])), 6)
    0.05
    """

    groups: np.ndarray
    caps: float | Mapping | None = None
    floors: float | Mapping | None = None
    nu: float | None = None
    row_caps: np.ndarray | None = None

    def __post_init__(self):
        labels = np.asarray(self.groups)
        if labels.ndim != 1 or not labels.size:
            raise ValueError("groups must hold one label per row.")
        for name, shares in (("caps", self.caps), ("floors", self.floors)):
            if isinstance(shares, Mapping) and set(shares) - set(labels.tolist()):
                unknown = sorted(map(str, set(shares) - set(labels.tolist())))
                raise ValueError(f"{name} speaks of {unknown[0]!r}, but no row is in that group.")

    def of_rows(self, chosen: np.ndarray) -> Groups:
        """The same limits for some of the rows."""
        labels = np.asarray(self.groups)[chosen]
        known = set(labels.tolist())
        kept = [
            {label: s[label] for label in s if label in known} if isinstance(s, Mapping) else s
            for s in (self.caps, self.floors)
        ]
        row_caps = None if self.row_caps is None else np.asarray(self.row_caps)[chosen]
        return Groups(labels, kept[0], kept[1], self.nu, row_caps)

    def bind(self, rows: Rows) -> BoundSet:
        labels, codes = np.unique(np.asarray(self.groups), return_inverse=True)
        if codes.shape != rows.prior.shape:
            raise ValueError(f"groups must hold one label per row: {len(rows)}, not an array of shape {codes.shape}.")
        single = self.nu is not None or self.row_caps is not None
        row_caps = Capped(self.nu, self.row_caps).bind(rows).caps if single else np.ones(1)
        low, high = _shares("floors", self.floors, labels, 0.0), _shares("caps", self.caps, labels, 1.0)
        if np.all(low <= 0) and np.all(high >= 1):
            return CappedSimplex(rows, row_caps)
        return GroupedSimplex(rows, codes, (low, high), row_caps)


def Balanced(classes: np.ndarray, nu: float | None = None) -> Groups:
    """Every class has the same total weight, however many rows it has: half each for two.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.rows import Rows
    >>> from dualboost.sets import Balanced
    >>> Balanced(np.array([1, 1, 1, -1])).bind(Rows.of(4)).entropic(np.zeros(4), 1.0).round(3)
    array([0.167, 0.167, 0.167, 0.5  ])
    """
    share = 1.0 / len(np.unique(classes))
    return Groups(classes, share, share, nu)


def _shares(name: str, given: float | Mapping | None, labels: np.ndarray, default: float) -> np.ndarray:
    """One number a group."""
    if given is None:
        return np.full(len(labels), default)
    if isinstance(given, Mapping):
        shares = np.array([given.get(label, default) for label in labels.tolist()], dtype=np.float64)
    else:
        shares = np.full(len(labels), float(given))
    if not np.all((shares >= 0) & (shares <= 1)) or (name == "caps" and not np.all(shares > 0)):
        raise ValueError(f"{name} are shares of the whole weight, within (0, 1]; drop a group that may not count.")
    return shares


class GroupedSimplex(BoundSet):
    """The distributions within the limits of groups and rows, over known rows."""

    def __init__(self, rows: Rows, codes: np.ndarray, limits: tuple[np.ndarray, np.ndarray], row_caps: np.ndarray):
        self.rows, self.codes, self.caps = rows, codes, row_caps
        self.low, high = limits
        self._each = np.broadcast_to(row_caps, codes.shape)
        room = rows.add(np.bincount(codes, self._each, minlength=len(high)))
        self.high = np.minimum(high, room)
        self._check(room)
        self.radius = 0.0 if self._one_point(room) else self._largest_divergence()
        self._parts: dict[tuple[bytes, float], tuple[np.ndarray | slice, CappedSimplex]] = {}

    def _check(self, room: np.ndarray) -> None:
        if self.low.sum() > 1 + _ROUNDING:
            raise ValueError(f"The floors of the groups sum to {self.low.sum():.6g}: lower them to at most 1 in all.")
        if self.high.sum() < 1 - 1e-12:
            raise ValueError(
                f"The groups and their rows may weigh {self.high.sum():.6g} in all: raise their caps to at least 1."
            )
        if np.any(self.low > self.high + _ROUNDING):
            raise ValueError("A group's floor is above its cap, or above what its rows may weigh: lower the floor.")
        self.low = np.minimum(self.low, self.high)

    def _one_point(self, room: np.ndarray) -> bool:
        """Whether the totals are determined, and each group's rows by its total."""
        slack = self.high - self.low > 1e-12
        if slack.sum() > 1 and self.low.sum() < 1 - 1e-12 and self.high.sum() > 1 + 1e-12:
            return False
        total = self.high.copy() if self.high.sum() <= 1 + 1e-12 else self.low.copy()
        total[slack] += 0.0 if slack.sum() != 1 else 1.0 - total.sum()
        single = np.bincount(self.codes, minlength=len(room)) == 1
        return bool(np.all(single | (total <= 0) | (room <= total * (1 + 1e-12))))

    def _largest_divergence(self) -> float:
        """Each log(d / prior) is at most that of the row's limit; the totals that make most of it, greedily."""
        ratio = np.minimum(self._each, self.high[self.codes]) / self.rows.prior
        tallest = np.zeros(len(self.high))
        np.maximum.at(tallest, self.codes, ratio)
        total, left = self.low.copy(), 1.0 - self.low.sum()
        for g in np.argsort(-tallest, kind="stable"):
            more = min(left, self.high[g] - self.low[g])
            total[g] += more
            left -= more
        used = total > 0
        return max(0.0, float(total[used] @ np.log(tallest[used])))

    def forget(self) -> None:
        for _, simplex in self._parts.values():
            simplex.forget()

    def _part(self, free: np.ndarray, mass: float) -> tuple[np.ndarray | slice, CappedSimplex]:
        """The rows of these groups, and the capped simplex that they fill with this mass."""
        key = (free.tobytes(), mass)
        if key not in self._parts:
            if len(self._parts) >= _MOST_PARTS:
                self._parts.clear()
            self._parts[key] = self._make_part(free, mass)
        return self._parts[key]

    def _make_part(self, free: np.ndarray, mass: float) -> tuple[np.ndarray | slice, CappedSimplex]:
        chosen = slice(None) if free.all() else np.flatnonzero(free[self.codes])
        prior = self.rows.prior[chosen]
        rows = Rows.of(len(prior) if self.rows.uniform else np.ascontiguousarray(prior), self.rows.threads)
        caps = (self.caps if len(self.caps) == 1 else self.caps[chosen]) / mass
        room = float(caps.sum()) * (len(prior) if len(caps) == 1 else 1)
        return chosen, CappedSimplex(rows, np.minimum(caps / min(room, 1.0), 1.0))

    def _totals(self, d: np.ndarray) -> np.ndarray:
        return self.rows.add(np.bincount(self.codes, d, minlength=len(self.high)))

    def _solve(self, within: Callable[[CappedSimplex, np.ndarray | slice, float], np.ndarray]) -> np.ndarray:
        """Pegging: where free totals leave their limits, the side that leaves by more is at its limit in the end."""
        d = np.zeros(len(self.rows))
        free, mass = np.ones(len(self.high), dtype=bool), 1.0
        while free.any() and mass > _ROUNDING:
            chosen, simplex = self._part(free, mass)
            d[chosen] = mass * within(simplex, chosen, mass)
            total = self._totals(d)
            over, under = np.where(free, total - self.high, 0.0), np.where(free, self.low - total, 0.0)
            excess, lack = over[over > _ROUNDING].sum(), under[under > _ROUNDING].sum()
            if not excess and not lack:
                break
            pegged, limit = (over > _ROUNDING, self.high) if excess >= lack else (under > _ROUNDING, self.low)
            for g in np.flatnonzero(pegged):
                chosen, simplex = self._part(np.arange(len(free)) == g, float(limit[g]))
                d[chosen] = limit[g] * within(simplex, chosen, float(limit[g]))
            free &= ~pegged
            mass -= float(limit[pegged].sum())
        else:
            d[free[self.codes]] = 0.0  # nothing is left for them
        return d if self.caps.min() >= 1 else np.minimum(d, self._each, out=d)

    def relaxed_margin(self, z: np.ndarray) -> float:
        return self.rows.add(kernels.dot(self.vertex(z), z, self.rows.threads))

    def vertex(self, z: np.ndarray) -> np.ndarray:
        return self._solve(lambda simplex, chosen, mass: simplex.vertex(z[chosen]))

    def entropic(self, z: np.ndarray, eta: float) -> np.ndarray:
        return frozen(self._solve(lambda simplex, chosen, mass: simplex.entropic(z[chosen], eta)))

    def euclidean(self, v: np.ndarray) -> np.ndarray:
        return self._solve(lambda simplex, chosen, mass: simplex.euclidean(v[chosen] / mass))

    def price(self, d: np.ndarray) -> float:
        return 0.0

    def contains(self, d: np.ndarray, atol: float = 1e-9) -> bool:
        if not (np.all(d >= 0) and np.all(d <= self.caps * (1 + atol))):
            return False
        total = self._totals(d)
        inside = np.all(total <= self.high + atol) and np.all(total >= self.low - atol)
        return bool(inside) and abs(self.rows.add(float(d.sum())) - 1) <= atol

    def responsive(self, d: np.ndarray) -> np.ndarray:
        alone = np.bincount(self.codes, minlength=len(self.high)) == 1
        return (d > 0) & (d < self.caps) & ~(alone & self._pegged(d))[self.codes]

    def _pegged(self, d: np.ndarray) -> np.ndarray:
        """Which groups are at a limit: their total stays where it is."""
        total = self._totals(d)
        return (total >= self.high - 10 * _ROUNDING) | (total <= self.low + 10 * _ROUNDING)

    def hessian(self, d: np.ndarray, columns: np.ndarray, eta: float) -> np.ndarray:
        """The free groups exchange weight with each other, the rows of a pegged one only among themselves."""
        pegged, moving = self._pegged(d), self.responsive(d)
        H = covariance(d, columns, moving & ~pegged[self.codes], self.rows)
        for g in np.flatnonzero(pegged):
            H += covariance(d, columns, moving & (self.codes == g), self.rows)
        return eta * H

    def divergence(self, d: np.ndarray) -> float:
        return self.rows.add(float(rel_entr(d, self.rows.prior).sum()))
