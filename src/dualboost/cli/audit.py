"""`dualboost audit`: the rows whose labels are probably wrong, most suspicious first."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dualboost.cli.diagnose import diagnoses_of
from dualboost.cli.loading import check_writable, load_data, write_text
from dualboost.cli.options import DataOptions, OutOption
from dualboost.cli.predict import harmless
from dualboost.cli.suspects import audited, suspects_of, with_core
from dualboost.cli.voice import Voice

if TYPE_CHECKING:
    from dualboost.report import Suspect

__all__ = ["audit"]


@dataclass(frozen=True)
class _Wanted:
    """What is looked for."""

    count: Annotated[int | None, typer.Option(min=1, help="How many rows; by default the probable errors.")] = None
    hard_core: Annotated[
        bool,
        typer.Option("--hard-core", help="Prove which rows no vote of stumps can get right; takes longer."),
    ] = False
    seed: Annotated[int, typer.Option(help="The same seed gives the same bits.")] = 0


def audit(data: DataOptions, *, out: OutOption = "-", wanted: _Wanted, voice: Voice) -> None:
    """List the rows whose labels are probably wrong: a CSV, most suspicious first."""
    check_writable(out)
    problem = load_data(data, voice)
    found = audited(problem, wanted.seed)
    if wanted.hard_core:
        found = with_core(found, diagnoses_of(problem), problem)
    suspects = suspects_of(found, problem, found.find_label_issues(wanted.count, return_indices_ranked=True))
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
