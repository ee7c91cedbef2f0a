"""`dualboost evaluate`: how good it is on rows that it has not seen, with intervals."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dualboost.cli import options as use
from dualboost.cli.algorithms import AUTO, Tuning, choose, make
from dualboost.cli.guard import bad_input
from dualboost.cli.loading import DataOptions, load_data, load_fitted
from dualboost.cli.voice import Voice, aligned
from dualboost.errors import BadInput

if TYPE_CHECKING:
    from dualboost.estimators.held_out import HeldOut
    from dualboost.estimators.intervals import Interval

__all__ = ["evaluate"]


def evaluate(
    data: use.Data,
    model: Annotated[str | None, typer.Option("--model", "-m", help="Judge this model on new rows instead.")] = None,
    target: use.Target = None,
    positive: use.Positive = None,
    drop: use.Drop = None,
    weight: use.Weight = None,
    algorithm: use.Algorithm = AUTO,
    nu: use.Nu = None,
    tol: use.Tol = None,
    max_rounds: use.Rounds = None,
    folds: use.Folds = 5,
    seed: use.Seed = 0,
    jobs: use.Jobs = None,
    rows: use.Rows = None,
    encoding: use.Encoding = None,
    json: use.Json = False,
    quiet: use.Quiet = False,
) -> None:
    """Judge an algorithm by cross-validation, or a model on new rows, with 95% intervals."""
    voice = Voice(json, quiet)
    source = DataOptions(data, target, positive, tuple(drop or ()), rows, encoding, weight)
    if model is not None:
        name, result = _on_new_rows(model, source, voice)
        how = f"{name} of {model}, on rows that it has not seen if {data} is new to it."
    else:
        kind, why = choose(algorithm)
        voice.note(f"Algorithm: {kind.__name__}" + (f", because {why}." if why else "."))
        name, result = (
            kind.__name__,
            _cross_validated(kind, Tuning(nu, tol, max_rounds, seed, jobs), source, folds, voice),
        )
        how = f"{name}, {folds} folds, every row scored by a model that has not seen it."
    voice.result({"algorithm": name, **_record(result)}, [how, *_lines(result)])


def _cross_validated(kind, tuning: Tuning, source: DataOptions, folds: int, voice: Voice) -> HeldOut:
    from dualboost.estimators.held_out import held_out

    problem = load_data(source, voice)
    watch = (lambda fold: voice.note(f"fold {fold + 1} of {folds}")) if voice.progress else None
    with bad_input(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, seed = make(kind, tuning), tuning.random_state
        return held_out(model, problem.X, problem.y, folds, seed, watch, problem.weights)


def _on_new_rows(path: str, source: DataOptions, voice: Voice) -> tuple[str, HeldOut]:
    import numpy as np

    from dualboost.estimators.held_out import HeldOut
    from dualboost.readers import apply, read

    fitted, schema, _ = load_fitted(path)
    with bad_input():
        table = read(source.path, rows=source.rows, encoding=source.encoding)
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
