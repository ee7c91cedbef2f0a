"""`--weight COLUMN`: weight k is k copies of a row, weight 0 its absence; wrong weights are one sentence."""

import csv
import json

import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("typer")
pytest.importorskip("jinja2")

from dualboost import audit, load_model
from dualboost.cli import main
from dualboost.estimators.held_out import HeldOut
from dualboost.estimators.intervals import wilson

HEADER = ("x", "z", "times", "label")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 2)).round(3)
    y = np.where(X[:, 0] + 0.8 * rng.normal(size=120) > 0, "yes", "no")
    times = rng.choice([0, 1, 2, 3], 120)
    return [(*map(float, x), int(k), str(label)) for x, k, label in zip(X, times, y, strict=True)]


def written(path, rows, header=HEADER) -> str:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return str(path)


@pytest.fixture
def weighted(rows, tmp_path):
    return written(tmp_path / "weighted.csv", rows)


@pytest.fixture
def copied(rows, tmp_path):
    return written(tmp_path / "copied.csv", [row for row in rows for _ in range(row[2])])


def as_json(capsys, *arguments: str) -> dict:
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_weights_are_copies_in_a_fit(capsys, weighted, copied, tmp_path):
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    one = as_json(capsys, "fit", weighted, "--weight", "times", "--nu", "0.4", "-o", a)
    other = as_json(capsys, "fit", copied, "--drop", "times", "--nu", "0.4", "-o", b)
    for name in ("objective", "bound", "training_accuracy"):
        assert one[name] == pytest.approx(other[name], abs=1e-9), name
    assert one["features"] == 2 and "rows of weight 0 were left out" in " ".join(one["notes"])
    X = np.random.default_rng(0).normal(size=(50, 2))
    models = [load_model(path) for path in (a, b)]
    for model in models:
        del model.feature_names_in_
    np.testing.assert_allclose(models[0].decision_function(X), models[1].decision_function(X), atol=1e-9)


def test_evaluate_weighs_rows_in_the_fits_and_in_the_measures(capsys, weighted, copied):
    one = as_json(capsys, "evaluate", weighted, "--weight", "times", "--nu", "0.4", "--folds", "3")
    other = as_json(capsys, "evaluate", copied, "--drop", "times", "--nu", "0.4", "--folds", "3")
    assert one["accuracy"]["value"] == pytest.approx(other["accuracy"]["value"])
    assert one["accuracy"]["high"] - one["accuracy"]["low"] > other["accuracy"]["high"] - other["accuracy"]["low"]
    assert np.allclose(one["confusion"], other["confusion"]) and one["auc"] is None


def test_a_model_is_judged_by_weights_too(capsys, weighted, copied, tmp_path):
    path = str(tmp_path / "m")
    as_json(capsys, "fit", copied, "--drop", "times", "--nu", "0.4", "-o", path)
    one = as_json(capsys, "evaluate", weighted, "-m", path, "--weight", "times")
    other = as_json(capsys, "evaluate", copied, "-m", path)
    assert one["accuracy"]["value"] == pytest.approx(other["accuracy"]["value"])


def test_kish():
    """Equal weights are none, whatever their size; a row that outweighs all others is one row."""
    truth, votes = np.array([0, 1, 1, 0, 1]), np.array([-1.0, 1.0, -1.0, -1.0, 1.0])
    folds = np.zeros(5, dtype=int)
    plain = HeldOut(np.array([0, 1]), truth, votes, folds)
    tens = HeldOut(np.array([0, 1]), truth, votes, folds, np.full(5, 10.0))
    for a, b in zip((plain.accuracy, *plain.recalls), (tens.accuracy, *tens.recalls), strict=True):
        assert np.allclose([a.value, a.low, a.high], [b.value, b.low, b.high])
    heavy = HeldOut(np.array([0, 1]), truth, votes, folds, np.array([1e9, 1, 1, 1, 1]))
    assert abs(heavy.accuracy.low - wilson(1, 1).low) < 1e-6


