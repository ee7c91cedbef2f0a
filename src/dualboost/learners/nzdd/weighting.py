"""Sums over all paths of a diagram: weight pushing, the average set, the extreme paths, samples (Algorithm 2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualboost import kernels
from dualboost.learners.nzdd.diagram import Diagram

__all__ = ["Pushed", "edge_sums", "extreme_sums", "first_path", "label_flows", "push", "sample"]


@dataclass(frozen=True, eq=False)
class Pushed:
    """The weights exp(scale * sum) of all paths: their total from each node, and the share through each edge."""

    total: np.ndarray
    """Logarithms, by node; the root's is that of all paths."""
    flow: np.ndarray
    """The probability that a path drawn by its weight takes each edge."""

    def odds(self, diagram: Diagram, sums: np.ndarray, scale: float) -> np.ndarray:
        """The probability of each edge, given its node: the product along a path is the path's probability."""
        return np.exp(scale * sums + self.total.take(diagram.head) - self.total[diagram.tails])


def edge_sums(diagram: Diagram, values: np.ndarray) -> np.ndarray:
    """The sum of the values of the labels on each edge."""
    sums = np.empty(diagram.n_edges)
    kernels.nzdd_gather(diagram.label_start, diagram.labels, np.ascontiguousarray(values), sums)
    return sums


def label_flows(diagram: Diagram, flow: np.ndarray) -> np.ndarray:
    """The flow through the edges of each label: how often a path drawn at random holds it."""
    out = np.empty(diagram.n_labels)
    kernels.nzdd_scatter(diagram.label_start, diagram.labels, np.ascontiguousarray(flow), out)
    return out


def push(diagram: Diagram, sums: np.ndarray, scale: float) -> Pushed:
    """Weight pushing with the weight exp(scale * sum) for each path, in logarithms throughout.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.learners.nzdd import diagram_of_family, edge_sums, label_flows, push
    >>> diagram = diagram_of_family([[0], [1], [0, 1]], n_labels=2)
    >>> pushed = push(diagram, edge_sums(diagram, np.array([1.0, 0.0])), scale=0.0)
    >>> round(float(np.exp(pushed.total[0])), 6), label_flows(diagram, pushed.flow).round(6).tolist()
    (3.0, [0.666667, 0.666667])
    """
    total, flow = np.empty(diagram.n_nodes), np.empty(diagram.n_edges)
    kernels.nzdd_push(diagram.start, diagram.head, sums, scale, total, flow)
    return Pushed(total, flow)


def sample(diagram: Diagram, odds: np.ndarray, rng: np.random.Generator) -> tuple[int, ...]:
    """A path drawn by its weight: from the root along edges of these odds.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.learners.nzdd import diagram_of_family, edge_sums, push, sample
    >>> diagram = diagram_of_family([[0], [1]], n_labels=2)
    >>> sums = edge_sums(diagram, np.array([5.0, 0.0]))
    >>> odds = push(diagram, sums, 10.0).odds(diagram, sums, 10.0)
    >>> diagram.set_of(sample(diagram, odds, np.random.default_rng(0)))
    {0}
    """
    path: list[int] = []
    v = 0
    while v < diagram.n_nodes - 1:
        shares = np.cumsum(odds[diagram.start[v] : diagram.start[v + 1]])
        chosen = int(np.searchsorted(shares, rng.random() * shares[-1], side="right"))
        path.append(int(diagram.start[v]) + min(chosen, len(shares) - 1))
        v = int(diagram.head[path[-1]])
    return tuple(path)


def extreme_sums(diagram: Diagram, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest sum of a path from each node to the leaf."""
    low, high = np.empty(diagram.n_nodes), np.empty(diagram.n_nodes)
    kernels.nzdd_extremes(diagram.start, diagram.head, sums, low, high)
    return low, high


def first_path(
    diagram: Diagram, sums: np.ndarray, extremes: tuple[np.ndarray, np.ndarray], first: int, limits: tuple[float, float]
) -> tuple[int, ...]:
    """The first path, in the order of the edges, that begins with `first` and has a sum outside the limits.

    The caller knows that there is one.
    """
    low, high = extremes
    path, reached = [first], float(sums[first])
    v = int(diagram.head[first])
    while v < diagram.n_nodes - 1:
        edges = np.arange(diagram.start[v], diagram.start[v + 1])
        heads = diagram.head[edges]
        ahead = reached + sums[edges]
        fits = (ahead + low.take(heads) <= limits[0]) | (ahead + high.take(heads) >= limits[1])
        chosen = int(edges[np.argmax(fits)])
        path.append(chosen)
        reached, v = reached + float(sums[chosen]), int(diagram.head[chosen])
    return tuple(path)
