"""audit: planted wrong labels come first, on tables and text, in one fit or out of fold, with two classes or more."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score

from dualboost import LogisticMixtureClassifier, audit, diagnose
from dualboost.estimators.audit_text import TextModel, rarity, weighed

QUICK = LogisticMixtureClassifier(bags=4, max_iter=25, learning_rate=0.5, random_state=0)


@pytest.fixture(scope="module")
def table():
    X, y = make_classification(400, 6, n_informative=4, n_redundant=0, class_sep=2.0, flip_y=0, random_state=1)
    wrong = np.random.default_rng(0).random(400) < 0.1
    return X, np.where(wrong, 1 - y, y), wrong


@pytest.fixture(scope="module")
def documents():
    """Counts of 60 words, of which ten speak for a class."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 500)
    rates = np.full((2, 60), 0.3)
    rates[0, :5], rates[1, 5:10] = 2.0, 2.0
    wrong = rng.random(500) < 0.08
    return sp.csr_array(rng.poisson(rates[y]).astype(float)), np.where(wrong, 1 - y, y), wrong


def check_ranking(report, wrong, least: float) -> None:
    assert roc_auc_score(wrong, report.probability) > least
    assert roc_auc_score(wrong, -report.margin) > least
    ranked = report.find_label_issues(count=int(wrong.sum()), return_indices_ranked=True)
    assert wrong[ranked].mean() > 0.6
    assert np.all(np.diff(report.probability[report.ranking]) <= 0)
    mask = report.find_label_issues()
    assert mask.dtype == bool and mask.shape == wrong.shape and 0 < mask.sum() < 0.3 * len(mask)
    assert np.all(report.suggested[mask] != report.given[mask])
    listed = report.find_label_issues(return_indices_ranked=True)
    assert set(listed) == set(np.flatnonzero(mask))


@pytest.mark.parametrize("cv", [None, 3])
def test_wrong_labels_of_a_table_come_first(table, cv):
    X, y, wrong = table
    report = audit(X, y, cv=cv, model=QUICK)
    check_ranking(report, wrong, 0.9)
    assert 0.02 < report.noise_rate < 0.25 and report.status == "ok"


@pytest.mark.parametrize("cv", [None, 3])
def test_wrong_labels_of_text_come_first(documents, cv):
    X, y, wrong = documents
    report = audit(X, y, cv=cv, feature_names=[f"word{j}" for j in range(60)])
    check_ranking(report, wrong, 0.95)
    worst = report.records(1)[0]
    spoken = {f"word{j}" for j in (range(5, 10) if worst["given"] == 0 else range(5))}
    assert set(worst["against"].split(", ")) & spoken, "the words that speak against the label"


def test_records_say_why(table):
    pandas = pytest.importorskip("pandas")
    X, y, wrong = table
    names = ["a", "b", "c", "d", "e", "f"]
    labels = np.array(["cat", "dog"])[y]
    report = audit(pandas.DataFrame(X, columns=names), labels, model=QUICK)
    check_ranking(report, wrong, 0.9)
    record = report.records(5)[0]
    assert record["given"] in ("cat", "dog") and record["suggested"] != record["given"]
    assert record["margin"] < 0 and 0.5 < record["probability"] <= 1
    assert record["against"] and set(record["against"].split(", ")) <= set(names)
    frame = report.to_frame(7)
    assert list(frame["row"]) == report.ranking[:7].tolist() and len(frame) == 7


def test_reasons_are_pulls_of_the_vote(table):
    """Named are the features that lower the vote for the label most, at most three, the worst first."""
    X, y, _ = table
    report = audit(X, y, model=QUICK)
    for pulls in report.reasons.values():
        amounts = [amount for _, amount in pulls]
        assert all(a < 0 for a in amounts) and amounts == sorted(amounts) and len(amounts) <= 3


