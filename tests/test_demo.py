"""The demo as a user runs it: it finds what was planted, prints what is true, and the last line names the report."""

import csv
import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import dualboost
from dualboost import load_model

pytest.importorskip("typer")
pytest.importorskip("polars")
pytest.importorskip("jinja2")

from dualboost.cli import main
from dualboost.cli.demo import planted
from test_report import Reader


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("a [bold] name")


@pytest.fixture(scope="module")
def output(folder):
    """What the command prints into a pipe."""
    command = [sys.executable, "-m", "dualboost", "demo", "--out", "results"]
    environment = {**os.environ, "PYTHONPATH": str(Path(dualboost.__file__).parents[1])}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def model(output, folder):
    return load_model(folder / "results" / "breast_cancer.dualboost")


@pytest.fixture(scope="module")
def rows_to_check(output, folder):
    report = (folder / "results" / "breast_cancer.html").read_text(encoding="utf-8")
    return [int(row[0]) for row in Reader(report).rows("Row")[1:]]


def row(output, name):
    """The cells of the line of a table that starts with this name."""
    (line,) = [line for line in output.splitlines() if line.startswith(name + "  ")]
    return line[len(name) :].split()


def test_planted_labels_are_turned_round_and_nothing_else_is():
    text, turned = planted()
    data = load_breast_cancer()
    rows = list(csv.reader(io.StringIO(text)))
    truth = data.target_names[data.target]
    changed = [k for k, cells in enumerate(rows[1:], start=1) if cells[-1] != truth[k - 1]]
    assert changed == turned and len(turned) == 20 and rows[0] == [*data.feature_names, "diagnosis"]
    np.testing.assert_array_equal(np.array([cells[:-1] for cells in rows[1:]], dtype=float), data.data)


def test_the_last_line_names_the_report(output, folder):
    last = output.rstrip("\n").splitlines()[-1]
    assert last == f"Report: {os.path.join('results', 'breast_cancer.html')}"
    assert sorted(os.listdir(folder / "results")) == [
        "breast_cancer.csv", "breast_cancer.dualboost", "breast_cancer.html"
    ]  # fmt: skip


def test_output_in_a_pipe_is_plain(output):
    assert "\x1b" not in output and "\r" not in output


def test_planted_errors_are_found(output, rows_to_check):
    """By chance the first 20 of 569 rows would hold less than one of the 20."""
    turned = planted()[1]
    first = len(set(rows_to_check[:20]) & set(turned))
    every = len(set(rows_to_check) & set(turned))
    assert first >= 12 and every >= 16 and len(rows_to_check) < 100
    assert f"{every} of them are among the {len(rows_to_check)} rows to check, {first} among the first 20." in output


def test_printed_certificate_is_that_of_the_model(output, model):
    certificate = model.certificate_
    assert row(output, "soft margin") == [f"{certificate.objective:.5f}"]
    assert row(output, "no vote exceeds") == [f"{certificate.bound:.5f}"]
    assert row(output, "gap") == [f"{certificate.gap:.5f}"] and row(output, "rounds") == [str(model.n_iter_)]
    assert 0 < certificate.objective <= certificate.bound


def test_the_model_is_right_where_the_labels_were_turned_round(model):
    data = load_breast_cancer()
    turned = np.array(planted()[1]) - 1
    truth = data.target_names[data.target]
    assert np.mean(model.predict(data.data[turned]) == truth[turned]) >= 0.8


def test_unwritable_folder_is_refused_before_training(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("dualboost.cli.demo.study_of", lambda *_: pytest.fail("trained before the folder was tried"))
    (tmp_path / "file").write_text("in the way")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        assert main(["demo", "--out", str(place)]) == 2
        printed = capsys.readouterr()
        assert printed.out == "" and printed.err.count("\n") == 1
        assert printed.err.startswith(f"Cannot write to {place}: ")
