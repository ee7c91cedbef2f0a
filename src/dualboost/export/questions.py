"""What trees ask, answered for 64 rows at a time: one bit a row, 64 of them in a whole number.

Each row has a code in every column, the number of cuts below its value; a missing value has the last one. The rungs of
`ladders` tell which rows have at least a given code. A question is a step function of sides; the rows that it sends
right are told by the rungs where its sides change, an odd number of which they have reached. Where sides change often,
as those of categories do, the answers are looked up for each code instead, and every question has a rung of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from dualboost.export.blocks import Outside
from dualboost.export.codes import Steps, add_steps
from dualboost.export.columns import Columns
from dualboost.export.curves import Curve, finite_cuts
from dualboost.export.graph import UINT64, Graph
from dualboost.export.ladders import Ladder, ladders
from dualboost.export.listed import add_listed
from dualboost.export.planes import ROWS, add_padding, add_planes
from dualboost.export.scattered import add_scattered
from dualboost.inspection.trees import ABSTAIN, LEFT, RIGHT, PlainTrees, Rule

__all__ = ["ALWAYS", "Key", "Questions", "Rungs", "question"]

Key = tuple[int, bytes, bytes]
Rungs = tuple[int, ...]  # what has reached an odd number of them
ALWAYS = 0  # a rung that every code reaches

_MANY = 1280  # rows for which climbing is quicker than scattering
_OFTEN = 3  # changes of sides a question from which on answers are looked up


@dataclass(frozen=True, eq=False)
class Questions:
    """All different questions of some trees, and the codes that answer them."""

    curves: list[Curve]
    """The code of each value of a column."""
    ladders: list[Ladder]
    listed: dict[int, np.ndarray]
    """The answers of columns without a ladder: a row a code, a column a question."""
    answers: dict[Key, Rungs]
    """True for right."""

    @classmethod
    def of(cls, votes: Sequence[PlainTrees]) -> Questions:
        asked = [question(vote, node) for vote in votes for node in np.flatnonzero(vote.feature >= 0).tolist()]
        rules = dict(asked)
        curves = _curves(list(rules.values()))
        known = {curve.feature: curve for curve in curves}
        right: dict[int, dict[Key, np.ndarray]] = {curve.feature: {} for curve in curves}
        for key, rule in rules.items():
            right[rule.feature][key] = _right(known[rule.feature], rule)
        listed = {feature: np.array([*own.values()]).T for feature, own in right.items() if _changing(own.values())}
        if len(listed) == len(curves):  # the rungs that every row and no row reaches
            first = curves[0].feature
            constant = np.tile([True, False], (len(listed[first]), 1))
            listed[first] = np.concatenate([constant, listed[first]], axis=1)
        own = ladders({curve.feature: _codes(curve) for curve in curves if curve.feature not in listed})
        places = _places(own, listed)
        answers: dict[Key, Rungs] = {}
        for feature, keys in right.items():
            if feature in listed:
                answers |= {key: (rung,) for key, rung in zip(keys, places[feature][-len(keys) :], strict=True)}
            else:
                answers |= {key: _changes(sides, places[feature]) for key, sides in keys.items()}
        return cls(curves, own, listed, answers)

    @property
    def size(self) -> int:
        """The number of rungs."""
        return sum(ladder.size for ladder in self.ladders) + sum(own.shape[1] for own in self.listed.values())

    @property
    def never(self) -> int:
        """A rung that no code reaches."""
        return self.ladders[0].rungs - 1 if self.ladders else ALWAYS + 1

    def add(self, graph: Graph, columns: Columns, outside: Outside, asked: Sequence[Rungs]) -> tuple[str, np.ndarray]:
        """A table with a number for each 64 rows of X, and the row in it of each that is asked."""
        rungs = self._add_rungs(graph, columns, outside)
        rows = np.array([own[0] if own else self.never for own in asked])
        several = sorted((k for k, own in enumerate(asked) if len(own) > 1), key=lambda k: len(asked[k]))
        rows[several] = self.size + np.arange(len(several))
        groups = groupby((asked[k] for k in several), key=lambda own: (len(own) - 1).bit_length())
        tables = [
            np.array([[*own, *[self.never] * ((1 << bits) - len(own))] for own in group]) for bits, group in groups
        ]
        return _stacked(graph, [rungs, *(_opposed(graph, rungs, table) for table in tables)]), rows

    def _add_rungs(self, graph: Graph, columns: Columns, outside: Outside) -> str:
        padding = add_padding(outside)
        parts = [
            steps._replace(at=graph.add("Pad", [steps.at, padding])) for steps in add_steps(graph, self.curves, columns)
        ]
        found = []
        if self.ladders:
            climbed = _of_features(parts, {curve.feature for curve in self.curves} - self.listed.keys())
            found.append(self._climbed_or_scattered(graph, climbed, outside))
        if self.listed:
            found.append(add_listed(graph, _of_features(parts, self.listed.keys()), self.listed))
        return _stacked(graph, found)

    def _climbed_or_scattered(self, graph: Graph, parts: Sequence[Steps], outside: Outside) -> str:
        if not outside.few:
            return self._climbed(graph, parts)
        many = graph.add("GreaterOrEqual", [outside.rows, graph.constant(np.array([_MANY]))])
        scattering, climbing = graph.branch(), graph.branch()
        scattered = add_scattered(scattering, parts, _places(self.ladders, {}), _MANY)
        return graph.choose(many, (climbing, self._climbed(climbing, parts)), (scattering, scattered), UINT64)

    def _climbed(self, graph: Graph, parts: Sequence[Steps]) -> str:
        planes = add_planes(graph, parts)
        return _stacked(graph, [ladder.add(graph, planes) for ladder in self.ladders])


def _of_features(parts: Sequence[Steps], features: Set[int]) -> list[Steps]:
    own = [
        steps._replace(features=np.where(np.isin(steps.features, [*features]), steps.features, -1)) for steps in parts
    ]
    return [steps for steps in own if steps.own]


def question(vote: PlainTrees, node: int) -> tuple[Key, Rule]:
    """What this split asks, as a step function of sides."""
    rule = vote.rules[vote.rule[node]] if vote.rule[node] >= 0 else _of_threshold(vote, node)
    return (rule.feature, rule.cuts.tobytes(), rule.sides.tobytes()), rule


def _of_threshold(vote: PlainTrees, node: int) -> Rule:
    cuts, sides = np.array([vote.threshold[node], np.inf]), np.array([LEFT, RIGHT, vote.missing[node]])
    return Rule(int(vote.feature[node]), cuts, sides)


def _curves(rules: Sequence[Rule]) -> list[Curve]:
    cuts: dict[int, list[np.ndarray]] = {}
    for rule in rules:
        cuts.setdefault(rule.feature, []).append(rule.cuts)
    curves = []
    for feature, own in sorted(cuts.items()):
        known = finite_cuts(own)
        codes = np.arange(len(known) + 1, dtype=np.int32)
        lost = any(rule.sides[-1] != ABSTAIN for rule in rules if rule.feature == feature)
        curves.append(Curve(feature, known, codes, len(codes), lost))
    return curves


def _codes(curve: Curve) -> int:
    """How many codes the values of a column have."""
    return len(curve.values) + curve.lost


def _places(own: Sequence[Ladder], listed: Mapping[int, np.ndarray]) -> dict[int, range]:
    """Where the rungs of each feature stand."""
    counts = [(feature, ladder.rungs) for ladder in own for feature in ladder.features]
    counts += [(feature, answers.shape[1]) for feature, answers in listed.items()]
    places, first = {}, 0
    for feature, count in counts:
        places[feature] = range(first, first + count)
        first += count
    return places


def _right(curve: Curve, rule: Rule) -> np.ndarray:
    """Whether each code of a column goes right; where trees abstain is no matter, and as it was before."""
    sides = rule.of([*curve.cuts, np.inf, *[np.nan] * curve.lost])
    decided = np.flatnonzero(sides != ABSTAIN)
    if not len(decided):
        return np.zeros(len(sides), dtype=bool)
    return sides[decided[np.maximum(np.searchsorted(decided, np.arange(len(sides)), side="right") - 1, 0)]] == RIGHT


def _changing(answers: Iterable[np.ndarray]) -> bool:
    """Whether sides change so often that answers are better looked up."""
    changes = [int(np.count_nonzero(np.diff(right, prepend=False))) for right in answers]
    return sum(changes) > _OFTEN * max(len(changes), ROWS // 4)


def _changes(right: np.ndarray, own: range) -> Rungs:
    """The rungs with which the right side begins or ends."""
    changes = np.flatnonzero(np.diff(right, prepend=False))
    return tuple(np.where(changes > 0, own.start + changes, ALWAYS).tolist())


def _opposed(graph: Graph, rungs: str, table: np.ndarray) -> str:
    """What has reached an odd number of the rungs in each row of a table, as many as a power of two."""
    odd, axis = rungs, 0
    while table.shape[-1] > 1:
        halves = np.split(table, 2, axis=-1)
        last = halves[0].shape[-1] == 1
        pair = [graph.constant(half[..., 0] if last else half) for half in halves]
        odd = graph.add("BitwiseXor", [graph.add("Gather", [odd, half], {"axis": axis}) for half in pair])
        axis, table = 1, np.arange(halves[0].shape[-1])
    return odd


def _stacked(graph: Graph, parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else graph.add("Concat", parts, {"axis": 0})