def test_many_classes_one_against_the_rest():
    X, y = load_iris(return_X_y=True)
    wrong = np.zeros(150, dtype=bool)
    wrong[[3, 20, 60, 75, 110, 140]] = True
    given = np.where(wrong, (y + 1) % 3, y)
    report = audit(X, given, model=QUICK)
    assert roc_auc_score(wrong, report.probability) > 0.9
    worst = report.ranking[:6]
    assert wrong[worst].sum() >= 4
    found = worst[wrong[worst]]
    assert np.mean(report.suggested[found] == y[found]) >= 0.7


def test_contradictions_are_marked(table):
    X, y, _ = table
    doubled = np.vstack([X, X[:3]])
    report = audit(doubled, np.append(y, [1 - y[0], y[1], 1 - y[2]]), model=QUICK)
    assert np.flatnonzero(report.contradicted).tolist() == [0, 2, 400, 402]


def test_where_a_row_stands_is_among_the_reasons(table):
    """At the cap stand the rows with the least margins, as many as the cap allows; a contradiction is a hard core."""
    X, y, _ = table
    doubled = np.vstack([X, X[:1]])
    report = audit(doubled, np.append(y, 1 - y[0]), model=QUICK)
    full = int(report.noise_rate * 401 + 1e-9)
    assert np.array_equal(np.flatnonzero(report.at_cap), np.sort(np.argsort(report.margin)[:full])) and full > 5
    worst = int(report.ranking[0])
    assert report.records(1)[0]["at_cap"] and "at the cap" in report.why(worst)
    assert report.why(worst).startswith(report.records(1)[0]["against"])
    assert "hard core" in report.why(0) and "hard core" in report.why(400)
    ordinary = int(np.argmax(np.where(report.contradicted, -np.inf, report.margin)))
    assert report.why(ordinary) == ""


@pytest.mark.parametrize("cv", [None, 3])
def test_rows_of_weight_zero_are_absent(table, cv):
    """The same findings as without them, under the old numbers; they are never listed, whatever their label."""
    X, y, wrong = table
    weights = np.where(np.arange(400) % 5 == 0, 0.0, 1.0 + np.arange(400) % 2)
    here = weights > 0
    report = audit(X, y, sample_weight=weights, cv=cv, model=QUICK, hard_core=True)
    alone = audit(X[here], y[here], sample_weight=weights[here], cv=cv, model=QUICK, hard_core=True)
    assert (wrong & ~here).any()
    for name in ("probability", "margin", "suggested", "contradicted", "at_cap", "hard_core"):
        assert np.array_equal(getattr(report, name)[here], getattr(alone, name)), name
    assert np.array_equal(report.given, y) and np.array_equal(report.suggested[~here], y[~here])
    assert np.isnan(report.probability[~here]).all() and np.isnan(report.margin[~here]).all()
    at = np.flatnonzero(here)
    assert np.array_equal(report.ranking, at[alone.ranking]) and report.noise_rate == alone.noise_rate
    assert np.array_equal(report.find_label_issues(), np.isin(np.arange(400), at[alone.find_label_issues()]))
    assert len(report.find_label_issues(400, return_indices_ranked=True)) == here.sum()
    assert report.why(0) == "" and report.why(int(report.ranking[0])) == alone.why(int(alone.ranking[0]))
    assert [record["row"] for record in report.records(9)] == at[alone.ranking[:9]].tolist()


def test_rows_of_weight_zero_in_frames_and_text(documents):
    pandas = pytest.importorskip("pandas")
    X, y, _ = documents
    weights = np.where(np.arange(500) < 400, 3.0, 0.0)
    report = audit(X, y, sample_weight=weights)
    alone = audit(X[:400], y[:400])
    assert np.array_equal(report.ranking, alone.ranking) and np.isnan(report.margin[400:]).all()
    frame = pandas.DataFrame({"a": np.arange(60) % 7, "town": pandas.Categorical(["Rome", "Oslo", "Bonn"] * 20)})
    labels = np.array(["no", "yes"])[(np.arange(60) % 7 > 3).astype(int)]
    report = audit(frame, labels, sample_weight=np.arange(60) != 7, model=QUICK)
    assert 7 not in report.ranking and len(report.ranking) == 59 and report.suggested[7] == labels[7]


