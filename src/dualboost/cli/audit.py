"""`dualboost audit`: the rows whose labels are probably wrong, most suspicious first."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dualboost.cli import options as use
from dualboost.cli.loading import DataOptions, check_writable, load_data, write_text
from dualboost.cli.predict import harmless
from dualboost.cli.suspects import audited, suspects_of
from dualboost.cli.voice import Voice

if TYPE_CHECKING:
    from dualboost.report import Suspect

__all__ = ["audit"]


def audit(
    data: use.Data,
    out: Annotated[str, typer.Option("--out", "-o", help="CSV file to write; - for standard output.")] = "-",
    count: Annotated[int | None, typer.Option(min=1, help="How many rows; by default the probable errors.")] = None,
    target: use.Target = None,
    positive: use.Positive = None,
    drop: use.Drop = None,
    weight: use.Weight = None,
    seed: use.Seed = 0,
    rows: use.Rows = None,
    encoding: use.Encoding = None,
    json: use.Json = False,
    quiet: use.Quiet = False,
) -> None:
    """List the rows whose labels are probably wrong: a CSV, most suspicious first."""
    voice = Voice(json, quiet)
    check_writable(out)
    problem = load_data(DataOptions(data, target, positive, tuple(drop or ()), rows, encoding, weight), voice)
    found = audited(problem, seed)
    suspects = suspects_of(found, problem, count)
    voice.note(f"{found.noise_rate:.1%} of the labels are estimated to be wrong; {len(suspects)} rows to check.")
    if found.status != "ok":
        voice.note(f"{found.status}.")
    record: dict[str, Any] = {"rows": len(problem.y), "noise_rate": found.noise_rate, "status": found.status}
    record["suspects"] = [vars(suspect) for suspect in suspects]
    if out != "-":
        write_text(out, _as_csv(suspects))
        voice.result({**record, "suspects_file": out}, [f"Rows to check: {out}"])
    else:
        voice.result(record, _as_csv(suspects).splitlines())


def _as_csv(found: Sequence[Suspect]) -> str:
    """Labels beside the cells of the file; whatever a spreadsheet would run gets a quote in front."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = list(found[0].cells) if found else []
    writer.writerow(
        ["row", "label", "suggested", "probability of an error", "margin", "against the label", *map(harmless, columns)]
    )
    for suspect in found:
        numbers = (f"{suspect.probability:.4g}", f"{suspect.margin:.4g}")
        cells = (harmless(suspect.cells[name]) for name in columns)
        labels = (harmless(suspect.given), harmless(suspect.suggested))
        writer.writerow([suspect.row, *labels, *numbers, harmless(suspect.reasons), *cells])
    return text.getvalue()
