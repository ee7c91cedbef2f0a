"""Files that are too large, without end, of no version, or with cuts that are no numbers are refused."""

import json
import os
import struct
import tracemalloc
import zipfile
from hashlib import sha256

import numpy as np
import pytest

from dualboost import AdaBoostClassifier, load_model, save_model
from dualboost.learners import Trees
from dualboost.storage.container import DamagedFile, _parsed_size
from fitted import X, Y
from test_files import rewritten


@pytest.fixture
def path(tmp_path):
    save_model(AdaBoostClassifier(n_estimators=3, learner=Trees(2)).fit(X, Y), tmp_path / "model")
    return tmp_path / "model"


def test_nothing_is_read_of_a_file_that_is_too_large(tmp_path):
    with open(tmp_path / "huge", "wb") as file:
        file.truncate(1 << 40)  # a hole: it takes no place on the disk, and would take a terabyte of memory
    with pytest.raises(DamagedFile, match="larger than max_bytes = 1,073,741,824: raise max_bytes"):
        load_model(tmp_path / "huge")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="a device of Unix")
def test_a_device_without_an_end_is_refused():
    with pytest.raises(DamagedFile, match="larger than max_bytes = 1,000"):
        load_model("/dev/zero", max_bytes=1000)


@pytest.mark.parametrize("max_bytes", [1e300, float("inf"), 2**80])
def test_any_number_is_a_limit(path, max_bytes):
    assert load_model(path, max_bytes=max_bytes).n_iter_ == 3


@pytest.mark.parametrize("version", [0, -5, True, 2.0, "2", None])
def test_versions_that_never_were(tmp_path, path, version):
    forged = rewritten(path, tmp_path / "forged", lambda header, entries: header.update(version=version))
    with pytest.raises(DamagedFile, match="not a model file of dualboost"):
        load_model(forged)


@pytest.mark.parametrize("change", [lambda cuts: np.full_like(cuts, np.nan), lambda cuts: cuts[::-1]])
def test_cuts_of_trees_ascend(tmp_path, path, change):
    def exchange(header, entries):
        cuts = np.frombuffer(entries["model.predictor_.cuts"])
        entries["model.predictor_.cuts"] = change(cuts).tobytes()

    with pytest.raises(DamagedFile, match="cuts of a feature must ascend"):
        load_model(rewritten(path, tmp_path / "forged", exchange))


SWELLING = [
    "[[]],",
    "{},",
    '{"a":0},',
    '"",',
    "0.5,",
    "[0.5],",
    '{"a":{"b":[1.5,"c"]}},',
    '"\U0001f600aaaaaaaaaaaaaaaaaaaa",',
]


def peak_of(call) -> int:
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("part", SWELLING)
def test_a_header_that_swells_is_refused_before_it_is_parsed(tmp_path, part):
    """A few kilobytes of a file can be lists and tables of a hundred megabytes."""
    text = b'{"format":"dualboost model","version":3,"arrays":{},"model":[' + part.encode() * 100_000 + b"0]}"
    with zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.json", text)
        file.writestr("header.sha256", sha256(text).hexdigest())
    taken = peak_of(lambda: json.loads(text))
    assert 2 * len(text) < taken <= _parsed_size(text)

    def load():
        with pytest.raises(DamagedFile, match="bytes of memory, more than max_bytes"):
            load_model(tmp_path / "bomb", max_bytes=taken)

    assert peak_of(load) < taken


def test_a_directory_of_many_entries_is_refused_before_it_is_read(tmp_path):
    count = 60_000
    entry = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, 8, 0, 33, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0)
    directory = b"".join(entry + b"%05d" % k for k in range(count))
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, len(directory), 0, 0)
    (tmp_path / "many").write_bytes(directory + end)
    with zipfile.ZipFile(tmp_path / "many") as file:
        assert len(file.namelist()) == count

    def load():
        with pytest.raises(DamagedFile, match="60,000,000 bytes of memory"):
            load_model(tmp_path / "many", max_bytes=20_000_000)

    assert peak_of(load) < 20_000_000
