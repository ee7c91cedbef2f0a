"""The registry: every loss, set, learner and booster that the contract tests run over. A new class is one line here."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import settings
from sklearn.tree import DecisionTreeClassifier

import reference
import reference_trees
from dualboost.boosters import (
    AdaBoostStar,
    Booster,
    CoordinateDescent,
    Corrective,
    CorrectiveFrankWolfe,
    Euclidean,
    FrankWolfe,
    InTurn,
    Leveraging,
    LPBoost,
    MadaBoost,
    MirrorAscent,
    MLPBoost,
    ServedioSmoothBoost,
    SoftBoost,
    SparseBoost,
    TotallyCorrective,
)
from dualboost.game import Game
from dualboost.learners import (
    NZDD,
    Answer,
    LeafTrees,
    Learner,
    Matrix,
    Oracle,
    SklearnLearner,
    Stumps,
    Subsets,
    Trees,
    Union,
    Words,
)
from dualboost.learners.averaging import Averaging, Mixture
from dualboost.learners.nzdd import Conjunctions, Intervals, Rules, Thresholds
from dualboost.losses import (
    Exponential,
    Logistic,
    LogisticDifference,
    LogisticMixture,
    Loss,
    Separable,
    SoftMargin,
)
from dualboost.rows import Rows
from dualboost.sets import Balanced, Ball, BinaryEntropy, Capped, Groups, Penalty, Simplex, WeightSet
from dualboost.sets.binary_entropy import BinaryEntropySimplex
from dualboost.sets.capped import CappedSimplex
from reference import BinaryEntropyModel, GroupsModel, Model, NormModel

# The same examples every time: a failure belongs to the change that caused it. HYPOTHESIS_PROFILE=search looks further.
settings.register_profile("dualboost", deadline=None, derandomize=True, max_examples=30, database=None)
settings.register_profile("search", deadline=None, max_examples=500, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dualboost"))


# ---- sets -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SetCase:
    """A set for m rows, and its model in the reference for rows of these sample weights."""

    make: Callable[[int], WeightSet]
    model: Callable[[np.ndarray], Model]


def share(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum()


def uneven_caps(m: int) -> np.ndarray:
    """Caps 1, 2, 3, 1, 2, 3, ... over m: different, and twice what is needed."""
    return (1.0 + np.arange(m) % 3) / m


def exact_caps(m: int) -> np.ndarray:
    """Caps that sum to 1: a single point, which is not the prior."""
    return share(3.0 ** np.arange(m))


def feasible(radius: float, m: int, p: float) -> float:
    """A radius that some distribution over m rows has."""
    return max(radius, m ** (1 / p - 1))


def thirds(m: int) -> np.ndarray:
    return np.arange(m) % 3


def two_halves(m: int) -> tuple[dict, dict]:
    shares = {False: 0.5, True: 0.5} if m > 1 else {}
    return shares, shares


SETS = {
    "simplex": SetCase(lambda m: Simplex(), Model),
    "nu 0.3": SetCase(lambda m: Capped(nu=0.3), lambda k: Model(k, share(k) / 0.3)),
    "nu 0.77": SetCase(lambda m: Capped(nu=0.77), lambda k: Model(k, share(k) / 0.77)),
    "nu tiny": SetCase(lambda m: Capped(nu=1e-3), lambda k: Model(k, share(k) / 1e-3)),
    "nu 1": SetCase(lambda m: Capped(nu=1.0), lambda k: Model(k, share(k))),
    "caps": SetCase(lambda m: Capped(caps=uneven_caps(m)), lambda k: Model(k, uneven_caps(len(k)) * k)),
    "caps of sum 1": SetCase(lambda m: Capped(caps=exact_caps(m)), lambda k: Model(k, exact_caps(len(k)) * k)),
    "l2 ball": SetCase(
        lambda m: Ball(2, feasible(0.6, m, 2)), lambda k: NormModel(k, 2, limit=feasible(0.6, len(k), 2))
    ),
    "l3 ball": SetCase(
        lambda m: Ball(3, feasible(0.45, m, 3)), lambda k: NormModel(k, 3, limit=feasible(0.45, len(k), 3))
    ),
    "l2 penalty": SetCase(lambda m: Penalty(2, 0.5), lambda k: NormModel(k, 2, nu=0.5)),
    "l inf penalty": SetCase(lambda m: Penalty(np.inf, 1.5), lambda k: NormModel(k, np.inf, nu=1.5)),
    "binary entropy": SetCase(lambda m: BinaryEntropy(), BinaryEntropyModel),
    "groups": SetCase(
        lambda m: Groups(thirds(m), caps={0: 0.25} if m > 1 else None),
        lambda k: GroupsModel(k, thirds(len(k)), {0: 0.25} if len(k) > 1 else {}, {}),
    ),
    "groups, floors and rows": SetCase(
        lambda m: Groups(
            thirds(m), {2: 0.5} if m > 2 else None, {1: 0.35} if m > 2 else None, row_caps=uneven_caps(m) * 1.5
        ),
        lambda k: GroupsModel(
            k,
            thirds(len(k)),
            {2: 0.5} if len(k) > 2 else {},
            {1: 0.35} if len(k) > 2 else {},
            uneven_caps(len(k)) * 1.5 * k,
        ),
    ),
    "balanced": SetCase(
        lambda m: Balanced(np.arange(m) % 4 > 0),
        lambda k: GroupsModel(k, np.arange(len(k)) % 4 > 0, *two_halves(len(k))),
    ),
}


def for_copies(weight_set: WeightSet, copy_of: np.ndarray) -> WeightSet:
    """The set for rows that were copied: row i of the copies is row copy_of[i], with its cap and group."""
    if isinstance(weight_set, Groups):
        return weight_set.of_rows(copy_of)
    caps = getattr(weight_set, "caps", None)
    return weight_set if caps is None else Capped(caps=caps[copy_of])


# ---- losses ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LossCase:
    """A loss for m rows, whether it is smooth, and its value by a twin: (margins, sample weights) -> F."""

    make: Callable[[int], Loss]
    smooth: bool
    value: Callable[[np.ndarray, np.ndarray], float]
    accuracy: float = 1e-13
    """Of the twin."""
    convex: bool = True
    """Otherwise the conjugate is infinite, and the Hessian only a bound."""


def soft_margin_case(set_case: SetCase, eta: float = np.inf) -> LossCase:
    def value(z: np.ndarray, weights: np.ndarray) -> float:
        model = set_case.model(weights)
        if eta == np.inf:
            return -model.relaxed_margin(z)
        if not model.exact:
            return -model.conic_entropic(z, eta)
        d = reference.entropic_by_sorting(z, eta, model.caps, model.prior)
        return float(-d @ z) - reference.kl(d, model.prior) / eta

    accuracy = 1e-13 if set_case.model(np.ones(6)).exact else 1e-12 if eta == np.inf else 3e-7
    return LossCase(lambda m: SoftMargin(set_case.make(m), eta), eta < np.inf, value, accuracy)


def mixture_case(eps: float) -> LossCase:
    def value(z: np.ndarray, weights: np.ndarray) -> float:
        return float(share(weights) @ -np.log((1 - eps) / (1 + np.exp(-z)) + eps / (1 + np.exp(z))))

    return LossCase(lambda m: LogisticMixture(eps), True, value, convex=False)


def difference_case(mu: float) -> LossCase:
    def value(z: np.ndarray, weights: np.ndarray) -> float:
        return float(share(weights) @ (np.log1p(np.exp(-z)) - np.log1p(np.exp(-z - mu))))

    return LossCase(lambda m: LogisticDifference(mu), True, value, convex=False)


LOSSES = {
    "exponential": LossCase(lambda m: Exponential(), True, lambda z, k: float(share(k) @ np.exp(-z))),
    "logistic": LossCase(lambda m: Logistic(), True, lambda z, k: float(share(k) @ np.log1p(np.exp(-z)))),
    **{f"mixture {eps}": mixture_case(eps) for eps in (1e-6, 0.1, 0.45)},
    **{f"difference {mu}": difference_case(mu) for mu in (0.2, 2.0, 12.0)},
    **{f"margin, {name}": soft_margin_case(case) for name, case in SETS.items()},
    **{f"smooth margin, {name}": soft_margin_case(case, 20.0) for name, case in SETS.items()},
}


# ---- learners -------------------------------------------------------------------------------------------------------


@pytest.fixture
def ctrl_c():
    """ctrl_c(after=seconds) presses Ctrl-C. The handler is Python's own: tests that a script starts in the background
    (`make test &`) inherit from its shell that SIGINT is ignored, and Python then sets no handler.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda after: threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT)).start()
    signal.signal(signal.SIGINT, before or signal.SIG_DFL)


