"""Every figure of the README is one that a benchmark printed: the tables there against benchmarks/RESULTS.md."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README, RESULTS = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "benchmarks/RESULTS.md"))
SHAPES = {
    "1,000,000 × 28": "higgs",
    "581,012 × 54, 44 one-hot": "covtype",
    "20,000 × 5,000": "wide",
    "569 × 30": "cancer",
    "sparse 20,000 × 47,000": "text",
}
SECTIONS = {
    "AdaBoost round": "The same, against AdaBoost rounds of ours",
    "soft margin round": "CPU time per round, one thread",
    "binning": "CPU time of binning, one thread",
}
PEERS = ("LightGBM", "LightGBM, all stumps", "XGBoost", "sklearn HGB", "sklearn AdaBoost")


def tables(text: str) -> list[list[dict[str, str]]]:
    """Every table as rows by the names of its columns; the first has none."""
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        lines = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in block.splitlines()]
        found.append([dict(zip(lines[0], row, strict=True)) for row in lines[2:]])
    return found


def section(title: str) -> str:
    after = RESULTS[RESULTS.index(f"# {title}\n") + len(title) + 3 :]
    return re.split(r"^#+ ", after, maxsplit=1, flags=re.MULTILINE)[0]


def readme_table(start: str) -> list[dict[str, str]]:
    return next(table for table in tables(README) if table[0][""].startswith(start))


def number(cell: str) -> float:
    return float(cell.replace(",", ""))


def ratio(cell: str) -> float | None:
    found = re.search(r"= (\S+) ×", cell)
    return float(found[1]) if found else None


def test_speed():
    compared = 0
    for row in readme_table("AdaBoost round"):
        what, _, shape = row[""].partition(", ")
        if what not in SECTIONS:
            continue
        printed = next(r for r in tables(section(SECTIONS[what]))[0] if r["shape"].split(":")[0] == SHAPES[shape])
        for cell, peer in zip(list(row.values())[1:], PEERS, strict=True):
            wanted = ratio(printed.get(peer, ""))
            assert (wanted is None) == (cell in ("", "dense only")), (row, peer)
            if wanted is not None:
                assert number(cell) == pytest.approx(wanted, rel=0.02), (row, peer)
                compared += 1
    assert compared > 50


def test_prediction():
    row = next(row for row in readme_table("AdaBoost round") if row[""].startswith("500 stumps"))
    printed = tables(section("CPU time of prediction, 500 stumps, 1,000,000 rows of raw floats"))[0][0]
    assert number(row["LightGBM, defaults"]) == pytest.approx(ratio(printed["LightGBM"]), rel=0.02)
    assert number(row["XGBoost"]) == pytest.approx(ratio(printed["XGBoost"]), rel=0.02)


def test_wrong_labels():
    """The mean over the four kinds of flips of what is printed for each."""
    named = {"LogisticMixtureClassifier": "LogisticMixture", "sklearn HGB": "HistGradientBoosting"}
    named["sklearn AdaBoost"] = "AdaBoost"
    printed = {row[""]: row for row in tables(section("Noisy labels: test error and rank under flipped labels"))[0]}
    table = next(table for table in tables(README) if "labels flipped" in table[0])
    assert len(table) >= 6
    for row in table:
        name = row["labels flipped"].strip("`")
        for share in ("0 %", "10 %", "20 %", "30 %"):
            cells = [v for k, v in printed[named.get(name, name)].items() if k.endswith(f" {share.replace(' ', '')}")]
            cells = cells or [printed[named.get(name, name)]["none"]]
            assert len(cells) == (1 if share == "0 %" else 4)
            assert number(row[share]) == pytest.approx(sum(map(float, cells)) / len(cells), abs=0.011), (name, share)


def test_audit():
    mean = next(row for row in tables(section("Noisy labels: flipped rows found by `audit`"))[0] if row[""] == "mean")
    sentence = re.search(r"`audit\(X, y\)` has a mean.*?audit`", README, re.DOTALL)[0]
    assert re.findall(r"\d\.\d+", sentence) == [
        mean["audit"],
        mean["self-confidence, LightGBM"],
        mean["self-confidence, logistic regression"],
    ]


def test_size():
    mean = next(row for row in tables(section("Small models"))[0] if row["data"] == "mean")
    table = next(table for table in tables(README) if "leaves" in table[0])
    assert len(table) == len(mean) - 1
    for row in table:
        printed = mean[row[""]].split(", ")
        assert [row["test error, %"], row["trees"], row["leaves"].replace(",", "")] == printed, row[""]
