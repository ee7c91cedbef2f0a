"""Model files: what was written comes back; what was changed is refused; nothing is half written."""

import json
import math
import os
import pickle
import zipfile
from copy import deepcopy
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier

import dualboost.learners
from dualboost import (
    AdaBoostClassifier,
    LogisticBoostClassifier,
    LogisticMixtureClassifier,
    LPBoostClassifier,
    MarginBoostClassifier,
    load_model,
    reweight,
    save_model,
)
from dualboost.boosters import Corrective
from dualboost.files.fields import PREDICTORS
from dualboost.files.model import _VERSION, MODELS, _public
from dualboost.learners import LeafTrees, Learner, Stumps, Trees, Union
from dualboost.storage.container import DamagedFile, _digest, read
from dualboost.storage.records import decode, encode
from fitted import coded
from golden import SINCE

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


def few_stumps():
    return MarginBoostClassifier(nu=0.5, max_iter=5).fit(X[:40, :3], Y[:40])


def few_trees():
    """A list of records, which is kept by columns."""
    return AdaBoostClassifier(n_estimators=4, learner=Trees(2, categorical=(0,))).fit(coded(X[:40, :3]), Y[:40])


def all_scores(model) -> np.ndarray:
    """After every round, where a model knows the rounds."""
    rows = coded(X[:, :3])
    if hasattr(model, "staged_decision_function"):
        return np.array([*model.staged_decision_function(rows), model.decision_function(rows)])
    return model.decision_function(rows)


@pytest.mark.parametrize("made, count", [(few_stumps, 10_000), (few_trees, 3_000)])
def test_thirteen_thousand_mutants_are_refused_or_the_same(tmp_path, made, count):
    small = made()
    save_model(small, tmp_path / "m")
    data, wanted = (tmp_path / "m").read_bytes(), all_scores(small)
    refused = 0
    for mutant in mutants(data, count):
        (tmp_path / "mutant").write_bytes(mutant)
        try:
            again = load_model(tmp_path / "mutant")
        except ValueError as error:
            refused += 1
            assert len(str(error)) > 20
        else:
            np.testing.assert_array_equal(all_scores(again), wanted)
    assert refused > 0.8 * count


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
    return with_header(target, header, entries)


def with_header(target: Path, header, entries) -> Path:
    """A file of these entries, with the checksum of the header."""
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


def no_labels(header, entries):
    header["model"]["fields"]["classes_"] = "ab"


def nested_labels(header, entries):
    header["model"]["fields"]["classes_"] = {"labels": [[0, 0], [1, 1]], "dtype": "object"}


def a_third_class(header, entries):
    header["model"]["fields"]["classes_"] = {"labels": ["a", "b", "c"], "dtype": "object"}


def labels_of_gigabytes(header, entries):
    header["model"]["fields"]["classes_"] = {"labels": ["a", "b"], "dtype": "<U500000000"}


def rows_of_gigabytes(header, entries):
    header["model"]["fields"]["n_features_in_"] = 10**10


def no_link(header, entries):
    header["model"]["fields"]["link_"] = 1


def a_link_to_nothing(header, entries):
    header["model"]["fields"]["link_"]["fields"]["slope"] = {"number": "nan"}


def deep_lists(header, entries):
    """Too deep for us, while the reader of JSON takes it."""
    nested = None
    for _ in range(400):
        nested = {"list": [nested]}
    header["model"]["fields"]["status_"] = nested


@pytest.mark.parametrize(
    "change",
    [other_class, newer, shadowing, no_predictor, feature_out_of_range, cuts_out_of_range, shorter_table,
     wrong_shape, pickled, climbing, unknown_record, no_labels, nested_labels, a_third_class, labels_of_gigabytes,
     rows_of_gigabytes, no_link, a_link_to_nothing, deep_lists],
)  # fmt: skip
def test_forged_files_are_refused(tmp_path, path, change):
    assert load_model(rewritten(path, tmp_path / "fair", lambda header, entries: None)).n_iter_
    with pytest.raises(ValueError, match=r"\w+ \w+ \w+"):
        load_model(rewritten(path, tmp_path / "forged", change))


# ---- lists of records, kept by columns ------------------------------------------------------------------------------


def numbers(header, entries, name: str, values) -> None:
    """Other whole numbers in the place of an array."""
    entries[name] = np.array(values, dtype="<i8").tobytes()
    header["arrays"][name] = {"dtype": "<i8", "shape": [len(values)], "sha256": ""}


def members_of(header) -> dict:
    return header["model"]["fields"]["members_"]


def nodes_of(header) -> dict:
    return members_of(header)["columns"]["fields"]["nodes"]


