"""Model files whose checksums are right and whose content is not: what a file may say of a model is a closed list."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from dualboost import AdaBoostClassifier, explain, load_model, pairs, save_model, shapes, to_onnx
from dualboost.files.fields import FITTED
from dualboost.learners import SklearnLearner
from dualboost.storage.container import DamagedFile, read, write
from fitted import KINDS, THREE, Y, fitted, new_rows, quick
from fitted import X as TABLE

GOLDEN = Path(__file__).parent / "golden"
SCRIPT = '"><script>alert(1)</script>'


def forged(path: Path, change):
    """The model of a file in which the fields, or the arrays, are changed."""
    header, arrays = read(path, 1 << 30)
    header.pop("arrays")
    change(header["model"]["fields"], arrays)
    target = path.with_name("forged")
    write(target, header, arrays)
    return load_model(target)


@pytest.fixture(scope="module")
def of_trees(tmp_path_factory):
    path = tmp_path_factory.mktemp("trees") / "m"
    learner = SklearnLearner(DecisionTreeClassifier(max_depth=2, random_state=0))
    save_model(AdaBoostClassifier(n_estimators=3, learner=learner).fit(TABLE, Y), path)
    return path


def own(fields):
    return fields


def of_the_estimator(fields):
    return fields["learner"]["fields"]["estimator"]["fields"]


@pytest.mark.parametrize("part", [own, of_the_estimator])
def test_no_file_writes_a_script_into_a_notebook(of_trees, part):
    """scikit-learn writes the address of its documentation into the page as it is."""

    def change(fields, arrays):
        part(fields).update(_doc_link_module="dualboost", _doc_link_template=SCRIPT)

    assert SCRIPT not in forged(of_trees, lambda fields, arrays: None)._repr_html_()
    with pytest.raises(DamagedFile, match="it sets '_doc_link_module' of"):
        forged(of_trees, change)


@pytest.mark.parametrize("part", [own, of_the_estimator])
@pytest.mark.parametrize(
    "name",
    ["_doc_link_template", "__doc_link_template", "_repr_html_", "__class__", "_unfinished", "predict", "widest",
     "comment", "tree_", "<b>_", ""],
)  # fmt: skip
def test_a_file_sets_nothing_that_is_not_listed(of_trees, part, name):
    with pytest.raises(DamagedFile, match="does not hold a model of this version: it sets "):
        forged(of_trees, lambda fields, arrays: part(fields).update({name: "x"}))


def test_a_tree_of_scikit_learn_has_parameters_alone(of_trees):
    assert forged(of_trees, lambda fields, arrays: of_the_estimator(fields).update(max_depth=5)).learner
    with pytest.raises(DamagedFile, match="it sets 'n_features_in_' of DecisionTreeClassifier"):
        forged(of_trees, lambda fields, arrays: of_the_estimator(fields).update(n_features_in_=5))


def attributes(model) -> set[str]:
    parts = [model, *getattr(model, "estimators_", [])]
    return set().union(*(vars(part).keys() - part.get_params().keys() for part in parts))


def test_the_list_is_what_fits_give():
    three = [quick(kind, bags=2).fit(TABLE, THREE) for kind in ("LogisticMixtureClassifier", "MABoostClassifier")]
    found = set().union(*(attributes(model) for model in [*map(fitted, KINDS), *three]))
    assert {name for name in found if not name.startswith("_")} == FITTED.keys()
    assert set().union(*(attributes(load_model(path)) for path in GOLDEN.glob("*.dualboost"))) == FITTED.keys()


# ---- values of another type -----------------------------------------------------------------------------------------

VALUES = {
    "nothing": None,
    "true": True,
    "less": -1,
    "half": 0.5,
    "text": "x",
    "list": {"list": [5]},
    "lists": {"list": [{"list": []}]},
    "map": {"map": {"x": 5}},
    "labels": {"labels": [1, "a"], "dtype": "object"},
    "slope": {"record": "Sigmoid", "fields": {"slope": "x"}},
    "model": {"record": "LPBoostClassifier", "fields": {}},
    "vote": {"record": "ClassScores", "fields": {"parts": {"tuple": [5]}}},
}


def use(model, rows) -> None:
    """Whatever can be asked of a model has an answer, or a sentence."""
    background = rows[:9]
    asked = [
        lambda: model.predict(rows),
        lambda: model.predict_proba(rows),
        lambda: explain(model, background),
        lambda: explain(model, background, background=background),
        lambda: shapes(model),
        lambda: pairs(model),
        lambda: to_onnx(model),
        lambda: [*model.staged_predict(rows)] if hasattr(model, "staged_predict") else None,
        model._repr_html_,
    ]
    for ask in asked:
        try:
            ask()
        except ValueError as error:
            assert len(str(error)) > 20


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    made = {
        "two": quick("AdaBoostClassifier", n_estimators=4).fit(TABLE, Y),
        "three": quick("AdaBoostClassifier", n_estimators=3).fit(TABLE, THREE),
        "margin": quick("MarginBoostClassifier", max_iter=3).fit(TABLE, Y),
        "noise": quick("LogisticMixtureClassifier", bags=2, max_iter=3).fit(TABLE, Y),
        "bounds": quick("MABoostClassifier", max_iter=3).fit(TABLE, Y),
        "names": fitted("names"),
    }
    for name, model in made.items():
        save_model(model, folder / name)
    return [folder / name for name in made]


RIGHT = {
    ("classes_", "labels"),
    ("status_", "text"),
    *((n, v) for n in ("noise_rate_", "nu_") for v in ("less", "half")),
}
WRONG = [(name, value) for name in sorted(FITTED) for value in VALUES if (name, value) not in RIGHT]


@pytest.mark.parametrize("name, value", WRONG)
def test_attributes_of_another_type_are_refused(files, name, value):
    path = next(path for path in files if name in read(path, 1 << 30)[0]["model"]["fields"])
    with pytest.raises(DamagedFile, match=f"forged does not hold a model of this version: .*{name}"):
        forged(path, lambda fields, arrays: fields.update({name: VALUES[value]}))


CHANGES = {
    "fractions": lambda array: array + 0.5,
    "wide": lambda array: array.astype(np.int64 if array.dtype.kind in "iu" else np.float64),
    "whole": lambda array: np.nan_to_num(array, posinf=9, neginf=-9).astype(np.int64),
    "true": lambda array: array > 0,
    "nested": lambda array: array[None],
    "none": lambda array: array[:0],
}
VOTES = ["AdaBoostClassifier", "trees of two levels", "leaf trees", "words", "union of trees", "linear", "boxes",
         "categories in trees", "categories in leaf trees", "scikit-learn's trees", "three classes"]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", VOTES)
def test_arrays_of_another_type_are_refused(tmp_path, kind, change):
    """Or the kernels and Python read the same numbers from them."""
    save_model(fitted(kind), tmp_path / "m")
    _, arrays = read(tmp_path / "m", 1 << 30)
    for name, array in arrays.items():
        if "learner" in name or name.endswith((".lengths", ".kinds")):
            continue
        try:
            model = forged(
                tmp_path / "m",
                lambda fields, arrays, name=name, array=array: arrays.update({name: CHANGES[change](array)}),
            )
        except DamagedFile as error:
            assert "forged does not hold a model of this version: " in str(error)
        else:
            use(model, new_rows(kind)[:40])


def test_the_parts_of_a_model_belong_together(files):
    for change in ({"column_names_": {"list": ["a"]}}, {"feature_names_in_": {"labels": ["a"], "dtype": "object"}}):
        with pytest.raises(DamagedFile, match="its parts are not about the same 5 columns"):
            forged(files[0], lambda fields, arrays, change=change: fields.update(change))
    for stages in ([0, 1, 2, 99], [0, 1, -1, 0], [0, 1]):
        with pytest.raises(DamagedFile, match="its rounds do not fit its hypotheses"):
            forged(files[0], lambda fields, arrays, stages=stages: arrays.update({"model.stages_": np.array(stages)}))


# ---- what is written ------------------------------------------------------------------------------------------------


def test_nothing_is_written_that_would_not_be_read(tmp_path):
    model = quick("MarginBoostClassifier", max_iter=3).fit(TABLE, Y)
    model._of_mine = object()  # stays behind
    save_model(model, tmp_path / "m")
    assert not hasattr(load_model(tmp_path / "m"), "_of_mine")
    model.comment = "from Monday"
    with pytest.raises(ValueError, match=r"^model.comment is neither a parameter nor what a fit gives.* notes"):
        save_model(model, tmp_path / "n")
    del model.comment
    model.n_iter_ = "three"
    with pytest.raises(ValueError, match=r"^model.n_iter_ is not what a fit gives, but a str"):
        save_model(model, tmp_path / "n")
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
