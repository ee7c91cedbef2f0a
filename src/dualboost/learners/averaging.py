"""What a learner may say besides: the average hypothesis under softmax weights.

Mitsuboshi, Hatano & Takimoto, section 3, with the logarithm that is missing in their printed dual.

With J(d) = log(sum of exp(eta * edge)) / eta over all hypotheses of both signs, the average margin vector is the
gradient of J, and J exceeds the largest edge by at most log(size of the class) / eta.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from dualboost.learners.base import Answer, Hypothesis, Oracle

__all__ = ["Averaging", "Mixture", "parted", "softmax"]


class Mixture:
    """A weighting of a whole class as one hypothesis: real valued, in [-1, 1].

    `values` are the parameters of the class it belongs to: net weights over columns or stumps (weight minus that of the
    negation), net flows over the edges of a diagram. Equal parameters are equal hypotheses, so that it can be a key.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.learners.averaging import Mixture
    >>> Mixture(np.array([0.5, -0.25])) == Mixture(np.array([0.5, -0.25]))
    True
    """

    def __init__(self, values: np.ndarray):
        values = np.array(values, dtype=np.float64)
        values.flags.writeable = False
        self.values = values

    @cached_property
    def _digest(self) -> int:
        return hash(self.values.tobytes())

    def __hash__(self) -> int:
        return self._digest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mixture) and np.array_equal(self.values, other.values)

    def __repr__(self) -> str:
        return f"Mixture({np.count_nonzero(self.values)} of {len(self.values)} parameters)"

    def __reduce__(self):
        return Mixture, (np.asarray(self.values),)

    @classmethod
    def of_record(cls, values: np.ndarray) -> Mixture:
        return cls(values)

    def to_record(self) -> dict[str, np.ndarray]:
        """What a file keeps."""
        return {"values": self.values}


class Averaging(Oracle):
    """An oracle over a class that can be averaged without being listed."""

    log_size: float
    """The logarithm of the number of hypotheses, both signs counted: what the smoothing costs, times eta."""

    @abstractmethod
    def average(self, d: np.ndarray, eta: float) -> tuple[Answer, float]:
        """The softmax average under d as the one hypothesis of an answer, and J(d); `bound` is of the largest edge."""

    @abstractmethod
    def slope(self, d: np.ndarray, ahead: np.ndarray, behind: np.ndarray, eta: float) -> Callable[[float], float]:
        """The derivative of J at d + a (ahead - behind), as a function of a that costs little; it increases in a."""

    @abstractmethod
    def level(self, d: np.ndarray, ahead: np.ndarray, behind: np.ndarray, eta: float) -> Callable[[float], float]:
        """J itself on that line: what the union of classes needs to weigh the slopes of its parts."""


def parted(hypotheses: Sequence[Hypothesis], w: np.ndarray) -> tuple[list, np.ndarray, list[tuple[Mixture, float]]]:
    """(plain hypotheses, their weights, mixtures with their weights)."""
    mixed = [isinstance(hypothesis, Mixture) for hypothesis in hypotheses]
    if not any(mixed):
        return list(hypotheses), np.asarray(w), []
    plain = [j for j, is_mixture in enumerate(mixed) if not is_mixture]
    mixtures = [(hypotheses[j], float(w[j])) for j, is_mixture in enumerate(mixed) if is_mixture]
    return [hypotheses[j] for j in plain], np.asarray(w)[plain], mixtures


def softmax(logs: np.ndarray) -> tuple[float, np.ndarray]:
    """(log of the sum of exponentials, the share of each in that sum)."""
    shares = np.exp(logs - logs.max())
    return float(logs.max() + np.log(shares.sum())), shares / shares.sum()
