"""`dualboost report`: the main job: a certified model, a page worth forwarding, and the rows to check."""

from __future__ import annotations

import platform
import shlex
import warnings
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dualboost.cli.algorithms import choose, chosen
from dualboost.cli.diagnose import diagnoses_of
from dualboost.cli.fit import fitted, record_of
from dualboost.cli.guard import INTERRUPTED, bad_input
from dualboost.cli.loading import (
    SUFFIX,
    check_writable,
    command_line,
    load_data,
    provenance,
    stem_of,
    write_text,
)
from dualboost.cli.options import DataOptions, Folds, Tuning
from dualboost.cli.suspects import audited, suspects_of, with_core
from dualboost.cli.voice import Voice
from dualboost.errors import BadInput

if TYPE_CHECKING:
    from dualboost.readers import Problem
    from dualboost.report import Study

__all__ = ["Made", "report", "study_of", "write_study"]

_ROWS_TO_DIAGNOSE = 20_000
_SECONDS = 30.0  # for the diagnosis
_MOST = 200  # rows to check on a page


@dataclass(frozen=True)
class ReportOptions:
    """What is written, and how the model is judged."""

    out: Annotated[str | None, typer.Option("--out", "-o", help="HTML file; DATA.html if not given.")] = None
    model: Annotated[str | None, typer.Option("--model", "-m", help="Where to keep the model; beside OUT.")] = None
    folds: Folds = 5


def report(data: DataOptions, results: ReportOptions, tuning: Tuning, voice: Voice) -> None:
    """Fit, judge on held-out rows, look for wrong labels, and write it all into one HTML file."""
    page_path = results.out or stem_of(data.file.path) + ".html"
    made = Made(page_path, results.model or page_path.removesuffix(".html") + SUFFIX, results.folds)
    check_writable(made.page, made.model)
    choose(tuning.algorithm)
    problem = load_data(data, voice)
    study = study_of(chosen(tuning, voice), problem, made, voice)
    write_study(study, problem, made)
    from dualboost.report.page import verdict

    record = {**record_of(study.model, problem), "held_out_accuracy": vars(study.held_out.accuracy)}
    record |= {"suspects": [suspect.row for suspect in study.suspects], "model": made.model, "report": made.page}
    voice.result(record, [verdict(study), f"Model: {made.model}", f"Report: {made.page}"])
    if study.model.status_.startswith("interrupted"):
        raise typer.Exit(INTERRUPTED)


@dataclass(frozen=True)
class Made:
    """Where the results go, and how many folds judge them."""

    page: str
    model: str
    folds: int


def study_of(model, problem: Problem, made: Made, voice: Voice) -> Study:
    """Fit to all rows, judge on held-out ones, find the rows to check."""
    from dualboost.estimators.held_out import held_out
    from dualboost.report import Study
    from dualboost.report.page import require_jinja2

    try:
        require_jinja2()  # before the work, not after
    except ImportError as error:
        raise BadInput(str(error)) from error
    model = fitted(model, problem)
    watch = (lambda fold: voice.note(f"fold {fold + 1} of {made.folds}")) if voice.progress else None
    with bad_input(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seed = getattr(model, "random_state", 0)
        judged = held_out(model.set_params(verbose=0), problem.X, problem.y, made.folds, seed, watch, problem.weights)
    labels = audited(problem, 0 if seed is None else seed)
    title = stem_of(problem.table.source.name)
    features = problem.schema.features
    found = diagnoses_of(problem, _SECONDS) if len(problem.y) <= _ROWS_TO_DIAGNOSE else {}
    labels = with_core(labels, found, problem) if found else labels
    chosen = labels.find_label_issues(return_indices_ranked=True)
    suspects = suspects_of(labels, problem, chosen[:_MOST])
    origin, commands = _origin(model, problem), _commands(problem, made)
    return Study(
        title, model, problem.y, features, judged, suspects, labels.noise_rate, origin, commands, found, problem.rows,
        unlisted=len(chosen[_MOST:]),
    )  # fmt: skip


def write_study(study: Study, problem: Problem, made: Made) -> None:
    """The model first: the page names it."""
    from dualboost.files import save_model
    from dualboost.report import page

    text = page(study)
    with bad_input():
        save_model(study.model, made.model, notes=provenance(problem))
    write_text(made.page, text)


def _origin(model, problem: Problem) -> dict[str, Any]:
    """What one needs to make the same model again."""
    source = problem.table.source
    given = {name: value for name, value in model.get_params(deep=False).items() if name not in ("verbose", "n_jobs")}
    return {
        "Data": f"{source.name} ({source.format}, {source.rows} rows, {len(problem.y)} with a label)",
        "SHA-256 of the data": source.sha256,
        "Target": problem.schema.target,
        "How it was read": " ".join(problem.notes),
        "Algorithm": type(model).__name__,
        "Parameters": ", ".join(f"{name}={value!r}" for name, value in sorted(given.items())),
        "Versions": f"dualboost {version('dualboost')}, Python {platform.python_version()}",
        "Made by": command_line(),
    }


def _commands(problem: Problem, made: Made) -> tuple[str, ...]:
    """How to use the model, from the shell and from Python."""
    data, model = shlex.quote(problem.table.source.name), shlex.quote(made.model)
    return (
        f"dualboost predict {model} new_rows.csv",
        f"dualboost evaluate {data}",
        f'python -c "import dualboost; print(dualboost.load_model({made.model!r}).certificate_)"',
    )
