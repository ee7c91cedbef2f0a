"""Classifiers for labels of which some are wrong: a bounded loss, the estimated noise rate, the rows to check again.

Krause & Singer's LLM and LLD over trees. A bounded loss alone is not enough: the size of the trees, the number of
rounds and the noise rate are chosen on rows that a fit has not seen, and several fits are averaged.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from dualboost.boosters import Leveraging
from dualboost.boosters.leveraging import RATES, noise_rate
from dualboost.estimators.bagging import Average, deal
from dualboost.estimators.base import BoostedClassifier, Parts
from dualboost.estimators.calibration import Sigmoid, calibration_cost
from dualboost.estimators.keeping import check_checkpoint
from dualboost.estimators.noise_rate import BOLD, TIMID, log_shares, scale_and_rate
from dualboost.estimators.noisy_trials import Found, Settings, Trials, learners_for
from dualboost.estimators.progress import progress
from dualboost.estimators.training import Training
from dualboost.estimators.validation import TrainingData, check_whole_number, of_common_size
from dualboost.fingerprints import fingerprints
from dualboost.game import Certificate, State
from dualboost.labels import as_labels
from dualboost.learners import Learner, Predictor, Stumps
from dualboost.losses import LogisticDifference, LogisticMixture, Loss
from dualboost.products import times
from dualboost.rows import Rows

__all__ = ["LogisticDifferenceClassifier", "LogisticMixtureClassifier"]

_PIECE = 1 << 17  # rows that are scored between two looks at the clock
_NO_SIGNAL = "the labels carry no signal: no model beats the class frequencies on rows that it has not seen"


class NoisyClassifier(BoostedClassifier):
    """What the two have in common. Abstract: a final class names its parameters and its loss."""

    learner: Learner | None
    bags: int
    learning_rate: float
    random_state: int | np.random.RandomState | None

    @abstractmethod
    def _loss(self, rate: float) -> Loss:
        """The bounded loss of this noise rate."""

    @abstractmethod
    def _given_rate(self) -> float | None:
        """The noise rate that was asked for; None to estimate it."""

    @abstractmethod
    def _booster(self) -> Leveraging:
        """How a fit is made."""

    def fit(self, X, y, sample_weight=None, *, eval_set=None):
        """Fit to classes of any label type; NaN is a missing value; weight k is k copies of the row.

        `eval_set`, (X, y) or (X, y, sample_weight), are rows to stop early by; see `Training`. Of bags they choose the
        rounds, in the place of the rows left out, which judge the labels as ever.
        """
        self._check_seeded()
        self._fit(X, y, sample_weight, eval_set=eval_set)
        if hasattr(self, "estimators_"):
            self._join(np.ravel(as_labels(y)), sample_weight)
        return self

    def _check_seeded(self) -> None:
        """A checkpoint is of the same bags."""
        training = self.training if isinstance(self.training, Training) else Training()
        if self.bags and training.checkpoint is not None and self.random_state is None:
            raise ValueError("A checkpoint of bags needs a random_state, so that the next fit deals the same bags.")

    def _join(self, labels: np.ndarray, sample_weight) -> None:
        """Of several classes, each row's noise by the model of its own class against the rest.

        Rows without weight may have labels that are no class: like all of these, they are not judged.
        """
        codes = np.minimum(np.searchsorted(self.classes_, labels), len(self.classes_) - 1)
        self.label_noise_ = np.empty(len(codes))
        for k, model in enumerate(self.estimators_):
            np.copyto(self.label_noise_, model.label_noise_, where=codes == k)
        judged = ~np.isnan(self.label_noise_)
        weights = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
        weights = of_common_size(np.broadcast_to(weights, labels.shape))
        self.noise_rate_ = float(np.average(self.label_noise_[judged], weights=weights[judged]))
        self.loss_history_ = [model.loss_history_ for model in self.estimators_]

    def _fit_two(self, data: TrainingData, rows: Rows) -> None:
        rate = self._given_rate()
        prints = fingerprints(data.X, check_random_state(self.random_state))
        learners = learners_for(data, self.learner, prints)
        bags = deal(prints, data.signs, self.bags)
        if data.control.checkpoint is not None:
            check_checkpoint(data.control.checkpoint, learners[0])
        self.link_ = Sigmoid(1.0)
        if len(bags) < 2:
            # Large trees explain chance too, and one fit leaves out no rows to judge by; only bags make tables dense.
            plain = not (data.categorical or issparse(data.X)) or self.learner is not None
            self._fit_alone(data, rows, learners[-1] if plain else Stumps(), rate)
        else:
            with progress("noise model", self.max_iter, self.verbose) as draw:
                trials = Trials(data, rows, bags, prints, Settings(self._booster(), rate, self.max_iter, draw))
                found = trials.best(learners)
            self._keep_trial(data, rows, found, rate)

    def _fit_alone(self, data: TrainingData, rows: Rows, learner: Learner, given: float | None) -> None:
        """One fit, and three more to parts of the rows, by which the others tell how bold its votes are."""
        self._fit_once(data.share(1 / (1 + calibration_cost(len(data.codes)))), rows, learner, given)

        def scaled(scores: np.ndarray, codes: np.ndarray, shares: np.ndarray, distinct: int) -> Sigmoid:
            margins = np.where(codes == 1, scores, -scores)
            return Sigmoid(scale_and_rate(margins, Rows.of(shares), given, _in_time(data, BOLD))[0])

        self.link_ = self._link_by_folds(
            data,
            lambda model, seen, own_rows: model._fit_once(seen, own_rows, learner, given),
            {"max_iter": self.n_iter_},
            scaled,
        )

    def _settled(self) -> dict[str, Any]:
        return {}

    def _check_parameters(self) -> None:
        self._given_rate()
        check_whole_number("max_iter", self.max_iter, 1)
        check_whole_number("bags", self.bags, 0)
        if not (isinstance(self.learning_rate, Real) and 0 < self.learning_rate <= 1):
            raise ValueError(f"learning_rate is the part of a step taken, in (0, 1], not {self.learning_rate!r}.")
        if not (self.learner is None or isinstance(self.learner, Learner)):
            raise ValueError(f"learner must be one of dualboost.learners or None, not {self.learner!r}.")

    def _keep_trial(self, data: TrainingData, rows: Rows, found: Found, given: float | None) -> None:
        """The averaged model; noise is judged by the fits that have not seen the row."""
        trial, predictor = found.trial, found.predictor(1.0)
        signal = found.signal(data.signs, rows)
        seen = np.isnan(trial.out_margins)
        inside = _margins(data, rows, predictor, trial.inside)
        plain = np.where(seen, inside, trial.out_margins)
        scale, rate = scale_and_rate(plain, rows, given, _in_time(data, TIMID))
        predictor, inside, outside = found.predictor(scale), scale * inside, scale * plain
        if not signal:
            second, first = log_shares(data.signs, rows)
            predictor, outside = Average((), second - first), plain
            inside = times(data.signs, predictor.scores(data.X))
        self.n_iter_, self.predictor_ = max(trial.rounds, 1), predictor
        self.history_, self.status_ = trial.course, trial.words
        self.oob_margins_ = data.for_all_rows(outside, np.nan)
        self._keep_noise(data, rows, (inside, outside, rate))
        self._judge_held_out(data.held_out)
        if not signal:
            self._warn_no_signal()

    def _judge_held_out(self, held_out: TrainingData | None) -> None:
        """Rows that `validation_fraction` keeps from all bags are judged by all of them."""
        if held_out is None or held_out.present is None:
            return
        margins = times(held_out.signs, self.predictor_.scores(held_out.X))
        self.oob_margins_[held_out.present] = margins
        rate = float(np.clip(self.noise_rate_, *RATES))
        self.label_noise_[held_out.present] = LogisticMixture(rate).suspicion(margins)

    def _fit_once(self, data: TrainingData, rows: Rows, learner: Learner, given: float | None) -> None:
        """One fit to all rows, of all rounds; the noise rate by EM where it is to be estimated."""
        loss = LogisticMixture(0.1 if given is None else given)
        booster = replace(self._booster(), estimate=0 if given is not None else max(self._booster().estimate, 1))
        losses = Losses()
        parts = Parts(learner, loss, booster, budget=np.inf, tol=1e-9)
        game, outcome = self._train(data, rows, parts, "noise model", losses)
        self.n_iter_, self.status_ = max(outcome.n_rounds, 1), outcome.status
        self.predictor_ = game.oracle.predictor(outcome.hypotheses, outcome.weights)
        scores = {name: column for name, column in outcome.history.items() if name.startswith("validation")}
        self.history_ = {"loss": np.array([value for (value,) in losses.records]), **scores}
        rate = noise_rate(outcome.state.loss) if given is None else given
        self._keep_noise(data, rows, (outcome.margins, outcome.margins, min(rate, 0.5)))
        if rate >= RATES[1]:
            self._warn_no_signal()

    def _keep_noise(self, data: TrainingData, rows: Rows, found: tuple[np.ndarray, np.ndarray, float]) -> None:
        inside, outside, self.noise_rate_ = found
        rate = float(np.clip(self.noise_rate_, *RATES))
        self.label_noise_ = data.for_all_rows(LogisticMixture(rate).suspicion(outside), np.nan)
        self.loss_history_ = self.history_["loss"]
        self.feature_importances_ = self.predictor_.importances(self.n_features_in_)
        self.margins_ = data.for_all_rows(inside, np.nan)
        loss = self._loss(rate).bind(rows)
        weights = loss.weights(inside)
        self.sample_distribution_ = data.for_all_rows(weights / max(weights.sum(), 1e-300), 0.0)
        self.certificate_ = Certificate(-loss.value(inside), np.inf)

    def _warn_no_signal(self) -> None:
        self.status_ = f"{self.status_}; {_NO_SIGNAL}"
        self.noise_rate_ = 0.5
        self.label_noise_ = np.where(np.isnan(self.label_noise_), np.nan, 0.5)
        warnings.warn(f"{type(self).__name__}: {_NO_SIGNAL}.", ConvergenceWarning, stacklevel=4)


def _margins(data: TrainingData, rows: Rows, vote: Predictor, known: np.ndarray | None) -> np.ndarray:
    """y f(x) of all rows. Where there is no time for it, `known` is the same but for rounding."""
    clock, pieces = data.control.clock, []
    late = clock.patience()
    for begin in range(0, len(data.codes), _PIECE):
        if known is not None and (clock.hurried or late()):
            return known
        pieces.append(vote.scores(data.X[begin : begin + _PIECE], rows.threads))
    return times(data.signs, np.concatenate(pieces))


def _in_time(data: TrainingData, scales: Sequence[float]) -> Sequence[float]:
    """The scales to try: fewer where the time is over."""
    return scales[::4] if data.control.clock.over else scales


class Losses:
    """The loss of every state of a run."""

    def __init__(self) -> None:
        self.records: list[tuple[float, ...]] = []

    def note(self, state: State) -> None:
        self.records.append((state.loss.value(state.z),))

    def resume(self, records: Sequence[tuple[float, ...]], state: State) -> None:
        """Take up what was written down up to this state."""
        self.records = list(records)


def _check_rate(name: str, value) -> float | None:
    if isinstance(value, str) and value == "estimate":
        return None
    if not (isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < 0.5):
        raise ValueError(f'{name} must be "estimate" or a number between 0 and 0.5, both excluded, not {value!r}.')
    return float(value)


class LogisticMixtureClassifier(NoisyClassifier):
    """A model that wrong labels do not bend, the noise rate, and for each row how probably its label is wrong.

    Its probabilities are those of the right label, not of the label that a row would be given: classes that overlap by
    nature look like wrong labels to it. For probabilities of labels as they come, take another classifier.

    Parameters
    ----------
    noise_rate : float in (0, 0.5) or "estimate", default "estimate"
        The share of wrong labels.
    learner : Learner, optional
        What votes. By default trees of 3, 10 or 30 leaves, after a linear vote where that helps, both chosen on rows
        left out; stumps for sparse tables of more than 5 million cells. A single fit takes the largest trees, and
        stumps where there are categories or X is sparse.
    update : int, default 10
        In a single fit (bags=0) the noise rate is estimated anew every so many rounds.
    bags : int, default 10
        How many fits are averaged, each to about 63 % of the rows; the rows it has not seen choose the rounds and judge
        the labels. 0 is one fit of `max_iter` rounds to everything, judged by itself; three more fits to parts of the
        rows tell how far to trust its votes, for the probabilities. Rows of an `eval_set` or a `validation_fraction`
        choose the rounds alone, by the score of the average on them.
    learning_rate : float in (0, 1], default 0.2
        The part of each step that is taken.
    max_iter : int, default 200
        The most rounds.
    training : Training, optional
        Time limit, callbacks, checkpoints (of bags after each try, with a `random_state`), held-out rows. See
        `Training`.
    warm_start : bool, default False
        A further single fit to the same data goes on where this one ended, with a larger `max_iter`. Bags begin anew,
        and end with the same bits.
    n_jobs : int, optional
        Threads; the model does not depend on it.
    random_state : int, RandomState instance or None
        Seeds the bags.
    verbose : int, default 0
        1 shows a progress bar: of bags the rounds of each try, and the loss on rows left out.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    noise_rate_ : float
        The share of wrong labels, given or estimated; 0.5 where the labels carry no signal.
    label_noise_ : ndarray of shape (n_samples,)
        The probability that each training label is wrong, by the fits that have not seen it; by all of them for rows
        that a `validation_fraction` holds out (in a single fit NaN); of several classes, by the model of the given
        class against the rest.
    loss_history_ : ndarray
        The loss of each round, averaged over the bags, and before it that of the linear vote, if the fit began with
        one. It never rises.
    margins_, oob_margins_ : ndarray of shape (n_samples,)
        y f(x) of the model, and of the fits that have not seen the row (of bags only).
    certificate_ : Certificate
        `objective`, the negative loss; nothing bounds a loss that is not convex.
    history_ : dict
        "loss", as above; with held-out rows also "validation", the accuracy after each round, and "validation_loss".
    sample_distribution_, feature_importances_, n_iter_, status_, predictor_
        As in the other classifiers.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import LogisticMixtureClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> wrong = np.arange(0, len(y), 10)
    >>> y[wrong] = 1 - y[wrong]
    >>> model = LogisticMixtureClassifier(bags=5, max_iter=30, random_state=0).fit(X, y)
    >>> suspects = np.argsort(-model.label_noise_)[: len(wrong)]
    >>> bool(np.isin(suspects, wrong).mean() > 0.7)
    True
    """

    def __init__(
        self,
        noise_rate="estimate",
        *,
        learner=None,
        update=10,
        bags=10,
        learning_rate=0.2,
        max_iter=200,
        training=None,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.noise_rate = noise_rate
        self.learner = learner
        self.update = update
        self.bags = bags
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.training = training
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _given_rate(self) -> float | None:
        check_whole_number("update", self.update, 1)
        return _check_rate("noise_rate", self.noise_rate)

    def _loss(self, rate: float) -> Loss:
        return LogisticMixture(rate)

    def _booster(self) -> Leveraging:
        estimate = 0 if self.bags else self.update
        return Leveraging("difference", step="newton", shrink=self.learning_rate, estimate=estimate)


class LogisticDifferenceClassifier(NoisyClassifier):
    """The same model by its other name: a difference of logistic losses, descended by the sure steps of LLD.

    Its probabilities are those of the right label, as those of `LogisticMixtureClassifier` are.

    Parameters
    ----------
    mu : float above 0 or "estimate", default "estimate"
        How far the loss is cut: it lies between 0 and mu; a noise rate of 1 / (1 + e^mu).
    learner, bags, learning_rate, max_iter, training, warm_start, n_jobs, random_state, verbose
        As in `LogisticMixtureClassifier`, like the fitted attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import LogisticDifferenceClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> LogisticDifferenceClassifier(mu=3.0, bags=4, max_iter=20, random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        mu="estimate",
        *,
        learner=None,
        bags=10,
        learning_rate=0.5,
        max_iter=200,
        training=None,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.mu = mu
        self.learner = learner
        self.bags = bags
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.training = training
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _given_rate(self) -> float | None:
        if isinstance(self.mu, str) and self.mu == "estimate":
            return None
        if not (isinstance(self.mu, Real) and not isinstance(self.mu, bool) and 0 < float(self.mu) < 700):
            raise ValueError(f'mu must be "estimate" or a number between 0 and 700, not {self.mu!r}.')
        return LogisticDifference(float(self.mu)).noise_rate

    def _loss(self, rate: float) -> Loss:
        return LogisticDifference(LogisticMixture(rate).mu)

    def _booster(self) -> Leveraging:
        return Leveraging("difference", shrink=self.learning_rate)