@dataclass(frozen=True)
class LearnerCase:
    """A learner, data for it, and its whole class by enumeration: X -> [(key, h(x) on the rows), ...] in index order.

    With k > 1 an answer holds the best hypotheses of the k best groups; `group` says which group a key is in.
    """

    make: Callable[[], Learner]
    data: Callable[[np.random.Generator, int], object]
    members: Callable[[object], list]
    group: Callable[[object], object] = lambda key: key
    exact: bool = True
    """Whether the answer is the best of the class and its bound tight; else the bound is only true."""
    grouped: bool = True
    """Whether k > 1 promises the best of each group."""
    expand: Callable[[object, np.ndarray], np.ndarray] = lambda X, values: values
    """The parameters of a mixture as weights over the members."""
    constants: tuple = ((-1, 0, 0), reference_trees.CONSTANT)
    """The keys of members that use no feature."""


def signs(rng, m):
    return rng.choice([-1.0, 1.0], (m, 5))


def reals(rng, m):
    return rng.uniform(-1, 1, (m, 4))


def sparse_reals(rng, m):
    return sp.csr_array(np.where(rng.random((m, 6)) < 0.4, rng.uniform(-1, 1, (m, 6)), 0.0))


def few_values(rng, m):
    """Columns with ties, a constant one, a copy of another, a binary one."""
    X = rng.integers(0, 4, (m, 5)).astype(float)
    X[:, 1], X[:, 2], X[:, 4] = 3.5, X[:, 0], X[:, 4] > 1
    return X


