"""The pages about the papers name tests: every one of them must exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "docs").glob("paper_*.md"))
KNOWN = {
    name
    for path in (ROOT / "tests").glob("test_*.py")
    for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M)
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_named_tests_exist(page):
    named = set(re.findall(r"`(test_\w+)`", page.read_text()))
    assert len(named) > 8
    assert named <= KNOWN, f"{page.name} names tests that are not there: {sorted(named - KNOWN)}"


def test_there_is_a_page_for_each_paper():
    assert len(PAGES) == 5
