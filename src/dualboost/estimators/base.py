"""What all classifiers here share: the rules for input, several classes, probabilities, what is kept of a run.

A final class names its parameters, checks them in `_check_parameters`, and fits two classes in `_fit_two`: it chooses
the parts of the game, plays it with `_train` and keeps the outcome with `_keep`. More classes are one model for each
class against the rest.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dualboost.boosters import Booster
from dualboost.estimators.against_rest import fit_each_against_rest
from dualboost.estimators.calibration import (
    Learn,
    Link,
    calibrated,
    calibration_cost,
    in_haste,
    learned,
    with_likeliest,
)
from dualboost.estimators.control import Control
from dualboost.estimators.holding_out import with_held_out
from dualboost.estimators.hooks import CallbackSupport, Hooks, with_hooks
from dualboost.estimators.keeping import remove_checkpoints
from dualboost.estimators.nested import NestedParameters
from dualboost.estimators.new_rows import predict_input
from dualboost.estimators.playing import Parts, Player
from dualboost.estimators.selection import rough
from dualboost.estimators.training import Training, check_training
from dualboost.estimators.validation import TrainingData, check_truth_values, thread_count, training_data
from dualboost.game import Certificate, Game, Pool, State
from dualboost.learners import Learner, Oracle, Predictor, Stumps
from dualboost.learners.base import Directed
from dualboost.one_thread import one_thread
from dualboost.products import times
from dualboost.rows import Rows
from dualboost.run import Named
from dualboost.solve import Outcome, finish_again

__all__ = ["BoostedClassifier", "Parts", "check_booster", "check_learner", "with_a_vote"]


_HASTE = 3.0  # seconds in which not even the content of all rows should be looked at
_FEW = 256  # rows that are scored by one thread


def _has_probabilities(model: BoostedClassifier) -> bool:
    """As it was fitted, whatever its parameters say by now; before that, as it will be."""
    if not model.__sklearn_is_fitted__():
        return model.has_odds or getattr(model, "calibrate", True)
    return hasattr(getattr(model, "estimators_", [model])[0], "link_")


def _all_at_once(model: BoostedClassifier) -> bool:
    """Whether one game is about all classes, not one about each against the rest."""
    return getattr(model, "multiclass", "rest") == "pairs"


class BoostedClassifier(Player, CallbackSupport, ClassifierMixin, NestedParameters):
    """A weighted vote of hypotheses. Abstract: a final class writes `__init__`, `fit` and the abstract methods.

    A final class has at least the parameters `max_iter`, `n_jobs` and `verbose`. With a parameter `calibrate` its
    probabilities are learned out of fold; without one, `_fit_two` sets `link_`.
    """

    max_iter: int
    n_jobs: int | None
    verbose: int
    classes_: np.ndarray
    n_features_in_: int
    predictor_: Predictor
    link_: Link
    history_: Any
    status_: str
    categories_: dict[str, list]
    column_names_: list[str]
    feature_names_in_: np.ndarray
    training: Training | None = None
    warm_start: bool = False
    has_odds: ClassVar[bool] = False
    """Whether its loss gives probabilities where none are learned."""
    widest: ClassVar[Certificate] = Certificate(-np.inf, np.inf)
    """What is true of every vote."""

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse wrong parameters, one sentence each."""

    @abstractmethod
    def _fit_two(self, data: TrainingData, rows: Rows) -> None:
        """Fit to two classes: set `predictor_` and the other fitted attributes."""

    @abstractmethod
    def _settled(self) -> dict[str, Any]:
        """The parameters that the fit chose from the data; models on parts of it need not choose again."""

    def _with_rounds(self, most: int) -> dict[str, Any]:
        """The parameter that limits the rounds."""
        return {"max_iter": most}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "predictor_") or hasattr(self, "estimators_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    @with_hooks
    def _fit(self, X, y, sample_weight, extras: Mapping[str, Any] | None = None, eval_set=None):
        """Check everything, then fit; `extras` hold one value for each row and reach `_fit_two` in its data."""
        check_training(self.training)
        check_truth_values(self)
        control = Control.of(self.training, self.warm_start)
        self._check_parameters()
        earlier = getattr(self, "estimators_", [])  # of an earlier fit to more classes
        for name in ("estimators_", "predictor_", "link_"):  # a fit that fails must not leave the vote of other data
            self.__dict__.pop(name, None)
        data = replace(training_data(self, X, y, sample_weight, extras), control=control)
        data = self._prepared(self._hooked(with_held_out(self, data, eval_set, control.training)))
        with one_thread(), control.ctrl_c.heard(control.clock):
            if len(data.classes) == 2 or _all_at_once(self):
                self._fit_and_calibrate(data if len(data.classes) == 2 else data.in_pairs())
            else:
                check_no_direction(self, len(data.classes))
                fit_each_against_rest(self, data, earlier, self._most_tasks())
            self.classes_ = data.classes
        remove_checkpoints(control, len(getattr(self, "estimators_", [self])))
        if data.control.hooks is not None:
            data.control.hooks.end(dict)
        control.ctrl_c.report(control.clock, type(self).__name__)
        return self

    def _prepared(self, data: TrainingData) -> TrainingData:
        """The rows as they are fitted to."""
        return data

    def _hooked(self, data: TrainingData) -> TrainingData:
        """With scikit-learn's callbacks, if there are any: rounds are their tasks, or classes and then rounds."""
        if not getattr(self, "_skl_callbacks", None):
            return data
        several = len(data.classes) > 2 and not _all_at_once(self)
        hooks = Hooks.of(self, data.X, data.classes[data.codes], len(data.classes) if several else self._most_tasks())
        return replace(data, control=replace(data.control, hooks=hooks))

    def _most_tasks(self) -> int | None:
        """How many rounds there may be; bags are tried with several learners, nobody knows how many."""
        return None if getattr(self, "bags", 0) else self.max_iter

    def _fit_and_calibrate(self, data: TrainingData) -> None:
        """The model, and three more for its probabilities, which share its time."""
        calibrate, control = getattr(self, "calibrate", False), data.control
        timed = data.share(1 / (1 + calibration_cost(len(data.codes)))) if calibrate else data
        self._fit_two(timed, data.rows(thread_count(self.n_jobs)))
        if calibrate:
            # As many rounds as were chosen, or there was time for.
            most = max(self.n_iter_, 1) if control.part in control.stopped else self.max_iter
            settled = {**self._settled(), **self._with_rounds(most)}
            self.link_ = self._link_by_folds(data, lambda model, seen, rows: model._fit_two(seen, rows), settled)

    def _link_by_folds(
        self,
        data: TrainingData,
        fit: Callable[[Any, TrainingData, Rows], None],
        settled: dict[str, Any],
        learn: Learn = learned,
    ) -> Link:
        """From the votes of models that are fitted in this way to parts of the rows, each on the others.

        They are brought to the size of our own votes. Of nearly equal margins one vote may have all its weight on one
        side and another have it cancel: sizes say something within a model, and little from one to the next.
        """
        judged = in_haste(data) if data.control.clock.left() < _HASTE else data
        size, shares, threads = self._size_of_votes(judged), iter((1 / 3, 1 / 2, 1.0)), thread_count(self.n_jobs)

        def score(seen: TrainingData, unseen: TrainingData) -> np.ndarray:
            model = clone(self).set_params(verbose=0, **settled)
            model.n_features_in_ = self.n_features_in_
            fit(model, seen.share(next(shares, 1.0)), seen.rows(threads))
            own = model._size_of_votes(seen)
            return model._scores(unseen.X) * (size / own if own > 0 else 1.0)

        return calibrated(judged, score, learn, self.__dict__.get("link_"))

    def _size_of_votes(self, data: TrainingData) -> float:
        """The mean over the rows of how far votes are from a tie."""
        votes = self._scores(data.X)
        sizes = np.abs(votes) if votes.ndim == 1 else np.ptp(votes, axis=1)
        return float(data.shares @ sizes)

    def _forget_proofs(self, seen: str) -> None:
        """The vote was found on some of the rows, which `seen` names: nothing is proved about the others."""
        self.certificate_, self.status_ = self.widest, f"{seen}, there {self.status_}"

    def _keep(self, data: TrainingData, oracle: Oracle, outcome: Outcome) -> None:
        """The fitted attributes that every classifier has."""
        self.certificate_, self.history_ = outcome.certificate, outcome.history
        self.n_iter_, self.status_ = outcome.n_rounds, outcome.status
        self.predictor_ = oracle.predictor(outcome.hypotheses, outcome.weights)
        self.feature_importances_ = self.predictor_.importances(self.n_features_in_)
        self.margins_ = data.for_all_rows(data.of_examples(outcome.margins, np.min), np.nan)
        self.sample_distribution_ = data.shared_by_all_rows(data.of_examples(outcome.distribution, np.sum))

    def decision_function(self, X):
        """The vote: positive speaks for classes_[1]; of more than two classes one column each, the largest wins.

        A column is the log-odds of its class against the rest where probabilities were learned, else the vote.
        """
        check_is_fitted(self)
        X = predict_input(self, X)
        return self._votes(X) if hasattr(self, "estimators_") else self._scores(X)

    def _scores(self, X) -> np.ndarray:
        # To ask how many threads there are takes longer than a few rows do.
        return self.predictor_.scores(X, thread_count(self.n_jobs) if X.shape[0] > _FEW else 1)

    def _votes(self, X) -> np.ndarray:
        return self._side_by_side([model._scores(X) for model in self.estimators_])

    def _side_by_side(self, votes: list[np.ndarray]) -> np.ndarray:
        """The votes of the models of all classes, made comparable."""
        if not _has_probabilities(self):
            return np.column_stack(votes)
        return np.column_stack(
            [model.link_.log_odds(vote) for model, vote in zip(self.estimators_, votes, strict=True)]
        )

    def predict(self, X):
        """The class that wins the vote; a tie goes to the class that comes first."""
        return self._winners(self.decision_function(X))

    def _winners(self, votes: np.ndarray) -> np.ndarray:
        return self.classes_[_winning(votes)]

    @available_if(_has_probabilities)
    def predict_proba(self, X):
        """The probability of each class; the likeliest is the one that `predict` names."""
        return self._chances(self.decision_function(X))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X):
        """The logarithm of the probabilities."""
        with np.errstate(divide="ignore"):  # the logarithm of 0 is the truth there
            return np.log(self.predict_proba(X))

    def _chances(self, votes: np.ndarray) -> np.ndarray:
        return with_likeliest(self._linked(votes), _winning(votes))

    def _linked(self, votes: np.ndarray) -> np.ndarray:
        if votes.ndim == 2 and not hasattr(self, "estimators_"):
            return self.link_.of(votes)
        if votes.ndim == 2:
            odds = 1 / (1 + np.exp(-votes))
            return odds / odds.sum(axis=1, keepdims=True)
        P = np.empty((len(votes), 2))
        P[:, 1] = self.link_.of(votes)
        P[:, 0] = 1 - P[:, 1]
        return P


