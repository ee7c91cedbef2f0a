"""The report and the documentation in a real browser: they work, ask nobody for anything, fit, and can be read by all.

Debian's chromium, driven by playwright and judged by axe-core; skipped with a reason where one of them is absent.
`DUALBOOST_SCREENSHOTS=folder` keeps pictures of every page to look at.
"""

import os
import shutil
from itertools import product
from pathlib import Path

import pytest

pytest.importorskip("jinja2")

from dualboost.report import page
from studies import hostile_study, several_study, study

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")

SCREENS = [(width, scheme) for width, scheme in product((390, 1280), ("light", "dark"))]
JUDGED = ((390, "dark"), (1280, "light"))
"""Both widths and both schemes: contrast and layout do not depend on each other."""
GUIDE = ("index", "start", "command_line", "choosing", "migration", "paper_margins", "search")
NAMES = ("MarginBoostClassifier", "FrankWolfeBoostClassifier", "audit", "Audit", "learners.Trees", "game.Certificate")
"""Of all kinds and with the longest title; every page is made by one of two templates."""
API = ("reference", *(f"api/dualboost.{name}" for name in NAMES), "genindex")
LONG = ("migration", *(name for name in API if "Classifier" in name or "Audit" in name), "genindex")
"""Made of the same parts as others: axe-core would take seconds for each."""


