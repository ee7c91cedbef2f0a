"""`dualboost evaluate`: how good it is on rows that it has not seen, with intervals."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dualboost.cli.algorithms import chosen
from dualboost.cli.guard import bad_input
from dualboost.cli.loading import load_data, load_fitted
from dualboost.cli.options import DataOptions, Folds, Tuning
from dualboost.cli.voice import Voice, aligned
from dualboost.errors import BadInput

if TYPE_CHECKING:
    from dualboost.estimators.held_out import HeldOut
    from dualboost.estimators.intervals import Interval

__all__ = ["evaluate"]


def evaluate(
    data: DataOptions,
    *,
    model: Annotated[str | None, typer.Option("--model", "-m", help="Judge this model on new rows instead.")] = None,
    folds: Folds = 5,
    tuning: Tuning,
    voice: Voice,
) -> None:
    """Judge an algorithm by cross-validation, or a model on new rows, with 95% intervals."""
    if model is not None:
        name, result = _on_new_rows(model, data, voice)
        how = f"{name} of {model}, on rows that it has not seen if {data.file.path} is new to it."
    else:
        name, result = _cross_validated(tuning, data, folds, voice)
        how = f"{name}, {folds} folds, every row scored by a model that has not seen it."
    voice.result({"algorithm": name, **_record(result)}, [how, *_lines(result)])


def _cross_validated(tuning: Tuning, data: DataOptions, folds: int, voice: Voice) -> tuple[str, HeldOut]:
    from dualboost.estimators.held_out import held_out

    model = chosen(tuning, voice).set_params(verbose=0)
    problem = load_data(data, voice)
    watch = (lambda fold: voice.note(f"fold {fold + 1} of {folds}")) if voice.progress else None
    with bad_input(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seed = tuning.run.random_state
        return type(model).__name__, held_out(model, problem.X, problem.y, folds, seed, watch, problem.weights)


def _on_new_rows(path: str, source: DataOptions, voice: Voice) -> tuple[str, HeldOut]:
    import numpy as np

    from dualboost.estimators.held_out import HeldOut
    from dualboost.readers import apply, read

    fitted, schema, _ = load_fitted(path)
    with bad_input():
        table = read(source.file.path, rows=source.file.rows, encoding=source.file.encoding)
        problem = apply(schema, table, with_target=True, weight=source.weight)
        votes = fitted.decision_function(problem.X)
    voice.note(*problem.table.notes, *problem.notes)
    known, given = fitted.classes_.astype(str), np.asarray(problem.y).astype(str)
    new = sorted(set(given) - set(known))
    if new:
        names = " and ".join(known)
        raise BadInput(f"The target {schema.target!r} holds {str(new[0])!r}, but the model knows {names}.")
    one = np.zeros(len(votes), dtype=int)
    return type(fitted).__name__, HeldOut(known, np.searchsorted(known, given), votes, one, problem.weights)


def _measures(result: HeldOut) -> dict[str, Interval]:
    recalls = {f"recognised of {label}": part for label, part in zip(result.classes, result.recalls, strict=True)}
    area = {} if result.area is None else {"area under the ROC curve": result.area}
    return {"accuracy": result.accuracy, **recalls, **area, "always the largest class": result.majority}


def _record(result: HeldOut) -> dict[str, Any]:
    return {
        "classes": result.classes.tolist(),
        "rows": len(result.truth),
        "confusion": result.confusion.tolist(),
        "accuracy": vars(result.accuracy),
        "recalls": [vars(recall) for recall in result.recalls],
        "auc": None if result.area is None else vars(result.area),
        "majority": vars(result.majority),
    }


def _lines(result: HeldOut) -> list[str]:
    rows = [("", "estimate", "95% interval")]
    for name, interval in _measures(result).items():
        rows.append((name, f"{interval.value:.1%}", f"{interval.low:.1%} to {interval.high:.1%}"))
    return aligned(rows)
