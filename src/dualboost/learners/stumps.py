"""Decision stumps on binned columns: one pass over the bytes a round, exact, the same bits for any number of threads.

A stump is (feature, cut, missing_right): +1 where the value is above the cut, -1 at or below it, missing values on the
side that was learned. The constant (-1, 0, 0) is +1 everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualboost import kernels
from dualboost.data import Bins, bin_columns
from dualboost.learners.averaging import Averaging, Mixture, parted
from dualboost.learners.base import Answer, Hypothesis, Listed, Oracle, Predictor, TakesCategories
from dualboost.learners.categories import checked_columns, without_features
from dualboost.learners.monotone import MonotoneOracle, checked_directions, directions_for
from dualboost.learners.stump_index import StumpIndex
from dualboost.learners.stump_tally import Stump, code_sums, listed_stumps, stored_columns, tally_stumps
from dualboost.products import times
from dualboost.rows import Rows
from dualboost.sparse_tables import summed_up

__all__ = ["StumpOracle", "StumpScores", "Stumps"]

_SAME = 1e-12  # edges closer than this count as equal


@dataclass(frozen=True)
class Stumps(TakesCategories):
    """Thresholds on single features; NaN is a missing value. Columns of categories are split by their best subset.

    Parameters
    ----------
    max_bins : int in [2, 255]
        The most bins a feature is cut into. A feature with no more distinct values is represented exactly.
    categorical : tuple of int, default ()
        The columns that hold categories, whole numbers from 0 on: their hypotheses are those of `Subsets`, and the
        class is the `Union` of both. Data frames say themselves which columns these are.
    monotone : sequence of (feature, +1 or -1), or one number of -1, 0 or 1 for each feature; optional
        Features with which the vote for the second class may only rise (+1) or only fall (-1), exactly. It orders the
        present values; missing ones stand where they help. For two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.learners import Stumps
    >>> from dualboost.rows import Rows
    >>> X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([-1, -1, 1, 1])
    >>> answer = Stumps().bind(X, y, Rows.of(4)).best(np.full(4, 0.25))
    >>> answer.hypotheses, answer.edges
    ([(0, 1, 0)], array([1.]))
    """

    max_bins: int = 255
    categorical: tuple[int, ...] = ()
    monotone: Any = ()

    def __post_init__(self):
        object.__setattr__(self, "categorical", checked_columns(self.categorical, "categorical"))
        object.__setattr__(self, "monotone", checked_directions(self.monotone))

    def bind(self, X, y: np.ndarray | None, rows: Rows) -> Oracle:
        if y is None:
            raise ValueError("Stumps need labels: bind(X, y, rows) with a y of +1 and -1.")
        directions = directions_for(self.monotone, X.shape[1], self.categorical) if self.monotone else None
        weights = None if rows.uniform else rows.prior
        if not self.categorical:
            return _directed(StumpOracle(bin_columns(X, weights, self.max_bins, rows.threads), y, rows), directions)
        # These build on stumps: they cannot be imported above.
        from dualboost.learners.subsets import Subsets
        from dualboost.learners.union import side_by_side

        subsets = Subsets(self.categorical).bind(X, y, rows)
        bins = without_features(bin_columns(X, weights, self.max_bins, rows.threads), self.categorical)
        return side_by_side((_directed(StumpOracle(bins, y, rows), directions), subsets), rows)

    def with_categories(self, columns: tuple[int, ...]) -> Stumps:
        return replace(self, categorical=tuple({*self.categorical, *columns}))


def _directed(oracle: StumpOracle, directions: np.ndarray | None) -> StumpOracle | MonotoneOracle:
    return oracle if directions is None else MonotoneOracle(oracle, directions)


class StumpOracle(Averaging, Listed):
    """Binned columns with their labels."""

    def __init__(self, bins: Bins, y: np.ndarray, rows: Rows):
        self.bins, self.y, self.rows = bins, y, rows
        self.search = kernels.StumpSearch(*bins.search_arrays(y))
        self._kept: tuple[np.ndarray, np.ndarray, float] | None = None

    @cached_property
    def _cuts(self) -> np.ndarray:
        return self.bins.cut_counts

    @cached_property
    def index(self) -> StumpIndex:
        """The numbering of all stumps."""
        return StumpIndex(self._cuts, self.bins.has_missing & self.bins.stored)

    @cached_property
    def log_size(self) -> float:  # type: ignore[override]
        return float(np.log(2 * len(self.index)))

    @property
    def looked(self) -> int:
        """How many features the last answer had to look at; the others were ruled out by their edge bounds."""
        return self.search.looked

    @property
    def cells(self) -> int:
        return self.bins.cells

    def best(self, d: np.ndarray, k: int = 1) -> Answer:
        features, cuts, sides, edges, bound = self.search.best(d, k, self.rows.threads)
        stumps = list(zip(features.tolist(), cuts.tolist(), sides.tolist(), strict=True))
        return Answer(stumps, [self.column(stump) for stump in stumps], edges, bound)

    def beating(self, d: np.ndarray, price: float, k: int) -> Answer:
        """Different cuts of one feature too: the best of each run of cuts whose edges beat the price.

        A run that belongs to the k best is one of a feature that does.
        """
        answer = self.best(d, k)
        found = dict(zip(answer.hypotheses, answer.edges, strict=True))
        signed = times(self.y, d)
        for stump, edge in zip(answer.hypotheses, answer.edges, strict=True):
            if stump[0] >= 0 and self._cuts[stump[0]] > 1:
                found |= self._runs_beside(stump[0], signed, price, abs(edge))
        if len(found) == len(answer.hypotheses):
            return answer
        others = sorted((s for s in found if s != answer.hypotheses[0]), key=lambda s: (-abs(found[s]), s))
        stumps = [answer.hypotheses[0], *others[: k - 1]]
        edges = np.array([found[stump] for stump in stumps])
        return Answer(stumps, [self.column(stump) for stump in stumps], edges, answer.bound)

    def _runs_beside(self, feature: int, signed: np.ndarray, price: float, best: float) -> dict[Stump, float]:
        """The best stump of each run of cuts of this feature, with its edge, but for the run of its best edge."""
        sums = self.rows.add(code_sums(self.bins, self._places[feature], signed))
        tops = kernels.stump_runs(sums, int(self._cuts[feature]), bool(self.bins.has_missing[feature]), price)
        return {(feature, cut, side): edge for cut, side, edge in tops if abs(edge) < best - _SAME}

    @cached_property
    def _places(self) -> dict[int, tuple[str, int]]:
        return dict(stored_columns(self.bins))

    def average(self, d: np.ndarray, eta: float) -> tuple[Answer, float]:
        edges, bound = self.all_edges(d)
        net = np.empty_like(edges)
        J = kernels.signed_softmax(edges, eta, net)
        mixture = Mixture(net)
        return Answer([mixture], [self._of_all(net)], np.array([edges @ net]), bound), J

    def slope(self, d: np.ndarray, ahead: np.ndarray, behind: np.ndarray, eta: float) -> Callable[[float], float]:
        at, front, back = (self.all_edges(weights)[0] for weights in (d, ahead, behind))
        change = front - back
        return lambda step: kernels.signed_slope(at, change, eta, step)

    def level(self, d: np.ndarray, ahead: np.ndarray, behind: np.ndarray, eta: float) -> Callable[[float], float]:
        at, front, back = (self.all_edges(weights)[0] for weights in (d, ahead, behind))
        return lambda step: kernels.signed_softmax(at + step * (front - back), eta, np.empty_like(at))

    @property
    def all_signs(self) -> bool:
        return True

    @cached_property
    def everything(self) -> Sequence[Stump]:
        return listed_stumps(self.bins)

    def tally(self, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        right, wrong = tally_stumps(self.bins, self.y, d)
        return self.rows.add(right), self.rows.add(wrong)

    def scales(self) -> tuple[np.ndarray, np.ndarray]:
        return np.ones(len(self.everything)), np.ones(len(self.everything))

    def row_mass(self, chosen: np.ndarray) -> float:
        return float(len(chosen))

    def all_edges(self, d: np.ndarray) -> tuple[np.ndarray, float]:
        """The edges of all stumps in index order, and a bound on their size.

        Those of the last d are kept: a line search asks at the d of the average before it.
        """
        if self._kept is not None and self._kept[0] is d:
            return self._kept[1:]
        edges = np.empty(len(self.index))
        bound = kernels.stump_edges(self.search, d, edges, self.rows.threads)
        if not d.flags.writeable:  # what nobody can change any more
            self._kept = d, edges, bound
        return edges, bound

    def _of_all(self, weights: np.ndarray) -> np.ndarray:
        """The margins of a weighting of all stumps, in index order."""
        out = np.empty(self.bins.n_rows)
        kernels.stump_margins(self.search, weights, out, self.rows.threads)
        return out

    def column(self, stump: Hypothesis) -> np.ndarray:
        """y_i h(x_i): int8 of a stump, float of a mixture."""
        if isinstance(stump, Mixture):
            return self._of_all(stump.values)
        out = np.empty(self.bins.n_rows, dtype=np.int8)
        feature, cut, side = stump
        self.search.column(feature, cut, side, out, self.rows.threads)
        return out

    def margins(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> np.ndarray:
        if any(isinstance(hypothesis, Mixture) for hypothesis in hypotheses):
            return self._of_all(self._spread(hypotheses, w))
        features, cuts, sides = _as_arrays(hypotheses)
        out = np.empty(self.bins.n_rows)
        self.search.margins(features, cuts, sides, np.ascontiguousarray(w), out, self.rows.threads)
        return out

    def _spread(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> np.ndarray:
        """The weights as one vector over all stumps, in index order."""
        full = np.zeros(len(self.index))
        stumps, weights, mixtures = parted(hypotheses, w)
        np.add.at(full, self.index.numbers(*_as_arrays(stumps)), weights)
        for mixture, weight in mixtures:
            full += weight * mixture.values
        return full

    def predictor(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> StumpScores:
        if any(isinstance(hypothesis, Mixture) for hypothesis in hypotheses):
            full = self._spread(hypotheses, w)
            used = np.flatnonzero(full)
            return StumpScores.collapse(self.bins, np.column_stack(self.index.stumps(used)), full[used])
        return StumpScores.collapse(self.bins, hypotheses, w)

    def predictors(self, hypotheses: Sequence[Hypothesis]) -> list[Predictor]:
        if any(isinstance(hypothesis, Mixture) for hypothesis in hypotheses):
            return super().predictors(hypotheses)
        return list(StumpScores.one_by_one(self.bins, hypotheses))

    def forget(self) -> None:
        self.search.forget()
        self._kept = None


def _as_arrays(stumps: Sequence[Stump] | np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = np.asarray(stumps, dtype=np.int32).reshape(len(stumps), 3)
    features, cuts, sides = (np.ascontiguousarray(column) for column in table.T)
    return features, cuts, sides.astype(np.uint8)


@dataclass(frozen=True, eq=False)
class StumpScores(Predictor):
    """A stump ensemble as one step function per used feature: prediction is one lookup each, from raw values.

    The step function of feature `features[u]` jumps at its `cuts` and has one more value than cuts, in `tables`. A
    missing value scores what was learned, or nothing for a feature that had none in training: the stumps abstain.
    """

    base: float
    features: np.ndarray
    cut_start: np.ndarray
    cuts: np.ndarray
    tables: np.ndarray
    missing: np.ndarray
    weight: np.ndarray
    """The absolute stump weight on each used feature."""

    @classmethod
    def collapse(cls, bins: Bins, hypotheses: Sequence[Stump] | np.ndarray, w: np.ndarray) -> StumpScores:
        features, cuts, sides = _as_arrays(hypotheses)
        base = float(np.sum(w[features < 0]))
        used = np.unique(features[features >= 0])
        parts = [_step_function(bins, f, cuts[features == f], sides[features == f], w[features == f]) for f in used]
        start = np.cumsum([0, *(len(part[0]) for part in parts)])
        return cls(
            base,
            used.astype(np.int32),
            start.astype(np.int64),
            np.concatenate([np.empty(0), *(part[0] for part in parts)]),
            np.concatenate([np.empty(0), *(part[1] for part in parts)]),
            np.array([part[2] for part in parts], dtype=np.float64),
            np.array([np.abs(w[features == f]).sum() for f in used], dtype=np.float64),
        )

    @classmethod
    def one_by_one(cls, bins: Bins, stumps: Sequence[Stump]) -> Iterator[StumpScores]:
        """Each stump collapsed on its own, with weight 1: parts of arrays that all of them share."""
        features, cuts, sides = _as_arrays(stumps)
        steps, present = features >= 0, np.maximum(features, 0)
        jumps = steps & (cuts < bins.cut_counts.take(present))  # else only missing values are told apart
        values = np.zeros(len(features))
        values[jumps] = bins.cuts[bins.cut_start[features[jumps]] + cuts[jumps]]
        starts = np.column_stack([np.zeros(len(features), np.int64), jumps.astype(np.int64)])
        tables = np.tile([-1.0, 1.0], (len(features), 1))
        missing = np.where(bins.has_missing.take(present) > 0, np.where(sides > 0, 1.0, -1.0), 0.0)
        ones, step, jump = np.ones(len(features)), steps.tolist(), jumps.tolist()
        for j in range(len(features)):
            used, cut, pieces = j + step[j], j + jump[j], step[j] + jump[j]
            yield cls(
                float(not step[j]), features[j:used], starts[j, : 1 + step[j]], values[j:cut], tables[j, :pieces],
                missing[j:used], ones[j:used],
            )  # fmt: skip

    def scores(self, X, threads: int = 1) -> np.ndarray:
        out = np.empty(X.shape[0])
        tables = (self.features, self.cut_start, self.cuts, self.tables, self.missing, self.base)
        if sp.issparse(X):
            X = summed_up(sp.csr_array(X))
            kernels.predict_sparse(X.shape[1], X.indptr, X.indices, X.data, *tables, out, threads)
        else:
            kernels.predict_dense(X, *tables, out, threads)
        return out

    def importances(self, n_features: int) -> np.ndarray:
        share = np.zeros(n_features)
        share.put(self.features, self.weight)
        return share / max(share.sum(), np.finfo(np.float64).tiny)


def _step_function(bins: Bins, feature: int, cuts: np.ndarray, sides: np.ndarray, w: np.ndarray):
    """(used cut values, score left of the first, between them ..., score of a missing value)."""
    values = bins.cuts[bins.cut_start[feature] : bins.cut_start[feature + 1]]
    used, where = np.unique(cuts[cuts < len(values)], return_inverse=True)
    jumps = np.bincount(where, weights=2 * w[cuts < len(values)], minlength=len(used))
    table = np.concatenate([[0.0], np.cumsum(jumps)]) - w.sum()
    missing = float(np.sum(np.where(sides > 0, w, -w))) if bins.has_missing[feature] else 0.0
    return values.take(used), table, missing
