"""Results of long studies in a file, one JSON record a line: a study that was interrupted goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

__all__ = ["Kept"]


class Kept:
    """Records by their key. Without a path they are kept in memory only."""

    def __init__(self, path: Path | None = None, again: tuple[str, ...] = ()):
        """`again`: what these methods found before does not count."""
        self.path = path
        self.found: dict[str, dict] = {}
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        for line in lines:
            key, values = json.loads(line)
            if key["method"] not in again:
                self.found[_name(key)] = values

    def get(self, key: dict, measure: Callable[[], dict]) -> dict:
        """The whole record of this key, measured now if it is not there yet; the last one written counts."""
        values = self.found.get(_name(key))
        if values is None:
            values = self.found[_name(key)] = measure()
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(json.dumps([key, values]) + "\n")
        return {**key, **values}


def _name(key: dict) -> str:
    return json.dumps(key, sort_keys=True)
