"""What only a fresh process can tell: peak memory of a fit, and the cost of `import dualboost`.

As a program (`python -m benchmarks.children CONTENDER FOLDER ROUNDS`) it measures one fit and prints JSON.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ours import DualboostEstimator
from benchmarks.peers import HistGradientBoosting, LightGBMLean, XGBoost
from benchmarks.shapes import Data
from benchmarks.timing import Skip, progress

FITTED = {kind.__name__: kind for kind in (DualboostEstimator, LightGBMLean, XGBoost, HistGradientBoosting)}
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")

IMPORT = """
import importlib, json, sys, time
known = set(sys.modules)
for name in json.loads(sys.argv[1]):
    try: importlib.import_module(name)
    except Exception: pass
start = time.perf_counter()
import dualboost
seconds = time.perf_counter() - start
print(json.dumps([seconds, [name for name in sys.modules if name not in known and not name.startswith("dualboost")]]))
"""


def run_child(arguments: list[str]) -> Any:
    """JSON from the last line of a child's output; a failed child becomes one cell of the table."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Skip("not installed" if "ModuleNotFoundError" in last else f"failed: {last[:60]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def peak_memory(data: Data, rounds: int, quick: bool) -> dict[str, Any]:
    """Per contender: bytes that a fit adds to the input, or the reason why there is no number."""
    keys = list(FITTED)[: 3 if quick else None]
    if not RESET.exists():
        return {FITTED[key].name: "needs Linux" for key in keys}
    with tempfile.TemporaryDirectory() as folder:
        for name, array in zip(("X.npy", "y.npy"), data, strict=True):
            np.save(Path(folder) / name, array)
        return {FITTED[key].name: _added_bytes(key, folder, rounds) for key in keys}


def _added_bytes(key: str, folder: str, rounds: int) -> Any:
    progress(f"memory: {FITTED[key].name}")
    try:
        return run_child(["-m", "benchmarks.children", key, folder, str(rounds)])
    except Skip as reason:
        return str(reason)


def import_time(repeats: int) -> dict[str, Any]:
    """Seconds that dualboost itself adds: everything else that it imports is imported before the clock starts."""
    progress("import time")
    try:
        cold, modules = run_child(["-c", IMPORT, "[]"])
        warm = [run_child(["-c", IMPORT, json.dumps(modules)])[0] for _ in range(repeats)]
    except Skip as reason:
        return {"reason": str(reason)}
    tops = {name.partition(".")[0] for name in modules} - set(sys.stdlib_module_names)
    packages = sorted(name for name in tops if not name.startswith("_") and name != "cython_runtime")
    return {"with_dependencies": cold, "own": statistics.median(warm), "packages": packages}


def _kilobytes(field: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1])


def measure_fit(key: str, folder: str, rounds: int) -> int:
    """Bytes at the peak of a fit above what was resident when the input was loaded."""
    X, y = (np.load(Path(folder) / name) for name in ("X.npy", "y.npy"))
    contender = FITTED[key]()
    contender.prepare(X[:200].copy(), y[:200], 1)  # a first tiny fit loads libraries and starts their threads
    contender.rounds(1)
    RESET.write_text("5")  # Linux: the high-water mark becomes the present size
    before = _kilobytes("VmRSS")
    contender.prepare(X, y, 1)
    contender.rounds(rounds)
    return (_kilobytes("VmHWM") - before) * 1024


if __name__ == "__main__":
    print(json.dumps(measure_fit(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