def negative_lengths(header, entries):
    numbers(header, entries, "model.members_.features.lengths", [-1, *[1] * (members_of(header)["count"] - 1)])


def lengths_that_overflow(header, entries):
    """Their sum is right, in 64 bits."""
    total = header["arrays"]["model.members_.features"]["shape"][0]
    numbers(header, entries, "model.members_.features.lengths", [2**62] * 4 + [total] + [0] * 7)


def lengths_beyond(header, entries):
    numbers(header, entries, "model.members_.features.lengths", [1000] * members_of(header)["count"])


def too_few_lengths(header, entries):
    numbers(
        header, entries, "model.members_.features.lengths", [header["arrays"]["model.members_.features"]["shape"][0]]
    )


def lengths_of_another_type(header, entries):
    header["arrays"]["model.members_.features.lengths"]["dtype"] = "<f8"


def no_lengths(header, entries):
    del members_of(header)["columns"]["fields"]["features"]["lengths"]


def other_kinds(header, entries):
    numbers(header, entries, nodes_of(header)["kinds"], [7] * members_of(header)["count"])


def kinds_in_other_numbers(header, entries):
    numbers(header, entries, nodes_of(header)["kinds"], [0] * members_of(header)["count"])


def more_members(header, entries):
    members_of(header)["count"] += 1


def half_a_member(header, entries):
    members_of(header)["count"] = 0.5


def members_less_than_none(header, entries):
    members_of(header)["count"] = -1


def true_members(header, entries):
    members_of(header)["count"] = True


def fewer_in_a_column(header, entries):
    members_of(header)["columns"]["fields"]["weights"] = {"each": [1.0]}


def no_column(header, entries):
    members_of(header)["columns"]["fields"]["weights"] = [1.0]


def unknown_column(header, entries):
    members_of(header)["columns"]["fields"]["weights"] = {"code": "print()"}


def models_as_members(header, entries):
    members_of(header)["columns"] = {"record": "LPBoostClassifier", "fields": {"nu": {"same": 0.5}}}


def members_without_fields(header, entries):
    members_of(header)["columns"] = {"record": "Simplex", "fields": {}}


def billions_of_members(header, entries):
    members_of(header).update(columns={"same": None}, count=10**12)


def millions_of_wide_members(header, entries):
    members_of(header).update(columns={"tuple": [{"same": None}] * 10_000}, count=10**6)


def sets_as_members(header, entries):
    members_of(header).update(columns={"record": "Simplex", "fields": {}}, count=12)


def deep_columns(header, entries):
    nested = {"same": None}
    for _ in range(400):
        nested = {"tuple": [nested]}
    members_of(header)["columns"] = nested


@pytest.mark.parametrize(
    "change",
    [negative_lengths, lengths_that_overflow, lengths_beyond, too_few_lengths, lengths_of_another_type, no_lengths,
     other_kinds, kinds_in_other_numbers, more_members, half_a_member, members_less_than_none, true_members,
     fewer_in_a_column, no_column, unknown_column, models_as_members, members_without_fields, billions_of_members,
     millions_of_wide_members, sets_as_members, deep_columns],
)  # fmt: skip
def test_forged_columns_are_refused(tmp_path, change):
    rows = np.where(np.arange(5) == 1, coded(X), X)
    model = AdaBoostClassifier(n_estimators=12, learner=Trees(1, categorical=(1,))).fit(rows, Y)
    save_model(model, tmp_path / "m")
    fair = load_model(rewritten(tmp_path / "m", tmp_path / "fair", lambda header, entries: None))
    assert len(fair.members_) == len(model.members_) == 12
    with pytest.raises(DamagedFile, match=r"\w+ \w+ \w+"):
        load_model(rewritten(tmp_path / "m", tmp_path / "forged", change))


@dataclass(frozen=True, eq=False)
class Inner:
    table: np.ndarray
    name: str


@dataclass(frozen=True, eq=False)
class Outer:
    number: float
    array: np.ndarray
    pair: tuple
    inner: Inner | None