def _winning(votes: np.ndarray) -> np.ndarray:
    """The number of the class that wins each vote."""
    return (votes > 0).astype(int) if votes.ndim == 1 else np.argmax(votes, axis=1)


def with_a_vote(game: Game, outcome: Outcome, control: Control, max_iter: int) -> Outcome:
    """Another one where the empty ensemble has the best soft margin: 0 is no use to a classifier.

    Where a run has come to its end, it is the better of the last one and of a rough vote, for the last one of a linear
    program may be empty too. Where it was stopped, the last one must do, or a single hypothesis.
    """
    if len(outcome.weights):
        return outcome
    last, broken_off = outcome.state, control.part in control.broken_off
    states, at_its_end = [last], bool(last.status) or (outcome.n_rounds >= max_iter and not last.w.any())
    if at_its_end and not broken_off:
        found = rough(game, control.clock, max_iter).state
        states.append(replace(last, pool=found.pool, w=found.w, z=found.z))
    state = max(states, key=lambda state: -game.loss.value(state.z) if state.w.any() else -np.inf)
    if not state.w.any():
        state = _first_vote(game, last, outcome.named if broken_off else None)
    if not state.w.any():
        return outcome
    # What the status says of a gap is true of the vote that was found.
    status = f"{outcome.status} (of the empty vote, which is no classifier: another one is kept)"
    return replace(finish_again(game, outcome, state), status=status)