def with_missing(rng, m):
    X = rng.normal(size=(m, 4))
    X[rng.random((m, 4)) < 0.25] = np.nan
    X[:, 2] = np.where(rng.random(m) < 0.5, np.nan, 1.0)
    X[:, 3] = np.nan
    return X


def sparse_counts(rng, m):
    return sp.csr_array(np.where(rng.random((m, 6)) < 0.3, rng.integers(-2, 3, (m, 6)), 0).astype(float))


def tiny_with_missing(rng, m):
    """So few values that all trees of two levels can be listed."""
    X = rng.integers(0, 3, (m, 3)).astype(float)
    X[rng.random(m) < 0.2, 1] = np.nan
    X[:, 2] = X[:, 2] > 1
    return X


def stumps_of(X) -> list:
    return reference.all_stumps(X.toarray() if sp.issparse(X) else X)


def feature_of(stump) -> int:
    return stump[0]


def categories(rng, m):
    """Few categories with gaps between their numbers, one with missing values, a constant one."""
    X = rng.integers(0, 4, (m, 4)).astype(float)
    X[:, 1] = np.where(rng.random(m) < 0.2, np.nan, 3 * X[:, 1])
    X[:, 2] = 5.0
    X[:, 3] = np.where(X[:, 3] > 1, np.nan, 7.0)
    return X


def subsets_of(X) -> list:
    return reference.all_subsets(X.toarray() if sp.issparse(X) else X)


def subset_weights(X, values) -> np.ndarray:
    """Any weights of the subsets that vote so on every code: they need not be the only ones."""
    members = subsets_of(X)
    known = sorted({feature for (feature, _), _ in members if feature >= 0})
    votes = np.zeros((len(values), len(members)))
    for j, ((feature, mask), _) in enumerate(members):
        if feature < 0:
            votes[0, j] = 1.0
        else:
            first = 1 + 256 * known.index(feature)
            votes[first : first + 256, j] = [1.0 if mask >> code & 1 else -1.0 for code in range(256)]
    exists = values != 0
    return np.linalg.lstsq(votes[exists], values[exists], rcond=None)[0]


