"""The share of wrong labels and how timid a vote is, read off the margins of rows that the voters have not seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dualboost.boosters.leveraging import RATES
from dualboost.losses import LogisticMixture
from dualboost.rows import Rows

__all__ = ["BOLD", "TIE", "TIMID", "estimated_rate", "log_shares", "scale_and_rate"]

TIE = 1e-10  # losses that differ by rounding only are equal: weight k must choose as k copies do
_EXPECTED, _BELIEF = 0.1, 0.05  # of the noise rate, as a share of the rows
TIMID = tuple(2.0 ** (k / 4) for k in range(-4, 17))  # votes: the scales that they may need...
BOLD = tuple(2.0 ** (k / 4) for k in range(-28, 5))  # ...and these
_MANY, _GROUPS = 20_000, 4096


def scale_and_rate(
    margins: np.ndarray, rows: Rows, rate: float | None = None, scales: Sequence[float] = TIMID
) -> tuple[float, float]:
    """(scale, rate): under which labels of margins times the scale, flipped at that rate, are likeliest.

    Averages and early stopping make votes timid, and a fit of all rounds makes them bold; without a scale of its own
    that would pass for noise or hide it. Where the labels do not say, an expectation decides: one wrong label in ten,
    believed as much as a twentieth of the rows.
    """
    margins, rows = _grouped(margins, rows)
    tried = []
    for scale in scales:
        found = estimated_rate(scale * margins, rows) if rate is None else rate
        doubt = _BELIEF * (_EXPECTED * np.log(found) + (1 - _EXPECTED) * np.log1p(-found))
        tried.append((LogisticMixture(found).bind(rows).value(scale * margins) - doubt, scale, found))
    least = min(value for value, _, _ in tried)
    return next((scale, found) for value, scale, found in tried if value <= least + TIE)


def estimated_rate(margins: np.ndarray, rows: Rows) -> float:
    """The noise rate under which labels of these margins are likeliest, with the same expectation: EM on the rate."""
    rate = _EXPECTED
    for _ in range(100):
        suspicion = rows.add(float(rows.prior @ LogisticMixture(rate).suspicion(margins)))
        new = float(np.clip((suspicion + _BELIEF * _EXPECTED) / (1 + _BELIEF), *RATES))
        if abs(new - rate) < 1e-5:
            break
        rate = new
    return rate


def log_shares(signs: np.ndarray, rows: Rows) -> tuple[float, float]:
    """Logarithms of the shares of the second and of the first class: finite even where one of them rounds to 1."""
    second, first = (rows.add(float(rows.prior[side].sum())) for side in (signs > 0, signs <= 0))
    return float(np.log(second)), float(np.log(first))


def _grouped(margins: np.ndarray, rows: Rows) -> tuple[np.ndarray, Rows]:
    """Many margins as the means of groups of almost equal ones, which say the same in less time."""
    low, high = float(margins.min()), float(margins.max())
    if len(margins) <= _MANY or not low < high:
        return margins, rows
    group = np.minimum(((margins - low) * (_GROUPS / (high - low))).astype(np.int64), _GROUPS - 1)
    mass = np.bincount(group, rows.prior, minlength=_GROUPS)
    held = mass > 0
    means = np.bincount(group, rows.prior * margins, minlength=_GROUPS)[held] / mass[held]
    return means, Rows.of(np.ascontiguousarray(mass[held]))
