"""What a user may say on the command line, each option written once, in the group of which a command gets a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

__all__ = ["AUTO", "DataOptions", "FileOptions", "Folds", "OutOption", "RunOptions", "TrainingOptions", "Tuning"]

AUTO = "auto"
_FORMATS = "CSV, TSV, Parquet, Arrow or SVMlight, compressed or not; - for stdin."

Folds = Annotated[int, typer.Option(min=2, help="Parts that are held out in turn.")]
OutOption = Annotated[str, typer.Option("--out", "-o", help="CSV file to write; - for standard output.")]


@dataclass(frozen=True)
class FileOptions:
    """A data file, and how much of it."""

    path: Annotated[str, typer.Argument(metavar="DATA", help=_FORMATS, show_default=False)]
    rows: Annotated[int | None, typer.Option(min=1, help="Read only the first rows.")] = None
    encoding: Annotated[str | None, typer.Option(help="Of a text file that is not UTF-8, such as latin-1.")] = None


@dataclass(frozen=True)
class DataOptions:
    """A file to learn from, and what the caller says about its columns."""

    file: FileOptions
    target: Annotated[str | None, typer.Option("--target", "-t", help="Column to predict; else guessed.")] = None
    positive: Annotated[str | None, typer.Option(help="Tell this value of the target from all others.")] = None
    drop: Annotated[list[str] | None, typer.Option(help="Leave this column out; may be repeated.")] = None
    weight: Annotated[str | None, typer.Option(help="Column of row weights: 0 is absent, 2 counts twice.")] = None


@dataclass(frozen=True)
class RunOptions:
    """Parameters that every classifier has, under their names there; None leaves the classifier's own."""

    max_iter: Annotated[int | None, typer.Option("--max-rounds", min=1, help="Most rounds.")] = None
    random_state: Annotated[int, typer.Option("--seed", help="The same seed gives the same bits.")] = 0
    n_jobs: Annotated[
        int | None, typer.Option("--jobs", help="Threads; -1 for all. The result does not depend on it.")
    ] = None


@dataclass(frozen=True)
class Tuning:
    """Which classifier, and how."""

    algorithm: Annotated[str, typer.Option("--algorithm", "-a", help="auto, or a name that `compare` lists.")] = AUTO
    nu: Annotated[
        float | None, typer.Option(help="Share of rows that may fall inside the margin; chosen if not given.")
    ] = None
    tol: Annotated[
        float | None,
        typer.Option(help="Gap to reach, for most a share of the margin; the algorithm's own if not given."),
    ] = None
    run: RunOptions = RunOptions()


@dataclass(frozen=True)
class TrainingOptions:
    """How a fit is watched."""

    seconds: Annotated[float | None, typer.Option(help="Most time for the fit; the best so far is kept.")] = None
    checkpoint: Annotated[
        str | None, typer.Option(help="Keep the run in this file while it lasts; the same command takes it up again.")
    ] = None
    validation_fraction: Annotated[
        float | None, typer.Option(help="Hold this share of the rows out, keep the best vote on them, and stop early.")
    ] = None