def numbers_and_categories(rng, m):
    """A column of numbers with missing values between two of categories."""
    X = categories(rng, m)[:, :3]
    X[:, 2] = X[:, 1]
    X[:, 1] = np.where(rng.random(m) < 0.2, np.nan, rng.integers(0, 4, m))
    return X


def stumps_and_subsets_of(X) -> list:
    X = X.toarray() if sp.issparse(X) else X
    numbers, names = X.copy(), X.copy()
    numbers[:, [0, 2]], names[:, 1] = 0.0, 0.0
    parts = reference.all_stumps(numbers), reference.all_subsets(names)
    return [((number, key), values) for number, part in enumerate(parts) for key, values in part]


def stump_and_subset_weights(X, values) -> np.ndarray:
    X = X.toarray() if sp.issparse(X) else X
    names = X.copy()
    names[:, 1] = 0.0
    stumps = sum(number == 0 for (number, _), _ in stumps_and_subsets_of(X))
    return np.concatenate([values[:stumps], subset_weights(names, values[stumps:])])


def union_of(X) -> list:
    parts = reference.all_columns(X), stumps_of(X)
    return [((number, key), values) for number, part in enumerate(parts) for key, values in part]


def part_and_feature(key) -> tuple:
    number, hypothesis = key
    return number, hypothesis[0] if isinstance(hypothesis, tuple) else hypothesis


def counts(rng, m):
    return sp.csr_array(rng.poisson(0.6, (m, 6)).astype(float))


def words_of(X) -> list:
    X = X.toarray() if sp.issparse(X) else X
    columns = [np.ones(len(X)), *(np.where(X[:, j] > level, 1.0, 0.0) for level in (0, 1) for j in range(X.shape[1]))]
    return list(enumerate(columns))


def words_and_absences_of(X) -> list:
    columns = [column for _, column in words_of(X)]
    return list(enumerate([*columns, *(1.0 - column for column in columns[1:])]))


def trees_of(X) -> list:
    return reference_trees.all_trees(X.toarray() if sp.issparse(X) else X)


def bits(rng, m):
    return (rng.random((m, 4)) < rng.uniform(0.3, 0.7, 4)).astype(float)


def diagram_case(rules: Rules, data) -> LearnerCase:
    """The paths of a diagram: +1 on the rows of their labels. `tests/test_nzdd.py` compares those with the rules."""

    known: dict[bytes, list] = {}

    def members(X) -> list:
        X = X.toarray() if sp.issparse(X) else X
        if X.tobytes() not in known:
            diagram, rows = rules.bind(X).diagram, np.arange(len(X))
            known[X.tobytes()] = [
                (path, np.isin(rows, list(diagram.set_of(path))) * 2.0 - 1) for path in diagram.paths()
            ]
        return known[X.tobytes()]

    def expand(X, values) -> np.ndarray:
        """Any weights of the paths that flow so: they need not be the only ones."""
        paths = [path for path, _ in members(X)]
        flows = np.zeros((len(values), len(paths)))
        for j, path in enumerate(paths):
            flows[[*path, -1], j] = 1.0
        return np.linalg.lstsq(flows, values, rcond=None)[0]

    return LearnerCase(lambda: NZDD(rules), data, members, lambda path: path[0], expand=expand)


