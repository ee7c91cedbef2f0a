"""The report: its numbers are the model's, whatever the data holds stays text, and it needs nothing from outside."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jinja2")

from dualboost import LPBoostClassifier
from dualboost.estimators.held_out import held_out
from dualboost.learners import Trees
from dualboost.report import Study, page, pictures
from dualboost.report.curves import curves
from dualboost.report.page import _certificate as _facts
from dualboost.report.page import share_of_best, verdict
from dualboost.report.svg import ticks
from studies import FEATURES, FORMULA, ROWS, data, hostile_study, several_study, study


@pytest.fixture(scope="module")
def plain():
    return study()


@pytest.fixture(scope="module")
def html(plain):
    return page(plain)


class Reader(HTMLParser):
    """Elements with their attributes, the text, and the cells of each table."""

    VOID = frozenset({"meta", "input", "br", "img"})

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict]] = []
        self.open: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"{tag} closes something else"

    def handle_data(self, text):
        if {"td", "th"} & set(self.open) and self.tables and self.tables[-1]:
            self.tables[-1][-1][-1] += text
        if not {"script", "style"} & set(self.open):
            self.words.append(text)

    def rows(self, first: str) -> list[list[str]]:
        (found,) = [table for table in self.tables if table and table[0][0].strip() == first]
        return [[cell.strip() for cell in row] for row in found]


# ---- numbers --------------------------------------------------------------------------------------------------------


def test_the_numbers_are_those_of_the_model(plain, html):
    reader, certificate = Reader(html), plain.model.certificate_
    facts = dict(reader.rows("Soft margin reached"))
    assert facts["Soft margin reached"] == f"{certificate.objective:.5f}"
    assert facts["No vote exceeds"] == f"{certificate.bound:.5f}" and facts["Gap"] == f"{certificate.gap:.5f}"
    assert facts["Rounds"] == str(plain.model.n_iter_) and facts["Why it stopped"] == plain.model.status_
    confusion = [[int(cell) for cell in row[1:]] for row in reader.rows("True class")[1:]]
    assert confusion == plain.held_out.confusion.tolist() and np.sum(confusion) == ROWS
    measures = {row[0]: row[1] for row in reader.rows("Measure")[1:]}
    assert measures["Accuracy"] == f"{(confusion[0][0] + confusion[1][1]) / ROWS:.1%}"
    assert measures["Recognised of yes"] == f"{confusion[1][1] / sum(confusion[1]):.1%}"
    assert measures["Area under the ROC curve"] == f"{plain.held_out.area.value:.1%}"


def test_the_verdict_is_one_true_sentence(plain, html):
    sentence = verdict(plain)
    assert sentence in " ".join(" ".join(Reader(html).words).split())
    assert f"{plain.held_out.accuracy.value:.1%}" in sentence and "3 rows deserve" in sentence
    certificate = plain.model.certificate_
    assert 0 < share_of_best(plain) <= certificate.objective / certificate.bound
    assert sentence.count(". ") == 0 and sentence.endswith(".")


def test_suspicious_rows_in_their_order(plain, html):
    rows = Reader(html).rows("Row")
    assert [row[0] for row in rows[1:]] == ["3", "1", "2"]
    assert rows[1][1:5] == ["no", "yes", "0.600", "-0.4286"]
    shown = rows[0][6:]
    assert set(shown) == {"feature 0", "feature 1"}  # "id" has no vote
    assert rows[1][6 + shown.index("feature 1")] == FORMULA


def titles(picture: str) -> list[str]:
    return re.findall(r"<title>(.*?)</title>", picture)


def test_margins_count_every_row(plain):
    counts = [int(re.search(r": (\d+) rows", title)[1]) for title in titles(pictures.margins(plain))]
    assert sum(counts) == ROWS
    of_yes = [t for t in titles(pictures.margins(plain)) if t.endswith("of yes")]
    assert sum(int(re.search(r": (\d+) rows", t)[1]) for t in of_yes) == np.sum(plain.y == "yes")


def test_convergence_ends_at_the_last_round(plain):
    last = titles(pictures.convergence(plain))[-1]
    history = plain.model.history_
    assert last.startswith(f"round {len(history['objective']) - 1}: reached {history['objective'][-1]:.5f}")


def test_a_run_of_one_round_is_a_point_with_numbers_beside_it():
    """Certified in its first round: no line, no interval, and yet something to see."""
    X, _ = data()
    y = np.where(X[:, 0] > 0, "yes", "no")
    made = study(model=LPBoostClassifier(0.3, max_iter=20))
    single = replace(made, model=LPBoostClassifier(0.3, max_iter=20).fit(np.nan_to_num(X), y), y=y)
    assert single.model.n_iter_ == 1
    drawn = pictures.convergence(single)
    assert drawn.count("<circle") == 1 and "round 1: reached 1.00000" in titles(drawn)[0]
    assert drawn.count('class="grid"') >= 2, "numbers on the axis at the side"


def test_bars_of_categories_show_the_missing_value():
    """Nobody without a boat survives: the bars of the boats alone would tell nothing."""
    pandas = pytest.importorskip("pandas")
    boats = np.array([*"ABCDEFGHIJ"] * 6 + [None] * 60, dtype=object)
    X = pandas.DataFrame({"boat": pandas.Categorical(boats), "age": np.arange(120.0) % 7})
    y = np.where(pandas.isna(boats), "no", "yes")
    model = LPBoostClassifier(0.3, max_iter=5).fit(X, y)
    made = Study("Boats", model, y, ("boat", "age"), held_out(model, X, y, folds=2), (), 0.0, {})
    (curve,) = curves(made, 1)
    told = titles(curve.picture)
    assert len(told) == 8 and "boat = (missing): -1.0000 for yes" in told and "boat = A: +1.0000 for yes" in told
    assert "The 7 strongest of 10 categories" in curve.picture and curve.missing == 0


def test_curves_sum_to_the_vote(plain):
    """Read the step functions back from the hover texts and vote with them."""
    X, _ = data()
    drawn = curves(plain, FEATURES)
    scores = np.full(ROWS, plain.model.predictor_.base)
    for curve in drawn:
        x = X[:, int(curve.name.split()[1])]
        for title in titles(curve.picture):
            where, value = title.rsplit(": ", 1)
            low = re.search(r"above (\S+)", where)
            high = re.search(r"up to (\S+)", where)
            inside = (x > (float(low[1]) if low else -np.inf)) & (x <= (float(high[1]) if high else np.inf))
            scores[inside] += float(value.split()[0])
        scores[np.isnan(x)] += curve.missing
    assert np.isnan(X).any() and any(curve.missing for curve in drawn)
    np.testing.assert_allclose(scores, plain.model.decision_function(X), atol=1e-3)
    assert f"missing: {next(curve.missing for curve in drawn if curve.missing):+.4f}" in page(plain)
    assert sum(curve.share for curve in drawn) == pytest.approx(1)


def test_calibration_groups_hold_every_row(plain):
    groups = [re.match(r"(\d+) rows.*: (\d+)% were yes", title) for title in titles(pictures.calibration(plain))]
    assert sum(int(group[1]) for group in groups) == ROWS and len(groups) == 10
    shares = [int(group[2]) for group in groups]
    assert shares[0] < 30 < 70 < shares[-1]


def test_a_model_without_curves_and_one_without_suspects():
    trees = study(model=LPBoostClassifier(0.3, learner=Trees(2), max_iter=20), suspects=())
    text = page(trees)
    assert "What the model looks at" not in text and "Rows to check" not in text and "deserve" not in verdict(trees)
    Reader(text)


def test_rows_beyond_the_list_are_counted(plain):
    """Twenty more were found than a page shows: neither the sentence nor the table hides it."""
    longer = replace(plain, unlisted=20)
    assert "23 rows deserve a second look" in verdict(longer)
    assert "These are the first 3 of 23" in page(longer) and "These are the first" not in page(plain)


def test_several_classes_have_a_part_each():
    made = several_study()
    text = page(made)
    reader = Reader(text)
    labels = [str(label) for label in made.model.classes_]
    assert verdict(made).startswith(f"Tells {labels[0]}, {labels[1]} and {labels[2]} apart and is right about")
    parts = made.parts()
    assert [part.title for part in parts] == [
        f"{label} against the rest" for label in sorted(labels, key=lambda label: -np.sum(made.y == label))
    ]
    for part in parts:
        k = labels.index(part.names[1])
        assert part.model is made.model.estimators_[k]
        np.testing.assert_array_equal(part.held_out.votes, made.held_out.votes[:, k])
        assert sum(int(re.search(r": (\d+) rows", title)[1]) for title in titles(pictures.margins(part))) == ROWS
        assert dict(_facts(part))["Soft margin reached"] in text
    confusion = [[int(cell) for cell in row[1:]] for row in reader.rows("True class")[1:]]
    assert confusion == made.held_out.confusion.tolist()
    assert text.count("against the rest</h3>") == 3 and "<script>alert" not in text


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-0.3, 0.7), (1e-9, 3e-9), (-1e6, 5e6), (3, 3)])
def test_ticks_are_round_numbers_inside(low, high):
    marks = ticks(low, high)
    assert marks and all(low - 1e-12 <= mark <= high * (1 + 1e-9) for mark in marks) and len(marks) <= 12
    assert ticks(1, 5000, log=True) == [1, 10, 100, 1000] and ticks(1, 7, log=True) == [1, 2, 5]


# ---- hostile content, nothing from outside --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile():
    return page(hostile_study())


def test_hostile_contents_stay_text(hostile):
    reader = Reader(hostile)
    tags = [tag for tag, _ in reader.elements]
    assert tags.count("script") == 1 and "img" not in tags and "iframe" not in tags
    assert not any(name.startswith("on") for _, attributes in reader.elements for name in attributes)
    assert "".join(reader.words).count("<script>alert(1)</script>") > 5, "it is shown as text"


def test_nothing_comes_from_outside(html, hostile):
    for text in (html, hostile):
        for tag, attributes in Reader(text).elements:
            assert "src" not in attributes and tag not in ("link", "base", "object", "embed")
            assert attributes.get("href", "#").startswith("#")
        assert "url(" not in text and "@import" not in text
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
        assert policy.startswith("default-src 'none'") and "script-src 'sha256-" in policy


def test_the_script_is_the_one_that_may_run(html):
    import base64
    import hashlib

    script = re.search(r"<script>(.*?)</script>", html, re.S)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"'sha256-{digest.replace('+', '&#43;')}'" in html or f"'sha256-{digest}'" in html


def test_it_is_small(html):
    assert len(html.encode()) < 3_000_000


def test_every_picture_and_control_has_a_name(html):
    elements = Reader(html).elements
    assert all(attributes.get("aria-label") for tag, attributes in elements if tag == "svg")
    assert all("scope" in attributes for tag, attributes in elements if tag == "th")
    assert ("html", {"lang": "en"}) in elements
    assert html.count("<caption") == html.count("<table")


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_text_can_be_read_on_every_background():
    """WCAG asks for a contrast of 4.5 for text, in light, dark and print."""
    css = (Path(pictures.__file__).parent / "assets" / "style.css").read_text()
    schemes = [
        dict(re.findall(r"--(\w+): *(#[0-9a-f]{3,6})\b", block)) for block in re.findall(r":root \{(.*?)\}", css, re.S)
    ]
    assert len(schemes) == 3
    for scheme in schemes:
        full = {name: c if len(c) == 7 else "#" + "".join(2 * x for x in c[1:]) for name, c in scheme.items()}
        for paper in ("paper", "card"):
            for ink in ("ink", "soft", "reached", "bound"):
                light, dark = sorted((luminance(full[paper]), luminance(full[ink])), reverse=True)
                assert (light + 0.05) / (dark + 0.05) >= 4.5, (paper, ink, scheme)
