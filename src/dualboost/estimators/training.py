"""`Training`: when a fit stops besides its own reasons, what it keeps on the way, and who looks on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike, fspath

from dualboost.game import State

__all__ = ["Training"]

Callback = Callable[[State], str | None]


@dataclass(frozen=True)
class Training:
    """How a fit is watched: the parameter `training` of every classifier.

    Parameters
    ----------
    seconds : float, optional
        The most time for the whole fit, calibration included. The first round is never cut, nor is a call of a
        scikit-learn estimator: the fit ends within about a second of the limit, or such a call if that takes longer,
        and its certificate is as valid as any. Classes whose turn has not come by then are fitted to a sample of the
        rows, if there are many.
    validation_fraction : float in (0, 1), optional
        Hold this share of the distinct rows of each class out, score the ensemble on them, and keep the best one. Equal
        rows stay together. An `eval_set` given to `fit` takes their place.
    patience : int, default 50
        Stop after so many rounds without a better held-out score.
    checkpoint : str or path, optional
        A file to keep the run in while it lasts. The same fit with the same file takes it up, and ends with the same
        bits as one that was never broken off. One file for one fit at a time.
    checkpoint_seconds : float, default 60
        How often it is written, at most; only at rounds 4, 8, 16 and every 32nd.
    callbacks : tuple of callables, default ()
        Each is called with the `State` after every round; a string that it returns is a reason to stop.

    Notes
    -----
    The score is the weighted accuracy on the held-out rows; of equal ones the smaller logistic loss of the votes counts
    as better. It is taken after every round up to the 64th, then about every 64th part of the rounds so far.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import AdaBoostClassifier, Training
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> training = Training(validation_fraction=0.2, patience=30, seconds=60)
    >>> model = AdaBoostClassifier(n_estimators=2000, training=training).fit(X, y)
    >>> model.n_iter_ < 2000, "validation" in model.history_
    (True, True)
    """

    seconds: float | None = None
    validation_fraction: float | None = None
    patience: int = 50
    checkpoint: str | None = None
    checkpoint_seconds: float = 60.0
    callbacks: tuple[Callback, ...] = ()

    def __post_init__(self):
        if not (self.seconds is None or (_is_number(self.seconds) and self.seconds > 0)):
            raise ValueError(f"seconds is a time limit and must be a number above 0, or None, not {self.seconds!r}.")
        share = self.validation_fraction
        if not (share is None or (_is_number(share) and 0 < share < 1)):
            raise ValueError(f"validation_fraction must be a number between 0 and 1, or None, not {share!r}.")
        if not isinstance(self.patience, Integral) or isinstance(self.patience, bool) or self.patience < 1:
            raise ValueError(f"patience is a number of rounds of at least 1, not {self.patience!r}.")
        if isinstance(self.checkpoint, PathLike):
            object.__setattr__(self, "checkpoint", fspath(self.checkpoint))  # a string can be kept in a model file
        if not (self.checkpoint is None or (isinstance(self.checkpoint, str) and self.checkpoint)):
            raise ValueError(f"checkpoint must be the path of a file, or None, not {self.checkpoint!r}.")
        if not (_is_number(self.checkpoint_seconds) and self.checkpoint_seconds >= 0):
            raise ValueError(f"checkpoint_seconds must be a number of at least 0, not {self.checkpoint_seconds!r}.")
        if not (isinstance(self.callbacks, tuple) and all(callable(callback) for callback in self.callbacks)):
            raise ValueError(f"callbacks must be a tuple of functions of the state, not {self.callbacks!r}.")

    def __deepcopy__(self, memo) -> Training:
        """Itself, which nobody can change: a cloned classifier calls the caller's own callbacks."""
        return self


def _is_number(value) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def check_training(training) -> None:
    """Refuse what is no `Training`."""
    if not (training is None or isinstance(training, Training)):
        raise ValueError(f"training must be a Training such as Training(seconds=60), or None, not {training!r}.")
