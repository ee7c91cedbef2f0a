"""Which rows a set of columns separates, by Newton's method on the exponential loss (Telgarsky, section 5).

A Newton step fits the target 1 to the rows by least squares, weighted by their loss. On rows that balance each other
the steps shrink quadratically and the weights end at A'd = 0; every other row gains about 1 a step without end. So a
few dozen least-squares problems do what a linear program does, and far faster on many columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve

from dualboost.master.centre import centred
from dualboost.master.normal_equations import factor_ridged, gram, solve_ridged

__all__ = ["PROOF", "Separation", "separate"]

PROOF = 1e-6
"""Weights with edges up to e prove that no ensemble of total weight 1 separates row i by more than e / d_i.

At most this counts as none."""

_STEPS = 80
_PATIENCE = 5
_BALANCED = 1e-15  # the largest edge, relative to the weights, that rounding leaves
_SETTLED = 1e-3  # the share of the loss that a step still gains once the rows that balance have found their place
_STILL = 1e-2  # rows that a settled step moves less than this are taken for balanced
_SHARES = (1e-3, 1e-6, 1e-9, 1e-12, 0.0)  # of the largest weight
_POSITIVE = 1e-9  # the margin, relative to the weight of the ensemble, that rounding cannot make
_FLAT = 1e-9  # the margin of such rows, relative to the others', that counts as 0


@dataclass(frozen=True, eq=False)
class Separation:
    """Either weights that balance all columns, or rows that an ensemble separates without touching the others."""

    w: np.ndarray
    """Where Newton's method stopped, or the separating ensemble."""
    d: np.ndarray
    """Positive weights of sum 1 at that point; they balance the columns when `kind` is "balanced"."""
    separated: np.ndarray
    """The rows with a positive margin under w; the others' is 0."""
    kind: str
    """"separated", "balanced", "near" (the edges are as small as was asked), "stuck"."""


def separate(B, start: np.ndarray, enough: float = 0.0) -> Separation:
    """Separate some rows of B (dense, or sparse by rows), or balance its columns, from the weights `start`.

    Stops early when the largest edge is at most `enough`.
    """
    w, z = start.copy(), B @ start
    best, unproved, nothing = np.inf, 0, np.zeros(B.shape[0], dtype=bool)
    for _ in range(_STEPS):
        if z.min() > _POSITIVE * np.abs(w).sum():
            return Separation(w, _weights(z), ~nothing, "separated")
        d = _weights(z)
        slope = B.T @ d
        edge = float(np.abs(slope).max(initial=0.0))
        if 0.0 < edge <= enough:
            return Separation(w, d, nothing, "near")
        move = solve_ridged(gram(B, d), slope)
        u, gain = B @ move, float(slope @ move)
        settled = edge <= _BALANCED or (gain <= 1e-16 and edge >= best / 2)
        if settled and edge <= PROOF * d.min():
            return Separation(w, d, nothing, "balanced")
        if gain < _SETTLED and (found := _split(B, w, d, np.abs(u) < _STILL)) is not None:
            return found
        best, unproved = min(best, edge), unproved + settled
        if unproved > _PATIENCE:  # all but balanced, with too little weight on some rows to prove it
            return _evened(B, w, d, edge)
        w = w + _step(d, u, gain) * move
        z = B @ w
    return Separation(w, _weights(z), nothing, "stuck")


def _evened(B, w: np.ndarray, d: np.ndarray, edge: float) -> Separation:
    d = centred(B, d, min(1e3 * edge / PROOF, 0.1 / len(d)))
    proved = float(np.abs(B.T @ d).max(initial=0.0)) <= PROOF * d.min()
    return Separation(w, d, np.zeros(len(d), dtype=bool), "balanced" if proved else "stuck")


def _weights(z: np.ndarray) -> np.ndarray:
    d = np.exp(-(z - z.min()))
    return d / d.sum()


def _step(d: np.ndarray, u: np.ndarray, gain: float) -> float:
    """The whole step, or a part of it that lowers the loss enough."""
    step = 1.0
    # Below the largest number there is: a row without weight may lose all it wants.
    while step > 1e-10 and float(d @ np.exp(np.minimum(-step * u, 700.0))) > 1 - 1e-4 * step * gain + 1e-15:
        step /= 2
    return step


def _split(B, w: np.ndarray, d: np.ndarray, still: np.ndarray) -> Separation | None:
    """Separate the other rows from the still ones, or from those of them that have weight.

    A row that has all but lost its weight moves at random, and may look still by chance.
    """
    tried = set()
    for share in _SHARES:
        kept = still & (d >= share * d.max())
        if int(kept.sum()) not in tried and not kept.all() and kept.any():
            tried.add(int(kept.sum()))  # the sets are nested
            if (found := _separated_from(B, w, d, kept)) is not None:
                return found
    return None


def _separated_from(B, w: np.ndarray, d: np.ndarray, still: np.ndarray) -> Separation | None:
    """The part of w that leaves the still rows where they are, if all the others gain by it."""
    factor, ridge = factor_ridged(gram(B[still], np.ones(int(still.sum()))), 1e-10)
    x = w
    for _ in range(4):  # each pass shrinks what the still rows see by the ridge; what they do not see stays
        x = ridge * cho_solve(factor, x, check_finite=False)
    z = B @ x
    low = z[~still].min()
    if not low > _POSITIVE * np.abs(x).sum() or np.abs(z[still]).max() > _FLAT * low:
        return None
    return Separation(x, d, ~still, "separated")
