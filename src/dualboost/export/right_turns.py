"""Trees on some hundred rows: all splits at once, a truth value for each row, with few operators.

Every tree starts with the value of its leftmost leaf. A right turn at a split leads to another leftmost leaf; so the
score of a tree is its first value and what each right turn of the row adds. A row turns right where it comes by and the
answer is yes. Trees that are one question (`folds`) have one turn. What turns add is given in whole numbers of seven
digits, which are summed exactly, and fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dualboost.export.answers import Answers
from dualboost.export.blocks import Outside
from dualboost.export.columns import Columns, add_beyond, add_columns
from dualboost.export.efforts import Effort
from dualboost.export.folds import Folds, gathered
from dualboost.export.graph import DOUBLE, INT8, Graph
from dualboost.inspection.trees import PlainTrees

__all__ = ["RightTurns", "right_turns"]

_DIGITS, _BASE = 7, 256  # from -128 to 127: more than the 53 bits of a double
_BITS = 54  # of the largest number that has so many digits
_SMALLEST = -1074  # exponent of a double
_BYTES = 1 << 20  # of truth values in a block...
_LEAST, _MOST = 64, 4096  # ...and rows
_MOST_OF_THEM = 0.8
_MEMORY = 1 << 25  # bytes of all of them at once


@dataclass(frozen=True, eq=False)
class RightTurns:
    """The splits of some votes, level by level."""

    n_votes: int
    trees: PlainTrees
    """Of all votes."""
    vote: np.ndarray
    """Whose each node is; a vote may have none."""
    answers: Answers
    folds: Folds
    levels: list[np.ndarray]
    """The splits of each; -1 for a place where there is none."""
    reached: list[np.ndarray]
    """From where those of the next level are reached: left turns here, then right turns."""
    adds: np.ndarray
    """What a right turn adds, level after level."""

    @property
    def strangers(self) -> bool:
        """Whether a row can have a strange category; its sums are NaN."""
        return bool(self.answers.strange)

    @property
    def block(self) -> int:
        """How many rows are summed at once: what is worked out from them stays in a cache."""
        return int(np.clip(_BYTES // self._bytes_of_a_row, _LEAST, _MOST))

    @property
    def at_once(self) -> int:
        """How many rows may be summed without blocks, where that is quicker: some dozens of MB."""
        return max(self.block, _MEMORY // self._bytes_of_a_row)

    @property
    def _bytes_of_a_row(self) -> int:
        return 2 * len(self.answers) + 3 * (len(self.adds) + self.folds.count)

    @property
    def effort(self) -> Effort:
        turns, folds, questions = len(self.adds), self.folds.count, len(self.answers)
        stages = 7_000 + 2_200 * len(self.levels) + 5_000 * self.folds.highest
        # Looking up takes half as long again with several threads of onnxruntime as with one.
        each = 0.55 * turns + 0.55 * folds + 0.2 * questions + 0.15 * self.answers.looked_up
        return Effort(stages + 19 * turns + 30 * folds + 3 * questions, each)

    def add(self, graph: Graph, X: str, outside: Outside) -> str:
        """The sum of the trees of each vote for these rows, a column each."""
        padding = "" if outside.whole else add_beyond(graph)
        columns = add_columns(graph, self.answers.features, outside.n_features, X, padding).trimmed(graph)
        turns = graph.add("Cast", [self._turns(graph, columns)], {"to": INT8})
        digits, chosen = self._digits()
        if self.n_votes > 1:
            turns = graph.add("Gather", [turns, graph.constant(chosen)], {"axis": 0})
        zero = graph.constant(np.array(_BASE // 2, dtype=np.uint8))
        sums = graph.add("MatMulInteger", [graph.constant(digits), turns, zero])
        if self.n_votes > 1:
            sums = graph.add("Reshape", [sums, graph.constant(np.array([digits.shape[0] * digits.shape[1], -1]))])
        return self._scores(graph, graph.add("Cast", [sums], {"to": DOUBLE}))

    def _turns(self, graph: Graph, columns: Columns) -> str:
        """Whether a row turns right at each split, level after level; then whether it has strange categories."""
        answers, row = self.answers.add(graph, columns)

        def place(node: int) -> int:
            return row[self.answers.question(self.trees, node)] if node >= 0 else 0  # where no split is, any will do

        folded = self.folds.add(graph, answers, place)
        found = []
        passing = ""
        for nodes, reached in zip(self.levels, self.reached, strict=True):
            single = nodes[self.folds.height[nodes] == 0]
            asked = [gathered(graph, answers, place, single)] if len(single) else []
            yes = graph.stacked(asked if passing else [*asked, *folded])
            right = graph.add("And", [passing, yes]) if passing else yes
            found.append(right)
            if len(reached):
                left = graph.add("Xor", [passing, right]) if passing else graph.add("Not", [right])
                passing = graph.stacked([left, right])
                if len(reached) < 2 * len(nodes):
                    passing = graph.add("Gather", [passing, graph.constant(reached)], {"axis": 0})
        if self.strangers:
            rows = np.array([row[feature] for feature in self.answers.strange])
            found.append(graph.add("Gather", [answers, graph.constant(rows)], {"axis": 0}))
        return graph.stacked(found)

    def _digits(self) -> tuple[np.ndarray, np.ndarray]:
        """(of each vote, the digits of what its turns add, a row a digit and one that counts what is strange; which
        turns these are)."""
        vote = self.vote[np.concatenate(self.levels)]
        own = [np.flatnonzero(vote == k) for k in range(self.n_votes)]
        strange = len(vote) + np.arange(len(self.answers.strange))
        widest = max(map(len, own)) + len(strange)
        digits = np.full((self.n_votes, _DIGITS + self.strangers, widest), _BASE // 2, dtype=np.uint8)
        chosen = np.zeros((self.n_votes, widest), dtype=np.int64)
        for k, turns in enumerate(own):
            counts = np.rint(self.adds[turns] / self._unit(k)).astype(np.int64)
            for p in range(_DIGITS):
                digits[k, p, : len(turns)] = counts + _BASE // 2 & _BASE - 1
                counts = counts + _BASE // 2 >> 8
            digits[k, _DIGITS:, len(turns) : len(turns) + len(strange)] += 1
            chosen[k, : len(turns) + len(strange)] = [*turns, *strange]
        return (digits, chosen) if self.n_votes > 1 else (digits[0], chosen[0])

    def _unit(self, vote: int) -> float:
        """A power of two that makes whole numbers of what the turns of a vote add."""
        own = self.adds[self.vote[np.concatenate(self.levels)] == vote]
        exponent = int(np.frexp(np.abs(own).max(initial=0.0))[1])
        return float(np.ldexp(1.0, max(exponent - _BITS, _SMALLEST)))

    def _scores(self, graph: Graph, sums: str) -> str:
        """From the sums of digits, a column a vote."""
        rows = _DIGITS + self.strangers
        scale = np.zeros((self.n_votes, rows, self.n_votes))
        for k in range(self.n_votes):
            scale[k, :_DIGITS, k] = self._unit(k) * float(_BASE) ** np.arange(_DIGITS)
        roots = self.trees.roots[:-1]
        first = np.bincount(self.vote[roots], _leftmost(self.trees)[roots], self.n_votes)
        scores = self._product(graph, sums, scale, first)
        if not self.strangers:
            return scores
        lacking = np.zeros((self.n_votes, rows, 1))
        lacking[0, -1] = -1
        nothing = self._product(graph, sums, lacking, np.zeros(1))  # less for every strange category
        return graph.add("Add", [scores, graph.add("Sqrt", [nothing])])  # no number below 0 has a root

    @staticmethod
    def _product(graph: Graph, sums: str, factors: np.ndarray, more: np.ndarray) -> str:
        flat = factors.reshape(-1, factors.shape[-1])
        return graph.add("Gemm", [sums, graph.constant(flat), graph.constant(more)], {"transA": 1})


def right_turns(votes: Sequence[PlainTrees]) -> RightTurns | None:
    """These trees; nothing where they say more than numbers can add up to."""
    trees = PlainTrees.joined(votes, 0.0)
    vote = np.repeat(np.arange(len(votes)), [len(own.feature) for own in votes])
    with np.errstate(over="ignore", invalid="ignore"):
        folds, leftmost = Folds.of(trees), _leftmost(trees)
        gain = np.where(folds.height > 0, folds.gain, leftmost[trees.right] - leftmost[trees.left])
    levels, reached = _levels(trees, folds)
    split = np.concatenate(levels)
    adds = np.where(split >= 0, gain[split], 0.0)
    if not np.isfinite(adds).all():
        return None
    return RightTurns(len(votes), trees, vote, Answers.of(trees), folds, levels, reached, adds)


def _levels(trees: PlainTrees, folds: Folds) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The splits of each level; which turns lead to the next: left ones, then right ones.

    Where most of them do all stay, for to choose some costs more than to follow a few that lead nowhere.
    """
    levels, reached = [], []
    nodes = trees.roots[:-1]
    nodes = nodes[trees.feature[nodes] >= 0]
    nodes = nodes[np.argsort(folds.height[nodes], kind="stable")]  # of one table after the other
    while len(nodes):
        below = np.concatenate([trees.left[nodes], trees.right[nodes]])
        splits = (trees.feature[below] >= 0) & np.tile((nodes >= 0) & (folds.height[nodes] == 0), 2)
        levels.append(nodes)
        reached.append(np.flatnonzero(splits | (splits.mean() >= _MOST_OF_THEM)))
        nodes = np.where(splits, below, -1)[reached[-1]]
    return levels, reached


def _leftmost(trees: PlainTrees) -> np.ndarray:
    """The value of the leftmost leaf below each node."""
    at = np.arange(len(trees.feature))
    while (inner := trees.feature[at] >= 0).any():
        at = np.where(inner, trees.left[at], at)
    return trees.value[at]
