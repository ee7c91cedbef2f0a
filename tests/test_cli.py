"""Every command end to end on real files: results are the library's, bad input is one sentence and exit code 2."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_iris

from dualboost import LPBoostClassifier, MarginBoostClassifier, diagnose, load_model, load_notes
from dualboost.estimators.held_out import HeldOut, deal, held_out
from dualboost.estimators.intervals import area_interval, wilson

pytest.importorskip("polars")
pytest.importorskip("typer")
pytest.importorskip("jinja2")

from dualboost.cli import main
from dualboost.cli.algorithms import known
from dualboost.cli.guard import OutOfTime, at_most
from dualboost.cli.predict import harmless
from test_report import Reader

DATA = load_breast_cancer()
LABELS = DATA.target_names[DATA.target]


def table(path: Path, X, y, names=None, target="diagnosis") -> str:
    names = [f"x{j}" for j in range(X.shape[1])] if names is None else list(names)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*names, target])
        writer.writerows([*row, label] for row, label in zip(X.tolist(), y, strict=True))
    return str(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cli")


@pytest.fixture(scope="module")
def data(folder):
    return table(folder / "cancer.csv", DATA.data[:300, :8], LABELS[:300], DATA.feature_names[:8])


@pytest.fixture(scope="module")
def new_rows(folder):
    return table(folder / "new.csv", DATA.data[300:, :8], LABELS[300:], DATA.feature_names[:8])


@pytest.fixture(scope="module")
def model_file(folder, data):
    path = str(folder / "cancer.dualboost")
    assert main(["fit", data, "--nu", "0.3", "-o", path, "--quiet"]) == 0
    return path


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(list(arguments))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def as_json(capsys, *arguments: str) -> dict:
    code, out, err = run(capsys, *arguments, "--json")
    assert code == 0 and err == ""
    return json.loads(out)


# ---- fit, predict ---------------------------------------------------------------------------------------------------


def test_fit_keeps_the_model_that_the_library_fits(model_file):
    model, wanted = load_model(model_file), MarginBoostClassifier(0.3, random_state=0)
    wanted.fit(DATA.data[:300, :8], LABELS[:300])
    assert model.certificate_ == wanted.certificate_ and list(model.classes_) == ["benign", "malignant"]
    np.testing.assert_array_equal(model.decision_function(DATA.data[:, :8]), wanted.decision_function(DATA.data[:, :8]))


def test_the_model_file_says_how_it_was_made(model_file, data):
    notes = load_notes(model_file)
    assert notes["origin"]["file"] == data and notes["origin"]["rows"] == 300
    assert notes["origin"]["command"].startswith(f"dualboost fit {data} --nu 0.3")
    assert notes["schema"]["target"] == "diagnosis" and len(notes["origin"]["sha256"]) == 64


def test_fit_says_aloud_what_it_guessed_and_prints_the_certificate(capsys, data, folder):
    path = str(folder / "said.dualboost")
    code, out, err = run(capsys, "fit", data, "--nu", "0.3", "-o", path)
    assert code == 0
    assert "300 rows" in err and "Target 'diagnosis': benign" in err and "because" in err and "8 columns" in err
    certificate = load_model(path).certificate_
    assert f"{certificate.objective:.5f}" in out and f"{certificate.bound:.5f}" in out
    assert out.splitlines()[-1] == f"Model: {path}"
    assert "\x1b" not in out + err


def test_fit_as_json(capsys, data, folder):
    path = str(folder / "json.dualboost")
    record = as_json(capsys, "fit", data, "-a", "lp", "--nu", "0.3", "-o", path)
    model = load_model(path)
    assert isinstance(model, LPBoostClassifier) and record["algorithm"] == "LPBoostClassifier"
    assert record["objective"] == model.certificate_.objective and record["bound"] == model.certificate_.bound
    assert (
        record["rounds"] == model.n_iter_ and record["model"] == path and record["classes"] == ["benign", "malignant"]
    )
    assert any("Target" in note for note in record["notes"])


def test_fit_stops_early_in_time_and_leaves_no_checkpoint(capsys, data, tmp_path):
    path, run_file = tmp_path / "m.dualboost", tmp_path / "run"
    wishes = "--seconds", "60", "--validation-fraction", "0.25", "--checkpoint", str(run_file)
    record = as_json(capsys, "fit", data, "--nu", "0.3", "-o", str(path), *wishes)
    assert "held-out rows, was kept" in record["status"] and not run_file.exists()
    assert load_model(path).training.validation_fraction == 0.25


def test_predict_gives_the_labels_of_the_model(capsys, model_file, new_rows):
    code, out, err = run(capsys, "predict", model_file, new_rows)
    assert code == 0 and err == ""
    rows = list(csv.reader(io.StringIO(out)))
    model, X = load_model(model_file), DATA.data[300:, :8]
    assert rows[0] == ["diagnosis", "probability of benign", "probability of malignant"]
    assert [row[0] for row in rows[1:]] == model.predict(X).tolist()
    np.testing.assert_allclose([[float(c) for c in row[1:]] for row in rows[1:]], model.predict_proba(X), atol=1e-5)
    assert len(set(model.predict(X))) == 2


def test_predict_into_a_file_and_as_json(capsys, model_file, new_rows, tmp_path):
    path = tmp_path / "out.csv"
    code, out, _ = run(capsys, "predict", model_file, new_rows, "-o", str(path))
    assert code == 0 and out == f"Predictions: {path}\n"
    labels = [line.split(",")[0] for line in path.read_text().splitlines()[1:]]
    assert as_json(capsys, "predict", model_file, new_rows)["predictions"] == labels


def test_several_classes(capsys, tmp_path):
    iris = load_iris()
    data = table(tmp_path / "iris.csv", iris.data, iris.target_names[iris.target], iris.feature_names, "species")
    path = str(tmp_path / "iris.dualboost")
    record = as_json(capsys, "fit", data, "--nu", "0.2", "-o", path)
    assert record["classes"] == iris.target_names.tolist() and record["training_accuracy"] > 0.9
    assert list(record["status_of"]) == record["classes"] and "setosa: certified" in record["status"]
    _, out, _ = run(capsys, "predict", path, data)
    assert out.splitlines()[0].count("probability of") == 3
    judged = as_json(capsys, "evaluate", data, "--nu", "0.2", "--folds", "3")
    assert len(judged["recalls"]) == 3 and judged["auc"] is None and judged["accuracy"]["value"] > 0.85


def test_report_and_diagnosis_of_several_classes(capsys, tmp_path):
    iris = load_iris()
    data = table(tmp_path / "iris.csv", iris.data, iris.target_names[iris.target], iris.feature_names, "species")
    page, rows = tmp_path / "iris.html", tmp_path / "rows.csv"
    record = as_json(capsys, "report", data, "--nu", "0.2", "--folds", "2", "-o", str(page))
    assert record["report"] == str(page) and page.read_text().count("<summary>") >= 3
    found = as_json(capsys, "diagnose", data, "-o", str(rows))["classes"]
    for k, label in enumerate(iris.target_names):
        wanted = diagnose(iris.data, iris.target == k)
        assert found[f"{label} against the rest"]["regime"] == wanted.regime
        assert found[f"{label} against the rest"]["hard_core"] == (np.flatnonzero(wanted.hard_core) + 1).tolist()
    assert len(list(csv.DictReader(rows.open()))) == 3 * len(iris.target)


# ---- evaluate, compare ----------------------------------------------------------------------------------------------


def test_evaluate_by_folds(capsys, data):
    record = as_json(capsys, "evaluate", data, "--nu", "0.3", "--folds", "3")
    X, y = DATA.data[:300, :8], LABELS[:300]
    wanted = held_out(MarginBoostClassifier(0.3, random_state=0), X, y, 3, 0)
    assert record["confusion"] == wanted.confusion.tolist() and record["auc"]["value"] == wanted.area.value
    right = record["confusion"][0][0] + record["confusion"][1][1]
    assert record["accuracy"]["value"] == right / 300
    assert record["accuracy"]["low"] < record["accuracy"]["value"] < record["accuracy"]["high"]
    _, out, _ = run(capsys, "evaluate", data, "--nu", "0.3", "--folds", "3")
    assert f"{right / 300:.1%}" in out and "always the largest class" in out


def test_evaluate_a_model_on_new_rows(capsys, model_file, new_rows):
    record = as_json(capsys, "evaluate", new_rows, "--model", model_file)
    X, y = DATA.data[300:, :8], LABELS[300:]
    assert record["accuracy"]["value"] == load_model(model_file).score(X, y)
    assert record["rows"] == len(y) and 0.8 < record["auc"]["value"] <= 1


def test_compare_runs_what_was_asked(capsys, data):
    record = as_json(capsys, "compare", data, "-a", "lp", "-a", "margin", "--folds", "2", "--rows", "90")
    assert [run["algorithm"] for run in record["runs"]] == ["LPBoostClassifier", "MarginBoostClassifier"]
    for entry in record["runs"]:
        assert entry["accuracy"]["value"] > 0.75 and entry["gap"] >= 0 and entry["seconds"] > 0
        assert entry["hypotheses"] >= entry["features_used"] > 0


def test_compare_keeps_what_was_reached_when_the_time_is_over(capsys, data):
    code, out, _ = run(capsys, "compare", data, "-a", "lp", "--folds", "2", "--seconds", "0.1", "--rows", "90")
    assert code == 0 and out.splitlines()[1].startswith("lp")


def test_a_clock_presses_ctrl_c():
    with pytest.raises(OutOfTime), at_most(0.05):
        time.sleep(5)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.parametrize("name", sorted(known()))
def test_every_algorithm_makes_a_model_and_a_report(capsys, tmp_path, name):
    """Few rows and rounds: the point is that all parts fit together."""
    data = table(tmp_path / "small.csv", DATA.data[:90, :3], LABELS[:90], DATA.feature_names[:3])
    page = tmp_path / "small.html"
    record = as_json(capsys, "report", data, "-a", name, "--max-rounds", "5", "--folds", "2", "-o", str(page))
    model = load_model(tmp_path / "small.dualboost")
    assert record["algorithm"] == type(model).__name__ == known()[name].__name__
    assert record["training_accuracy"] == model.score(DATA.data[:90, :3], LABELS[:90])
    hopeless = "no positive soft margin" in model.status_  # TotalBoost insists on every row
    assert record["training_accuracy"] > 0.7 or (hopeless and name == "total")
    facts = dict(Reader(page.read_text(encoding="utf-8")).rows("Data"))
    assert facts["Algorithm"] == type(model).__name__ and facts["Made by"].startswith(
        f"dualboost report {data} -a {name}"
    )


def test_audit_finds_planted_errors_and_formulas_stay_text(capsys, tmp_path):
    """By chance one of the eight would be among the first sixteen."""
    planted = np.array([5, 40, 77, 101, 150, 190, 222, 260])
    labels = LABELS[:300].copy()
    labels[planted] = np.where(labels[planted] == "benign", "malignant", "benign")
    names = [*DATA.feature_names[:7], "=cmd()"]
    data = table(tmp_path / "planted.csv", DATA.data[:300, :8], labels, names)
    out = tmp_path / "check.csv"
    record = as_json(capsys, "audit", data, "-o", str(out))
    first = [suspect["row"] - 1 for suspect in record["suspects"][:16]]
    assert len(set(first) & set(planted)) >= 5 and len(record["suspects"]) < 60
    rows = list(csv.DictReader(out.open()))
    assert [int(row["row"]) for row in rows] == [suspect["row"] for suspect in record["suspects"]]
    assert all(row["label"] == labels[int(row["row"]) - 1] != row["suggested"] for row in rows)
    wrong = [suspect["probability"] for suspect in record["suspects"]]
    assert wrong == sorted(wrong, reverse=True) and "'=cmd()" in rows[0]
    assert record["suspects"][0]["reasons"] and 0 < record["noise_rate"] < 0.3


def test_diagnose_proves_which_rows_cannot_be_separated(capsys, tmp_path):
    rows = [(1, "a"), (2, "b"), (3, "a"), (3, "b"), (9, "b")]
    path = tmp_path / "five.csv"
    path.write_text("x,label\n" + "".join(f"{x},{label}\n" for x, label in rows))
    out = tmp_path / "rows.csv"
    record = as_json(capsys, "diagnose", str(path), "-o", str(out))
    wanted = diagnose(np.array([[x] for x, _ in rows], dtype=float), [label for _, label in rows])
    assert record["regime"] == wanted.regime == "mixed" and record["contradictions"] == [[[4], [3]]]
    assert record["hard_core"] == (np.flatnonzero(wanted.hard_core) + 1).tolist() and {3, 4} <= set(record["hard_core"])
    kinds = [line.split(",")[2] for line in out.read_text().splitlines()[1:]]
    assert [k + 1 for k, kind in enumerate(kinds) if kind == "hard core"] == record["hard_core"]
    _, text, _ = run(capsys, "diagnose", str(path))
    assert wanted.summary() in text


# ---- bad input ------------------------------------------------------------------------------------------------------


def bad_cases(tmp_path: Path, data: str, model: str) -> dict[str, tuple[list[str], str]]:
    one = table(tmp_path / "one.csv", np.arange(6.0)[:, None], ["x"] * 6)
    other = table(tmp_path / "other.csv", DATA.data[:30, :3], LABELS[:30])
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "ragged.csv").write_text("a,b,label\n1,2,x\n1,y\n")
    (tmp_path / "latin.csv").write_bytes(b"a,label\n1,\xe9\n")
    (tmp_path / "noise.dualboost").write_bytes(b"PK\x03\x04 nothing")
    newer = tmp_path / "newer.dualboost"
    make_newer(model, newer)
    (tmp_path / "folder").mkdir()
    return {
        "no file": (["fit", str(tmp_path / "nowhere.csv")], "There is no file"),
        "empty": (["fit", str(tmp_path / "empty.csv")], "is empty"),
        "ragged": (["fit", str(tmp_path / "ragged.csv")], "ragged: line 3"),
        "encoding": (["fit", str(tmp_path / "latin.csv")], "--encoding latin-1"),
        "missing target": (["fit", data, "--target", "nothing"], "no column 'nothing'"),
        "one value": (["evaluate", one, "-t", "diagnosis"], "only one value"),
        "algorithm": (["fit", data, "-a", "magic"], "no algorithm 'magic'; choose auto or one of"),
        "nu": (["fit", data, "--nu", "7"], "nu is the fraction"),
        "seconds": (["fit", data, "--seconds", "0"], "seconds is a time limit"),
        "checkpoint": (["fit", data, "--checkpoint", str(tmp_path / "no" / "run")], "cannot be written"),
        "folds": (["evaluate", data, "--folds", "1"], "--folds"),
        "unwritable": (["fit", data, "-o", str(tmp_path / "no" / "where")], "Cannot write to"),
        "a folder": (["fit", data, "-o", str(tmp_path / "folder")], "it is a folder"),
        "unwritable report": (["report", data, "-o", str(tmp_path / "no" / "x.html")], "Cannot write to"),
        "no model": (["predict", str(tmp_path / "none"), data], "There is no model file"),
        "no model inside": (["predict", str(tmp_path / "noise.dualboost"), data], "not a whole model file"),
        "newer model": (["predict", str(newer), data], "upgrade dualboost"),
        "other columns": (["predict", model, other], "has no column 'mean radius'"),
        "unknown label": (["evaluate", relabelled(tmp_path, data), "-m", model], "knows benign and malignant"),
        "no such option": (["fit", data, "--bogus"], "--bogus"),
        "no command": (["fly"], "fly"),
    }  # fmt: skip


def relabelled(tmp_path: Path, data: str) -> str:
    (tmp_path / "relabelled.csv").write_text(Path(data).read_text().replace("benign", "harmless"))
    return str(tmp_path / "relabelled.csv")


def make_newer(model: str, target: Path) -> None:
    from dualboost.storage import container

    header, arrays = container.read(model, 1 << 30)
    header.pop("arrays")
    container.write(target, {**header, "version": header["version"] + 1}, arrays)


def test_bad_input_is_one_sentence_exit_code_2_and_nothing_written(capsys, tmp_path, data, model_file, monkeypatch):
    cases = bad_cases(tmp_path, data, model_file)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    for name, (arguments, words) in cases.items():
        code, out, err = run(capsys, *arguments, *([] if name in ("no such option", "no command") else ["--quiet"]))
        assert code == 2, (name, err)
        assert words in err and out == "" and "Traceback" not in err, (name, err)
        assert err.count("\n") == 1 or name in ("folds", "no such option", "no command"), (name, err)
        assert not list(work.iterdir()), name


def test_a_defect_of_ours_is_exit_code_1(capsys, data, monkeypatch, tmp_path):
    def broken(*_, **__):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("dualboost.readers.learn", broken)
    code, out, err = run(capsys, "fit", data, "-o", str(tmp_path / "m"))
    assert code == 1 and out == "" and "defect of dualboost" in err and not list(tmp_path.iterdir())


def test_missing_libraries_are_named(capsys, data, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "polars", None)
    code, _, err = run(capsys, "fit", data, "-q", "-o", str(tmp_path / "m"))
    assert code == 2 and 'pip install "dualboost[cli]"' in err
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "dualboost.cli.app")
    assert main(["--help"]) == 2
    assert 'pip install "dualboost[cli]"' in capsys.readouterr().err


# ---- as a program ---------------------------------------------------------------------------------------------------


def program(*arguments: str, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "dualboost", *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False, **options)


def test_help_is_light_and_lists_the_commands():
    code = (
        "import sys; from dualboost.cli import main; main(['--help']); "
        "heavy = ('numpy', 'sklearn', 'polars', 'jinja2', 'matplotlib'); "
        "print(*[m for m in heavy if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert done.stderr.strip() == ""
    for command in (
        "fit",
        "predict",
        "evaluate",
        "compare",
        "audit",
        "diagnose",
        "report",
        "demo",
        "--install-completion",
    ):
        assert command in done.stdout


def test_standard_input_to_standard_output(data, model_file):
    done = program("predict", model_file, "-", input=Path(data).read_text())
    assert done.returncode == 0 and done.stdout.count("\n") == 301


def test_a_reader_that_leaves_is_no_error(model_file, tmp_path):
    rows = np.tile(DATA.data[:, :8], (60, 1))
    long = table(tmp_path / "long.csv", rows, np.tile(LABELS, 60), DATA.feature_names[:8])
    command = f"{sys.executable} -m dualboost predict {model_file} {long} | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, encoding="utf-8", check=False)
    assert done.stdout.startswith("diagnosis,") and done.stderr == ""


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_keeps_the_best_model(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 30))
    data = table(tmp_path / "slow.csv", X, (X[:, :5].sum(axis=1) + rng.normal(size=4000) > 0).astype(int))
    path = tmp_path / "kept.dualboost"
    code = (
        "import os, signal, sys; from dualboost.estimators import progress; from dualboost import estimators\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore Ctrl-C\n"
        "from dualboost import solve as _; import dualboost.game as game; import dualboost.estimators.playing as base\n"
        "play = base.play\n"
        "def interrupted(g, booster, most, state=None, watch=None):\n"
        "    def look(s):\n"
        "        if s.t >= 3: os.kill(os.getpid(), signal.SIGINT)\n"
        "    return play(g, booster, most, state, look)\n"
        "base.play = interrupted\n"
        "from dualboost.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "fit", data, "--nu", "0.3", "--tol", "1e-9", "-o", str(path)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False)
    assert done.returncode == 130, done.stderr
    model = load_model(path)
    assert model.status_.startswith("interrupted") and model.n_iter_ >= 3 and model.score(X, X[:, 0] > 0) > 0.4


# ---- numbers --------------------------------------------------------------------------------------------------------


def test_formulas_stay_text():
    for cell in ("=1+1", "+cmd", "-x", "@sum", "\tx", "\rx"):
        assert harmless(cell) == "'" + cell
    for cell in ("-1", "+1.5e3", "a=b", "", "1"):
        assert harmless(cell) == cell


def test_wilson_holds_the_truth():
    """Its coverage is close to 95 of 100, also for few rows and shares near 0 (counted exactly, not sampled)."""
    from scipy.stats import binom

    for n, p in ((20, 0.1), (50, 0.5), (200, 0.97)):
        inside = [wilson(k, n).low <= p <= wilson(k, n).high for k in range(n + 1)]
        assert 0.92 < binom.pmf(np.arange(n + 1)[inside], n, p).sum() < 0.99
    assert wilson(0, 10).low == 0 and wilson(10, 10).high == 1 and np.isnan(wilson(0, 0).value)


def test_area_is_that_of_all_pairs_and_its_interval_that_of_repeated_samples():
    rng = np.random.default_rng(0)
    areas, half = [], []
    for _ in range(300):
        positive = np.arange(80) % 2 == 0
        scores = rng.normal(size=80) + positive
        interval = area_interval(scores, positive, np.zeros(80))
        areas.append(interval.value)
        half.append((interval.high - interval.low) / 2)
    pairs = np.sign(scores[positive][:, None] - scores[~positive][None, :])
    assert areas[-1] == pytest.approx(np.mean((pairs + 1) / 2))
    assert np.mean(half) / 1.96 == pytest.approx(np.std(areas), rel=0.15)


def test_copies_of_a_row_are_dealt_together_and_classes_evenly():
    X = np.repeat(np.arange(60.0)[:, None], 3, axis=0)
    truth = np.repeat(np.arange(60) % 3 == 0, 3).astype(int)
    folds = deal(X, truth, 5, 0)
    assert all(len(set(folds[3 * k : 3 * k + 3])) == 1 for k in range(60))
    assert np.bincount(folds).tolist() == [36] * 5
    assert np.bincount(folds[truth == 1]).tolist() == [12] * 5


class Spy(ClassifierMixin, BaseEstimator):
    """Refuses to score a row that it was fitted to."""

    def fit(self, X, y):
        self.seen_ = set(X[:, 0])
        return self

    def decision_function(self, X):
        assert not self.seen_ & set(X[:, 0]), "it has seen this row"
        return X[:, 0]


def test_held_out_rows_are_scored_by_models_that_have_not_seen_them():
    X, y = np.arange(100.0)[:, None] - 50, np.arange(100) % 2
    result = held_out(Spy(), X, y, 4)
    np.testing.assert_array_equal(result.votes, X[:, 0])
    assert isinstance(result, HeldOut) and sorted(set(result.folds)) == [0, 1, 2, 3]
