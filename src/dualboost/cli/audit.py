"""`dualboost audit`: the rows whose labels are probably wrong, most suspicious first."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from dualboost.cli import options as use
from dualboost.cli.algorithms import AUTO, Tuning, choose, make
from dualboost.cli.fit import fitted
from dualboost.cli.guard import bad_input
from dualboost.cli.loading import DataOptions, check_two, check_writable, load_data, write_text
from dualboost.cli.predict import harmless
from dualboost.cli.suspects import suspects_of
from dualboost.cli.voice import Voice

if TYPE_CHECKING:
    from dualboost.readers import Problem
    from dualboost.report import Suspect

__all__ = ["audit"]


def audit(
    data: use.Data,
    out: Annotated[str, typer.Option("--out", "-o", help="CSV file to write; - for standard output.")] = "-",
    target: use.Target = None,
    positive: use.Positive = None,
    drop: use.Drop = None,
    algorithm: use.Algorithm = AUTO,
    nu: use.Nu = None,
    folds: use.Folds = 5,
    seed: use.Seed = 0,
    jobs: use.Jobs = None,
    rows: use.Rows = None,
    encoding: use.Encoding = None,
    json: use.Json = False,
    quiet: use.Quiet = False,
) -> None:
    """List the rows whose labels are voted down by models that have not seen them: a CSV, worst first."""
    voice = Voice(json, quiet)
    check_writable(out)
    kind, why = choose(algorithm)
    problem = load_data(DataOptions(data, target, positive, tuple(drop or ()), rows, encoding), voice)
    check_two(problem, "An audit")
    voice.note(f"Algorithm: {kind.__name__}" + (f", because {why}." if why else "."))
    found = _found(make(kind, Tuning(nu=nu, random_state=seed, n_jobs=jobs)), problem, folds, seed)
    voice.note(f"{len(found)} of {len(problem.y)} rows to check.")
    record = {"rows": len(problem.y), "suspects": [vars(suspect) for suspect in found]}
    if out != "-":
        write_text(out, _as_csv(found))
        voice.result({**record, "suspects_file": out}, [f"Rows to check: {out}"])
    else:
        voice.result(record, _as_csv(found).splitlines())


def _found(model, problem: Problem, folds: int, seed: int) -> Sequence[Suspect]:
    from dualboost.estimators.held_out import held_out

    model = fitted(model, problem)
    with bad_input(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return suspects_of(model, problem, held_out(model, problem.X, problem.y, folds, seed))[0]


def _as_csv(found: Sequence[Suspect]) -> str:
    """Labels beside the cells of the file; whatever a spreadsheet would run gets a quote in front."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = list(found[0].cells) if found else []
    writer.writerow(["row", "label", "suggested", "probability of an error", "margin", *map(harmless, columns)])
    for suspect in found:
        numbers = (f"{suspect.probability:.4g}", f"{suspect.margin:.4g}")
        cells = (harmless(suspect.cells[name]) for name in columns)
        writer.writerow([suspect.row, harmless(suspect.given), harmless(suspect.suggested), *numbers, *cells])
    return text.getvalue()
