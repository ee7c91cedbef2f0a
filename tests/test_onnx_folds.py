"""Trees that are one question say what they said: pairs, and leaves in the place of one of a pair, to any height."""

import numpy as np
import pytest

from dualboost.export.blocks import add_block, add_rows
from dualboost.export.folds import Folds
from dualboost.export.graph import Graph
from dualboost.export.right_turns import right_turns
from dualboost.inspection.trees import LEFT, RIGHT, PlainTrees

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


def tree(rng, shape, values):
    """A shape is None for a leaf, or a pair of shapes; the sides of a lowest split hardly ever say the same."""
    nodes = []

    def grow(shape, value):
        number = len(nodes)
        nodes.append((-1, 0.0, LEFT, 0, 0, value, -1))
        if shape is not None:
            ends = rng.choice(values, 2, replace=rng.random() < 0.01).tolist()
            left, right = (grow(side, end) for side, end in zip(shape, ends, strict=True))
            missing = int(rng.choice([LEFT, RIGHT]))
            nodes[number] = int(rng.integers(3)), float(rng.integers(-2, 3)), missing, left, right, 0.0, -1
        return number

    grow(shape, 0.0)
    return nodes


def full(levels):
    return None if levels == 0 else (full(levels - 1), full(levels - 1))


SPLIT = full(1)
SHAPES = {
    "two levels": full(2),
    "three levels": full(3),
    "four levels": full(4),
    "a leaf on the left": (None, SPLIT),
    "a leaf on the right": (SPLIT, None),
    "leaves in pairs": ((None, SPLIT), (SPLIT, None)),
    "a leaf above": (None, full(2)),
    "of two heights": (SPLIT, full(2)),
    "a single split": SPLIT,
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("values", [(-0.5, 0.5), (0.25, 2.0), (-1.0, 0.0, 1.0)], ids=["even", "two", "three"])
def test_scores_are_those_of_the_trees(shape, values):
    rng = np.random.default_rng(0)
    assert_scores(rng, [PlainTrees.of([tree(rng, SHAPES[shape], values) for _ in range(120)])])


def test_several_votes_of_all_shapes():
    """Trees of different heights, and trees that are not one question, in one vote and in several."""
    rng = np.random.default_rng(1)
    shapes = [*SHAPES.values()] * 6
    votes = []
    for values in [(-0.5, 0.5), (-1.0, 0.0, 1.0), (3.0, 4.0)]:
        votes.append(PlainTrees.of([tree(rng, shapes[k], values) for k in rng.permutation(len(shapes))]))
    assert {int(own) for vote in votes for own in Folds.of(vote).height[vote.roots[:-1]]} == {0, 1, 2, 3}
    assert_scores(rng, votes)


@pytest.mark.parametrize(
    ("shape", "height"),
    [
        ("two levels", 1),
        ("three levels", 2),
        ("four levels", 3),
        ("leaves in pairs", 2),
        ("a leaf on the left", 1),
        ("a leaf above", 0),
        ("of two heights", 0),
        ("a single split", 0),
    ],
)
def test_what_is_one_question(shape, height):
    """Trees of two values are, where pairs are of one height and every split has a use; no turn is left but one."""
    rng = np.random.default_rng(2)
    made = [tree(rng, SHAPES[shape], (-0.5, 0.5)) for _ in range(200)]
    found = [Folds.of(PlainTrees.of([own])).highest for own in made]
    assert np.mean(np.equal(found, height)) > 0.4 and max(found) == height
    turns = [right_turns([PlainTrees.of([own])]).adds for own, folded in zip(made, found, strict=True) if folded]
    assert all(len(adds) == 1 for adds in turns)


def assert_scores(rng, votes):
    table = rng.choice([-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, np.nan], (90, 3))
    graph = Graph()
    graph.call(add_block(graph, add_rows(graph), right_turns(votes), 3), "score")
    model = graph.model(3, {"score": ("DOUBLE", [None, len(votes)])}, {})
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = np.column_stack([vote.scores(table) for vote in votes])
    np.testing.assert_allclose(session.run(None, {"X": table})[0], wanted, rtol=0, atol=1e-12)
