"""scikit-learn's rules for input, in one place: what a fit may assume is checked here, before any computing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from inspect import signature
from numbers import Integral
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names,
    _check_sample_weight,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from dualboost.copies import Copies
from dualboost.data import MOST_THREADS
from dualboost.estimators.arrays import INPUT, validated
from dualboost.estimators.coded import rows_of
from dualboost.estimators.control import Control
from dualboost.estimators.new_rows import predict_input
from dualboost.frames import (
    as_frame,
    check_infinity,
    check_row_numbers,
    check_whole_numbers,
    frame_numbers,
    in_words,
)
from dualboost.labels import as_labels, check_text
from dualboost.learners import Learner, Oracle, Stumps
from dualboost.learners.categories import with_categories
from dualboost.learners.class_stumps import ClassStumps
from dualboost.rows import Rows, refuse_masked

__all__ = [
    "TrainingData",
    "check_truth_values",
    "check_whole_number",
    "further_data",
    "of_common_size",
    "thread_count",
    "training_data",
]

_PIECE = 1 << 16  # rows numbered at once
_SEEDS = 1 << 32


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Checked training data without the rows of weight zero."""

    X: Any
    codes: np.ndarray
    """The number of each row's class, in as few bytes as the number of classes needs."""
    weights: np.ndarray | None
    classes: np.ndarray
    present: np.ndarray | None
    """Which of the caller's rows are here; None for all."""
    n_given: int
    extras: Mapping[str, np.ndarray]
    """What else was given for each row."""
    categorical: tuple[int, ...] = ()
    """The columns that hold categories."""
    control: Control = field(default_factory=Control)
    held_out: TrainingData | None = None
    """Rows to judge by, which are not fitted to."""
    pairs: bool = False
    """Whether a row of the game is a pair: an example, and a class that it does not have."""
    copies: Copies | None = None
    """The rows that were merged; None where all are as they were given."""

    @property
    def signs(self) -> np.ndarray:
        """+1 for the second of two classes, -1 for the first."""
        return np.where(self.codes == 1, np.int8(1), np.int8(-1))

    def rows(self, threads: int) -> Rows:
        """What is shared about the rows of the game."""
        weights = len(self.codes) if self.weights is None else self.weights
        return ClassStumps.rows_of(weights, len(self.classes), threads) if self.pairs else Rows.of(weights, threads)

    @property
    def shares(self) -> np.ndarray:
        """What each example counts; the sum is 1."""
        return Rows.of(len(self.codes) if self.weights is None else self.weights).prior

    def in_pairs(self) -> TrainingData:
        """For a margin over all classes at once."""
        return replace(self, pairs=True, held_out=None if self.held_out is None else self.held_out.in_pairs())

    def leads(self, votes: np.ndarray) -> np.ndarray:
        """How far each example's class is ahead: the signed score, or the lead over the best of the other classes."""
        if votes.ndim == 1:
            return np.where(self.codes == 1, votes, -votes)
        own = np.arange(len(votes)), self.codes
        others = votes.copy()
        others[own] = -np.inf
        return votes[own] - others.max(axis=1)

    def right(self, votes: np.ndarray) -> np.ndarray:
        """Which examples these votes call by their class; a tie goes to the class that comes first."""
        return (votes > 0) == (self.codes == 1) if votes.ndim == 1 else np.argmax(votes, axis=1) == self.codes

    def against_rest(self, k: int) -> TrainingData:
        """Two classes: the rows of class k are the second."""
        held_out = None if self.held_out is None else self.held_out.against_rest(k)
        return replace(self, codes=(self.codes == k).astype(np.int8), classes=np.array([0, 1]), held_out=held_out)

    def share(self, share: float) -> TrainingData:
        """With this share of the time left."""
        return replace(self, control=self.control.share(share))

    def part(self, chosen: np.ndarray) -> TrainingData:
        """Only these rows."""
        weights = None if self.weights is None else self.weights[chosen]
        extras = {name: values[chosen] for name, values in self.extras.items()}
        codes, kind = self.codes[chosen], self.categorical
        part = TrainingData(rows_of(self.X, chosen), codes, weights, self.classes, None, len(codes), extras, kind)
        return replace(part, control=self.control.aside(), pairs=self.pairs)

    def bound(self, learner: Learner, rows: Rows, chosen: np.ndarray | None = None) -> Oracle:
        """The learner, told which columns hold categories, with these data or the chosen rows of them."""
        told = with_categories(learner, self.categorical)
        if self.pairs:
            return self._bound_pairs(learner, rows, chosen)
        X, signs = (self.X, self.signs) if chosen is None else (rows_of(self.X, chosen), self.signs[chosen])
        return told.bind(X, signs, rows)

    def _bound_pairs(self, learner: Learner, rows: Rows, chosen: np.ndarray | None) -> Oracle:
        if not isinstance(learner, Stumps) or learner.monotone:
            raise ValueError(
                'multiclass="pairs" has stumps without directions only: take multiclass="rest" for anything else.'
            )
        X, codes = (self.X, self.codes) if chosen is None else (rows_of(self.X, chosen), self.codes[chosen])
        categorical = tuple(sorted({*self.categorical, *learner.categorical}))
        return ClassStumps(learner.max_bins, categorical).bind(X, codes, rows)

    def of_examples(self, values: np.ndarray, joined: Callable[..., np.ndarray]) -> np.ndarray:
        """Values of the rows of the game, joined to one for each example."""
        return joined(values.reshape(len(self.codes), -1), axis=1) if self.pairs else values

    def only(self, chosen: np.ndarray) -> TrainingData:
        """Only the rows of this mask, which still stand for the caller's."""
        present = np.ones(self.n_given, dtype=bool) if self.present is None else self.present.copy()
        copies = None if self.copies is None else self.copies.only(chosen)
        present[present] = chosen if self.copies is None else chosen[self.copies.of]
        return replace(self.part(chosen), present=present, n_given=self.n_given, control=self.control, copies=copies)

    def without_copies(self) -> TrainingData:
        """Equal rows of one class as one, of the weight of all: the same data for weights as for copies, to the bit."""
        held_out = None if self.held_out is None else self.held_out.without_copies()
        copies = Copies.among(self.X, self.codes, self.weights)
        if copies is None:
            return replace(self, held_out=held_out)
        return replace(
            self.part(copies.first), weights=copies.weights, present=self.present, n_given=self.n_given,
            control=self.control, held_out=held_out, copies=copies,
        )  # fmt: skip

    def for_all_rows(self, values: np.ndarray, absent: float) -> np.ndarray:
        """One value for each of the caller's rows; `absent` for those of weight zero."""
        return self._placed(values if self.copies is None else values[self.copies.of], absent)

    def shared_by_all_rows(self, values: np.ndarray) -> np.ndarray:
        """What rows carry, for each of the caller's: copies share it by their weight, rows of weight zero have none."""
        return self._placed(values if self.copies is None else values[self.copies.of] * self.copies.shares, 0.0)

    def _placed(self, values: np.ndarray, absent: float) -> np.ndarray:
        """Values of the rows that are present, under the numbers of the caller's."""
        if self.present is None:
            return values
        full = np.full((self.n_given, *values.shape[1:]), absent)
        full[self.present] = values
        return full


