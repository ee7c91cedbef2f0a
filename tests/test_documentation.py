"""What the documentation shows is run: docstring examples, and the Python blocks of the pages."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import dualboost

ROOT = Path(__file__).parent.parent
MODULES = sorted(
    info.name for info in pkgutil.walk_packages(dualboost.__path__, "dualboost.") if "_compiled" not in info.name
)
# Abstract classes and plain records show their use where they are implemented.
EXEMPT = {
    "Loss",
    "WeightSet",
    "BoundSet",
    "Learner",
    "Oracle",
    "Predictor",
    "Answer",
    "Booster",
    "Norm",
    "Solution",
    "Separable",
    "Comparison",
}
EXEMPT |= {"Regularizer"}
PAGES = [path for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if path.exists()]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    pytest.importorskip("matplotlib")
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


def blocks(path: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", path.read_text(encoding="utf8"), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_python_blocks_of_the_pages_run(path):
    """From the top to the bottom, as a reader would."""
    names: dict = {}
    for block in blocks(path):
        exec(compile(block, str(path), "exec"), names)


def test_there_are_examples_to_run():
    assert sum(len(blocks(path)) for path in PAGES) >= 3
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert len(found) >= 15


@pytest.mark.parametrize("part", ["dualboost", *(f"dualboost.{p}" for p in ("losses", "sets", "learners", "boosters"))])
def test_every_public_name_has_an_example(part):
    module = importlib.import_module(part)
    for name in set(module.__all__) - EXEMPT:
        assert ">>>" in (getattr(module, name).__doc__ or ""), f"{part}.{name} has no example"
