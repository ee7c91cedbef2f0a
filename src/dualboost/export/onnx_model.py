"""`to_onnx`: a fitted classifier as an ONNX model that says the same, in double precision."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dualboost.estimators.bagging import Average
from dualboost.estimators.base import BoostedClassifier
from dualboost.estimators.calibration import CERTAIN, SUREST, Link, Sigmoid, Softmax, Steps
from dualboost.export.codes import add_steps
from dualboost.export.columns import Columns
from dualboost.export.curves import Curve
from dualboost.export.ensemble import tree_arrays
from dualboost.export.graph import INT32, UINT8, Graph
from dualboost.export.lookup import lookups
from dualboost.export.votes import add_votes
from dualboost.inspection.as_trees import plain_trees, step_tree
from dualboost.inspection.names import check_model, feature_names
from dualboost.inspection.trees import PlainTrees
from dualboost.learners import Predictor
from dualboost.learners.class_stumps import single_votes
from dualboost.learners.matrix import MatrixScores
from dualboost.learners.union import SumScores

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["to_onnx"]

_KINDS = {"i": "INT64", "u": "INT64", "b": "BOOL", "f": "DOUBLE", "U": "STRING", "O": "STRING"}
_COMPARED = 128  # cuts that every score is compared with
_MANY, _VERY_MANY = 256, 1500  # scores whose pieces are found faster in a grid of cells, or by halving, than by a tree


def to_onnx(model: BoostedClassifier) -> ModelProto:
    """The classifier as an ONNX model, for onnxruntime (1.21 or newer) and other programs.

    Input `X`: a table of doubles, NaN for missing values; thresholds and sums are doubles too, so nothing is rounded to
    single precision. Columns of categories hold their numbers, in the order of the note "categories" of the model.
    Outputs: `label`, `score` (what `decision_function` says) and, where the model has them, `probabilities`.

    Parameters
    ----------
    model : a fitted classifier of dualboost
        Votes of stumps, trees, boxes and columns can be exported, scikit-learn's trees too; those of its other
        classifiers cannot.

    Returns
    -------
    onnx.ModelProto

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import MarginBoostClassifier, to_onnx
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> onnx_model = to_onnx(MarginBoostClassifier(nu=0.2, max_iter=50).fit(X, y))
    >>> [output.name for output in onnx_model.graph.output]
    ['label', 'score', 'probabilities']
    """
    graph = Graph()
    check_model(model)
    classes = _labels(model.classes_)
    models = getattr(model, "estimators_", [model])
    links = [part.link_ for part in models] if hasattr(models[0], "link_") else []
    parts = [vote for part in models for vote in single_votes(part.predictor_)]
    scores = _votes(graph, parts, model.n_features_in_)
    one = len(parts) == 1
    if one:
        second, shown, chances = _two(graph, scores, links)
        label = _of_two(graph, classes, second)
    else:
        winner, shown, chances = _several(graph, scores, links, len(parts))
        label = graph.add("Gather", [graph.constant(classes), winner])
    graph.call(label, "label")
    graph.call(shown, "score")
    columns = [None] if one else [None, len(parts)]
    outputs = {"label": (_KINDS[classes.dtype.kind], [None]), "score": ("DOUBLE", columns)}
    if chances:
        graph.call(chances, "probabilities")
        outputs["probabilities"] = ("DOUBLE", [None, len(classes)])
    notes = {"model": type(model).__name__, "features": json.dumps(feature_names(model)), **_categories(model)}
    return graph.model(model.n_features_in_, outputs, notes)


def _of_two(graph: Graph, classes: np.ndarray, second: str) -> str:
    """The labels of the rows, of which some have the second; onnxruntime chooses much faster than it looks up."""
    if classes.dtype.kind == "b":
        return second
    return graph.add("Where", [second, *(graph.constant(classes[[k]]) for k in (1, 0))])


def _categories(model: BoostedClassifier) -> dict[str, str]:
    """The categories of each column of the data frame that have the numbers 0, 1, ... in X."""
    known = getattr(model, "categories_", {})
    return {"categories": json.dumps(known, default=lambda values: np.asarray(values).tolist())} if known else {}


def _labels(classes: np.ndarray) -> np.ndarray:
    if classes.dtype.kind in "iu":
        if classes.max() > np.iinfo(np.int64).max:
            raise ValueError(f"ONNX knows whole labels up to 2^63 - 1, not {classes.max()}: fit to other labels.")
        return classes.astype(np.int64)
    if classes.dtype.kind == "f":
        return classes.astype(np.float64)
    if classes.dtype.kind in "bU" or all(isinstance(label, str) and label[-1:] != "\0" for label in classes):
        return classes
    raise ValueError(f"ONNX knows labels of numbers, truth values or strings, not {classes.tolist()}.")


def _votes(graph: Graph, predictors: list, n_features: int) -> str:
    """The score of each vote, a column each: products with columns, and steps and trees."""
    linear, stepwise = zip(*(_parts(predictor, n_features) for predictor in predictors), strict=True)
    sums = [graph.add("MatMul", ["X", graph.constant(np.column_stack(linear))])] if np.any(linear) else []
    if not sums or any(len(trees) or trees.base for trees in stepwise):
        sums.append(add_votes(graph, stepwise, n_features))
    return graph.sum(sums)


def _parts(predictor: Predictor, n_features: int) -> tuple[np.ndarray, PlainTrees]:
    """A vote as a sum: the weights of the columns, and steps and trees."""
    weights, trees = np.zeros(n_features), []
    for share, part in _shares(predictor):
        if isinstance(part, MatrixScores):
            weights += share * part.weights
        else:
            trees.append(plain_trees(part).scaled(share))
    return weights, PlainTrees.joined(trees, 0.0)


def _shares(predictor: Predictor, share: float = 1.0) -> Iterator[tuple[float, Predictor]]:
    """The votes that sums and averages are made of, however deep, and what each counts for."""
    if not isinstance(predictor, (Average, SumScores)):
        yield share, predictor
        return
    if isinstance(predictor, Average):
        yield share, Average((), predictor.base)  # its constant alone
        share *= predictor.scale / max(len(predictor.parts), 1)
    for part in predictor.parts:
        yield from _shares(part, share)


def _two(graph: Graph, scores: str, links: list[Link]) -> tuple[str, str, str]:
    """(whether the second class wins, score, probabilities or nothing) of one vote."""
    line = graph.constant(np.array([-1]))
    score = graph.add("Reshape", [scores, line])
    second = graph.add("Greater", [score, graph.constant(np.array(0.0))])
    if not links:
        return second, score, ""
    p = _linked(graph, scores, links[0])
    both = graph.add("Gemm", [p, graph.constant(np.array([[-1.0, 1.0]])), graph.constant(np.array([[1.0, 0.0]]))])
    return second, score, both  # 1 - p and p


def _several(graph: Graph, scores: str, links: list[Link], count: int) -> tuple[str, str, str]:
    """The same of a vote for each class: the largest log-odds win, or the largest vote."""
    if not links:
        return _first_largest(graph, scores), scores, ""
    if isinstance(links[0], Softmax):
        scaled = graph.add("Mul", [scores, graph.constant(np.full(count, links[0].slope))])
        return _first_largest(graph, scores), scores, graph.add("Softmax", [scaled], {"axis": 1})
    columns = [graph.columns(scores, np.array([k])) for k in range(len(links))]
    odds = [_log_odds(graph, column, link) for column, link in zip(columns, links, strict=True)]
    votes = graph.add("Concat", odds, {"axis": 1})
    # onnxruntime's Sigmoid has no digits left where a probability is small.
    rest = graph.add("Exp", [graph.add("Neg", [votes])])
    p = graph.add("Reciprocal", [graph.add("Add", [rest, graph.constant(np.array(1.0))])])
    total = graph.add("ReduceSum", [p, graph.constant(np.array([1]))], {"keepdims": 1})
    return _first_largest(graph, votes), votes, graph.add("Div", [p, total])


def _log_odds(graph: Graph, score: str, link: Link) -> str:
    """A column of scores as log-odds, of probabilities that are not nearer to 0 and 1 than CERTAIN."""
    if isinstance(link, Sigmoid):
        ends = (graph.constant(np.array(end)) for end in (-SUREST, SUREST))
        return graph.add("Clip", [_scaled(graph, score, link.slope), *ends])
    ends = (graph.constant(np.array(end)) for end in (CERTAIN, 1 - CERTAIN))
    p = graph.add("Clip", [_linked(graph, score, link), *ends])
    return graph.add("Log", [graph.add("Div", [p, graph.add("Sub", [graph.constant(np.array(1.0)), p])])])


def _first_largest(graph: Graph, votes: str) -> str:
    return graph.add("ArgMax", [votes], {"axis": 1, "keepdims": 0, "select_last_index": 0})


def _linked(graph: Graph, score: str, link: Link) -> str:
    """A column of scores as a column of probabilities."""
    if isinstance(link, Sigmoid):
        return graph.add("Sigmoid", [_scaled(graph, score, link.slope)])
    if isinstance(link, Steps):
        return _interpolated(graph, score, link)
    raise ValueError(f"ONNX export does not know the link {type(link).__name__}.")


def _scaled(graph: Graph, score: str, slope: float) -> str:
    """By a product of matrices, for onnxruntime leaves out a factor near 1."""
    return graph.add("MatMul", [score, graph.constant(np.array([[slope]]))])


def _interpolated(graph: Graph, score: str, link: Steps) -> str:
    """Straight pieces: of a score's piece, tables tell where it begins, its value there and its slope."""
    x, first = np.unique(link.scores, return_index=True)
    # Where scores are equal, the piece before them ends at the first point, and the one after begins at the last.
    reached, p = link.probabilities[first], link.probabilities[np.append(first[1:], len(link.scores)) - 1]
    slopes = np.concatenate([[0.0], (reached[1:] - p[:-1]) / np.diff(x), [0.0]])
    line = graph.add("Reshape", [score, graph.constant(np.array([1, -1]))])
    piece = _piece(graph, score, line, np.nextafter(x, -np.inf))  # a piece holds its first point
    # Below the first point its own score is no smaller: with slope 0 it does not matter.
    start, value, slope = (
        graph.add("GatherElements", [graph.constant(table[None, :]), piece], {"axis": 1})
        for table in (np.append(x[:1], x), np.append(reached[:1], p), slopes)
    )
    linked = graph.add("Add", [graph.add("Mul", [slope, graph.add("Sub", [line, start])]), value])
    return graph.add("Reshape", [linked, graph.constant(np.array([-1, 1]))])