def same_to_the_bit(one, other) -> bool:
    """Types too, and those of arrays."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        same = one.dtype == other.dtype and one.shape == other.shape
        return same and (one.tolist() == other.tolist() if one.dtype == object else one.tobytes() == other.tobytes())
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same_to_the_bit, one, other))
    if is_dataclass(one):
        return all(same_to_the_bit(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    return repr(one) == repr(other)


ARRAYS = {
    "equal": [np.array([1.0, -0.0])] * 3,
    "lengths": [np.arange(2), np.arange(0), np.arange(5)],
    "two axes": [np.zeros((2, 3)), np.ones((0, 3)), np.ones((1, 3))],
    "widths": [np.zeros((2, 3)), np.ones((2, 4)), np.ones((1, 3))],
    "types": [np.zeros(2), np.zeros(2, np.int32), np.full(1, np.nan)],
    "no axis": [np.array(1.0), np.array(2.0), np.zeros(1)],
    "labels": [np.array(["a"], object), np.array(["b", "c"]), np.zeros(1)],
    "signs of zero": [np.array([0.0]), np.array([-0.0]), np.array([0.0])],
    "in rows": [np.arange(6).reshape(2, 3).T, np.arange(6.0)[::2], np.arange(4).reshape(2, 2).T],
}


@pytest.mark.parametrize("arrays", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("inner", ["always", "sometimes", "never"])
def test_records_of_any_fields_come_back_to_the_bit(arrays, inner):
    holes = {"always": (), "sometimes": (1,), "never": (0, 1, 2)}[inner]
    records = [
        Outer(x, array, (x, array), None if j in holes else Inner(array[..., None], "name"))
        for j, (x, array) in enumerate(zip([0.5, np.inf, -0.0], arrays, strict=True))
    ]
    if arrays is ARRAYS["labels"]:
        records = [Outer(r.number, r.array, r.pair, r.inner and Inner(r.array, "name")) for r in records]
    types, kept = {"Inner": Inner, "Outer": Outer}, {}
    code = json.loads(json.dumps(encode(records, kept, types, "list")))
    assert "columns" in code and same_to_the_bit(decode(code, kept, types), records)


LISTS = {
    "trees": lambda: (AdaBoostClassifier(n_estimators=30, learner=Trees(2)), X, Y),
    "stumps": lambda: (LogisticBoostClassifier(n_estimators=30), X, Y),
    "three classes": lambda: (AdaBoostClassifier(n_estimators=20), X, np.arange(150) % 3),
    "categories": lambda: (AdaBoostClassifier(n_estimators=20, learner=Trees(2, categorical=(0, 1))), coded(X), Y),
    "union": lambda: (AdaBoostClassifier(n_estimators=20, learner=Union((Stumps(), Trees(2)))), X, Y),
}


def apart(model):
    """A copy whose members have nothing in common."""
    copied = deepcopy(model)
    for one in getattr(copied, "estimators_", [copied]):
        one.members_ = [deepcopy(member) for member in one.members_]
    return copied


@pytest.mark.parametrize("case", LISTS.values(), ids=LISTS)
def test_members_come_back_to_the_bit(tmp_path, case):
    model, rows, y = case()
    model.fit(rows, y)
    save_model(model, tmp_path / "m")
    again = load_model(tmp_path / "m")
    for one, other in zip(getattr(model, "estimators_", [model]), getattr(again, "estimators_", [again]), strict=True):
        assert len(one.members_) > 5 and same_to_the_bit(one.members_, other.members_)
    for wanted, got in zip(model.staged_decision_function(rows), again.staged_decision_function(rows), strict=True):
        np.testing.assert_array_equal(got, wanted)
    for found in (model, again):
        assert len(pickle.dumps(found)) < 1.1 * len(pickle.dumps(apart(model))), "a part comes without its block"
    save_model(again, tmp_path / "again")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "again").read_bytes()


def test_a_longer_vote_has_no_more_arrays(tmp_path):
    """What each of them costs is what made long votes slow to load."""
    counts = []
    for n in (40, 80):
        save_model(AdaBoostClassifier(n_estimators=n, learner=Trees(2)).fit(X, Y), tmp_path / "m")
        counts.append(len(read(tmp_path / "m", 1 << 30)[0]["arrays"]))
    assert counts[0] == counts[1] < 60


def test_arrays_that_share_their_bytes_are_refused(tmp_path, path):
    """Each would be copied: a few bytes in the header for as much memory as there is."""
    with zipfile.ZipFile(path) as file:
        entries = {name: file.read(name) for name in file.namelist()}
    header = json.loads(entries["header.json"])
    header["arrays"]["twin"] = header["arrays"]["model.margins_"]
    with pytest.raises(DamagedFile, match="overlap"):
        load_model(with_header(tmp_path / "forged", header, entries))


def test_long_bytes_are_made_once_however_often_they_are_named():
    arrays = {"long": np.arange(5000, dtype=np.uint8)}
    first, second = decode({"list": [{"long bytes": "long"}] * 2}, arrays, {})
    assert first is second and first == np.arange(5000, dtype=np.uint8).tobytes()


@pytest.mark.parametrize("at", [-1, 10**9, 0.5, True, None, "0"])
def test_small_arrays_outside_of_their_entry_are_refused(tmp_path, path, at):
    with zipfile.ZipFile(path) as file:
        entries = {name: file.read(name) for name in file.namelist()}
    header = json.loads(entries["header.json"])
    assert header["arrays"]["model.predictor_.tables"]["at"] > 0
    header["arrays"]["model.predictor_.tables"]["at"] = at
    with pytest.raises(DamagedFile, match="outside of its entry"):
        load_model(with_header(tmp_path / "forged", header, entries))


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


class Ends:
    """A call that Ctrl-C, or the end of memory, breaks off: at once, or when it is done."""

    def __init__(self, call, error: type[BaseException], afterwards: bool):
        self.call, self.error, self.afterwards, self.called = call, error, afterwards, 0

    def __call__(self, *given):
        self.called += 1
        if self.afterwards:
            self.call(*given)
        raise self.error


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize(
    "place, afterwards",
    [((zipfile, "_get_compressor"), False), ((os, "fsync"), False), ((os, "replace"), False), ((os, "replace"), True)],
)
def test_what_breaks_a_file_off_comes_out_as_it_is(path, monkeypatch, place, afterwards, error):
    """And there is the old file, or the new one, and nothing else."""
    before, other = path.read_bytes(), MarginBoostClassifier(nu=0.5, max_iter=3).fit(X, Y)
    broken = Ends(getattr(*place), error, afterwards)
    with monkeypatch.context() as patch:
        patch.setattr(*place, broken)
        with pytest.raises(error):
            save_model(other, path)
    assert broken.called == 1 and os.listdir(path.parent) == [path.name]
    assert (path.read_bytes() == before) != afterwards and load_model(path).n_iter_


def test_what_cannot_be_kept_is_refused_before_writing(tmp_path, model):
    with pytest.raises(ValueError, match="classifiers of dualboost"):
        save_model(LogisticRegression().fit(X[:, :1] > 0, Y), tmp_path / "m")
    with pytest.raises(NotFittedError):
        save_model(MarginBoostClassifier(), tmp_path / "m")
    seeded = MarginBoostClassifier(nu=0.5, random_state=np.random.RandomState(0)).fit(X, Y)
    with pytest.raises(ValueError, match="random_state holds a RandomState"):
        save_model(seeded, tmp_path / "m")
    lines = BaggingClassifier(RidgeClassifier(), n_estimators=5, random_state=0).fit(np.nan_to_num(X), Y)
    with pytest.raises(ValueError, match="cannot keep"):
        save_model(reweight(lines, np.nan_to_num(X), Y, nu=0.5), tmp_path / "m")
    assert not os.listdir(tmp_path)


LADDER = {  # node by node: where it goes left and right
    "two parents": ([1, 2, 3, 0], [1, 2, 3, 0]),
    "one child twice": ([1, 3, 0, 0], [2, 3, 0, 0]),
    "itself": ([0, 2, 0, 0], [1, 3, 0, 0]),
    "its parent": ([1, 0, 0, 0], [2, 3, 0, 0]),
    "nobody": ([1, 2, 0, 0], [3, 9, 0, 0]),
}


@pytest.mark.parametrize("forged", LADDER)
def test_trees_whose_paths_meet_are_refused(forged, tmp_path):
    """Scores would come at once, and explanations never: there are twice as many paths for every node."""
    left, right = (np.array(side, dtype=np.int32) for side in LADDER[forged])
    inner = left + right > 0
    model = LogisticMixtureClassifier(bags=0, max_iter=3, learner=LeafTrees(3), random_state=0).fit(X, Y)
    model.predictor_ = replace(
        model.predictor_, feature=np.where(inner, 0, -1).astype(np.int32), threshold=np.zeros(4), value=np.ones(4),
        missing_right=np.zeros(4, dtype=np.uint8), left=left, right=right, roots=np.zeros(1, dtype=np.int64),
        weight=np.ones(1),
    )  # fmt: skip
    if forged == "nobody":
        with pytest.raises(ValueError, match=r"^model.predictor_ holds no trees"):
            save_model(model, tmp_path / "m")
        return
    save_model(model, tmp_path / "m")
    with pytest.raises(DamagedFile, match=r"A node of a tree (is the child of two|points outside of it)"):
        load_model(tmp_path / "m")


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
    if "stages" in wanted:
        stages = list(model.staged_decision_function(rows))
        np.testing.assert_allclose(stages, wanted["stages"], 1e-14, 4e-16)


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
    needed = {*MODELS, *learners, "Sigmoid", "Softmax", "Steps", *(kind.__name__ for kind in PREDICTORS)}
    assert {name for name in needed if SINCE.get(name, 0) <= version} <= set().union(*found)
    assert list(GOLDEN.glob("*-1.dualboost"))
