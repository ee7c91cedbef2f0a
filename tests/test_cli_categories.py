"""Columns of categories from file to model and back: the library's own categories, in every command."""

import csv
import json
import re

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("jinja2")

from dualboost import MarginBoostClassifier, diagnose, load_model
from dualboost.cli import main
from dualboost.cli.algorithms import known
from dualboost.learners import Stumps
from dualboost.readers import learn, read
from dualboost.report.curves import curves
from test_report import Reader, titles

pl = pytest.importorskip("polars")

TOWNS = ["Bern", "Köln", "Oslo", "Paris", "Rome"]
GOOD = {"Köln", "Rome"}
ROWS = 160


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    towns = rng.choice([*TOWNS, ""], ROWS)
    ages = rng.integers(18, 90, ROWS)
    right = [(town in GOOD) ^ (rng.random() < 0.05) for town in towns]
    return [(str(town), int(age), "yes" if r else "no") for town, age, r in zip(towns, ages, right, strict=True)]


def written(path, rows, header=("town", "age", "label")) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return str(path)


@pytest.fixture(scope="module")
def data(rows, tmp_path_factory):
    return written(tmp_path_factory.mktemp("categories") / "towns.csv", rows)


def as_json(capsys, *arguments: str) -> dict:
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def frame_of(rows):
    towns, ages, _ = zip(*rows, strict=True)
    missing = [town or None for town in towns]
    return pl.DataFrame({"town": pl.Series(missing, dtype=pl.Enum(TOWNS)), "age": [float(a) for a in ages]})


def test_fit_keeps_the_categories_of_the_library(capsys, data, rows, tmp_path):
    path = str(tmp_path / "m.dualboost")
    record = as_json(capsys, "fit", data, "--nu", "0.2", "-o", path)
    model, y = load_model(path), [label for *_, label in rows]
    twin = MarginBoostClassifier(0.2, random_state=0).fit(frame_of(rows), y)
    assert model.categories_ == twin.categories_ == {"town": TOWNS}
    assert record["features"] == 2 and record["objective"] == twin.certificate_.objective
    np.testing.assert_array_equal(model.decision_function(frame_of(rows)), twin.decision_function(frame_of(rows)))
    assert model.score(frame_of(rows), y) > 0.9, "one subset of the towns says it all"


def test_predict_takes_new_categories_and_missing_ones(capsys, data, tmp_path):
    path = str(tmp_path / "m.dualboost")
    as_json(capsys, "fit", data, "--nu", "0.2", "-o", path)
    new = written(tmp_path / "new.csv", [("Rome", 40), ("Lima", 40), ("", 40), ("Oslo", 40)], ("town", "age"))
    record = as_json(capsys, "predict", path, new)
    told = record["probability of yes"]
    assert told[0] > 0.8 > 0.3 > told[3] and told[1] == told[2], "a new town is a missing one"
    assert record["notes"] == ["Column 'town': 1 cells such as 'Lima' are new and count as missing."]


@pytest.mark.parametrize("name", sorted(known()))
def test_every_algorithm_takes_categories(capsys, data, tmp_path, name):
    path = str(tmp_path / "m.dualboost")
    record = as_json(capsys, "fit", data, "-a", name, "--max-rounds", "5", "-o", path)
    model = load_model(path)
    assert model.categories_ == {"town": TOWNS}
    hopeless = "no positive soft margin" in model.status_  # TotalBoost insists on every row
    assert record["training_accuracy"] > 0.85 or (hopeless and name == "total")


def test_evaluate_audit_and_diagnose_read_the_same_categories(capsys, data, rows, tmp_path):
    assert as_json(capsys, "evaluate", data, "--nu", "0.2", "--folds", "2")["accuracy"]["value"] > 0.85
    suspects = as_json(capsys, "audit", data)["suspects"]
    wrong = {k + 1 for k, (town, _, label) in enumerate(rows) if (town in GOOD) != (label == "yes")}
    assert len(wrong & {suspect["row"] for suspect in suspects}) > len(wrong) / 2
    assert any("town" in suspect["reasons"] for suspect in suspects)
    record = as_json(capsys, "diagnose", data)
    codes = [TOWNS.index(town) if town else np.nan for town, *_ in rows]
    table = np.array([codes, [age for _, age, _ in rows]], dtype=float).T
    wanted = diagnose(table, [label for *_, label in rows], Stumps(categorical=(0,)))
    assert record["hard_core"] == (np.flatnonzero(wanted.hard_core) + 1).tolist() and record["regime"] == wanted.regime


def test_the_report_shows_a_bar_for_each_category(capsys, data, rows, tmp_path):
    page = tmp_path / "towns.html"
    as_json(capsys, "report", data, "--nu", "0.2", "--folds", "2", "-o", str(page))
    model = load_model(tmp_path / "towns.dualboost")
    text = page.read_text(encoding="utf-8")
    told = dict(re.findall(r"<title>town = (\w+): ([-+.\d]+) for yes</title>", text))
    assert set(told) == set(TOWNS)
    votes = model.decision_function(frame_of([(town, 30, "") for town in TOWNS]))
    assert np.ptp([votes[k] - float(told[town]) for k, town in enumerate(TOWNS)]) < 2e-4, "up to the vote of the age"
    facts = dict(Reader(text).rows("Data"))
    assert "1 of categories" in facts["How it was read"]


def test_many_categories_are_shown_by_the_strongest(tmp_path):
    from dualboost.estimators.held_out import held_out
    from dualboost.report import Study

    towns = [f"t{k % 20:02d}" for k in range(400)]
    path = written(tmp_path / "many.csv", [(town, k % 9, k % 20 > 9) for k, town in enumerate(towns)])
    problem = learn(read(path))
    model = MarginBoostClassifier(0.2).fit(problem.X, problem.y)
    judged = held_out(model, problem.X, problem.y, 2)
    drawn = curves(Study("t", model, problem.y, problem.schema.features, judged, (), np.nan, {}))
    assert drawn[0].name == "town" and len(titles(drawn[0].picture)) == 8
    assert "The 7 strongest of 20 categories" in drawn[0].picture


def test_a_model_of_one_feature_a_category_is_refused(capsys, data, tmp_path):
    """As an older version made them."""
    from dualboost.files import save_model
    from dualboost.readers import Column, Schema

    model = MarginBoostClassifier(0.2, calibrate=False).fit(np.eye(4), [0, 1, 0, 1])
    old = Schema("label", columns=(Column("town", "category", ("Bern", "Rome")),))
    save_model(model, tmp_path / "old.dualboost", notes={"schema": old.to_json()})
    assert main(["predict", str(tmp_path / "old.dualboost"), data]) == 2
    assert "older dualboost" in capsys.readouterr().err