def _piece(graph: Graph, score: str, line: str, cuts: np.ndarray) -> str:
    """The number of cuts below each score, in a line: a few cuts are compared with all of them."""
    if len(cuts) <= _COMPARED:
        below = graph.add("Cast", [graph.add("Less", [graph.constant(cuts[:, None]), line])], {"to": UINT8})
        return graph.add("MatMulInteger", [graph.constant(np.ones((1, len(cuts)), dtype=np.uint8)), below])
    arrays, tree = graph.branch(), graph.branch()
    pieces = Curve(0, cuts, np.arange(len(cuts) + 1, dtype=np.int32), 0, lost=False)
    (steps,) = add_steps(arrays, [pieces], Columns(line, np.zeros(1, dtype=np.int64)))
    own = steps.part(arrays, np.array([0]))
    found = own.add_found(arrays, own.values)
    counts = tree_arrays([step_tree(cuts.tolist(), np.arange(len(cuts) + 1.0).tolist())])
    walked = tree.add("Cast", [tree.trees(score, counts, 1)], {"to": INT32})
    walked = tree.add("Reshape", [walked, tree.constant(np.array([1, -1]))])
    rows = graph.add("Shape", [line], {"start": 1, "end": 2})
    fewest = _MANY if lookups([pieces])[0] else _VERY_MANY
    many = graph.add("GreaterOrEqual", [rows, graph.constant(np.array([fewest]))])
    return graph.choose(many, (arrays, found), (tree, walked), INT32)
