"""All commands under one name. A new command is a file with a function, and a line here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from dualboost.cli.audit import audit
from dualboost.cli.compare import compare
from dualboost.cli.demo import demo
from dualboost.cli.diagnose import diagnose
from dualboost.cli.evaluate import evaluate
from dualboost.cli.fit import fit
from dualboost.cli.grouped import grouped
from dualboost.cli.guard import guarded
from dualboost.cli.loading import typed
from dualboost.cli.predict import predict
from dualboost.cli.report import report

__all__ = ["app", "run"]

app = typer.Typer(
    name="dualboost",
    help="Boosting that proves what it did: certified models from data files.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help and errors stay plain text, also in a pipe
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (fit, predict, evaluate, compare, audit, diagnose, report, demo):
    app.command()(guarded(grouped(command)))


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("dualboost"))
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    pass


def run(arguments: Sequence[str]) -> int:
    """Parse and run; the exit code."""
    typed.set(tuple(arguments))
    try:
        app(args=list(arguments), prog_name="dualboost")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else int(done.code is not None)
    return 0
