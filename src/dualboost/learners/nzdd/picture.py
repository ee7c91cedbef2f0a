"""A small diagram as text that Graphviz draws."""

from __future__ import annotations

from collections.abc import Sequence

from dualboost.learners.nzdd.diagram import Diagram

__all__ = ["dot_of"]

_MOST_EDGES = 500


def dot_of(diagram: Diagram, names: Sequence[str] | None = None) -> str:
    """The diagram in the DOT language: nodes, edges with their labels (named, if `names` are given).

    Examples
    --------
    >>> from dualboost.learners.nzdd import diagram_of_family, dot_of
    >>> print(dot_of(diagram_of_family([[0], [1]], n_labels=2), names=["a", "b"]))
    digraph nzdd {
      rankdir=LR; node [shape=circle, label=""];
      0 [shape=point]; 1 [shape=doublecircle];
      0 -> 1 [label="b"];
      0 -> 1 [label="a"];
    }
    """
    if diagram.n_edges > _MOST_EDGES:
        raise ValueError(f"A picture of {diagram.n_edges} edges shows nothing: draw diagrams of at most {_MOST_EDGES}.")
    lines = ["digraph nzdd {", '  rankdir=LR; node [shape=circle, label=""];']
    lines.append(f"  0 [shape=point]; {diagram.n_nodes - 1} [shape=doublecircle];")
    for edge, (tail, head) in enumerate(zip(diagram.tails.tolist(), diagram.head.tolist(), strict=True)):
        text = ", ".join(_quoted(str(label) if names is None else names[label]) for label in diagram.labels_of(edge))
        lines.append(f'  {tail} -> {head} [label="{text}"];')
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
