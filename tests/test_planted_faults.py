"""Does the suite see anything? Each fault is planted by hand, and the checks named for it must fail.

A check that passes with its fault in place is worthless; so is one that fails without. Both are tested.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import test_boosters
import test_groups
import test_learners
import test_losses
import test_sets
import test_solve
import test_state_files
import test_theorems_descent
import test_theorems_margin
import test_theorems_mirror
import test_training
from conftest import BOOSTERS, LEARNERS, LOSSES, SETS, problem
from dualboost.boosters import (
    Corrective,
    Entropic,
    Euclidean,
    MirrorAscent,
    coordinate_descent,
    corrective,
    mada,
    sparse,
)
from dualboost.estimators.judge import Judge, Score
from dualboost.game import State
from dualboost.learners import subsets
from dualboost.learners.matrix import MatrixOracle
from dualboost.learners.stumps import StumpOracle
from dualboost.learners.subsets import SubsetOracle
from dualboost.learners.trees import TreeOracle
from dualboost.learners.union import UnionOracle
from dualboost.losses import Exponential, Logistic, SoftMargin
from dualboost.rows import Rows
from dualboost.run import Halt
from dualboost.sets import Capped, groups
from dualboost.sets.capped import CappedSimplex
from dualboost.sets.groups import GroupedSimplex

COUNTS = np.array([1, 3, 1, 2, 1, 1, 4, 1, 2.0])
INSTANCE = test_theorems_margin.instance(1)
DESCENT = np.random.default_rng(2).uniform(-1, 1, (11, 6))


def a_short_run() -> State:
    made = problem(SETS["nu 0.3"], LEARNERS["matrix, reals"], seed=1, tol=0.02)
    state = test_boosters.check_run(made, Corrective(), most=40)
    test_boosters.check_bounds_hold(made, state)
    return state


def a_solution() -> None:
    A = test_solve.matrix(3)
    test_solve.check_certificate(A, test_solve.solve(A, test_solve.SOFT, tol=0.05), test_solve.capped(15, 0.3))


def smooth_losses(check) -> None:
    for name in ("exponential", "logistic", "smooth margin, nu 0.3"):
        check(LOSSES[name], COUNTS)


CHECKS = {
    "relaxed margin": lambda: test_sets.check_relaxed_margin(SETS["nu 0.3"], COUNTS),
    "entropic": lambda: test_sets.check_entropic(SETS["caps"], COUNTS),
    "set copies": lambda: test_sets.check_copies(SETS["nu 0.3"], COUNTS),
    "radius": lambda: test_sets.check_radius(SETS["nu 0.3"], COUNTS),
    "loss value": lambda: smooth_losses(test_losses.check_value),
    "gradient": lambda: smooth_losses(test_losses.check_gradient),
    "Fenchel-Young": lambda: smooth_losses(test_losses.check_fenchel_young),
    "curvature": lambda: smooth_losses(test_losses.check_curvature),
    "Hessian": lambda: smooth_losses(test_losses.check_hessian),
    "best matrix column": lambda: test_learners.check_best(LEARNERS["matrix, reals"]),
    "best stump": lambda: test_learners.check_best(LEARNERS["stumps, missing"]),
    "stump ensemble": lambda: [test_learners.check_ensemble(LEARNERS["stumps, missing"], seed) for seed in range(3)],
    "best subset": lambda: [test_learners.check_best(LEARNERS["subsets"], seed) for seed in range(3)],
    "subset ensemble": lambda: [test_learners.check_ensemble(LEARNERS["subsets"], seed) for seed in range(3)],
    "best of a union": lambda: [test_learners.check_best(LEARNERS["union"], seed) for seed in range(3)],
    "optimal tree": lambda: test_learners.check_best(LEARNERS["trees, optimal"]),
    "greedy tree": lambda: [test_learners.check_best(LEARNERS["trees, greedy"], seed) for seed in range(6)],
    "tree ensemble": lambda: [test_learners.check_ensemble(LEARNERS["trees, greedy"], seed) for seed in range(3)],
    "state": a_short_run,
    "progress": lambda: test_theorems_margin.check_progress(INSTANCE, Capped(nu=0.25), Corrective(), 0.1, 60),
    "Figure 1": lambda: test_theorems_margin.check_against_slow_twin(INSTANCE, Capped(nu=0.25), np.full(14, 1 / 3.5)),
    "descent": lambda: test_theorems_descent.check_decrease(DESCENT, Logistic(), "closed", np.ones(len(DESCENT))),
    "descent state": lambda: test_theorems_descent.test_the_state_every_round("matrix, reals", "closed"),
    "certificate": a_solution,
    "groups": lambda: [test_groups.test_any_limits.hypothesis.inner_test(seed, 9) for seed in range(12)],
    "Algorithm 1": lambda: [
        test_theorems_mirror.test_the_run_is_the_printed_one_on_copies(
            r, u, test_theorems_mirror.WEIGHTS["counts"], 0.4
        )
        for r in test_theorems_mirror.REGULARIZERS
        for u in ("active", "lazy")
    ],
    "Theorem 1": lambda: [
        test_theorems_mirror.test_theorem_1_the_training_error(r, "lazy", None, "adaptive")
        for r in test_theorems_mirror.REGULARIZERS
    ],
    "two sources": lambda: test_theorems_mirror.test_two_sources("entropic", "lazy", None, 3.0, "secondary"),
    "Theorem 4": lambda: test_theorems_mirror.test_theorem_4_sparse_boost(None, 0.5, "printed"),
    "Theorem 5": lambda: test_theorems_mirror.test_theorem_5_mada_boost(None, "weight"),
    "seams": lambda: [
        test_state_files.test_a_run_taken_up_at_any_seam_ends_with_the_same_bits(BOOSTERS[name], 5)
        for name in ("corrective", "MLPBoost")
    ],
    "early stopping": test_training.test_the_best_stage_is_kept_as_found_by_looking_at_all_stages,
    "solve copies": lambda: test_solve.check_copies(test_solve.matrix(0), test_solve.SOFT, np.array([1, 2, 3] * 5)),
}


# ---- the faults -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """Replace `name` of `owner` by change(original); then each of `seen_by` must fail."""

    owner: object
    name: str
    change: object
    seen_by: tuple[str, ...]

    def plant(self, monkeypatch) -> None:
        monkeypatch.setattr(self.owner, self.name, self.change(getattr(self.owner, self.name)))


def result(change):
    """A fault in what a method returns."""
    return lambda original: lambda *args, **options: change(original(*args, **options))


def doubled_caps(original):
    return lambda self, rows, caps: original(self, rows, np.minimum(2 * caps, 1.0))


def after(original, name, value):
    """An __init__ that leaves a wrong attribute behind."""

    def init(self, rows, caps):
        original(self, rows, caps)
        setattr(self, name, value)

    return init


def without_prior(original):
    return lambda self, rows: original(self, Rows.of(len(rows)))


def without_the_lowest_row(original):
    def relaxed_margin(self, z):
        z = z.copy()
        z[np.argmin(z)] = z.max()
        return original(self, z)

    return relaxed_margin


def other_column(original):
    def best(self, d, k=1):
        answer = original(self, d, k)
        return replace(answer, columns=[-column for column in answer.columns])

    return best


FAULTS = {
    "caps twice too large": Fault(
        CappedSimplex, "__init__", doubled_caps, ("relaxed margin", "entropic", "state", "certificate")
    ),
    "weights not normalised": Fault(
        CappedSimplex, "entropic", result(lambda d: 1.01 * d), ("entropic", "state", "gradient")
    ),
    "offset of uneven caps dropped": Fault(
        CappedSimplex, "__init__", lambda original: after(original, "offset", np.zeros(1)), ("entropic",)
    ),
    "prior ignored by the set": Fault(Capped, "bind", without_prior, ("set copies", "solve copies", "relaxed margin")),
    "prior ignored by a loss": Fault(Logistic, "bind", without_prior, ("loss value",)),
    "relaxed margin skips the lowest row": Fault(
        CappedSimplex, "relaxed_margin", without_the_lowest_row, ("relaxed margin", "state", "certificate")
    ),
    "radius too small": Fault(CappedSimplex, "__init__", lambda original: after(original, "radius", 0.5), ("radius",)),
    "step reversed": Fault(corrective, "closed_step", result(lambda step: -step), ("progress", "Figure 1")),
    "step doubled": Fault(corrective, "closed_step", result(lambda step: min(1.0, 2 * step)), ("Figure 1",)),
    "step without the gap": Fault(corrective, "closed_step", result(lambda step: 1.0), ("progress", "Figure 1")),
    "margins moved the wrong way": Fault(
        corrective,
        "moved",
        lambda original: lambda game, z, column, step, target: original(game, z, column, step, -target),
        ("state", "progress"),
    ),
    "steps of descent three times too long": Fault(
        coordinate_descent, "closed_step", result(lambda step: 3 * step), ("descent",)
    ),
    "steps of descent reversed in the ensemble": Fault(
        coordinate_descent,
        "added",
        lambda original: lambda w, size, number, step: original(w, size, number, -step),
        ("descent state",),
    ),
    "weights not shrunk": Fault(
        corrective,
        "shifted",
        lambda original: lambda w, pool, name, step, target: original(w / (1 - step), pool, name, step, target),
        ("state", "Figure 1"),
    ),
    "bound of a matrix 10 % too small": Fault(
        MatrixOracle,
        "best",
        result(lambda a: replace(a, bound=0.9 * a.bound)),
        ("best matrix column", "certificate", "state"),
    ),
    "bound of stumps 10 % too small": Fault(
        StumpOracle, "best", result(lambda a: replace(a, bound=0.9 * a.bound)), ("best stump",)
    ),
    "edges without their sign": Fault(
        MatrixOracle, "best", result(lambda a: replace(a, edges=np.abs(a.edges))), ("best matrix column", "Figure 1")
    ),
    "column of the other sign": Fault(MatrixOracle, "best", other_column, ("best matrix column", "state")),
    "missing values on the wrong side": Fault(
        StumpOracle, "predictor", result(lambda p: replace(p, missing=-p.missing)), ("stump ensemble",)
    ),
    "constant vote forgotten": Fault(
        StumpOracle, "predictor", result(lambda p: replace(p, base=0.0)), ("stump ensemble",)
    ),
    "bound of subsets 10 % too small": Fault(
        SubsetOracle, "best", result(lambda a: replace(a, bound=0.9 * a.bound)), ("best subset",)
    ),
    "subsets lose a category": Fault(
        subsets, "_as_bytes", lambda f: lambda mask: f(mask & (mask - 1)), ("best subset", "subset ensemble")
    ),
    "missing categories on the wrong side": Fault(
        SubsetOracle, "predictor", result(lambda p: replace(p, missing=-p.missing)), ("subset ensemble",)
    ),
    "unions forget a part": Fault(
        UnionOracle,
        "__init__",
        lambda f: lambda self, parts, rows: f(self, parts[:1], rows),
        ("best of a union",),
    ),
    "bound of trees 10 % too small": Fault(
        TreeOracle, "best", result(lambda a: replace(a, bound=0.9 * a.bound)), ("optimal tree",)
    ),
    "a greedy tree taken for the best": Fault(
        TreeOracle, "best", result(lambda a: replace(a, bound=float(np.abs(a.edges[0])))), ("greedy tree",)
    ),
    "cuts of trees moved": Fault(
        TreeOracle, "predictor", result(lambda p: replace(p, cuts=p.cuts + 1)), ("tree ensemble",)
    ),
    "conjugate without the entropy": Fault(
        SoftMargin, "conjugate", lambda original: lambda self, d: self.bound_set.cost(d), ("gradient",)
    ),
    "conjugate of the logistic loss halved": Fault(
        Logistic, "conjugate", result(lambda value: value / 2), ("Fenchel-Young",)
    ),
    "exponential weights not weighted": Fault(Exponential, "weights", result(lambda d: d * len(d)), ("Fenchel-Young",)),
    "a group's floor forgotten": Fault(
        groups, "_shares", lambda f: lambda name, *rest: f(name, *rest) * (name == "caps"), ("groups",)
    ),
    "limits of groups not pegged": Fault(
        GroupedSimplex,
        "_solve",
        lambda _: lambda self, within: within(*reversed(self._part(self.high > 0, 1.0)), 1.0),
        ("groups",),
    ),
    "ascent steps doubled": Fault(
        MirrorAscent,
        "_grown",
        lambda f: lambda self, game, state, answer, step: f(self, game, state, answer, 2 * step),
        ("Algorithm 1",),
    ),
    "row weights move towards the answer": Fault(
        Entropic,
        "nearest",
        lambda f: lambda self, s, z, eta: f(self, s, -z, eta),
        ("Algorithm 1", "Theorem 1", "two sources"),
    ),
    "Euclidean steps ignore the prior": Fault(
        Euclidean,
        "nearest",
        lambda _: lambda self, s, z, eta: s.euclidean(s.rows.prior - eta * z / len(z)),
        ("Algorithm 1",),
    ),
    "size of a column too small": Fault(Euclidean, "size", result(lambda size: size / 2), ("Theorem 1",)),
    "what the shift takes counted as gain": Fault(
        sparse,
        "Ascent",
        lambda f: lambda mass, gain, y, left=1.0: f(mass, gain + 0.2 * mass, y, left),
        ("Theorem 4",),
    ),
    "MadaBoost gains counted twice": Fault(
        mada, "Ascent", lambda f: lambda mass=0.0, gain=0.0, left=1.0: f(mass, 2 * gain, left=left), ("Theorem 5",)
    ),
    "a run taken up knows hypotheses of the future": Fault(
        Halt, "resumed", lambda _: lambda self: self.state, ("seams",)
    ),
    "records lost where a run is taken up": Fault(
        Halt, "recorded", lambda _: property(lambda self: not self.log), ("seams",)
    ),
    "the loss does not break ties": Fault(
        Score, "beats", lambda _: lambda self, other: self.accuracy > other.accuracy, ("early stopping",)
    ),
    "the last ensemble is kept": Fault(Judge, "verdict", lambda _: lambda self, outcome: outcome, ("early stopping",)),
    "rows at their cap respond": Fault(CappedSimplex, "responsive", lambda _: lambda self, d: d > 0, ("Hessian",)),
    "curvature 10 times too small": Fault(Exponential, "curvature", result(lambda bend: bend / 10), ("curvature",)),
}


@pytest.mark.parametrize("name", CHECKS)
def test_the_checks_pass_without_a_fault(name):
    CHECKS[name]()


@pytest.mark.parametrize("fault, check", [(f, c) for f in FAULTS for c in FAULTS[f].seen_by], ids=lambda name: name)
def test_the_fault_is_seen(fault, check, monkeypatch):
    FAULTS[fault].plant(monkeypatch)
    with pytest.raises(AssertionError):
        CHECKS[check]()


def test_the_short_run_is_not_trivial():
    state = a_short_run()
    assert state.best.objective > 0 and len(state.best.w) > 1, "an ensemble that votes"


def test_every_check_catches_something():
    assert {check for fault in FAULTS.values() for check in fault.seen_by} == set(CHECKS)
