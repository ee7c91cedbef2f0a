"""The union of several classes: a hypothesis of any of them. One may read numbers, another categories or words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dualboost.learners.averaging import Averaging, Mixture, parted, softmax
from dualboost.learners.base import (
    Answer,
    Directed,
    Hypothesis,
    Learner,
    Oracle,
    Predictor,
    SkipsColumns,
    TakesCategories,
    ranked,
)
from dualboost.learners.class_stumps import ClassScores
from dualboost.learners.step_functions import merged
from dualboost.learners.stumps import StumpScores
from dualboost.rows import Rows

__all__ = ["AveragedUnion", "DirectedUnion", "SumScores", "Union", "UnionOracle", "side_by_side"]


@dataclass(frozen=True)
class Union(TakesCategories):
    """Every hypothesis of every learner. The bound is the largest of theirs, so it is exact where they all are.

    A hypothesis is (number of the learner, its hypothesis). Among equal edges the learner that comes first wins.

    Parameters
    ----------
    learners : sequence of Learner
        At least one; each sees all of X.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.learners import Matrix, Stumps, Union
    >>> from dualboost.rows import Rows
    >>> X, y = np.array([[1.0, 0.5], [-1.0, 0.2], [0.5, 0.9]]), np.array([1, -1, 1])
    >>> answer = Union((Matrix(), Stumps())).bind(X, y, Rows.of(3)).best(np.array([0.3, 0.3, 0.4]), k=2)
    >>> answer.hypotheses, answer.edges
    ([(1, (0, 0, 0)), (1, (1, 0, 0))], array([1., 1.]))
    """

    learners: tuple[Learner, ...]

    def __post_init__(self):
        learners = tuple(self.learners) if isinstance(self.learners, (list, tuple)) else ()
        if not learners or not all(isinstance(learner, Learner) for learner in learners):
            raise ValueError(f"Union takes learners, such as Union((Stumps(), Words())), not {self.learners!r}.")
        object.__setattr__(self, "learners", learners)

    def bind(self, X, y: np.ndarray | None, rows: Rows) -> Oracle:
        return side_by_side([learner.bind(X, y, rows) for learner in self.learners], rows)

    def with_categories(self, columns: tuple[int, ...]) -> Union:
        if not columns:
            return self
        if not any(isinstance(learner, TakesCategories) for learner in self.learners):
            raise ValueError("None of the learners of this Union reads categories: take Stumps() or Trees() as one.")
        return Union(tuple(_told(learner, columns) for learner in self.learners))


def _told(learner: Learner, columns: tuple[int, ...]) -> Learner:
    """The learner that reads these columns as categories, or skips them."""
    if isinstance(learner, TakesCategories):
        return learner.with_categories(columns)
    if isinstance(learner, SkipsColumns):
        return learner.without_columns(columns)
    raise ValueError(
        f"{type(learner).__name__} in this Union reads numbers only, and would take the numbers of categories for "
        "values: leave it out, or encode the columns of categories first, for example with OneHotEncoder."
    )


def side_by_side(parts: Sequence[Oracle], rows: Rows) -> Oracle:
    """The union of bound learners: it can be averaged where all of them can, and has directions where one has."""
    if any(isinstance(part, Directed) for part in parts):
        return DirectedUnion(parts, rows)
    averaging = [part for part in parts if isinstance(part, Averaging)]
    return AveragedUnion(averaging, rows) if len(averaging) == len(parts) else UnionOracle(parts, rows)


class UnionOracle(Oracle):
    """Bound learners side by side."""

    def __init__(self, parts: Sequence[Oracle], rows: Rows):
        self.parts, self.rows = tuple(parts), rows

    def best(self, d: np.ndarray, k: int = 1) -> Answer:
        answers = [part.best(d, k) for part in self.parts]
        edges = np.concatenate([answer.edges for answer in answers])
        chosen = ranked(np.abs(edges), k)
        keys = [(j, hypothesis) for j, answer in enumerate(answers) for hypothesis in answer.hypotheses]
        columns = [column for answer in answers for column in answer.columns]
        bound = max(answer.bound for answer in answers)
        return Answer([keys[j] for j in chosen], [columns[j] for j in chosen], edges[chosen], bound)

    def column(self, hypothesis: Hypothesis) -> np.ndarray:
        number, inner = hypothesis
        return self.parts[number].column(inner)

    def margins(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> np.ndarray:
        z = np.zeros(len(self.rows))
        for part, keys, weights in self._of_parts(hypotheses, w):
            if keys:
                z += part.margins(keys, weights)
        return z

    def predictor(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> Predictor:
        predictors = [part.predictor(keys, weights) for part, keys, weights in self._of_parts(hypotheses, w)]
        steps = [predictor for predictor in predictors if isinstance(predictor, StumpScores)]
        if len(steps) == len(predictors):
            return merged(steps)
        of_classes = [predictor.parts for predictor in predictors if isinstance(predictor, ClassScores)]
        if len(of_classes) == len(predictors):
            return ClassScores(tuple(merged(own) for own in zip(*of_classes, strict=True)))
        totals = [float(np.abs(weights).sum()) for _, _, weights in self._of_parts(hypotheses, w)]
        return SumScores(tuple(predictors), np.array(totals))

    def predictors(self, hypotheses: Sequence[Hypothesis]) -> list[Predictor]:
        if not all(isinstance(part.predictor([], np.empty(0)), StumpScores) for part in self.parts):
            return super().predictors(hypotheses)
        parts = self._of_parts(hypotheses, np.ones(len(hypotheses)))
        own = [iter(part.predictors(keys)) for part, keys, _ in parts]
        return [next(own[number]) for number, _ in hypotheses]  # a step function is its sum with nothing

    def _of_parts(self, hypotheses: Sequence[Hypothesis], w: np.ndarray):
        """(oracle, its hypotheses, their weights) of each part."""
        owners = np.array([number for number, _ in hypotheses], dtype=np.intp)
        for number, part in enumerate(self.parts):
            here = np.flatnonzero(owners == number)
            yield part, [hypotheses[int(j)][1] for j in here], np.asarray(w, dtype=np.float64)[here]

    def forget(self) -> None:
        for part in self.parts:
            part.forget()


class AveragedUnion(Averaging):
    """Bound learners side by side that can all be averaged. The values of a mixture are those of its parts in a row."""

    def __init__(self, parts: Sequence[Averaging], rows: Rows):
        self.parts, self.rows, self._union = tuple(parts), rows, UnionOracle(parts, rows)
        self.log_size = float(np.logaddexp.reduce([part.log_size for part in parts]))

    @property
    def cells(self) -> int | None:
        known = [part.cells for part in self.parts if part.cells is not None]
        return sum(known) if len(known) == len(self.parts) else None

    def best(self, d: np.ndarray, k: int = 1) -> Answer:
        return self._union.best(d, k)

    def average(self, d: np.ndarray, eta: float) -> tuple[Answer, float]:
        answers, levels = zip(*(part.average(d, eta) for part in self.parts), strict=True)
        joint, shares = softmax(eta * np.array(levels))
        values = [share * answer.hypotheses[0].values for share, answer in zip(shares, answers, strict=True)]
        column = sum(share * answer.columns[0] for share, answer in zip(shares, answers, strict=True))
        edge = sum(share * answer.edges[0] for share, answer in zip(shares, answers, strict=True))
        bound = max(answer.bound for answer in answers)
        return Answer([Mixture(np.concatenate(values))], [column], np.array([edge]), bound), joint / eta

    def slope(self, d: np.ndarray, ahead: np.ndarray, behind: np.ndarray, eta: float) -> Callable[[float], float]:
        levels = [part.level(d, ahead, behind, eta) for part in self.parts]
        slopes = [part.slope(d, ahead, behind, eta) for part in self.parts]

        def derivative(step: float) -> float:
            _, shares = softmax(eta * np.array([level(step) for level in levels]))
            return float(shares @ [slope(step) for slope in slopes])

        return derivative

    def level(self, d: np.ndarray, ahead: np.ndarray, behind: np.ndarray, eta: float) -> Callable[[float], float]:
        levels = [part.level(d, ahead, behind, eta) for part in self.parts]
        return lambda step: softmax(eta * np.array([level(step) for level in levels]))[0] / eta

    def column(self, hypothesis: Hypothesis) -> np.ndarray:
        if isinstance(hypothesis, Mixture):
            return self.margins([hypothesis], np.ones(1))
        return self._union.column(hypothesis)

    def margins(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> np.ndarray:
        return self._union.margins(*self._by_parts(hypotheses, w))

    def predictor(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> Predictor:
        return self._union.predictor(*self._by_parts(hypotheses, w))

    def predictors(self, hypotheses: Sequence[Hypothesis]) -> list[Predictor]:
        mixed = any(isinstance(hypothesis, Mixture) for hypothesis in hypotheses)
        return super().predictors(hypotheses) if mixed else self._union.predictors(hypotheses)

    def _by_parts(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> tuple[list[Hypothesis], np.ndarray]:
        """The same ensemble with a mixture of each part in the place of one of all."""
        keys, weights, mixtures = parted(hypotheses, w)
        for mixture, weight in mixtures:
            values = np.split(mixture.values, np.cumsum(self._sizes)[:-1])
            keys += [(number, Mixture(own)) for number, own in enumerate(values)]
            weights = np.append(weights, [weight] * len(values))
        return keys, weights

    @cached_property
    def _sizes(self) -> list[int]:
        """How many values a mixture of each part has."""
        d = np.array(self.rows.prior)
        return [len(part.average(d, 1.0)[0].hypotheses[0].values) for part in self.parts]

    def forget(self) -> None:
        self._union.forget()


class DirectedUnion(Directed):
    """Bound learners side by side of which some have hypotheses of one sign."""

    def __init__(self, parts: Sequence[Oracle], rows: Rows):
        self.parts, self.rows, self._union = tuple(parts), rows, UnionOracle(parts, rows)

    def directed(self, hypotheses: Sequence[Hypothesis]) -> np.ndarray:
        masks = [
            isinstance(self.parts[number], Directed) and bool(self.parts[number].directed([inner])[0])
            for number, inner in hypotheses
        ]
        return np.array(masks, dtype=bool)

    def best(self, d: np.ndarray, k: int = 1) -> Answer:
        return self._union.best(d, k)

    def column(self, hypothesis: Hypothesis) -> np.ndarray:
        return self._union.column(hypothesis)

    def margins(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> np.ndarray:
        return self._union.margins(hypotheses, w)

    def predictor(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> Predictor:
        return self._union.predictor(hypotheses, w)

    def predictors(self, hypotheses: Sequence[Hypothesis]) -> list[Predictor]:
        return self._union.predictors(hypotheses)

    def forget(self) -> None:
        self._union.forget()


@dataclass(frozen=True, eq=False)
class SumScores(Predictor):
    """Finished ensembles of several classes, added up."""

    parts: tuple[Predictor, ...]
    weights: np.ndarray
    """The absolute weight of the ensemble on each part: what its importances count for."""

    def __post_init__(self):
        if not self.parts or not all(isinstance(part, Predictor) for part in self.parts):
            raise ValueError("a sum of scores needs predictors as its parts")
        if self.weights.shape != (len(self.parts),):
            raise ValueError("a sum of scores needs a weight for each of its parts")

    def scores(self, X, threads: int = 1) -> np.ndarray:
        return np.sum([part.scores(X, threads) for part in self.parts], axis=0)

    def importances(self, n_features: int) -> np.ndarray:
        shares = [weight * part.importances(n_features) for part, weight in zip(self.parts, self.weights, strict=True)]
        share = np.sum(shares, axis=0)
        return share / max(share.sum(), np.finfo(np.float64).tiny)
