"""What a command says: results on standard output, all else on standard error, one JSON document for machines."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

__all__ = ["Voice", "aligned", "plain"]


@dataclass(frozen=True)
class Voice:
    """Notes go to standard error as they come, and into the JSON document."""

    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only results and errors.")] = False
    notes: list[str] = field(default_factory=list)

    @property
    def progress(self) -> int:
        """1 where somebody watches a bar: a terminal, and nobody asked for silence."""
        return int(sys.stderr.isatty() and not self.quiet and not self.json)

    def note(self, *sentences: str) -> None:
        self.notes.extend(sentences)
        if not (self.quiet or self.json):
            for sentence in sentences:
                print(sentence, file=sys.stderr)

    def result(self, record: dict[str, Any], lines: Iterable[str]) -> None:
        """The outcome: as JSON or as these lines."""
        if self.json:
            print(json.dumps(plain({**record, "notes": self.notes}), indent=1, ensure_ascii=False))
        else:
            for line in lines:
                print(line)


def plain(value: Any) -> Any:
    """What JSON can hold: arrays become lists, what is not finite becomes null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):  # an array or a number of numpy
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table: the first column to the left, the others to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(cell.rjust(widths[k]) if k else cell.ljust(widths[0]) for k, cell in enumerate(row)).rstrip()
        for row in rows
    ]