def test_the_hard_core_is_that_of_the_class():
    """An exclusive or: no row occurs twice, and no vote of stumps gets any of the four corners right for nothing."""
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    X = np.vstack([np.column_stack([corners, np.zeros(4)]), np.column_stack([np.ones((40, 2)), np.arange(5, 45)])])
    y = np.array([0, 1, 1, 0, *np.ones(40, dtype=int)])
    quick = audit(X, y, model=QUICK)
    proved = audit(X, y, model=QUICK, hard_core=True)
    assert not quick.hard_core.any()
    assert np.array_equal(proved.hard_core, diagnose(X, y).hard_core) and proved.hard_core[:4].all()
    assert not proved.hard_core[4:].any() and "in the hard core" in proved.why(0)
    assert [record["hard_core"] for record in proved.records(44)] == proved.hard_core[proved.ranking].tolist()


def test_of_several_classes_the_hard_core_of_the_own_class():
    X, y = load_iris(return_X_y=True)
    report = audit(X[:, :1].round(0), y, model=QUICK, hard_core=True)
    for k in range(3):
        core = diagnose(X[:, :1].round(0), y == k).hard_core
        assert np.array_equal(report.hard_core[y == k], (core | report.contradicted)[y == k])
    assert report.hard_core.any() and not report.hard_core.all()


def test_labels_without_signal():
    rng = np.random.default_rng(3)
    with pytest.warns(ConvergenceWarning):
        report = audit(rng.normal(size=(200, 3)), rng.integers(0, 2, 200), model=QUICK)
    assert report.noise_rate == 0.5 and "no signal" in report.status and not report.at_cap.any()
    words = sp.csr_array(rng.poisson(0.5, (300, 20)).astype(float))
    assert "no signal" in audit(words, rng.integers(0, 2, 300)).status


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="two classes"):
        audit(np.eye(4), np.zeros(4))
    with pytest.raises(ValueError, match="one label"):
        audit(np.eye(4), np.zeros(3))
    with pytest.raises(ValueError, match="feature_names"):
        audit(np.eye(4), [0, 1, 0, 1], feature_names=["a"])
    for weights, words in (([1, 1, -1, 1], "at least 0"), ([1, 1, 1], "for each row"), ([0] * 4, "no row to audit")):
        with pytest.raises(ValueError, match=words):
            audit(np.eye(4), [0, 1, 0, 1], sample_weight=weights)
    with pytest.raises(ValueError, match="two classes"):
        audit(np.eye(4), [0, 1, 0, 1], sample_weight=[1, 0, 1, 0])


# ---- text -----------------------------------------------------------------------------------------------------------


def test_counts_are_weighed_as_said(documents):
    X = documents[0]
    idf = rarity(X)
    dense = X.toarray()
    np.testing.assert_allclose(idf, np.log(501 / (1 + (dense != 0).sum(axis=0))) + 1)
    expected = np.log1p(dense) * idf
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(weighed(X, idf).toarray(), expected, atol=1e-14)


def test_the_text_model_votes_by_its_terms(documents):
    X, y, wrong = documents
    model = TextModel(max_iter=100).fit(X, y)
    assert model.terms(X[[4]]).sum() == pytest.approx(model.decision_function(X[[4]])[0])
    assert np.mean(model.predict(X) == np.where(wrong, 1 - y, y)) > 0.95
    assert model.n_iter_ >= 20 and 0.02 < model.noise_rate_ < 0.15
    again = TextModel(max_iter=100).fit(sp.csc_array(X), y)
    np.testing.assert_allclose(again.oob_margins_, model.oob_margins_, rtol=1e-9)
