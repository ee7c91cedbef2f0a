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
    missing: float
    """What a missing value adds; of categories it has a bar of its own."""


def curves(study: Study, count: int = 12) -> list[Curve]:
    """The features with the largest shares of the vote, on one scale; nothing for votes that are not of stumps."""
    model = study.model
    scores = model.predictor_
    if not isinstance(scores, StumpScores) or not len(scores.features):
        return []
    top = np.argsort(-model.feature_importances_, kind="stable")[: min(count, len(scores.features))]
    found = {shape.feature: shape for shape in shapes(model) if shape.feature in top}
    size = 1.08 * max(float(np.abs(np.append(shape.values, shape.missing)).max()) for shape in found.values()) or 1.0
    return [_curve(study, found[int(f)], size) for f in top]


def _curve(study: Study, shape: Shape, size: float) -> Curve:
    name, share = study.features[shape.feature], float(study.model.feature_importances_[shape.feature])
    categories = getattr(study.model, "categories_", {}).get(name)
    if categories is not None:
        return Curve(name, share, _bars(study, shape, [str(label) for label in categories], size), 0.0)
    return Curve(name, share, _step_picture(study, shape.feature, (shape.edges, shape.values), size), shape.missing)


def _bars(study: Study, shape: Shape, categories: list[str], size: float) -> str:
    """The categories that move the vote most, for and against, and a missing value, which may matter most of all."""
    labels = [*categories, "(missing)"]
    values = np.append(shape(shape.categories), shape.missing)
    order = np.argsort(-values[:-1], kind="stable")
    if len(order) >= _BARS:
        order = np.concatenate([order[: _BARS // 2], order[-(_BARS // 2 - 1) :]])
    order = np.append(order, len(categories))
    name, second = study.features[shape.feature], study.classes[1]
    frame = Frame((-size, size), (0, len(order)), width=360, height=220)
    parts = [frame.across(f"vote for {second}"), frame.vertical(0.0, "zero")]
    for place, k in enumerate(order):
        top = len(order) - place
        words = f"{name} = {labels[k]}: {values[k]:+.4f} for {second}"
        parts.append(frame.box((0.0, float(values[k])), (top - 0.85, top - 0.15), "bar"))
        parts.append(frame.beside(top - 0.5, labels[k], "end" if values[k] > 0 else "start"))
        parts.append(frame.box(frame.x, (top - 1, top), "hover", words))
    shown, count = len(order) - 1, len(categories)
    more = f" The {shown} strongest of {count} categories." if shown < count else ""
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
