"""A linear vote of words for the audit of text: counts are weighed, then all words move at once under a bounded loss.

Krause & Singer's LLD in its parallel form with the spectral step. Each document is judged by a fit to other documents;
how many rounds to play is read off the same documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state

from dualboost.boosters import Leveraging
from dualboost.boosters.leveraging import RATES
from dualboost.estimators.noise_rate import scale_and_rate
from dualboost.fingerprints import fingerprints
from dualboost.game import Game, State, rounds
from dualboost.learners import Matrix
from dualboost.losses import LogisticMixture
from dualboost.rows import Rows

__all__ = ["TextModel", "weighed"]

_STRIDE = 20  # rounds between two looks at the documents left out
_RATE = 0.02


class TextModel(ClassifierMixin, BaseEstimator):
    """Two classes of documents by their words; judges each document by fits that have not seen it.

    Parameters
    ----------
    folds : int
        Documents are judged by fits to the other folds.
    max_iter : int
        The most rounds.
    random_state : int
        Seeds the folds.
    """

    def __init__(self, folds=4, max_iter=400, random_state=0):
        self.folds = folds
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X, y):
        """X holds counts, sparse; y two classes."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        signs = np.where(codes == 1, 1.0, -1.0)
        counts = sp.csr_array(X, dtype=np.float64)
        self.idf_ = rarity(counts)
        table = weighed(counts, self.idf_)
        prints = fingerprints(counts, check_random_state(self.random_state))
        fold_of = (prints % np.uint64(self.folds)).astype(np.int64)
        self.n_iter_, margins = self._held_out(table, signs, fold_of)
        self.weights_ = _vote(list(islice(_run(table, signs), self.n_iter_ + 1))[-1])
        rows = Rows.of(len(signs))
        self.scale_, self.noise_rate_ = scale_and_rate(margins, rows)
        self.weights_ = self.scale_ * self.weights_
        self.margins_ = signs * (table @ self.weights_)
        self.oob_margins_ = self.scale_ * margins
        self._judge(signs, rows, LogisticMixture(_RATE).bind(rows).value(margins))
        return self

    def _held_out(self, table, signs: np.ndarray, fold_of: np.ndarray) -> tuple[int, np.ndarray]:
        """The number of rounds with the least loss on documents left out, and their margins there."""
        parts = [(fold_of != fold, fold_of == fold) for fold in np.unique(fold_of)]
        runs = [_run(table[train], signs[train]) for train, _ in parts if len(np.unique(signs[train])) == 2]
        if len(runs) < len(parts) or len(parts) < 2:
            return self.max_iter, np.zeros(len(signs))
        loss = LogisticMixture(_RATE).bind(Rows.of(len(signs)))
        best = (np.inf, 1, np.zeros(len(signs)))
        for t in range(_STRIDE, self.max_iter + 1, _STRIDE):
            margins = np.zeros(len(signs))
            for run, (_, test) in zip(runs, parts, strict=True):
                margins[test] = signs[test] * (table[test] @ _vote(list(islice(run, _STRIDE))[-1]))
            now = loss.value(margins)
            if now >= best[0]:
                break
            best = (now, t, margins)
        return best[1], best[2]

    def _judge(self, signs: np.ndarray, rows: Rows, loss: float) -> None:
        share = float(np.mean(signs > 0))
        constant = -share * np.log(share) - (1 - share) * np.log1p(-share)
        self.status_ = f"{self.n_iter_} rounds, the best on documents left out"
        if loss >= constant:
            self.status_ += "; the labels carry no signal"
            self.noise_rate_ = 0.5
        rate = float(np.clip(self.noise_rate_, *RATES))
        self.label_noise_ = LogisticMixture(rate).suspicion(self.oob_margins_)

    def decision_function(self, X):
        """The vote of the words; positive speaks for classes_[1]."""
        return weighed(sp.csr_array(X, dtype=np.float64), self.idf_) @ self.weights_

    def predict(self, X):
        """The class that wins the vote."""
        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    def terms(self, row) -> np.ndarray:
        """What each word of one document adds to the vote."""
        return (weighed(sp.csr_array(row, dtype=np.float64), self.idf_).toarray().ravel()) * self.weights_


def rarity(counts) -> np.ndarray:
    """The weight of each word: the logarithm of how few documents hold it."""
    held = np.bincount(counts.indices[counts.data != 0], minlength=counts.shape[1])
    return np.log((1 + counts.shape[0]) / (1 + held)) + 1


def weighed(counts, idf: np.ndarray):
    """Counts on a logarithmic scale, times the rarity of the word, each document of length 1."""
    table = sp.csr_array(counts, copy=True)
    table.data = np.sign(table.data) * np.log1p(np.abs(table.data)) * idf.take(table.indices)
    length = np.sqrt(np.asarray(table.multiply(table).sum(axis=1)).ravel())
    table.data /= np.repeat(np.where(length > 0, length, 1.0), np.diff(table.indptr))
    return table


def _run(table, signs: np.ndarray) -> Iterator[State]:
    rows = Rows.of(len(signs))
    game = Game(LogisticMixture(_RATE).bind(rows), Matrix().bind(table, signs, rows), rows, budget=np.inf, tol=1e-12)
    for state, _ in rounds(game, Leveraging("difference", "parallel")):
        yield state


def _vote(state: State) -> np.ndarray:
    """The weights over all words: a parallel run holds them in order."""
    return state.w
