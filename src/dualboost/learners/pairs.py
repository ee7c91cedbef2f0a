"""Rows of a margin over several classes: pairs of an example and a class that it does not have."""

from __future__ import annotations

import numpy as np

__all__ = ["Pairs"]


class Pairs:
    """The pairs of examples with these class numbers, the wrong classes of each example in order.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.learners.pairs import Pairs
    >>> pairs = Pairs(np.array([0, 2]), 3)
    >>> pairs.wrong.tolist()
    [[1, 2], [0, 1]]
    >>> pairs.leads(np.array([[1.0, 0.0, 0.5], [0.0, 0.0, 1.0]]))
    array([0.5 , 0.25, 0.5 , 0.5 ])
    """

    def __init__(self, codes: np.ndarray, n_classes: int):
        self.codes, self.n_classes = np.asarray(codes, dtype=np.intp), n_classes
        self.wrong = np.empty((len(codes), n_classes - 1), dtype=np.intp)
        for j in range(n_classes - 1):
            self.wrong[:, j] = np.where(self.codes <= j, j + 1, j)

    def signs(self, c: int) -> np.ndarray:
        """Class c against the rest: +1 for its examples."""
        return np.where(self.codes == c, 1, -1).astype(np.int8)

    def by_class(self, d: np.ndarray) -> np.ndarray:
        """How much each example weighs in the table of each class: all its pairs for its own, one pair for another."""
        weights, examples = np.zeros((self.n_classes, len(self.codes))), np.arange(len(self.codes))
        weights.put(self.wrong.ravel() * len(self.codes) + self._of_each(examples), d)
        weights[self.codes, examples] = d.reshape(self.wrong.shape).sum(axis=1)
        return weights

    def leads(self, scores: np.ndarray) -> np.ndarray:
        """Half the lead of the true class over each wrong one, for class scores of shape (examples, classes)."""
        first = np.arange(len(self.codes)) * self.n_classes
        leads = self._of_each(scores.take(first + self.codes))
        leads -= scores.take(self._of_each(first) + self.wrong.ravel())
        leads /= 2
        return leads

    def _of_each(self, values: np.ndarray) -> np.ndarray:
        """The value of its example for each pair.

        Among numbers of one type and length NumPy needs no buffer, without memory for which it ends the process.
        """
        return np.repeat(values, self.n_classes - 1)
