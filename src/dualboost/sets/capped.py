"""The simplex and the capped simplex {d >= 0, sum d = 1, d_i <= c_i}: hard and soft margins.

Shalev-Shwartz & Singer, Corollary 5: with caps 1/(nu m) the relaxed margin is the average of the nu*m smallest margins,
for every real nu*m. Naghibi & Pfister use the same set with one cap per row.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy.special import rel_entr

from dualboost import kernels
from dualboost.rows import Rows
from dualboost.sets.base import BoundSet, WeightSet

__all__ = ["Capped", "CappedSimplex", "Simplex"]

_FULL = 1e-12  # caps that sum to 1 within this leave one point


@dataclass(frozen=True)
class Simplex(WeightSet):
    """All distributions over the rows: the hard margin.

    Examples
    --------
    >>> from dualboost.rows import Rows
    >>> from dualboost.sets import Simplex
    >>> import numpy as np
    >>> Simplex().bind(Rows.of(3)).relaxed_margin(np.array([0.5, -0.25, 1.0]))
    -0.25
    """

    def bind(self, rows: Rows) -> CappedSimplex:
        return CappedSimplex(rows, np.ones(1))


@dataclass(frozen=True, eq=False)
class Capped(WeightSet):
    """Distributions that give no row more than its cap: the soft margin.

    Parameters
    ----------
    nu : float in (0, 1]
        The fraction of the rows (by sample weight) that may fall inside the margin: the cap of a row is its prior
        over `nu`. Up to 1/m this is the hard margin; 1 leaves only the prior itself.
    caps : array of shape (m,)
        One cap per row instead; a row of sample weight k is k copies, each with this cap. They must sum to at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.rows import Rows
    >>> from dualboost.sets import Capped
    >>> half = Capped(nu=0.5).bind(Rows.of(4))
    >>> half.relaxed_margin(np.array([1.0, 0.0, -1.0, 0.5]))
    -0.5
    >>> Capped(caps=[1.0, 1.0, 0.1]).bind(Rows.of(3)).entropic(np.zeros(3), 1.0)
    array([0.45, 0.45, 0.1 ])
    """

    nu: float | None = None
    caps: np.ndarray | None = None

    def __post_init__(self):
        if (self.nu is None) == (self.caps is None):
            raise ValueError(
                "Capped takes either nu or caps: Capped(nu=0.1), or Capped(caps=array of one cap per row)."
            )
        if self.nu is not None and not (isinstance(self.nu, Real) and 0 < self.nu <= 1):
            raise ValueError(f"nu is the fraction of rows inside the margin and must be in (0, 1], not {self.nu!r}.")

    def bind(self, rows: Rows) -> CappedSimplex:
        if self.nu is not None:
            caps = rows.prior[:1] / self.nu if rows.uniform else rows.prior / self.nu
            return CappedSimplex(rows, np.minimum(caps, 1.0))
        caps = np.asarray(self.caps, dtype=np.float64)
        if caps.shape != rows.prior.shape:
            raise ValueError(f"caps must hold one number per row: {len(rows)}, not an array of shape {caps.shape}.")
        if not np.all(caps > 0):
            raise ValueError("caps must be positive; give a row that may not count the sample weight 0 instead.")
        return CappedSimplex(rows, np.minimum(caps * (rows.prior * rows.total), 1.0))


class CappedSimplex(BoundSet):
    """The capped simplex over known rows; `caps` has one number per row, or a single one for all."""

    def __init__(self, rows: Rows, caps: np.ndarray):
        self.rows = rows
        self.caps = np.ascontiguousarray(caps)
        mass = rows.add(float(self.caps.sum()) if len(self.caps) > 1 else float(self.caps[0]) * len(rows))
        if mass < 1 - _FULL:
            raise ValueError(f"The caps sum to {mass:.6g}: no distribution fits below them; raise them to at least 1.")
        self._one_point = mass <= 1 + _FULL
        ratio = self.caps / (rows.prior[:1] if rows.uniform else rows.prior)
        self.radius = 0.0 if self._one_point else max(0.0, float(np.log(rows.max(ratio.max()))))
        # Caps in proportion to the prior leave one number, which the level of the projection absorbs.
        self.offset = np.zeros(1) if ratio.max() <= ratio.min() * (1 + 1e-15) else -np.log(ratio)
        self._copies = np.ones(1) if rows.uniform else rows.prior * len(rows)  # up to a factor, which is no matter
        self._cap_of_copy = ratio[: len(self.offset)] / len(rows)
        self.forget()

    def forget(self) -> None:
        self._level_margin = np.nan  # the margin at which rows reach their cap, in the last projection
        self._threshold, self._last = np.nan, np.nan  # of the last two relaxed margins
        self._shift = np.nan  # of the last Euclidean projection
        self._made: np.ndarray | None = None

    @property
    def warmth(self) -> tuple[float, float, float]:
        """Where the last projection reached the cap, and the last two thresholds of the relaxed margin."""
        return self._level_margin, self._threshold, self._last

    @warmth.setter
    def warmth(self, values: tuple[float, float, float]) -> None:
        self._level_margin, self._threshold, self._last = values

    def relaxed_margin(self, z: np.ndarray) -> float:
        width = 2 * abs(self._threshold - self._last)
        value, threshold = kernels.average_lowest(z, self.caps, self._threshold, width, self.rows.threads)
        self._threshold, self._last = threshold, self._threshold
        return value

    def vertex(self, z: np.ndarray) -> np.ndarray:
        d = np.empty_like(z)
        kernels.vertex(z, self.caps, d)
        return d

    def entropic(self, z: np.ndarray, eta: float) -> np.ndarray:
        d = np.empty_like(z)
        start = self._level_margin * eta
        level, _ = kernels.entropic(z, eta, self.caps, self.offset, start, d, self.rows.threads)
        self._level_margin = level / eta
        return self.made(d)

    def made(self, d: np.ndarray) -> np.ndarray:
        """Sign for a d that is inside by construction: read-only from here on, `contains` need not look."""
        d.flags.writeable = False
        self._made = d
        return d

    def euclidean(self, v: np.ndarray) -> np.ndarray:
        d = np.empty_like(v)
        threads = self.rows.threads
        if self.rows.uniform:
            self._shift = kernels.euclidean(v, self.caps, self._shift, d, threads)
            return d
        v = v / self._copies
        self._shift = kernels.euclidean_of_copies(v, self._cap_of_copy, self._copies, self._shift, d, threads)
        return np.minimum(self._copies * d, self.caps)

    def price(self, d: np.ndarray) -> float:
        return 0.0

    def contains(self, d: np.ndarray, atol: float = 1e-9) -> bool:
        if d is self._made:  # made here, and read-only since
            return True
        inside = np.all(d >= 0) and np.all(d <= self.caps * (1 + atol))
        return bool(inside) and abs(self.rows.add(float(d.sum())) - 1) <= atol

    def responsive(self, d: np.ndarray) -> np.ndarray:
        return (d > 0) & (d < self.caps)

    def divergence(self, d: np.ndarray) -> float:
        return self.rows.add(float(rel_entr(d, self.rows.prior).sum()))