def training_data(estimator, X, y, sample_weight, extras: Mapping[str, Any] | None = None) -> TrainingData:
    """Validate, number the classes, drop what has no weight. `extras` hold one value a row; None is left out."""
    if sample_weight is not None:
        _check_weights(sample_weight)
    if y is not None:
        labels = as_labels(y)  # before scikit-learn, which says less
        y = labels if labels.ndim else y
    X, y, categorical = _training_table(estimator, X, y, sample_weight)
    check_classification_targets(y)
    given = {name: _one_a_row(name, values, len(y)) for name, values in (extras or {}).items() if values is not None}
    weights = None if sample_weight is None else _weights(sample_weight, X)
    present: np.ndarray | None = None
    n_given = len(y)
    if weights is not None and weights.min() <= 0:
        present = weights > 0
        X, y, weights = rows_of(X, present), y[present], weights[present]
        given = {name: values[present] for name, values in given.items()}
    classes, codes = _numbered(y)
    check_text(classes)
    _check_several(classes, type(estimator).__name__)
    return TrainingData(X, codes, weights, classes, present, n_given, given, categorical)


def further_data(estimator, X, y, sample_weight, classes: np.ndarray) -> TrainingData:
    """Labelled rows that are not fitted to, by the same rules; their labels must be among the classes."""
    if sample_weight is not None:
        _check_weights(sample_weight)
    X, y = predict_input(estimator, X), column_or_1d(as_labels(y))
    check_consistent_length(X, y)
    weights = None if sample_weight is None else _weights(sample_weight, X)
    if weights is not None and weights.min() <= 0:
        present = weights > 0
        X, y, weights = rows_of(X, present), y[present], weights[present]
    unknown = np.setdiff1d(y, classes).tolist()
    if unknown:
        raise ValueError(f"the label {unknown[0]!r} is not among the classes that are fitted to.")
    return TrainingData(X, _numbers(y, classes), weights, classes, None, len(y), {})


