"""The demo as a user runs it: what it prints is what a refit gives, and the last line names pictures that exist."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

from dualboost import demo

image = pytest.importorskip("matplotlib.image")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("a [bold] name")


@pytest.fixture(scope="module")
def output(folder):
    """What the command prints into a pipe."""
    command = [sys.executable, "-m", "dualboost.demo", "--out", "pictures"]
    environment = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def experiment():
    return demo.run()


def row(output, name):
    """The cells of the line of a table that starts with this name."""
    (line,) = [line for line in output.splitlines() if line.startswith(name + "  ")]
    return line[len(name) :].split()


def test_last_line_names_the_pictures(output, folder):
    last = output.rstrip("\n").splitlines()[-1]
    assert last.startswith("Pictures: ")
    names = last.removeprefix("Pictures: ").split(", ")
    assert [os.path.basename(name) for name in names] == ["margins_and_gap.png", "shape_curves.png"]
    assert sorted(os.listdir(folder / "pictures")) == ["margins_and_gap.png", "shape_curves.png"]
    for name in names:
        pixels = image.imread(folder / name)[..., :3]
        ink = np.any(pixels < 0.9, axis=-1)
        assert min(pixels.shape[:2]) > 300 and 0.01 < ink.mean() < 0.9
        assert all(part.any() for half in np.array_split(ink, 2) for part in np.array_split(half, 2, axis=1))


def test_output_in_a_pipe_is_plain(output):
    assert "\x1b" not in output and "\r" not in output


def test_printed_certificate_is_that_of_a_refit(output, experiment):
    certificate = experiment.model.certificate_
    assert row(output, "soft margin reached") == [f"{certificate.objective:.5f}"]
    assert row(output, "bound") == [f"{certificate.bound:.5f}"]
    assert row(output, "gap") == [f"{certificate.gap:.5f}"]
    assert row(output, "rounds") == [str(experiment.model.n_iter_)]
    assert float(row(output, "seconds")[0]) > 0
    assert 0 < certificate.objective <= certificate.bound


def test_printed_accuracy_is_that_of_a_refit(output, experiment):
    X, y = experiment.X[experiment.test], experiment.y[experiment.test]
    right, accuracy, low, _, high = row(output, "this model")
    assert int(right) == np.sum(experiment.model.predict(X) == y)
    assert accuracy == f"{experiment.model.score(X, y):.1%}"
    center, n, z = int(right) / len(y), len(y), 1.959964
    middle = (center + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(center * (1 - center) / n + z * z / (4 * n * n))
    assert (low, high) == (f"{middle - half:.1%}", f"{middle + half:.1%}")
    assert int(row(output, "always benign")[0]) == np.sum(y == "benign") < int(right)


def test_split_is_stratified_and_disjoint(experiment):
    assert sorted([*experiment.train, *experiment.test]) == list(range(len(experiment.y)))
    assert len(experiment.test) / len(experiment.y) == pytest.approx(0.3, abs=0.005)
    shares = [np.mean(experiment.y[part] == "benign") for part in (experiment.train, experiment.test)]
    assert shares[0] == pytest.approx(shares[1], abs=0.01)


def test_printed_features_are_the_largest_shares(output, experiment):
    shares = experiment.model.feature_importances_
    used = int(np.sum(shares > 0))
    assert f"{used} of {len(shares)} features" in output
    lengths = []
    for feature in np.argsort(-shares, kind="stable")[: min(10, used)]:
        share, bar = row(output, experiment.names[feature])
        assert share == f"{shares[feature]:.1%}"
        lengths.append(len(bar))
    assert lengths == sorted(lengths, reverse=True) and lengths[0] > 10


def test_printed_rows_are_the_hardest(output, experiment):
    model = experiment.model
    lines = output[output.index("hardest training rows") :].splitlines()
    printed = [line.split() for line in lines if re.match(r" *\d+ ", line)]
    assert len(printed) == 5
    for cells, i in zip(printed, np.argsort(model.margins_, kind="stable"), strict=False):
        number = experiment.train[i]
        assert cells[:2] == [str(number), experiment.y[number]]
        assert cells[2:] == [f"{model.margins_[i]:+.4f}", f"{model.sample_distribution_[i]:.2%}"]


def test_quiet_prints_one_line(tmp_path, capsys, experiment, monkeypatch):
    monkeypatch.setattr(demo, "run", lambda verbose: experiment if verbose == 0 else None)
    assert demo.main(["--quiet", "--out", str(tmp_path / "deep" / "er")]) == 0
    printed = capsys.readouterr()
    assert printed.out.count("\n") == 1 and printed.out.startswith("Pictures: ") and printed.err == ""


@pytest.fixture
def no_training(monkeypatch):
    def run(verbose):
        raise AssertionError("trained before the folder was tried")

    monkeypatch.setattr(demo, "run", run)


def test_unwritable_folder_is_refused_before_training(tmp_path, capsys, no_training):
    (tmp_path / "file").write_text("in the way")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        assert demo.main(["--out", str(folder)]) == 2
        printed = capsys.readouterr()
        assert printed.out == "" and printed.err.count("\n") == 1
        assert printed.err.startswith(f"Cannot write to {folder}: ")


def test_missing_matplotlib_is_refused_before_training(tmp_path, capsys, no_training, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert demo.main(["--out", str(tmp_path)]) == 2
    assert 'pip install "dualboost[plots]"' in capsys.readouterr().err


def test_a_failed_write_leaves_the_old_picture(tmp_path):
    class Broken:
        def savefig(self, path, **options):
            path.write_bytes(b"half")
            raise OSError(28, "No space left on device")

    picture = tmp_path / "picture.png"
    picture.write_bytes(b"old")
    with pytest.raises(OSError):
        demo._write_whole(Broken(), picture)
    assert picture.read_bytes() == b"old" and os.listdir(tmp_path) == ["picture.png"]
