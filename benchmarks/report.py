"""Results as Markdown: a header that names the machine and the command, then one table per section."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ours import Dualboost, DualboostAdaBoost, DualboostEveryColumn
from benchmarks.sections import BINNERS, PEERS, PLAIN_SUM, RACERS, Result, Results
from benchmarks.shapes import Shape

OURS, EVERY_COLUMN = Dualboost.name, DualboostEveryColumn.name
PACKAGES = ("dualboost", "numpy", "scipy", "scikit-learn", "lightgbm", "xgboost", "xgboost-cpu")


def machine() -> dict[str, Any]:
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "system": platform.platform(),
        "versions": {name: version for name in PACKAGES if (version := _version(name))},
        "command": shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]]),
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def header(facts: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return "\n".join(
        [
            "# Benchmarks of dualboost",
            "",
            f"- command: `{facts['command']}`",
            f"- machine: {facts['processor']}, {facts['cores']} cores, load {facts['load']} at the start",
            f"- system: {facts['system']}",
            f"- versions: Python {facts['python']}, {versions}",
        ]
    )


def table(columns: list[str], rows: list[list[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def cell(result: Result | None, ours: Result) -> str:
    """Seconds, how many times ours, and the peer's mode; or why there is no number."""
    if result is None or result.seconds is None:
        return result.reason if result and result.reason else "–"
    times = result.times(ours) if result is not ours else None
    ratio = f" = {times:.3g} ×" if times else ""
    mode = f" ({result.mode})" if result.mode else ""
    return duration(result.seconds) + ratio + mode


def results_row(name: str, results: Results, columns: list[str], base: str = OURS) -> list[str]:
    ours = results.get(base, Result())
    return [name, *(cell(results.get(column), ours) for column in columns)]


def rounds_table(shapes: list[Shape], sizes: dict[str, str], measured: dict[str, Results]) -> str:
    columns = [kind.name for kind in RACERS]
    rows = [
        [*results_row(f"{shape.name}: {sizes[shape.name]}", measured[shape.name], columns), f"{shape.goal:g} ×"]
        for shape in shapes
    ]
    return "## CPU time per round, one thread\n\n" + table(["shape", *columns, "aim: LightGBM"], rows)


def adaboost_table(shapes: list[Shape], measured: dict[str, Results]) -> str:
    """The same samples, as multiples of the time of our AdaBoost round."""
    columns = [DualboostAdaBoost.name, *(kind.name for kind in PEERS)]
    rows = [results_row(shape.name, measured[shape.name], columns, DualboostAdaBoost.name) for shape in shapes]
    return "## The same, against AdaBoost rounds of ours\n\n" + table(["shape", *columns], rows)


def binning_table(shapes: list[Shape], measured: dict[str, Results]) -> str:
    columns = [kind.name for kind in BINNERS]
    rows = [results_row(shape.name, measured[shape.name], columns) for shape in shapes]
    return "## CPU time of binning, one thread\n\n" + table(["shape", *columns], rows)


def sum_table(sizes: dict[str, int], measured: dict[str, Results]) -> str:
    """Bytes of codes over the time of a round, beside the speed of a plain sum over as many bytes."""
    rows = []
    for name, size in sizes.items():
        ours, limit = (measured[name].get(key, Result()).seconds for key in (EVERY_COLUMN, PLAIN_SUM))
        speed = [f"{size / seconds / 1e9:.3g} GB/s" if seconds else "–" for seconds in (ours, limit)]
        share = f"{100 * limit / ours:.3g} %" if ours and limit else "–"
        rows.append([name, *speed, share])
    return "## Codes read per second, and a plain sum over as many bytes\n\n" + table(
        ["shape", "a round of ours, every column", "plain sum", "share"], rows
    )


def prediction_table(results: Results, rows: int) -> str:
    columns = list(results)
    return f"## CPU time of prediction, 500 stumps, {rows:,} rows of raw floats\n\n" + table(
        ["", *columns], [results_row("higgs", results, columns)]
    )


def memory_table(added: dict[str, Any], X: np.ndarray) -> str:
    """The least that anyone needs is the input and one byte per cell."""
    least = X.nbytes + X.size
    rows = [
        [name, extra, "–"]
        if isinstance(extra, str)
        else [name, f"{extra / 1e6:.0f} MB", f"{(X.nbytes + extra) / least:.2f}"]
        for name, extra in added.items()
    ]
    sizes = f"input {X.nbytes / 1e6:.0f} MB, codes {X.size / 1e6:.0f} MB"
    return f"## Peak memory of a fit, higgs ({sizes})\n\n" + table(
        ["", "added to the input", "(input + added) / (input + codes)"], rows
    )


def threads_table(speed: dict[str, Any]) -> str:
    rows = [
        [name, found, "–", "–"]
        if isinstance(found, str)
        else [name, duration(found["one"]), duration(found["two"]), f"{found['speed_up']:.2f} ×"]
        for name, found in speed.items()
    ]
    return "## Wall time per round, higgs, one and two threads\n\n" + table(["", "one", "two", "speed-up"], rows)


def import_line(found: dict[str, Any]) -> str:
    if "reason" in found:
        return f"## Import\n\n`import dualboost`: {found['reason']}"
    return (
        f"## Import\n\n`import dualboost` takes {duration(found['own'])} when its dependencies are loaded, "
        f"{duration(found['with_dependencies'])} with them. It imports: {', '.join(found['packages'])}."
    )