LEARNERS = {
    "matrix, signs": LearnerCase(Matrix, signs, reference.all_columns),
    "matrix, reals": LearnerCase(Matrix, reals, reference.all_columns),
    "matrix, sparse": LearnerCase(Matrix, sparse_reals, reference.all_columns),
    "stumps, reals": LearnerCase(Stumps, reals, stumps_of, feature_of),
    "stumps, ties": LearnerCase(Stumps, few_values, stumps_of, feature_of),
    "stumps, missing": LearnerCase(Stumps, with_missing, stumps_of, feature_of),
    "stumps, sparse": LearnerCase(Stumps, sparse_counts, stumps_of, feature_of),
    "subsets": LearnerCase(Subsets, categories, subsets_of, feature_of, expand=subset_weights, constants=((-1, 0),)),
    "stumps, categories": LearnerCase(
        lambda: Stumps(categorical=(0, 2)),
        numbers_and_categories,
        stumps_and_subsets_of,
        part_and_feature,
        expand=stump_and_subset_weights,
        constants=((0, (-1, 0, 0)), (1, (-1, 0))),
    ),
    "union": LearnerCase(
        lambda: Union((Matrix(), Stumps())), reals, union_of, part_and_feature, constants=((1, (-1, 0, 0)),)
    ),
    "words": LearnerCase(lambda: Words((0, 1)), counts, words_of, constants=(0,)),
    "words, absence": LearnerCase(lambda: Words((0, 1), absence=True), counts, words_and_absences_of, constants=(0,)),
    "trees, greedy": LearnerCase(lambda: Trees(2), tiny_with_missing, trees_of, exact=False, grouped=False),
    "trees, optimal": LearnerCase(lambda: Trees(2, search="optimal"), tiny_with_missing, trees_of, grouped=False),
    "nzdd, thresholds": diagram_case(Thresholds(), with_missing),
    "nzdd, intervals": diagram_case(Intervals(), few_values),
    "nzdd, conjunctions": diagram_case(Conjunctions(2), bits),
}

OPEN_LEARNERS = {
    "sklearn": lambda: SklearnLearner(DecisionTreeClassifier(max_depth=2, random_state=0)),
    "leaf trees": lambda: LeafTrees(max_leaves=4),
    "leaf trees, categories": lambda: LeafTrees(max_leaves=4, categorical=(0, 2)),
}
"""Learners whose class cannot be listed: they promise no more than the sum of the weights."""


# ---- boosters -------------------------------------------------------------------------------------------------------

BOOSTERS: dict[str, Booster] = {
    "AdaBoost": CoordinateDescent("adaboost"),
    "coordinate descent, Wolfe": CoordinateDescent("wolfe"),
    "coordinate descent, closed": CoordinateDescent("closed", learning_rate=0.5),
    "coordinate descent, exact": CoordinateDescent("exact"),
    "corrective": Corrective(),
    "corrective, search": Corrective(step="search"),
    "corrective, printed": Corrective(stop="printed"),
    "corrective, halving": Corrective(smoothing="halving"),
    "corrective, halving search": Corrective(step="search", smoothing="halving"),
    "AdaBoost*": AdaBoostStar(),
    "Frank-Wolfe, classic short": CorrectiveFrankWolfe(step="short", direction="classic"),
    "Frank-Wolfe, away": CorrectiveFrankWolfe(direction="away"),
    "Frank-Wolfe, away short": CorrectiveFrankWolfe(step="short", direction="away"),
    "Frank-Wolfe, pairwise": CorrectiveFrankWolfe(),
    "Frank-Wolfe, pairwise halving": CorrectiveFrankWolfe(smoothing="halving"),
    "average margins, pairwise": FrankWolfe(),
    "average margins, classic": FrankWolfe(step="classic"),
    "average margins, line search": FrankWolfe(step="line search"),
    "average margins, away": FrankWolfe(step="away"),
    "average margins, blended": FrankWolfe(step="blended pairwise"),
    "average margins, printed": FrankWolfe(step="line search", stop="printed"),
    "average margins, polish": FrankWolfe(polish=3, smoothing="halving"),
    "in turn": InTurn(Corrective(), TotallyCorrective(columns=2), switch=4),
    "LPBoost": LPBoost(),
    "LPBoost, textbook": LPBoost(columns=1, stabilise=0),
    "MLPBoost": MLPBoost(),
    "Servedio": ServedioSmoothBoost(gamma=0.01),
    "SoftBoost": SoftBoost(),
    "totally corrective": TotallyCorrective(columns=1, smoothing="fixed"),
    "totally corrective, 3 halving": TotallyCorrective(columns=3),
    "mirror ascent": MirrorAscent(),
    "mirror ascent, lazy max margin": MirrorAscent(update="lazy", step="max margin"),
    "mirror ascent, euclidean": MirrorAscent("euclidean", step="adaptive"),
    "mirror ascent, euclidean lazy": MirrorAscent("euclidean", "lazy", "search"),
    "SparseBoost": SparseBoost(alpha=0.25),
    "SparseBoost, not projected": SparseBoost(alpha=0.25, project=False),
    "MadaBoost": MadaBoost(),
}