def _numbered(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes, and the number of each row's class; sorting all labels with their places would take much memory."""
    classes = np.unique(y)
    return classes, _numbers(y, classes)


def _numbers(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    kind = np.min_scalar_type(-len(classes))
    return np.concatenate([np.searchsorted(classes, y[k : k + _PIECE]).astype(kind) for k in range(0, len(y), _PIECE)])


def _one_a_row(name: str, values, n_rows: int) -> np.ndarray:
    refuse_masked(name, values)
    values = np.asarray(values)
    if values.shape != (n_rows,):
        raise ValueError(f"{name} must hold one value for each of the {n_rows} rows; its shape is {values.shape}.")
    return values


def _training_table(estimator, X, y, sample_weight):
    """(X as numbers, y, the columns that hold categories); the estimator learns names and categories."""
    frame = as_frame(X)
    if frame is not None:
        check_infinity(frame)
    check_whole_numbers(X, frame)
    estimator.column_names_ = [] if frame is None else frame.odd_names
    if frame is None or frame.plain:
        table, y = validated(estimator, X, y=y)
        estimator.categories_ = {}
        return table, y, ()
    read = frame_numbers(frame, _with_weight(sample_weight, len(frame)))
    table, y = validate_data(estimator, read.table, y=y, **INPUT)
    _check_feature_names(estimator, frame.table, reset=True)
    estimator.categories_ = read.categories
    return table, y, read.columns


def _with_weight(sample_weight, n_rows: int) -> np.ndarray | slice:
    """The rows that are there; all of them where the weights are none or wrong, which is told later."""
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        return slice(None)
    return weights > 0 if weights.shape == (n_rows,) else slice(None)


def _check_weights(sample_weight) -> None:
    """Refuse what has no number for each row."""
    if isinstance(sample_weight, str):
        raise ValueError(
            f"sample_weight must be a number for each row, not {sample_weight!r}; compute_sample_weight of "
            'sklearn.utils.class_weight makes them, for example with "balanced".'
        )
    check_row_numbers("sample_weight", sample_weight)


def _weights(sample_weight, X) -> np.ndarray:
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weights.max() > 0:
        raise ValueError("All sample weights are zero: give at least one row of each class a positive weight.")
    return of_common_size(weights)


def of_common_size(weights: np.ndarray) -> np.ndarray:
    """Weights whose sums and squares neither overflow nor vanish: scaled by a power of two where they would."""
    largest = float(weights.max())
    if 1e-100 < largest < 1e100:
        return weights
    scaled = np.ldexp(weights, -int(np.frexp(largest)[1]))
    return np.where(weights > 0, np.maximum(scaled, np.finfo(np.float64).tiny), 0.0)  # no row with weight is lost


def _check_several(classes: np.ndarray, name: str) -> None:
    if len(classes) == 1:
        raise ValueError(
            f"{name} needs rows of two classes, but all rows with weight are of one class, {classes.tolist()[0]!r}."
        )


def thread_count(n_jobs) -> int:
    """scikit-learn's n_jobs as a number of threads."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None, a number of threads such as 2, or -1 for all cores, not {n_jobs!r}.")
    threads = int(effective_n_jobs(n_jobs))
    if threads > MOST_THREADS:
        raise ValueError(f"n_jobs may be at most {MOST_THREADS}, not {n_jobs!r}.")
    return threads


def check_truth_values(estimator) -> None:
    """Refuse what is no truth value where one is asked for, and a truth value for a number; `verbose` may be either.

    And arrays where a single value is asked for: compared with one, they would have no truth value themselves. What is
    not looked at in every fit, `random_state` and `verbose`, is looked at here.
    """
    for name, parameter in signature(type(estimator)).parameters.items():
        default, value = parameter.default, getattr(estimator, name, None)
        if isinstance(default, (str, int, float)) and isinstance(value, np.ndarray):
            raise ValueError(
                f"{name} must be a single value, such as {default!r}, not an array of shape {value.shape}."
            )
        truth = isinstance(value, (bool, np.bool_))
        if isinstance(default, bool) and not truth:
            raise ValueError(f"{name} must be True or False, not {value!r}.")
        if truth and name != "verbose" and isinstance(default, (int, float)) and not isinstance(default, bool):
            raise ValueError(f"{name} must be a number, not {value!r}.")
        if truth and isinstance(default, str) and default == "auto":
            raise ValueError(f'{name} must be a number or "auto", not {value!r}.')
    _check_seed(getattr(estimator, "random_state", None))
    _check_verbose(getattr(estimator, "verbose", 0))


def _check_seed(random_state) -> None:
    """By scikit-learn's rules: None, numpy.random itself, a generator of the old kind, or a seed of one."""
    if random_state is None or random_state is np.random or isinstance(random_state, np.random.RandomState):
        return
    whole = isinstance(random_state, Integral) and not isinstance(random_state, bool)
    if not (whole and 0 <= int(random_state) < _SEEDS):
        raise ValueError(
            f"random_state must be None, a whole number from 0 to {_SEEDS - 1} or a numpy.random.RandomState, "
            f"not {in_words(random_state)}."
        )


def _check_verbose(verbose) -> None:
    if not isinstance(verbose, (Integral, np.bool_)):
        raise ValueError(f"verbose must be 0, or 1 for a progress bar, not {in_words(verbose)}.")


def check_whole_number(name: str, value, low: int, high: float = np.inf) -> None:
    """Refuse a parameter that is not a whole number in [low, high]."""
    if not isinstance(value, Integral) or isinstance(value, bool) or not low <= int(value) <= high:
        limit = f"of at least {low}" if high == np.inf else f"from {low} to {high}"
        raise ValueError(f"{name} must be a whole number {limit}, not {value!r}.")
