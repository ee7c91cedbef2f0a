"""What a search for the hard core hands over, and what of it is proved: both certificates checked from scratch.

Weights psi of sum 1 under which no hypothesis has an edge above e leave row i a margin of at most e / psi_i in any
ensemble of total weight 1. An ensemble whose margins are nowhere below -e leaves row i, with margin z_i, at most the
share e / z_i of any balanced weighting. A row is on or off the core when its ratio is as good as zero, else undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dualboost.learners.base import Hypothesis, Oracle
from dualboost.master import PROOF, core_program

__all__ = ["Finding", "Progress", "Verdict", "Watch", "by_program", "core_of", "verify"]

_ROUNDING = 1e-15  # of a margin, for an ensemble of total weight 1


@dataclass(frozen=True)
class Progress:
    """Where a search stands: what a caller may show, or stop at."""

    n_rounds: int
    max_rounds: int
    n_hypotheses: int
    n_rows: int
    """Rows not yet proved separable."""
    edge: float
    """The largest edge left under the current weighting; 0 ends the search."""


Watch = Callable[[Progress], "str | None"]


@dataclass(frozen=True, eq=False)
class Finding:
    """The end of a search: a weighting, an ensemble, and why it ended."""

    psi: np.ndarray
    hypotheses: Sequence[Hypothesis]
    w: np.ndarray
    n_rounds: int
    status: str


@dataclass(frozen=True, eq=False)
class Verdict:
    """What is proved. The weighting and the ensemble are scaled to sums of 1 (or are 0)."""

    on: np.ndarray
    off: np.ndarray
    psi: np.ndarray
    w: np.ndarray
    margins: np.ndarray
    edge: float
    """No hypothesis has a larger edge under psi."""


def verify(oracle: Oracle, finding: Finding) -> Verdict:
    """Both certificates, recomputed by the oracle."""
    psi = _scaled(np.maximum(finding.psi, 0.0))
    edge = float(oracle.best(psi).bound) if psi.any() else 0.0
    w = _scaled(finding.w)
    z = oracle.margins(finding.hypotheses, w) if len(w) else np.zeros(len(psi))
    slack = max(float(-z.min()), _ROUNDING)
    on, off = (psi > 0) & (edge <= PROOF * psi), slack <= PROOF * z
    return Verdict(on & ~off, off & ~on, psi, w, z, edge)


def _scaled(v: np.ndarray) -> np.ndarray:
    mass = np.abs(v).sum()
    return v / mass if mass > 0 else v


def by_program(A: np.ndarray, copy_of: np.ndarray) -> Finding:
    """The hard core of a matrix by one linear program, with the solver's tolerance polished away.

    Rows of the same number in `copy_of` are equal and are looked at once.
    """
    _, first, distinct, copies = np.unique(copy_of, return_index=True, return_inverse=True, return_counts=True)
    A = A[first]
    solved = core_of(A)
    if solved is None:
        nothing = np.zeros(len(copy_of)), range(A.shape[1]), np.zeros(A.shape[1])
        return Finding(*nothing, 1, "stopped: the linear program was not solved")
    _, psi, w = solved
    return Finding((psi / copies)[distinct], range(A.shape[1]), w, 1, "solved: one linear program")


def core_of(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """(core, psi, w) by one linear program, polished; None where it failed."""
    solved = core_program(A)
    if solved is None:
        return None
    core, psi, w = solved
    psi[core], w = _polished(A[core], psi[core], w)
    return core, psi, w


def _polished(A: np.ndarray, psi: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """psi without what the columns see of it, w without what the rows see of it."""
    U, sizes, V = np.linalg.svd(A, full_matrices=False)
    seen = sizes > sizes.max(initial=0.0) * max(A.shape) * np.finfo(np.float64).eps
    U, V = U[:, seen], V[seen]
    for _ in range(2):  # the second removes the rounding of the first
        psi, w = psi - U @ (U.T @ psi), w - V.T @ (V @ w)
    return psi, w
