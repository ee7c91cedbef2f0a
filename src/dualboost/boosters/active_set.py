"""The active set of a Frank-Wolfe run: which vertices of the capped simplex make up d, and with which weights.

A vertex is known by the rows at their cap and the one row that gets what is left (section 9 of the algorithms' notes:
by its support, never by the bits of its entries). The point where a run began is an atom of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

__all__ = ["ActiveSet", "Atom", "vertex_of"]


@dataclass(frozen=True, eq=False)
class Atom:
    """A point of the set, by its positive entries."""

    key: bytes
    rows: np.ndarray
    shares: np.ndarray

    def point(self, m: int) -> np.ndarray:
        d = np.zeros(m)
        d[self.rows.astype(np.intp)] = self.shares
        return d


def vertex_of(d: np.ndarray, caps: np.ndarray) -> Atom:
    """The atom of a vertex: all rows at their cap, but for one at most."""
    rows = np.flatnonzero(d).astype(np.int32)
    part = rows[d.take(rows) < (caps[0] if len(caps) == 1 else caps.take(rows)) * (1 - 1e-12)]
    return Atom(rows.tobytes() + b"|" + part.tobytes(), rows, d.take(rows))


@dataclass(frozen=True, eq=False)
class ActiveSet:
    """d = sum of weights[k] * atoms[k]; the weights are positive and sum to 1."""

    atoms: tuple[Atom, ...]
    weights: np.ndarray

    @classmethod
    def at(cls, d: np.ndarray) -> ActiveSet:
        """One atom: the point where a run begins."""
        rows = np.flatnonzero(d).astype(np.int32)
        return cls((Atom(b"start", rows, d.take(rows)),), np.ones(1))

    @cached_property
    def _flat(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All atoms end to end: rows, shares, and where each begins."""
        starts = np.cumsum([0, *(len(atom.rows) for atom in self.atoms[:-1])])
        return np.concatenate([a.rows for a in self.atoms]), np.concatenate([a.shares for a in self.atoms]), starts

    def dots(self, g: np.ndarray) -> np.ndarray:
        """<g, atom> of each."""
        rows, shares, starts = self._flat
        return np.add.reduceat(shares * g.take(rows), starts)

    def towards(self, atom: Atom, step: float) -> ActiveSet:
        """(1 - step) of everything, and step of this atom."""
        if step >= 1:
            return ActiveSet((atom,), np.ones(1))
        return self._with(atom, self.weights * (1 - step), step)

    def away_from(self, k: int, step: float, drop: bool) -> ActiveSet:
        """(1 + step) of everything, less step of atom k."""
        weights = self.weights * (1 + step)
        weights[k] = 0.0 if drop else weights[k] - step
        return self._cleaned(self.atoms, weights)

    def shifted(self, k: int, atom: Atom, step: float, drop: bool) -> ActiveSet:
        """step of the weight moves from atom k to this one."""
        weights = self.weights.copy()
        weights[k] = 0.0 if drop else weights[k] - step
        return self._with(atom, weights, step)

    def _with(self, atom: Atom, weights: np.ndarray, step: float) -> ActiveSet:
        for k, known in enumerate(self.atoms):
            if known.key == atom.key:
                weights[k] += step
                return self._cleaned(self.atoms, weights)
        return self._cleaned((*self.atoms, atom), np.append(weights, step))

    @staticmethod
    def _cleaned(atoms: tuple[Atom, ...], weights: np.ndarray) -> ActiveSet:
        kept = np.flatnonzero(weights > 0)
        weights = weights[kept]
        return ActiveSet(tuple(atoms[k] for k in kept), weights / weights.sum())
