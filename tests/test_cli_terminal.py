"""At a terminal: a bar that shows the gap closing, completion for the shell, and nothing of it in a pipe."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dualboost

pytest.importorskip("polars")
pytest.importorskip("typer")
pty = pytest.importorskip("pty", reason="pseudo-terminals as on Unix")

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(dualboost.__file__).parents[1]), "TERM": "xterm", "COLUMNS": "120"}
PROGRAM = [sys.executable, "-m", "dualboost"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).round(3)
    path = tmp_path_factory.mktemp("terminal") / "data.csv"
    with path.open("w", newline="") as file:
        rows = [(*x, int(x[0] + rng.normal() > 0)) for x in X.tolist()]
        csv.writer(file).writerows([("a", "b", "c", "d", "label"), *rows])
    return path


def at_a_terminal(*arguments: str) -> str:
    """What a person sees."""
    keyboard, screen = pty.openpty()
    with subprocess.Popen([*PROGRAM, *arguments], stdin=screen, stdout=screen, stderr=screen, env=ENVIRONMENT) as run:
        os.close(screen)
        seen = b""
        try:
            while piece := os.read(keyboard, 4096):
                seen += piece
        except OSError:  # Linux says so when the other end is closed
            pass
    os.close(keyboard)
    assert run.returncode == 0, seen
    return seen.decode()


def test_a_bar_shows_the_gap_closing(data):
    out = str(data.with_suffix(".dualboost"))
    slow = ("--algorithm", "erlp", "--nu", "0.1", "--tol", "0.001")  # the usual one is done before a second look
    seen = at_a_terminal("fit", str(data), *slow, "-o", out)
    intervals = [(float(low), float(high)) for low, high in re.findall(r"margin (-?[\d.]+) \.\. ([\d.]+)", seen)]
    assert len(intervals) >= 2
    assert intervals[-1][1] - intervals[-1][0] < intervals[0][1] - intervals[0][0]
    assert "\x1b[?25h" in seen, "the cursor is given back"


def test_quiet_and_pipes_have_no_bar(data):
    out = str(data.with_suffix(".dualboost"))
    seen = at_a_terminal("fit", str(data), "--nu", "0.4", "-o", out, "--quiet")
    assert "\x1b" not in seen and "Target" not in seen
    done = subprocess.run(
        [*PROGRAM, "fit", str(data), "--nu", "0.4", "-o", out], capture_output=True, encoding="utf-8", env=ENVIRONMENT
    )
    assert done.returncode == 0 and "\x1b" not in done.stdout + done.stderr and "Target" in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_completes_commands_and_options(shell):
    def offered(typed: str) -> str:
        words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
        zsh = {"_TYPER_COMPLETE_ARGS": typed, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
        environment = {**ENVIRONMENT, **words, **zsh, "_DUALBOOST_COMPLETE": f"complete_{shell}"}
        return subprocess.run(PROGRAM, capture_output=True, encoding="utf-8", env=environment).stdout

    assert "evaluate" in offered("dualboost ev") and "predict" not in offered("dualboost ev")
    assert "--weight" in offered("dualboost fit --w")
