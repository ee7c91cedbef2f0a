"""The options that several commands share, each written once."""

from __future__ import annotations

from typing import Annotated

import typer

Data = Annotated[str, typer.Argument(help="CSV, TSV, Parquet, Arrow or SVMlight, compressed or not; - for stdin.")]
Target = Annotated[str | None, typer.Option("--target", "-t", help="Column to predict; guessed if not given.")]
Positive = Annotated[str | None, typer.Option(help="Tell this value of the target from all others.")]
Drop = Annotated[list[str] | None, typer.Option(help="Leave this column out; may be repeated.")]
Weight = Annotated[str | None, typer.Option(help="Column of row weights: 0 is absent, 2 counts twice.")]
Rows = Annotated[int | None, typer.Option(min=1, help="Read only the first rows.")]
Encoding = Annotated[str | None, typer.Option(help="Of a text file that is not UTF-8, such as latin-1.")]
Algorithm = Annotated[str, typer.Option("--algorithm", "-a", help="auto, or a name that `compare` lists.")]
Nu = Annotated[float | None, typer.Option(help="Share of rows that may fall inside the margin; chosen if not given.")]
Tol = Annotated[float | None, typer.Option(help="Gap to reach; the algorithm's own if not given.")]
Rounds = Annotated[int | None, typer.Option(min=1, help="Most rounds.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same bits.")]
Jobs = Annotated[int | None, typer.Option(help="Threads; -1 for all. The result does not depend on it.")]
Seconds = Annotated[float | None, typer.Option(help="Most time for the fit; the best so far is kept.")]
Checkpoint = Annotated[
    str | None, typer.Option(help="Keep the run in this file while it lasts; the same command takes it up again.")
]
Validation = Annotated[
    float | None, typer.Option(help="Hold this share of the rows out, keep the best vote on them, and stop early.")
]
Folds = Annotated[int, typer.Option(min=2, help="Parts that are held out in turn.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only results and errors.")]
