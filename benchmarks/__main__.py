"""`python -m benchmarks`: measure, print Markdown on stdout, progress on stderr."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

import benchmarks
from benchmarks import children, report, sections
from benchmarks.sections import Effort, Result
from benchmarks.shapes import SHAPES, Shape
from benchmarks.timing import progress

EXTRAS = ("prediction", "memory", "threads", "import")


def parse(arguments: list[str]) -> argparse.Namespace:
    names = [shape.name for shape in SHAPES]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=benchmarks.__doc__)
    parser.add_argument("--shapes", nargs="+", choices=names, default=names, help="which data (default: all)")
    parser.add_argument("--extras", nargs="*", choices=EXTRAS, default=EXTRAS, help="other sections (default: all)")
    parser.add_argument("--rounds", type=int, default=10, help="rounds a turn (default: 10)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, few turns: under a minute")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample there too")
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return options


def measure_shapes(shapes: list[Shape], quick: bool, effort: Effort, found: dict[str, Any]) -> None:
    """The two sections that look at every shape, and the number of codes of the dense ones."""
    found.update(sizes={}, rounds={}, binning={}, codes={})
    for shape in shapes:
        data = shape.make(quick)
        found["sizes"][shape.name] = "{:,} × {:,} {}".format(*data[0].shape, shape.kind)
        progress(f"{shape.name}: {found['sizes'][shape.name]}")
        found["rounds"][shape.name], found["binning"][shape.name] = sections.rounds_and_binning(data, effort)
        if sections.PLAIN_SUM in found["rounds"][shape.name]:
            found["codes"][shape.name] = data[0].size
        medians = {name: result.seconds for name, result in found["rounds"][shape.name].items()}
        progress("  " + ", ".join(f"{name} {report.duration(s)}" for name, s in medians.items() if s))


def measure_extras(wanted: list[str], quick: bool, effort: Effort, found: dict[str, Any]) -> None:
    """The sections on the first shape alone; each is printed when it is there."""
    data = SHAPES[0].make(quick)
    if "prediction" in wanted:
        progress("prediction")
        with threadpool_limits(1):
            found["prediction"] = sections.prediction(data, effort)
        show(report.prediction_table(found["prediction"], len(data[1])))
    if "memory" in wanted:
        found["memory"] = children.peak_memory(data, effort.rounds, quick)
        show(report.memory_table(found["memory"], data[0]))
    if "threads" in wanted:
        progress("threads")
        found["threads"] = sections.two_threads(data, effort)
        show(report.threads_table(found["threads"]))
    if "import" in wanted:
        found["import"] = children.import_time(effort.turns)
        show(report.import_line(found["import"]))


def show(part: str) -> None:
    print(part, end="\n\n", flush=True)


def jsonable(value: Any) -> Any:
    if isinstance(value, Result):
        return {**dataclasses.asdict(value), "seconds": value.seconds}
    raise TypeError(f"cannot write {type(value).__name__} as JSON")


def run(options: argparse.Namespace, found: dict[str, Any]) -> None:
    shapes = [shape for shape in SHAPES if shape.name in options.shapes]
    effort = Effort(options.rounds, 2, 2.0) if options.quick else Effort(options.rounds, 5, 20.0)
    show(report.header(found["machine"]))
    with threadpool_limits(1):
        measure_shapes(shapes, options.quick, effort, found)
    show(report.rounds_table(shapes, found["sizes"], found["rounds"]))
    show(report.adaboost_table(shapes, found["rounds"]))
    show(report.binning_table(shapes, found["binning"]))
    show(report.sum_table(found["codes"], found["rounds"]))
    if options.extras:
        measure_extras(options.extras, options.quick, effort, found)


def main(arguments: list[str]) -> None:
    options = parse(arguments)
    found: dict[str, Any] = {"machine": report.machine(), "quick": options.quick}
    try:
        run(options, found)
    finally:  # a run that was interrupted keeps what it has
        if options.json:
            options.json.write_text(json.dumps(found, default=jsonable, indent=1))
    progress("done")


if __name__ == "__main__":
    main(sys.argv[1:])
