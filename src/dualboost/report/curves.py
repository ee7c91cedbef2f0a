"""The model itself as pictures: a step function for each feature of numbers, a bar for each category."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualboost.inspection import Shape, shapes
from dualboost.learners.stumps import StumpScores
from dualboost.report.study import Study
from dualboost.report.svg import Frame, svg

__all__ = ["Curve", "curves"]

_BARS = 8  # categories that are shown of one feature


@dataclass(frozen=True)
class Curve:
    """What the vote makes of one feature."""

    name: str
    share: float
    picture: str


def curves(study: Study, count: int = 12) -> list[Curve]:
    """The features with the largest shares of the vote, on one scale; nothing for votes that are not of stumps."""
    model = study.model
    scores = model.predictor_
    if not isinstance(scores, StumpScores) or not len(scores.features):
        return []
    top = np.argsort(-model.feature_importances_, kind="stable")[: min(count, len(scores.features))]
    found = {shape.feature: shape for shape in shapes(model) if shape.feature in top}
    size = 1.08 * max(float(np.abs(shape.values).max()) for shape in found.values()) or 1.0
    return [
        Curve(study.features[f], float(model.feature_importances_[f]), _picture(study, found[f], size))
        for f in map(int, top)
    ]


def _picture(study: Study, shape: Shape, size: float) -> str:
    categories = getattr(study.model, "categories_", {}).get(study.features[shape.feature])
    if categories is not None:
        return _bars(study, shape, [str(label) for label in categories], size)
    return _step_picture(study, shape.feature, (shape.edges, shape.values), size)


def _bars(study: Study, shape: Shape, labels: list[str], size: float) -> str:
    """The categories that move the vote most, for and against."""
    values = shape(np.arange(len(labels), dtype=np.float64))
    order = np.argsort(-values, kind="stable")
    if len(order) > _BARS:
        order = np.concatenate([order[: _BARS // 2], order[-_BARS // 2 :]])
    name, second = study.features[shape.feature], study.classes[1]
    frame = Frame((-size, size), (0, len(order)), width=360, height=220)
    parts = [frame.across(f"vote for {second}"), frame.vertical(0.0, "zero")]
    for place, k in enumerate(order):
        top = len(order) - place
        words = f"{name} = {labels[k]}: {values[k]:+.4f} for {second}"
        parts.append(frame.box((0.0, float(values[k])), (top - 0.85, top - 0.15), "bar"))
        parts.append(frame.beside(top - 0.5, labels[k], "end" if values[k] > 0 else "start"))
        parts.append(frame.box(frame.x, (top - 1, top), "hover", words))
    more = f" The {len(order)} strongest of {len(labels)} categories." if len(order) < len(labels) else ""
    return svg(frame, f"Vote of each category of {name}.{more}", parts)


def _step_picture(study: Study, feature: int, steps: tuple[np.ndarray, np.ndarray], size: float) -> str:
    cuts, values = steps
    reach = 0.12 * float(np.ptp(cuts)) if len(cuts) > 1 else 0.5 * max(abs(float(cuts[0])), 1e-9) if len(cuts) else 0.5
    inner = cuts if len(cuts) else np.array([0.0])
    borders = np.concatenate([[inner[0] - reach], cuts, [inner[-1] + reach]])
    frame = Frame((float(borders[0]), float(borders[-1])), (-size, size), width=360, height=220)
    second = study.classes[1]
    parts = [frame.axes(study.features[feature], f"vote for {second}"), frame.line(borders[[0, -1]], [0, 0], "zero")]
    xs, ys = np.repeat(borders, 2)[1:-1], np.repeat(values, 2)
    parts += [frame.area(xs, np.zeros_like(ys), ys, "between"), frame.line(xs, ys, "reached")]
    for k, value in enumerate(values):
        where = _where(study.features[feature], cuts, k)
        parts.append(frame.strip((float(borders[k]), float(borders[k + 1])), f"{where}: {value:+.4f} for {second}"))
    return svg(frame, f"Step function of {study.features[feature]}.", parts)


def _where(name: str, cuts: np.ndarray, k: int) -> str:
    if not len(cuts):
        return f"{name} is known"
    if k == 0:
        return f"{name} up to {cuts[0]:.6g}"
    return f"{name} above {cuts[k - 1]:.6g}" + (f" up to {cuts[k]:.6g}" if k < len(cuts) else "")