def test_audit_and_report_take_weights(capsys, weighted, rows, tmp_path):
    record = as_json(capsys, "audit", weighted, "--weight", "times", "--count", "10")
    kept = [k for k, row in enumerate(rows) if row[2]]
    assert record["rows"] == len(kept) and {s["row"] - 1 for s in record["suspects"]} <= set(kept)
    X, times, y = np.array([row[:2] for row in rows]), np.array([row[2] for row in rows]), [row[3] for row in rows]
    found = audit(X[kept], [y[k] for k in kept], sample_weight=times[kept])
    wanted = found.find_label_issues(10, return_indices_ranked=True)
    assert [s["row"] - 1 for s in record["suspects"]] == [kept[i] for i in wanted]
    page = tmp_path / "w.html"
    told = as_json(capsys, "report", weighted, "--weight", "times", "--nu", "0.4", "--folds", "2", "-o", str(page))
    assert told["rows"] == len(kept) and page.exists()


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([1, -1, 1, 1], "Row 2 holds '-1'"),
        ([1, "", 1, 1], "Row 2 holds nothing"),
        ([1, 1, "inf", 1], "Row 3 holds 'inf'"),
        ([1, 1, 1, "much"], "Row 4 holds 'much'"),
        ([0, 0, 0, 0], "Every weight in 'times' is 0"),
        ([1, 0, 1, 0], "one"),
    ],
)
def test_wrong_weights_are_one_sentence(capsys, tmp_path, cells, words):
    data = written(tmp_path / "d.csv", [(k, k, cell, "ab"[k % 2]) for k, cell in enumerate(cells)])
    out = tmp_path / "m"
    assert main(["fit", data, "--weight", "times", "-o", str(out), "-q"]) == 2
    err = capsys.readouterr().err
    assert words in err and err.count("\n") == 1 and not out.exists()
    assert main(["fit", data, "--weight", "nothing", "-o", str(out), "-q"]) == 2
    assert "no column 'nothing'" in capsys.readouterr().err


@pytest.fixture
def corners(tmp_path):
    """An exclusive or, which no vote of stumps can fit, far from rows that are easy; the last row has weight 0."""
    easy = [(1, 1, number / 8 + 5, 1, "yes") for number in range(40)]
    rows = [(0, 0, 0, 1, "no"), (0, 1, 0, 2, "yes"), (1, 0, 0, 1, "yes"), (1, 1, 0, 1, "no"), *easy, (1, 1, 9, 0, "no")]
    return written(tmp_path / "corners.csv", rows, ("x", "z", "size", "times", "label"))


def test_diagnose_leaves_rows_of_weight_zero_out(capsys, corners, tmp_path):
    out = tmp_path / "rows.csv"
    record = as_json(capsys, "diagnose", corners, "--weight", "times", "-o", str(out))
    assert record["regime"] == "mixed" and record["hard_core"] == [1, 2, 3, 4]
    assert "1 row of weight 0" in " ".join(record["notes"])
    lines = list(csv.DictReader(out.open()))
    assert [int(line["row"]) for line in lines] == list(range(1, 45))
    assert [line["kind"] for line in lines[:5]] == ["hard core"] * 4 + ["separable"]


def test_audit_proves_the_hard_core_on_request(capsys, corners):
    for flags, core in (([], set()), (["--hard-core"], {1, 2, 3, 4})):
        told = as_json(capsys, "audit", corners, "--weight", "times", "--count", "44", *flags)["suspects"]
        assert {suspect["row"] for suspect in told} == set(range(1, 45))
        assert {suspect["row"] for suspect in told if "hard core" in suspect["reasons"]} == core


def test_the_library_refuses_weights_that_it_cannot_use():
    import scipy.sparse as sp

    with pytest.raises(ValueError, match="repeat rows"):
        audit(sp.csr_array(np.arange(20.0)[:, None]), np.arange(20) % 2, sample_weight=1.0 + np.arange(20) % 2)


def test_an_audit_lists_all_that_it_suspects_and_a_report_says_how_many_it_does_not(capsys, tmp_path):
    rng = np.random.default_rng(5)
    x = rng.normal(size=1200).round(3)
    y = np.where((x > 0) ^ (rng.random(1200) < 0.25), "yes", "no")
    path = written(tmp_path / "noisy.csv", zip(x, y, strict=True), ("x", "label"))
    rows = [suspect["row"] for suspect in as_json(capsys, "audit", path)["suspects"]]
    assert len(rows) > 200
    page = tmp_path / "noisy.html"
    told = as_json(capsys, "report", path, "--nu", "0.6", "--folds", "2", "-o", str(page))
    assert told["suspects"] == rows[:200]
    assert f"{len(rows)} rows deserve" in page.read_text() and f"the first 200 of {len(rows)}" in page.read_text()
