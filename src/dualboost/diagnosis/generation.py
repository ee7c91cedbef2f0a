"""The hard core over a class of hypotheses that cannot be listed: by column generation.

Rows that an ensemble of collected hypotheses separates, without touching the others, are off the core for good and
leave the problem. When the collected hypotheses separate nothing more, they are balanced by weights; the learner is
asked for hypotheses with an edge under these. If it has none, all rows left are the core.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dualboost.diagnosis.basis import Basis
from dualboost.diagnosis.finding import Finding, Progress, Watch, core_of
from dualboost.game import Pool
from dualboost.learners.base import Answer, Oracle
from dualboost.master import PROOF, Separation, centred, separate

__all__ = ["CoreSearch"]

_AT_ONCE = 10  # hypotheses asked for in one question
_FIRST = 64  # the fewest hypotheses to collect before looking again
_GROWTH = 1.5  # a round of Newton's method costs the cube of their number: let it grow by a factor
_PROGRAM = 1_000_000  # entries up to which a linear program may decide where Newton's method does not


class CoreSearch:
    """Peels off separable rows and collects hypotheses until what is left is balanced."""

    def __init__(self, oracle: Oracle, copy_of: np.ndarray):
        """`copy_of` numbers the distinct rows: rows of one number have equal columns and are looked at once."""
        self.oracle = oracle
        _, self._first, self._distinct, self._copies = np.unique(
            copy_of, return_index=True, return_inverse=True, return_counts=True
        )
        self.pool, self._w = Pool(), np.zeros(0)
        self._columns: list[np.ndarray] = []
        self._left = np.ones(len(self._first), dtype=bool)
        self._peels: list[tuple[np.ndarray, np.ndarray]] = []
        self._d, self._edge, self._enough = np.zeros(0), np.inf, 0.0

    def run(self, max_rounds: int, watch: Watch | None) -> Finding:
        """Search; ends early, with what is known by then, after `max_rounds` or when `watch` gives a reason."""
        status, rounds = f"stopped after max_rounds = {max_rounds}", 0
        while rounds < max_rounds:
            rounds += 1
            if ended := self._round():
                status = ended
                break
            shown = Progress(rounds, max_rounds, len(self.pool), self._rows_left(), self._edge)
            if watch is not None and (reason := watch(shown)):
                status = reason
                break
        return Finding(self._weighting(), self.pool.keys, self._direction(), rounds, status)

    def _rows_left(self) -> int:
        return int(self._copies[self._left].sum())

    def _round(self) -> str:
        """Peel, or else collect. The reason to end, in words; empty to go on."""
        basis = Basis.of(self.pool.keys, self._columns, self._left)
        found = self._separate(basis)
        if found.kind == "separated":
            self._peel(basis.to_hypotheses(found.w), found.separated)
            return "" if self._left.any() else "solved: every row is separable"
        self._w, self._d = basis.to_hypotheses(found.w), found.d
        answer = self._ask(self._d)
        if found.kind == "balanced" and PROOF * self._d.min() < answer.bound <= PROOF / (4 * len(self._d)):
            # Nothing has an edge, but some rows have too little weight to prove it: share it out more evenly.
            self._d = centred(basis.B, self._d, min(1e2 * answer.bound / PROOF, 0.1 / len(self._d)))
            answer = self._ask(self._d)
        self._edge = float(answer.bound)
        if found.kind == "balanced" and answer.bound <= PROOF * self._d.min():
            return "solved: the weighting of the rows left gives no hypothesis an edge"
        if self._collect(answer, basis.B @ found.w):
            self._enough = float(abs(answer.edges[0])) / 10
            return ""
        if found.kind == "near":  # nothing new at rough weights: look again at exact ones
            self._enough = 0.0
            return ""
        return "stopped: the learner names no further hypothesis, and does not promise that there is none"

    def _separate(self, basis: Basis) -> Separation:
        found = separate(basis.B, basis.from_hypotheses(self._w), self._enough)
        if found.kind != "stuck" or np.prod(basis.B.shape) > _PROGRAM:
            return found
        solved = core_of(sp.csr_array(basis.B).toarray())
        if solved is None:
            return found
        core, psi, w = solved
        z = basis.B @ w
        if core.all() and psi.min() > 0:
            return Separation(found.w, psi / psi.sum(), ~core, "balanced")
        if not core.all() and PROOF * z[~core].min() > np.abs(z[core]).max(initial=0.0):
            return Separation(w, found.d, ~core, "separated")
        return found

    def _peel(self, w: np.ndarray, separated: np.ndarray) -> None:
        rows = np.zeros(len(self._left), dtype=bool)
        rows[np.flatnonzero(self._left)[separated]] = True
        self._left &= ~rows
        self._peels.append((w, rows[self._distinct]))
        self._d, self._edge, self._enough = np.zeros(int(self._left.sum())), np.inf, 0.0

    def _ask(self, d: np.ndarray) -> Answer:
        full = np.zeros(len(self._distinct))
        full[self._first[self._left]] = d
        return self.oracle.best(full, _AT_ONCE)

    def _collect(self, answer: Answer, z: np.ndarray) -> bool:
        """Collect by steps of coordinate descent on the exponential loss; whether anything was new."""
        before, wanted = len(self.pool), max(_FIRST, int(_GROWTH * len(self.pool)))
        for _ in range(max(_FIRST, (wanted - before) // 2)):
            known = len(self.pool)
            number = self._add(answer)
            if len(self.pool) >= wanted or (len(self.pool) == known and known == before):
                break
            z = self._descend(number, z)
            answer = self._ask(_weights(z))
        return len(self.pool) > before

    def _descend(self, number: int, z: np.ndarray) -> np.ndarray:
        """One Newton step along a hypothesis, no longer than 1."""
        column, d = self._columns[number][self._left].astype(np.float64), _weights(z)
        step = float(np.clip(float(d @ column) / max(float(d @ column**2), 1e-300), -1.0, 1.0))
        self._w[number] += step
        return z + step * column

    def _add(self, answer: Answer) -> int:
        """Take in the good hypotheses of an answer; the number of the best."""
        sizes = np.abs(answer.edges)
        for hypothesis, column, size in zip(answer.hypotheses, answer.columns, sizes, strict=True):
            if size >= sizes[0] / 2 and self.pool.number(hypothesis) == len(self._columns):
                self._columns.append(column[self._first])
        self._w = np.concatenate([self._w, np.zeros(len(self.pool) - len(self._w))])
        return self.pool.number(answer.hypotheses[0])

    def _weighting(self) -> np.ndarray:
        """The weights that balance the rows left, shared out among the copies of a row."""
        psi = np.zeros(len(self._first))
        if len(self._d):
            psi[self._left] = self._d
        return (psi / self._copies)[self._distinct]

    def _direction(self) -> np.ndarray:
        """One ensemble for all rows peeled off: each peel outweighs what later ones do to its rows."""
        total, z = np.zeros(len(self.pool)), np.zeros(len(self._distinct))
        for w, rows in reversed(self._peels):
            w = np.append(w, np.zeros(len(self.pool) - len(w))) / np.abs(w).sum()
            gained = self.oracle.margins(self.pool.keys, w)
            factor = 1.0 + 2.0 * float(np.max(-z[rows] / gained[rows], initial=0.0))
            total, z = factor * w + total, factor * gained + z
        return total


def _weights(z: np.ndarray) -> np.ndarray:
    d = np.exp(-(z - z.min()))
    return d / d.sum()