UNBOUNDED: dict[str, tuple[Booster, Loss]] = {
    "leveraging, em": (Leveraging(), LogisticMixture(0.1)),
    "leveraging, em mixed": (Leveraging(template="mixed", every=3, estimate=2), LogisticMixture(0.1)),
    "leveraging, em parallel": (Leveraging(template="parallel"), LogisticMixture(0.1)),
    "leveraging, difference": (Leveraging("difference", shrink=0.5), LogisticDifference(2.0)),
    "leveraging, difference parallel": (Leveraging("difference", "parallel"), LogisticDifference(2.0)),
    "leveraging, logistic": (Leveraging(), Logistic()),
}
"""Boosters that keep no budget, each with a loss that it descends: no gap is certified."""


LINEAR = (FrankWolfe, LPBoost, MLPBoost, SoftBoost, AdaBoostStar, ServedioSmoothBoost)
"""Boosters for caps only: the others' games are no linear programs."""

OTHER_ENDS = (ServedioSmoothBoost,)
"""Boosters that end when another promise is kept than the accuracy asked."""

SEPARABLE = (CoordinateDescent,)
"""Boosters for losses that add up over the rows."""


ASCENTS = (MirrorAscent, SparseBoost, MadaBoost)
"""Boosters that promise a training error, not a gap that closes; they need a set of row weights."""


def ascent_refusal(booster: Booster, game: Game) -> str:
    """What a booster of the mirror-ascent family says when the loss or its set does not fit; empty when they do."""
    if not isinstance(game.loss, SoftMargin):
        return "SoftMargin"
    weight_set, simplex = game.loss.bound_set, False
    if isinstance(weight_set, CappedSimplex):
        simplex = bool(weight_set.caps.min() >= 1)
    if isinstance(booster, MadaBoost):
        return "" if simplex else "Simplex"
    if isinstance(booster, SparseBoost) and not booster.project and not simplex:
        return "Simplex|price"
    if isinstance(booster, SparseBoost) or isinstance(booster.regularizer, Euclidean):
        return "price" if weight_set.price(np.array(game.rows.prior)) else ""
    return "divergence" if isinstance(weight_set, BinaryEntropySimplex) else ""


def most_questions(booster: Booster, t: int) -> int:
    """How often the learner may be asked by round t: once a round, and again where heavy hypotheses are collected."""
    return (t + 1) * (3 if getattr(booster, "polish", 0) else 1)


def refused(booster: Booster, game: Game, linear: bool) -> bool:
    """Whether the booster cannot play this game; then it must say so in one sentence before computing."""
    if isinstance(booster, SEPARABLE):
        exponential = booster.line_search == "adaboost"
        wanted, why = (Exponential, "exponential loss|adds up") if exponential else (Separable, "adds up")
        reason, linear = "" if isinstance(game.loss, wanted) else why, False
    elif isinstance(booster, ASCENTS):
        reason = ascent_refusal(booster, game)
    else:
        reason = "" if linear or not isinstance(booster, LINEAR) else "linear program"
    if linear and isinstance(booster, AdaBoostStar) and game.loss.set.caps.min() < 1:
        reason = "hard margin"
    if linear and isinstance(booster, ServedioSmoothBoost) and np.any(game.loss.set.caps < game.rows.prior * 0.999):
        reason = "prior"
    if linear and isinstance(booster, FrankWolfe) and not isinstance(game.oracle, Averaging):
        reason = "averaged"
    if reason:
        with pytest.raises(ValueError, match=reason):
            booster.start(game)
    return bool(reason)