@pytest.fixture(scope="module")
def browser():
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_api.sync_playwright() as playwright:
        try:
            found = playwright.chromium.launch(executable_path=program)
        except sync_api.Error as error:
            pytest.skip(f"no browser to test in: {str(error).splitlines()[0]}")
        yield found
        found.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    studies = {"plain": study(), "hostile": hostile_study(), "several": several_study()}
    for name, made in studies.items():
        (folder / f"{name}.html").write_text(page(made), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The documentation with a few of the pages of single names: all of them take a minute."""
    pytest.importorskip("furo", reason="sphinx and its theme are not installed")
    pytest.importorskip("myst_parser", reason="myst-parser is not installed")
    from sphinx.cmd.build import build_main

    root, folder = Path(__file__).resolve().parents[1], tmp_path_factory.mktemp("site")
    source = folder / "source" / "docs"
    shutil.copytree(root / "docs", source, ignore=shutil.ignore_patterns("_build", "api"))
    (folder / "source" / "src").symlink_to(root / "src")  # pages show live source
    reference = source / "reference.md"
    lines = reference.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.startswith("   dualboost") or line[13:] in NAMES]
    assert len(kept) < len(lines) and sum(line[13:] in NAMES for line in kept) == len(NAMES)
    reference.write_text("\n".join(kept), encoding="utf-8")
    assert build_main(["-q", "-Q", "-b", "html", str(source), str(folder / "html")]) == 0
    return folder / "html"


class Seen:
    """Pages in one tab, with what they complained about and whom they asked."""

    def __init__(self, browser, path: Path, **options):
        self.tab = browser.new_context(**options).new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.tab.on("console", lambda message: self.complaints.append(message.text))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.goto(path.as_uri())

    def outside(self) -> list[str]:
        return [url for url in self.requests if not url.startswith(("file:", "blob:", "data:"))]

    def close(self) -> None:
        self.tab.context.close()


def on_screen(browser, path: Path, screen: tuple[int, str]) -> Seen:
    width, scheme = screen
    return Seen(browser, path, viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True)


def check_page(seen: Seen, name: str, screen: tuple[int, str]) -> None:
    """It fits, is silent and asks nobody."""
    width, scheme = screen
    folder = os.environ.get("DUALBOOST_SCREENSHOTS")
    if folder:
        seen.tab.screenshot(path=Path(folder) / f"{name}_{width}_{scheme}.png", full_page=True)
    assert seen.tab.evaluate("document.documentElement.scrollWidth") <= width, f"{name} is wider than the screen"
    assert not seen.complaints and not seen.outside(), name


def check_access(seen: Seen, name: str) -> None:
    """axe-core finds nothing to say about names, contrast, landmarks and the keyboard."""
    found = axe.Axe().run(seen.tab, options={"preload": False}).response
    told = [(v["id"], [node["target"] for node in v["nodes"][:3]]) for v in found["violations"]]
    assert not told, f"{name}: {told}"
    assert len(found["passes"]) > 10, "it has looked"


@pytest.mark.parametrize("screen", SCREENS, ids=str)
@pytest.mark.parametrize("name", ["plain", "hostile", "several"])
def test_reports_fit_every_screen_and_are_accessible(browser, reports, name, screen):
    seen = on_screen(browser, reports / f"{name}.html", screen)
    assert len(seen.requests) == 1, "the file itself, and nothing else"
    check_page(seen, name, screen)
    if screen in JUDGED:
        check_access(seen, name)
    seen.close()


@pytest.mark.parametrize("screen", SCREENS, ids=str)
@pytest.mark.parametrize("pages", [GUIDE, API], ids=["guide", "api"])
def test_documentation_fits_every_screen_and_is_accessible(browser, site, pages, screen):
    seen = on_screen(browser, site / "index.html", screen)
    for name in pages:
        seen.tab.goto((site / f"{name}.html").as_uri())
        check_page(seen, f"docs_{name.replace('/', '_')}", screen)
        if screen in JUDGED and name not in LONG:
            check_access(seen, name)
    seen.close()


def test_every_page_of_the_documentation_works_offline(browser, site):
    seen = Seen(browser, site / "index.html")
    for path in sorted([*site.glob("*.html"), *site.glob("api/*.html")]):
        seen.tab.goto(path.as_uri())
        assert not seen.outside() and not seen.complaints, path.name
        assert not seen.tab.evaluate(
            "[...document.images].filter(image => !image.naturalWidth).map(image => image.src)"
        )
    seen.close()


def test_pages_of_names_show_methods_and_link_no_words(browser, site):
    seen = Seen(browser, site / "api" / "dualboost.MarginBoostClassifier.html")
    assert seen.tab.locator("h1").inner_text().startswith("MarginBoostClassifier")
    for method in ("fit", "predict_proba", "score"):
        assert seen.tab.locator(f"[id='dualboost.MarginBoostClassifier.{method}']").count() == 1
    words = seen.tab.locator("article dd a.reference.internal").all_inner_texts()
    assert not {"shape", "features", "rounds"} & set(words)
    assert not seen.tab.locator("text=set_fit_request").count()
    seen.close()


def test_documentation_is_searched_without_a_server(browser, site):
    seen = Seen(browser, site / "search.html")
    seen.tab.goto((site / "search.html").as_uri() + "?q=certificate")
    seen.tab.wait_for_selector("#search-results ul.search li a")
    assert not seen.outside()
    seen.close()


def first_cells(tab) -> list[str]:
    return tab.locator("#rows tbody tr:visible td:first-child").all_inner_texts()


def test_the_table_sorts_filters_and_exports(browser, reports):
    seen = Seen(browser, reports / "plain.html")
    tab = seen.tab
    tab.get_by_role("button", name="Row", exact=True).click()
    assert first_cells(tab) == ["1", "2", "3"]
    tab.get_by_role("button", name="Row", exact=True).click()  # the arrow is no part of its name
    assert first_cells(tab) == ["3", "2", "1"]
    assert tab.locator("#rows th").first.get_attribute("aria-sort") == "descending"
    tab.get_by_label("Filter").fill("0.700")
    assert first_cells(tab) == ["2"] and tab.locator("#count").inner_text() == "1 of 3 rows"
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Save as CSV").click()
    saved = Path(download.value.path()).read_text(encoding="utf-8-sig").splitlines()
    assert len(saved) == 2 and "\"'=HYPERLINK(" in saved[1]
    assert not seen.complaints and not seen.outside()
    seen.close()


def test_columns_sort_as_numbers_and_with_the_keyboard(browser, reports):
    seen = Seen(browser, reports / "plain.html")
    seen.tab.get_by_role("button", name="Margin", exact=True).focus()
    seen.tab.keyboard.press("Enter")
    assert first_cells(seen.tab) == ["3", "2", "1"], "from the most negative"
    seen.close()


def test_hostile_contents_do_nothing(browser, reports):
    """With the page's own policy off, so that only the escaping protects."""
    for name in ("hostile", "several"):
        seen = Seen(browser, reports / f"{name}.html", bypass_csp=True)
        assert not seen.complaints and not seen.outside()
        assert seen.tab.locator("script").count() == 1 and seen.tab.locator("img").count() == 0
        seen.close()


def test_the_report_prints(browser, reports):
    seen = Seen(browser, reports / "plain.html", color_scheme="dark")
    seen.tab.emulate_media(media="print")
    assert seen.tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not seen.tab.locator("nav").is_visible() and seen.tab.locator("#rows").is_visible()
    assert seen.tab.pdf().startswith(b"%PDF")
    seen.close()


def test_marks_say_their_value_when_pointed_at(browser, reports):
    seen = Seen(browser, reports / "plain.html")
    strips = seen.tab.locator("#certificate svg .hover")
    for k, word in ((0, "round 1:"), (strips.count() - 1, f"round {strips.count()}:")):
        strips.nth(k).hover()  # fails where another one lies over it
        assert strips.nth(k).locator("title").text_content().startswith(word)
    for part in ("#margins", "#features", "#held-out"):
        assert seen.tab.locator(f"{part} svg title").count() >= 10
    seen.close()
