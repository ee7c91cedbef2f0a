"""`dualboost fit`: a certified model from a data file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dualboost.cli.algorithms import choose, chosen
from dualboost.cli.guard import INTERRUPTED, bad_input
from dualboost.cli.loading import SUFFIX, check_writable, load_data, provenance, stem_of
from dualboost.cli.options import DataOptions, TrainingOptions, Tuning
from dualboost.cli.voice import Voice, aligned

if TYPE_CHECKING:
    from dualboost.estimators import Training
    from dualboost.estimators.base import BoostedClassifier
    from dualboost.readers import Problem

__all__ = ["certificate_lines", "fit", "fitted", "record_of"]


def fit(
    data: DataOptions,
    *,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Model file; DATA.dualboost if not given.")] = None,
    tuning: Tuning,
    training: TrainingOptions,
    voice: Voice,
) -> None:
    """Fit a certified model to a data file and keep it. Ctrl-C keeps the best so far."""
    from dualboost.files import save_model

    path = out or stem_of(data.file.path) + SUFFIX
    check_writable(path)
    choose(tuning.algorithm)
    problem = load_data(data, voice)
    model = chosen(tuning, voice)
    with bad_input():
        model.set_params(training=training_of(training))
    fitted(model, problem)
    with bad_input():
        save_model(model, path, notes=provenance(problem))
    record = {**record_of(model, problem), "model": path}
    voice.result(record, [*certificate_lines(record), f"Model: {path}"])
    if model.status_.startswith("interrupted"):
        raise typer.Exit(INTERRUPTED)


def training_of(options: TrainingOptions) -> Training | None:
    """How the fit is watched; None where nothing was asked for."""
    from dualboost.estimators import Training

    if options == TrainingOptions():
        return None
    return Training(options.seconds, options.validation_fraction, checkpoint=options.checkpoint)


def fitted(model: BoostedClassifier, problem: Problem) -> BoostedClassifier:
    """The model, fitted; warnings of the library are in its status and shown there."""
    import warnings

    with bad_input(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(problem.X, problem.y, sample_weight=problem.weights)


def record_of(model: BoostedClassifier, problem: Problem) -> dict[str, Any]:
    """What a program wants to know about a fitted model."""
    certificate = model.certificate_
    used = int((model.feature_importances_ > 0).sum())
    parts = getattr(model, "estimators_", [])
    return {
        "algorithm": type(model).__name__,
        "classes": model.classes_.tolist(),
        "rows": len(problem.y),
        "features": problem.X.shape[1],
        "features_used": used,
        "objective": certificate.objective,
        "bound": certificate.bound,
        "gap": certificate.gap,
        "nu": getattr(model, "nu_", None),
        "rounds": model.n_iter_,
        "status": model.status_,
        "status_of": {str(label): part.status_ for label, part in zip(model.classes_, parts, strict=False)},
        "training_accuracy": float(model.score(problem.X, problem.y, problem.weights)),
    }


def certificate_lines(record: dict[str, Any]) -> Iterator[str]:
    """The same for a reader."""
    rows = [("soft margin" if record["nu"] is not None else "objective", f"{record['objective']:.5f}")]
    if record["gap"] < float("inf"):
        rows += [("no vote exceeds", f"{record['bound']:.5f}"), ("gap", f"{record['gap']:.5f}")]
    if record["nu"] is not None:
        rows.append(("nu", f"{record['nu']:.3g}"))
    rows.append(("rounds", str(record["rounds"])))
    rows.append(("features used", f"{record['features_used']} of {record['features']}"))
    rows.append(("accuracy on these rows", f"{record['training_accuracy']:.1%}"))
    yield from aligned(rows)
    if record["status_of"]:
        yield "Why it stopped, for each class against the rest:"
        yield from (f"  {label}: {status}." for label, status in record["status_of"].items())
    else:
        yield f"Why it stopped: {record['status']}."
