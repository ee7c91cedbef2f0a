"""What trees ask, answered for 64 rows at a time: one bit a row, 64 of them in a whole number.

Each row has a code in every column, the number of cuts below its value; a missing value has the last one. The rungs of
`ladders` tell which rows have at least a given code. A question is a step function of sides; the rows that it sends
right are told by the rungs where its sides change, an odd number of which they have reached. Where sides change often,
as those of categories do, the answers are looked up for each code instead, and every question has a rung of its own.
One more question of such a column is whether a category is strange: no tree knows it, and some abstain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby

import numpy as np

from dualboost.export.columns import Columns
from dualboost.export.curves import Curve, finite_cuts
from dualboost.export.graph import Graph
from dualboost.export.ladders import Ladder, add_rungs, ladders
from dualboost.export.planes import Planes, add_planes
from dualboost.export.turning import EIGHT
from dualboost.inspection.trees import ABSTAIN, LEFT, RIGHT, PlainTrees, Rule

__all__ = ["ALWAYS", "Key", "Questions", "Rungs", "question"]

Key = tuple[int, bytes, bytes]
Rungs = tuple[int, ...]  # what has reached an odd number of them
ALWAYS = 0  # a rung that every code reaches

_DEAR = 6  # a change of sides beyond the second, compared with looking an answer up
_LADDER = 12  # a ladder, compared with looking up eight answers more


@dataclass(frozen=True, eq=False)
class Questions:
    """All different questions of some trees, and the codes that answer them."""

    curves: list[Curve]
    """The code of each value of a column."""
    ladders: list[Ladder]
    listed: dict[int, np.ndarray]
    """The answers of columns without a ladder: a row a code, a column a question."""
    places: dict[int, range]
    """The rungs of each feature: one a code and one that none reaches, or one a question."""
    answers: dict[Key, Rungs]
    """True for right."""
    strange: list[Rungs]
    """Whether a category is, for each column where it can be."""

    @classmethod
    def of(cls, votes: Sequence[PlainTrees]) -> Questions:
        asked = [question(vote, node) for vote in votes for node in np.flatnonzero(vote.feature >= 0).tolist()]
        rules = dict(asked)
        curves = _curves(list(rules.values()))
        right = {curve.feature: _answers(curve, rules) for curve in curves}
        tables = {feature: np.array([*own.values()]).T for feature, own in right.items()}
        listed = {feature: table for feature, table in tables.items() if _changing(table.T)}
        if _eights(tables) <= _eights(listed) + len(tables) - len(listed) + _LADDER:
            listed = tables
        if len(listed) == len(curves):  # the rungs that every row and no row reaches
            first = curves[0].feature
            constant = np.tile([True, False], (len(listed[first]), 1))
            listed[first] = np.concatenate([constant, listed[first]], axis=1)
        codes = {curve.feature: _codes(curve) for curve in curves}
        own = ladders({feature: count for feature, count in codes.items() if feature not in listed})
        places = _places(own, codes, listed)
        answers: dict[Key, Rungs] = {}
        for feature, keys in right.items():
            if feature in listed:
                answers |= {key: (rung,) for key, rung in zip(keys, places[feature][-len(keys) :], strict=True)}
            else:
                answers |= {key: _changes(sides, places[feature]) for key, sides in keys.items()}
        strange = [rungs for key, rungs in answers.items() if key == _strange(key[0])]
        return cls(curves, own, listed, places, answers, strange)

    @property
    def never(self) -> int:
        """A rung that no code reaches."""
        return len(self.places[self.ladders[0].features[0]]) - 1 if self.ladders else ALWAYS + 1

    @property
    def eights(self) -> int:
        """How often bits are looked up for a row, eight of a column at once."""
        return _eights(self._bits)

    def add(self, graph: Graph, columns: Columns, asked: Sequence[Rungs]) -> tuple[str, np.ndarray]:
        """A table with a word for each 64 rows of X, and the column in it of each that is asked."""
        asked = [own or (self.never,) for own in asked]
        feature_of = {rung: feature for feature in self.listed for rung in self.places[feature]}
        looked_up: dict[int, list[Rungs]] = {}
        climbed: list[Rungs] = []
        for own in asked:
            feature = feature_of.get(self._plain(own)[0])
            (climbed if feature is None else looked_up.setdefault(feature, [])).append(own)
        bits = {feature: self._answers(feature, own) for feature, own in looked_up.items()}
        planes = add_planes(graph, columns, self.curves, self._digits | bits)
        tables = {planes.name: planes.width} if looked_up else {}
        place = {own: planes.column(feature, k) for feature in looked_up for k, own in enumerate(looked_up[feature])}
        for name, found in self._add_climbed(graph, planes, climbed) if climbed else ():
            place |= {own: sum(tables.values()) + k for k, own in enumerate(found)}
            tables[name] = len(found)
        return graph.stacked([*tables], axis=1), np.array([place[own] for own in asked])

    def _plain(self, own: Rungs) -> Rungs:
        """The other way round where every code reaches one of them."""
        return tuple(rung for rung in own if rung != ALWAYS) or (self.never,)

    def _answers(self, feature: int, asked: Sequence[Rungs]) -> np.ndarray:
        """Of a column whose answers are looked up, those that are asked: a row a code."""
        places = [self.places[feature].index(self._plain(own)[0]) for own in asked]
        return self.listed[feature][:, places] ^ np.array([ALWAYS in own for own in asked])

    def _add_climbed(self, graph: Graph, planes: Planes, asked: Sequence[Rungs]) -> Iterator[tuple[str, list[Rungs]]]:
        """Tables of what is asked of ladders, and what each of their columns is."""
        plain = {own: self._plain(own) for own in asked}
        needed = sorted({rung for own in plain.values() for rung in own})
        codes = [(f, rung - own.start) for rung in needed for f, own in self.places.items() if rung in own]
        rungs = add_rungs(graph, planes, self.ladders, codes)
        tables: dict[str, list[Rungs]] = {rungs: [(rung,) for rung in needed]}
        place = {rung: column for column, rung in enumerate(needed)}
        several = sorted({own for own in plain.values() if len(own) > 1}, key=lambda own: (len(own), own))
        for _, alike in groupby(several, key=len):
            group = list(alike)
            tables[_opposed(graph, rungs, np.array([[place[rung] for rung in own] for own in group]))] = group
        yield from tables.items()
        turned = {plain[own]: own for own in asked if ALWAYS in own}
        for table, group in tables.items():
            places = [k for k, own in enumerate(group) if own in turned]
            if places:
                name = graph.add("BitwiseNot", [graph.columns(table, np.array(places))])
                yield name, [turned[group[k]] for k in places]

    @property
    def _bits(self) -> dict[int, np.ndarray]:
        """What can be looked up for each code of a column: all answers, or its binary digits."""
        return self._digits | self.listed

    @property
    def _digits(self) -> dict[int, np.ndarray]:
        return {feature: ladder.digits for ladder in self.ladders for feature in ladder.features}


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


def _places(own: Sequence[Ladder], codes: Mapping[int, int], listed: Mapping[int, np.ndarray]) -> dict[int, range]:
    """Where the rungs of each feature stand."""
    counts = [(feature, codes[feature] + 1) for ladder in own for feature in ladder.features]
    counts += [(feature, answers.shape[1]) for feature, answers in listed.items()]
    places, first = {}, 0
    for feature, count in counts:
        places[feature] = range(first, first + count)
        first += count
    return places


def _answers(curve: Curve, rules: Mapping[Key, Rule]) -> dict[Key, np.ndarray]:
    """Whether each code of a column goes right, for every rule on it; and whether it is strange, where one can be."""
    cells = np.concatenate([curve.cuts, [np.inf], [np.nan] * curve.lost])
    sides = {key: rule.of(cells) for key, rule in rules.items() if rule.feature == curve.feature}
    answers = {key: _right(own) for key, own in sides.items()}
    strange = np.any([own == ABSTAIN for own in sides.values()], axis=0)
    strange[len(curve.cuts) + 1 :] = False
    if strange.any():
        answers[_strange(curve.feature)] = strange
    return answers


def _strange(feature: int) -> Key:
    """As the key of a question; no rule has this one."""
    return feature, b"", b""


def _right(sides: np.ndarray) -> np.ndarray:
    """Whether each code of a column goes right; where trees abstain is no matter, and as it was before."""
    decided = np.flatnonzero(sides != ABSTAIN)
    if not len(decided):
        return np.zeros(len(sides), dtype=bool)
    return sides[decided[np.maximum(np.searchsorted(decided, np.arange(len(sides)), side="right") - 1, 0)]] == RIGHT


def _eights(tables: Mapping[int, np.ndarray]) -> int:
    return sum(-(-table.shape[1] // EIGHT) for table in tables.values())


def _changing(answers: Iterable[np.ndarray]) -> bool:
    """Whether sides change so often that answers are better looked up."""
    changes = np.array([np.count_nonzero(np.diff(right, prepend=False)) for right in answers])
    return _DEAR * np.maximum(changes - 2, 0).sum() > len(changes)


def _changes(right: np.ndarray, own: range) -> Rungs:
    """The rungs with which the right side begins or ends."""
    changes = np.flatnonzero(np.diff(right, prepend=False))
    return tuple(np.where(changes > 0, own.start + changes, ALWAYS).tolist())


def _opposed(graph: Graph, rungs: str, places: np.ndarray) -> str:
    """What has reached an odd number of the rungs at the places of each row, a column each."""
    reached = (graph.columns(rungs, own) for own in places.T)
    return reduce(lambda one, other: graph.add("BitwiseXor", [one, other]), reached)
