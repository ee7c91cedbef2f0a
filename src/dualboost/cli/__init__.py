"""`dualboost`, the command: one file a command. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns its exit code.

    0 is success, 2 bad input (one sentence on standard error, nothing half written), 130 Ctrl-C, 1 a defect of ours.

    Examples
    --------
    >>> from dualboost.cli import main
    >>> main(["fit", "nowhere.csv"])
    2
    """
    try:
        from dualboost.cli.app import run
    except ImportError as error:
        if error.name != "typer":
            raise
        print('The command line needs typer: pip install "dualboost[cli]".', file=sys.stderr)
        return 2
    return run(sys.argv[1:] if arguments is None else list(arguments))