def suited(booster: Booster, game: Game) -> Game:
    """The game, or the one on the same rows and hypotheses that a booster of separable losses plays."""
    if not isinstance(booster, SEPARABLE):
        return game
    return replace(game, loss=Exponential().bind(game.rows), budget=np.inf, tol=1e-4)


# ---- problems made of them ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """A game, and everything a reference needs to judge it."""

    game: Game
    X: object
    y: np.ndarray
    keys: list
    A: np.ndarray
    """The whole class as one matrix: column j is y h_j(x), in index order."""
    model: Model
    exact: bool = True
    """Whether the learner's bound is tight."""
    expand: Callable[[object, np.ndarray], np.ndarray] = lambda X, values: values

    def weights_over_class(self, keys, w) -> np.ndarray:
        number = {key: j for j, key in enumerate(self.keys)}
        full = np.zeros(len(self.keys))
        for key, weight in zip(keys, w, strict=True):
            if isinstance(key, Mixture):
                full += weight * self.expand(self.X, key.values)
            else:
                full[number[key]] += weight
        return full


def learnable_labels(rng: np.random.Generator, H: np.ndarray) -> np.ndarray:
    """Labels that a vote of three hypotheses mostly explains, so that there is a margin to find."""
    chosen = rng.choice(H.shape[1], min(3, H.shape[1]), replace=False)
    vote = H[:, chosen] @ rng.choice([-1.0, 1.0], len(chosen)) + 0.3 * rng.normal(size=len(H))
    return np.where(vote > 0, 1, -1).astype(np.int8)


def problem(
    set_case: SetCase, learner_case: LearnerCase, m: int = 12, seed: int = 0, tol: float = 0.1, weights=None
) -> Problem:
    """A soft-margin game over random data of the learner's kind."""
    rng = np.random.default_rng(seed)
    X = learner_case.data(rng, m)
    members = learner_case.members(X)
    H = np.array([values for _, values in members]).T
    y = learnable_labels(rng, H)
    weights = np.ones(m) if weights is None else np.asarray(weights, dtype=float)
    rows = Rows.of(weights)
    game = Game(SoftMargin(set_case.make(m)).bind(rows), learner_case.make().bind(X, y, rows), rows, tol=tol)
    keys, model = [key for key, _ in members], set_case.model(weights)
    return Problem(game, X, y, keys, y[:, None] * H, model, learner_case.exact, learner_case.expand)


def matrix_game(A: np.ndarray, weight_set: WeightSet, tol: float, weights=None) -> Game:
    rows = Rows.of(A.shape[0] if weights is None else np.asarray(weights, dtype=float))
    return Game(SoftMargin(weight_set).bind(rows), Matrix().bind(A, None, rows), rows, tol=tol)


class CountingOracle(Averaging):
    """Passes everything on and counts the questions."""

    def __init__(self, inner: Oracle):
        self.inner, self.rows, self.asked = inner, inner.rows, 0
        self.log_size = getattr(inner, "log_size", np.nan)

    def average(self, d, eta):
        self.asked += 1
        return self.inner.average(d, eta)

    def slope(self, d, ahead, behind, eta):
        return self.inner.slope(d, ahead, behind, eta)

    def level(self, d, ahead, behind, eta):
        return self.inner.level(d, ahead, behind, eta)

    def best(self, d, k=1) -> Answer:
        self.asked += 1
        return self.inner.best(d, k)

    def column(self, hypothesis):
        return self.inner.column(hypothesis)

    def margins(self, hypotheses, w):
        return self.inner.margins(hypotheses, w)

    def predictor(self, hypotheses, w):
        return self.inner.predictor(hypotheses, w)

    def forget(self):
        self.inner.forget()


@pytest.fixture(autouse=True, scope="session")
def ctrl_c_ends_single_fits():
    """Tests end many fits in a row, and none is a search."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dualboost.estimators.ctrl_c._AGAIN", 0.0)
        yield
