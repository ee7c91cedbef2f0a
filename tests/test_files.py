"""Model files: what was written comes back; what was changed is refused; nothing is half written."""

import json
import math
import os
import pickle
import zipfile
from dataclasses import is_dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import dualboost.learners
from dualboost import LPBoostClassifier, MarginBoostClassifier, load_model, reweight, save_model
from dualboost.boosters import Corrective
from dualboost.files.model import _PREDICTORS, _VERSION, MODELS, _public
from dualboost.learners import Learner, Stumps
from dualboost.storage.container import DamagedFile, _digest, read
from golden import NOT_IN_FILES

GOLDEN = Path(__file__).parent / "golden"
X, Y = make_classification(150, 5, n_informative=3, random_state=0)
X[::9, 1] = np.nan


@pytest.fixture(scope="module")
def model():
    return MarginBoostClassifier(nu=0.3, max_iter=60, learner=Stumps(31), booster=Corrective(step="search")).fit(X, Y)


@pytest.fixture
def path(tmp_path, model):
    save_model(model, tmp_path / "m.dualboost")
    return tmp_path / "m.dualboost"


def test_everything_comes_back(model, path):
    again = load_model(path)
    assert type(again) is type(model) and again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.certificate_ == model.certificate_ and again.status_ == model.status_
    for name in ("margins_", "sample_distribution_", "feature_importances_", "classes_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
    for key, values in model.history_.items():
        np.testing.assert_array_equal(again.history_[key], values)
    assert pickle.loads(pickle.dumps(again)).score(X, Y) == model.score(X, Y)


@pytest.mark.parametrize("labels", [("nein", "ja"), (3, -7), (True, False), (0.0, 1.0), ("\u4f60", "\U0001f600")])
@pytest.mark.parametrize("objects", [False, True])
def test_labels_and_names_of_any_kind(tmp_path, labels, objects):
    y = np.array(labels)[Y]
    if objects and isinstance(labels[0], str):  # scikit-learn refuses other objects
        y = y.astype(object)
    frame = pd.DataFrame(X, columns=[f"größe {j}" for j in range(5)])
    model = LPBoostClassifier(nu=0.4).fit(frame, y)
    save_model(model, tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.classes_.dtype == model.classes_.dtype
    assert list(again.predict(frame)) == list(model.predict(frame))
    assert list(again.feature_names_in_) == list(frame.columns)


def test_several_classes_and_their_probabilities(tmp_path):
    y = np.array(["a", "b", "c"])[np.arange(150) % 3]
    model = MarginBoostClassifier(nu=0.5, max_iter=20).fit(X, y)
    save_model(model, tmp_path / "m")
    again = load_model(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert list(again.predict(X)) == list(model.predict(X))


def test_the_same_model_is_the_same_bytes(tmp_path, model, path):
    save_model(model, tmp_path / "again")
    assert path.read_bytes() == (tmp_path / "again").read_bytes()


# ---- damage ---------------------------------------------------------------------------------------------------------


def mutants(data: bytes, count: int):
    """Truncated, bytes flipped, spans deleted, doubled or zeroed, digits edited."""
    rng = np.random.default_rng(0)
    digits = [i for i, byte in enumerate(data) if 48 <= byte <= 57]
    for _ in range(count):
        out = bytearray(data)
        start, length = int(rng.integers(len(data))), int(rng.integers(1, 40))
        match int(rng.integers(6)):
            case 0:
                del out[start:]
            case 1:
                out[start] ^= 1 << int(rng.integers(8))
            case 2:
                del out[start : start + length]
            case 3:
                out[start:start] = out[start : start + length]
            case 4:
                out[start : start + length] = bytes(len(out[start : start + length]))
            case 5:
                out[digits[int(rng.integers(len(digits)))]] = int(rng.integers(48, 58))
        if bytes(out) != data:
            yield bytes(out)


def test_ten_thousand_mutants_are_refused_or_the_same(tmp_path):
    small = MarginBoostClassifier(nu=0.5, max_iter=5).fit(X[:40, :3], Y[:40])
    save_model(small, tmp_path / "m")
    data, wanted = (tmp_path / "m").read_bytes(), small.decision_function(X[:, :3])
    refused = 0
    for mutant in mutants(data, 10_000):
        (tmp_path / "mutant").write_bytes(mutant)
        try:
            again = load_model(tmp_path / "mutant")
        except ValueError as error:
            refused += 1
            assert len(str(error)) > 20
        else:
            np.testing.assert_array_equal(again.decision_function(X[:, :3]), wanted)
    assert refused > 8_000


def rewritten(path: Path, target: Path, change) -> Path:
    """The file with its entries changed and its checksums made right again: an attacker can compute them too."""
    with zipfile.ZipFile(path) as file:
        entries = {name: file.read(name) for name in file.namelist()}
    header = json.loads(entries["header.json"])
    together = entries.pop("small arrays")
    for name, entry in header["arrays"].items():  # each in an entry of its own, as the first version had it
        if "at" in entry:
            at = entry.pop("at")
            entries[name] = together[at : at + math.prod(entry["shape"]) * np.dtype(entry["dtype"]).itemsize]
    change(header, entries)
    for name, entry in header["arrays"].items():
        if name in entries:
            entry["sha256"] = _digest(entries[name])
    entries["header.json"] = json.dumps(header).encode()
    entries["header.sha256"] = _digest(entries["header.json"]).encode()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in entries.items():
            file.writestr(name, data)
    return target


def other_class(header, entries):
    header["model"]["record"] = "LogisticRegression"


def newer(header, entries):
    header["version"] = 99


def shadowing(header, entries):
    header["model"]["fields"]["predict"] = 1


def no_predictor(header, entries):
    header["model"]["fields"]["predictor_"] = None


def feature_out_of_range(header, entries):
    entries["model.predictor_.features"] = np.full(
        len(entries["model.predictor_.features"]) // 4, 10**6, "<i4"
    ).tobytes()


def cuts_out_of_range(header, entries):
    entries["model.predictor_.cut_start"] = np.full(
        len(entries["model.predictor_.cut_start"]) // 8, 2**60, "<i8"
    ).tobytes()


def shorter_table(header, entries):
    entries["model.predictor_.tables"] = entries["model.predictor_.tables"][:-8]
    header["arrays"]["model.predictor_.tables"]["shape"][0] -= 1


def wrong_shape(header, entries):
    header["arrays"]["model.predictor_.tables"]["shape"] = [2**40, 2**40]


def pickled(header, entries):
    header["arrays"]["model.predictor_.tables"]["dtype"] = "|O"


def climbing(header, entries):
    entries["../../evil"] = b"x"


def unknown_record(header, entries):
    header["model"]["fields"]["certificate_"]["record"] = "Popen"


@pytest.mark.parametrize(
    "change",
    [other_class, newer, shadowing, no_predictor, feature_out_of_range, cuts_out_of_range, shorter_table,
     wrong_shape, pickled, climbing, unknown_record],
)  # fmt: skip
def test_forged_files_are_refused(tmp_path, path, change):
    assert load_model(rewritten(path, tmp_path / "fair", lambda header, entries: None)).n_iter_
    with pytest.raises(ValueError, match=r"\w+ \w+ \w+"):
        load_model(rewritten(path, tmp_path / "forged", change)).predict(X)


@pytest.mark.parametrize("at", [-1, 10**9, 0.5, True, None, "0"])
def test_small_arrays_outside_of_their_entry_are_refused(tmp_path, path, at):
    with zipfile.ZipFile(path) as file:
        entries = {name: file.read(name) for name in file.namelist()}
    header = json.loads(entries["header.json"])
    assert header["arrays"]["model.predictor_.tables"]["at"] > 0
    header["arrays"]["model.predictor_.tables"]["at"] = at
    entries["header.json"] = json.dumps(header).encode()
    entries["header.sha256"] = _digest(entries["header.json"]).encode()
    with zipfile.ZipFile(tmp_path / "forged", "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in entries.items():
            file.writestr(name, data)
    with pytest.raises(DamagedFile, match="outside of its entry"):
        load_model(tmp_path / "forged")


def test_large_arrays_have_an_entry_of_their_own(tmp_path):
    many = np.random.default_rng(0).normal(size=(5000, 1))
    save_model(MarginBoostClassifier(nu=0.5, max_iter=3, calibrate=False).fit(many, many[:, 0] > 0), tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as file:
        assert "model.margins_" in file.namelist() and len(file.namelist()) < 8
    assert load_model(tmp_path / "m").margins_.shape == (5000,)


def test_a_bomb_is_refused_before_it_is_inflated(tmp_path, path):
    def swell(header, entries):
        entries["model.predictor_.tables"] = bytes(1 << 27)

    bomb = rewritten(path, tmp_path / "bomb", swell)
    assert bomb.stat().st_size < 1 << 20
    with pytest.raises(DamagedFile, match="max_bytes"):
        load_model(bomb, max_bytes=1 << 24)


def test_deeply_nested_json_is_refused(tmp_path, path):
    text = b'{"arrays": {}, "model": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    with zipfile.ZipFile(tmp_path / "deep", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.json", text)
        file.writestr("header.sha256", _digest(text))
    with pytest.raises(DamagedFile):
        load_model(tmp_path / "deep")


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x05\x06" + bytes(18)])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(DamagedFile):
        load_model(tmp_path / "other")


# ---- writing --------------------------------------------------------------------------------------------------------


def test_a_full_disk_leaves_the_old_file(path, model, monkeypatch):
    before = path.read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_model(model, path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_what_cannot_be_kept_is_refused_before_writing(tmp_path, model):
    with pytest.raises(ValueError, match="classifiers of dualboost"):
        save_model(LogisticRegression().fit(X[:, :1] > 0, Y), tmp_path / "m")
    with pytest.raises(NotFittedError):
        save_model(MarginBoostClassifier(), tmp_path / "m")
    seeded = MarginBoostClassifier(nu=0.5, random_state=np.random.RandomState(0)).fit(X, Y)
    with pytest.raises(ValueError, match="random_state holds a RandomState"):
        save_model(seeded, tmp_path / "m")
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(5, random_state=0).fit(np.nan_to_num(X), Y)
    with pytest.raises(ValueError, match="cannot keep"):
        save_model(reweight(forest, np.nan_to_num(X), Y, nu=0.5), tmp_path / "m")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("*.dualboost")), ids=lambda path: path.name)
def test_models_of_every_version_load_for_ever(golden):
    model = load_model(golden)
    wanted = json.loads(golden.with_suffix(".json").read_text("utf-8"))
    rows = pd.DataFrame(wanted["frame"]) if "frame" in wanted else np.array(wanted["X"], float)
    # In which order votes are added up is not part of the format.
    np.testing.assert_allclose(model.decision_function(rows), wanted["scores"], 1e-14, 4e-16)
    assert model.predict(rows).tolist() == wanted["labels"]
    if "probabilities" in wanted:
        np.testing.assert_allclose(model.predict_proba(rows), wanted["probabilities"], rtol=1e-12)


def records_in(code) -> set[str]:
    """The names of all records in the text of a model file."""
    if isinstance(code, list):
        return set().union(*map(records_in, code))
    if not isinstance(code, dict):
        return set()
    own = {code["record"]} if isinstance(code.get("record"), str) else set()
    return own.union(*map(records_in, code.values()))


@pytest.mark.parametrize("version", range(2, _VERSION + 1))
def test_every_kind_of_model_has_a_golden_file(version):
    """`python tests/golden.py` writes those of a new version, and what is missing."""
    found = [records_in(read(path, 1 << 30)[0]["model"]) for path in GOLDEN.glob(f"*-{version}.dualboost")]
    learners = {
        kind.__name__ for kind in _public(dualboost.learners) if is_dataclass(kind) and issubclass(kind, Learner)
    }
    needed = {*MODELS, *learners, "Sigmoid", "Softmax", "Steps", *(kind.__name__ for kind in _PREDICTORS)}
    assert needed - {kind.__name__ for kind in NOT_IN_FILES} <= set().union(*found)
    assert list(GOLDEN.glob("*-1.dualboost"))
