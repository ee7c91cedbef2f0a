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
        self.codes, self.n_classes = codes, n_classes
        classes = np.arange(n_classes)
        everything = np.broadcast_to(classes, (len(codes), n_classes))
        self.wrong = everything[classes != codes[:, None]].reshape(len(codes), -1)

    def signs(self, c: int) -> np.ndarray:
        """Class c against the rest: +1 for its examples."""
        return np.where(self.codes == c, 1, -1).astype(np.int8)

    def by_class(self, d: np.ndarray) -> np.ndarray:
        """How much each example weighs in the table of each class: all its pairs for its own, one pair for another."""
        weights = np.zeros((self.n_classes, len(self.codes)))
        of_pairs = d.reshape(self.wrong.shape)
        np.put_along_axis(weights.T, self.wrong, of_pairs, axis=1)
        weights[self.codes, np.arange(len(self.codes))] = of_pairs.sum(axis=1)
        return weights

    def leads(self, scores: np.ndarray) -> np.ndarray:
        """Half the lead of the true class over each wrong one, for class scores of shape (examples, classes)."""
        own = np.take_along_axis(scores, self.codes[:, None], axis=1)
        return ((own - np.take_along_axis(scores, self.wrong, axis=1)) / 2).ravel()
