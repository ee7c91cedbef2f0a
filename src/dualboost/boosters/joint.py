"""Stumps, perhaps with subsets of categories beside them, in compiled rounds: which oracles, and what they met."""

from __future__ import annotations

from typing import Any, NamedTuple

from dualboost import kernels
from dualboost.data import MASK_BYTES
from dualboost.learners.base import Hypothesis, Oracle
from dualboost.learners.stumps import StumpOracle
from dualboost.learners.subsets import SubsetOracle
from dualboost.learners.union import AveragedUnion

__all__ = ["Joint", "joint"]


class Joint(NamedTuple):
    """The parts of an oracle that a kernel can ask by itself."""

    stumps: StumpOracle
    subsets: SubsetOracle | None = None

    @property
    def subset_search(self) -> kernels.SubsetSearch | None:
        return None if self.subsets is None else self.subsets.search

    def names(self, played: Any, moves: int) -> list[Hypothesis]:
        """The hypotheses of the first moves in a kernel's records, as the oracle calls them."""
        columns = (played[name][:moves].tolist() for name in ("features", "cuts", "missing_right"))
        stumps = list(zip(*columns, strict=True))
        if self.subsets is None:
            return stumps
        masks = played["masks"].reshape(-1).view(f"S{MASK_BYTES}").tolist()  # zeros at the end are the highest bits
        return [
            (0, stump) if stump[1] >= 0 else (1, (stump[0], int.from_bytes(mask, "little")))
            for stump, mask in zip(stumps, masks[:moves], strict=True)
        ]


def joint(oracle: Oracle) -> Joint | None:
    """Stumps alone, or beside the subsets of columns of categories; None for any other class."""
    if isinstance(oracle, StumpOracle):
        return Joint(oracle)
    if isinstance(oracle, AveragedUnion) and len(oracle.parts) == 2:
        stumps, subsets = oracle.parts
        if isinstance(stumps, StumpOracle) and isinstance(subsets, SubsetOracle):
            return Joint(stumps, subsets)
    return None
