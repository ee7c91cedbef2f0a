"""Numbers for the leaves of a tree, of eight binary digits at most: a tree with two values needs one digit.

Every digit is a truth function of the answers, with a choice at each split whose sides both have a say in it; so
numbers are given in a way that spares choices. As long as there are digits enough, a split has one of its own, both its
sides use the same others, and a side that needs fewer does not mind what the rest is. Where the larger side needs all
digits, the smaller one has the last numbers, alike in as many digits as it can spare.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dualboost.inspection.trees import PlainTrees

__all__ = ["DIGITS", "Tree", "numbered"]

DIGITS = 8  # of a leaf's number at most


class Number(NamedTuple):
    """Of a leaf: the digits that are 1, and those that are no matter are 0 in `known`."""

    digits: int
    known: int

    def bit(self, digit: int) -> int | None:
        return self.digits >> digit & 1 if self.known >> digit & 1 else None

    def beginning(self, digits: int, number: int) -> Number:
        """With the digits of this number, but for the lowest so many."""
        known = (1 << DIGITS) - (1 << digits) & ~self.known
        return Number(self.digits | number & known, self.known | known)


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree of a vote, with a number for each leaf."""

    vote: PlainTrees
    root: int
    digits: int
    """Of a number; more than DIGITS where a tree has too many leaves."""
    number: dict[int, Number]
    """Of each leaf; in a tree of two values these are told apart, and no more."""

    @property
    def values(self) -> np.ndarray:
        """The value of each number."""
        numbers, values = np.arange(1 << self.digits), np.zeros(1 << self.digits)
        for leaf, own in self.number.items():
            values[numbers & own.known == own.digits] = self.vote.value[leaf]
        return values


def numbered(vote: PlainTrees, tree: int) -> Tree:
    """The two values, or all leaves by as many digits as do not make groups larger."""
    root = int(vote.roots[tree])
    leaves = _leaves(vote, root)
    values = sorted({float(vote.value[leaf]) for leaf in leaves})
    if len(values) <= 2:
        two = {leaf: Number(values.index(float(vote.value[leaf])), 1) for leaf in leaves}
        return Tree(vote, root, len(values) - 1, two)
    least = _digits_for(len(leaves))
    if least > DIGITS:
        return Tree(vote, root, least, {})
    digits = DIGITS // (DIGITS // least)
    number = _numbers(vote, root, digits, 1 << digits, Number(0, (1 << DIGITS) - (1 << digits)))
    return Tree(vote, root, digits, number)


def _leaves(vote: PlainTrees, root: int) -> list[int]:
    """From left to right."""
    leaves: list[int] = []
    open_nodes = [root]
    while open_nodes:
        node = open_nodes.pop()
        if vote.feature[node] < 0:
            leaves.append(node)
        else:
            open_nodes += [int(vote.right[node]), int(vote.left[node])]
    return leaves


def _digits_for(count: int) -> int:
    return (count - 1).bit_length()


def _numbers(vote: PlainTrees, node: int, digits: int, room: int, above: Number) -> dict[int, Number]:
    """Of the leaves below a node: the lowest so many digits make a number below `room`, the others are given."""
    half = 1 << digits >> 1
    leaf = vote.feature[node] < 0
    if leaf and room == 1 << digits:
        return {node: above}
    if leaf or room <= half:
        return _numbers(vote, node, digits - 1, min(room, half), above.beginning(digits - 1, 0))
    sides = [(len(_leaves(vote, side)), side) for side in (int(vote.left[node]), int(vote.right[node]))]
    if max(sides)[0] > room - half:  # else left is 0 and right is 1, as the answer is
        sides.sort(reverse=True)
    (many, first), (few, second) = sides
    if many <= half and few <= room - half:
        return {
            **_numbers(vote, first, digits - 1, half, above.beginning(digits - 1, 0)),
            **_numbers(vote, second, digits - 1, room - half, above.beginning(digits - 1, half)),
        }
    own = _digits_for(few)
    start = room - (1 << own) >> own << own  # of the last numbers that differ in no other digits
    if many <= start:
        return {
            **_numbers(vote, first, digits, start, above),
            **_numbers(vote, second, own, 1 << own, above.beginning(own, start)),
        }
    return {leaf: above.beginning(0, k) for k, leaf in enumerate(_leaves(vote, node))}
