"""The pages that people meet first hold what they promise: README, migration, papers, choosing, extending."""

import re
from pathlib import Path

import pytest

import dualboost

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_readme_shows_the_result_then_two_commands_then_ten_lines():
    page = text("README.md")
    order = [
        "docs/images/report.png",
        "python -m benchmarks",
        "| AdaBoost round",
        "make demo  ",
        "make test",
        "```python",
    ]
    places = [page.index(words) for words in order]
    assert places == sorted(places)
    example = re.search(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1]
    assert len([line for line in example.splitlines() if line.strip()]) <= 10


@pytest.mark.parametrize("name", ["README.md", *sorted(f"docs/{path.name}" for path in DOCS.glob("*.md"))])
def test_pictures_and_pages_that_are_linked_exist(name):
    folder = (ROOT / name).parent
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text(name)):
        if "://" not in target:
            assert (folder / target).exists(), f"{name} links to {target}"


@pytest.mark.parametrize("path", sorted(DOCS.glob("paper_*.md")), ids=lambda path: path.stem)
def test_a_page_of_a_paper_has_all_parts(path):
    page = path.read_text(encoding="utf-8")
    for part in (
        "What we built.",
        "The experiments, redone.",
        "Where we differ from the print.",
        "| statement | test |",
    ):
        assert part in page
    for module in re.findall(r"python -m (benchmarks\.\w+)", page):
        assert (ROOT / (module.replace(".", "/") + ".py")).exists(), module


def test_migration_speaks_to_users_of_every_named_library():
    page = text("docs/migration.md")
    sections = dict(re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", page, re.MULTILINE))
    wanted = {
        "AdaBoost": "AdaBoostClassifier",
        "LightGBM": "MarginBoostClassifier",
        "LPBoost": "LPBoostClassifier",
        "TotalBoost": "TotalBoostClassifier",
        "RobustBoost": "LogisticMixtureClassifier",
        "maboost": "MABoostClassifier",
        "cleanlab": "audit",
    }
    for name, ours in wanted.items():
        (section,) = (text for title, text in sections.items() if name in title)
        code = "".join(re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL))
        assert f"{ours}(" in code and "| theirs | here |" in section, name
    for name in re.findall(r"`(\w+Classifier)\b", page):
        assert hasattr(dualboost, name), name


def test_decision_tables_name_what_exists():
    page = text("docs/choosing.md")
    assert page.count("\n|---") >= 2
    for name in re.findall(r"`(\w+Classifier)\b", page):
        assert hasattr(dualboost, name), name


def test_extending_shows_the_live_source():
    page = text("docs/extending.md")
    shown = re.findall(r"literalinclude\} (\S+)", page)
    parts = {path.split("/")[3] for path in shown}
    assert {"losses", "learners"} <= parts and parts & {"sets", "boosters"}
    assert all((DOCS / path).exists() for path in shown)
