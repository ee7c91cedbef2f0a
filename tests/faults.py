"""Every classifier and every learner as something to fit, for the tests of what can happen to a fit."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dualboost
from conftest import LEARNERS, OPEN_LEARNERS, reals
from dualboost.learners import LeafTrees
from fitted import quick


def small_numbers(rng: np.random.Generator, m: int) -> np.ndarray:
    """Whole numbers, which a learner may read as categories."""
    return rng.integers(0, 6, (m, 5)).astype(float)


NAMES = [name for name in dualboost.__all__ if name.endswith("Classifier")]
VARIANTS = {
    **{name: (name, {}) for name in NAMES},
    "LogisticMixtureClassifier, one fit": ("LogisticMixtureClassifier", {"bags": 0}),
    "LogisticDifferenceClassifier, one fit": ("LogisticDifferenceClassifier", {"bags": 0}),
    "pairs of classes": ("MarginBoostClassifier", {"multiclass": "pairs"}),
    "calibrated": ("MarginBoostClassifier", {"calibrate": True}),
    "warm": ("AdaBoostClassifier", {"warm_start": True}),
}
BAGS = ("LogisticMixtureClassifier", "LogisticDifferenceClassifier")


@dataclass(frozen=True)
class Kind:
    """A classifier with its parameters, and tables of the sort that it reads."""

    make: Callable[[], Any]
    data: Callable[[np.random.Generator, int], Any]

    def table(self, m: int) -> tuple[Any, np.ndarray]:
        rows = self.data(np.random.default_rng(0), m)
        first = np.nan_to_num(np.asarray(rows[:, [0]].todense()) if hasattr(rows, "todense") else rows[:, [0]])
        return rows, (first[:, 0] + np.random.default_rng(1).normal(size=m) > np.median(first)).astype(int)


def classifier(variant: str, **others):
    kind, options = VARIANTS[variant]
    few = {"max_iter": 4, "n_estimators": 4, "bags": 2, "nu": 0.5, "calibrate": False, "n_jobs": 2}
    one_try = {"learner": LeafTrees(3), "noise_rate": 0.1, "mu": 2.0} if variant in BAGS else {}
    return quick(kind, **{**few, **one_try, **options, **others})


KINDS = {
    **{variant: Kind(lambda variant=variant: classifier(variant), reals) for variant in VARIANTS},
    **{
        f"learner: {name}": Kind(lambda case=case: classifier("MarginBoostClassifier", learner=case.make()), case.data)
        for name, case in LEARNERS.items()
    },
    **{
        f"learner: {name}": Kind(lambda make=make: classifier("MarginBoostClassifier", learner=make()), small_numbers)
        for name, make in OPEN_LEARNERS.items()
    },
}


def told_apart(rows: Any) -> Any:
    """No row the copy of another, by further columns of small whole numbers: copies are merged, and take no memory."""
    if hasattr(rows, "todense") or len(np.unique(rows, axis=0)) == len(rows):
        return rows
    numbers = np.arange(len(rows))
    return np.column_stack([rows, numbers % 32, numbers // 32 % 32, numbers // 1024])


def in_pages(column: int) -> int:
    """Of this process, in bytes. 0: its address space; 1: what is in memory."""
    return int(Path("/proc/self/statm").read_text().split()[column]) * os.sysconf("SC_PAGE_SIZE")


def what_was_freed() -> list[bytearray]:
    """Blocks that fill what earlier fits have freed and the process has kept: a fit has only what it is given."""
    blocks = []
    try:
        while True:
            blocks.append(bytearray(1 << 15))
    except MemoryError:
        return blocks


def fit_with_little_memory() -> None:
    """Print a line for each kind: how often a fit to many rows was refused, and how it fits when it may."""
    import resource

    warnings.simplefilter("ignore")
    unlimited = resource.RLIM_INFINITY
    for name, kind in KINDS.items():
        kind.make().fit(*kind.table(60))  # what solvers and imports need for themselves
        rows, labels = kind.table(500 if "nzdd" in name else 12_000)
        rows = rows if "nzdd" in name else told_apart(rows)
        refused = 0
        for room in (int(2 ** (16 + k * 5 % 12 / 2)) for k in range(12)):  # from 64 KiB to 3 MiB
            taken = in_pages(0)
            resource.setrlimit(resource.RLIMIT_AS, (taken, unlimited))
            filled = what_was_freed()
            resource.setrlimit(resource.RLIMIT_AS, (taken + room, unlimited))
            try:
                kind.make().fit(rows, labels)
            except MemoryError:
                refused += 1
            finally:
                resource.setrlimit(resource.RLIMIT_AS, (unlimited, unlimited))
                del filled
        print(name, refused, kind.make().fit(rows, labels).score(rows, labels), sep="\t", flush=True)