def _first_vote(game: Game, state: State, named: Named | None) -> State:
    """With the hypothesis of the largest edge under the given weights.

    Where there is no time to ask for it, `named` is the last one that the learner named, for the weights of its round:
    then the better of this one and of the first that was met, if one of them says anything.
    """
    prior = np.array(game.rows.prior)
    met = [] if named is None else [named[0], *state.pool.keys[:1]]
    votes = [(float(prior @ game.oracle.column(hypothesis)), hypothesis) for hypothesis in met]
    if isinstance(game.oracle, Directed):
        votes = [
            vote for vote, one_sign in zip(votes, game.oracle.directed(met), strict=True) if vote[0] > 0 or not one_sign
        ]
    if not any(edge for edge, _ in votes):
        answer = game.oracle.best(prior)
        votes = [(float(answer.edges[0]), answer.hypotheses[0])]
    edge, hypothesis = max(votes, key=lambda vote: abs(vote[0]))
    weight = float(np.sign(edge)) * min(game.budget, 1.0)
    margins = times(game.oracle.column(hypothesis), weight)
    return replace(state, pool=Pool.of_record([hypothesis]), w=np.array([weight]), z=margins)


def check_learner(learner, max_bins: int) -> Learner:
    """The learner that was asked for; stumps where none was."""
    if not (learner is None or isinstance(learner, Learner)):
        raise ValueError(f"learner must be one of dualboost.learners, such as Stumps(), or None, not {learner!r}.")
    return Stumps(max_bins) if learner is None else learner


def check_no_direction(model, n_classes: int) -> None:
    """Refuse `monotone` for several classes: a vote cannot rise for each of them, and shares of votes do neither."""
    if _has_direction(getattr(model, "learner", None)):
        raise ValueError(f"monotone speaks of the vote for one of two classes, and y has {n_classes}: drop it.")


def _has_direction(learner) -> bool:
    return bool(getattr(learner, "monotone", ())) or any(map(_has_direction, getattr(learner, "learners", ())))


def check_booster(booster) -> None:
    if not (booster is None or isinstance(booster, Booster)):
        raise ValueError(
            f"booster must be one of dualboost.boosters, such as TotallyCorrective(), or None, not {booster!r}."
        )
