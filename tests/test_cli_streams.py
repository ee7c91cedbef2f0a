"""Files larger than the memory: `predict` takes them in parts with the same answers, `fit` says what to do."""

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("typer")

from dualboost.cli import main
from dualboost.readers import BadInput, SparseTable, memory, read, stream
from dualboost.readers.memory import Cost, check_memory, free_memory

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

FRAME = pl.DataFrame(
    {
        "x": [k / 7 for k in range(500)],
        "town": [["Rome", "Oslo", 'a "big", town\nby the sea', None][k % 4] for k in range(500)],
        "label": [["no", "yes"][(k // 3) % 2] for k in range(500)],
    }
)
CSV = FRAME.write_csv().encode()


def columnar(write) -> bytes:
    write(out := io.BytesIO())
    return out.getvalue()


PARQUET = columnar(lambda out: FRAME.write_parquet(out, row_group_size=100))
ARROW = columnar(FRAME.write_ipc)
STREAM = columnar(FRAME.write_ipc_stream)
FORMS = {
    "plain.csv": CSV,
    "windows.csv": CSV.replace(b"\n", b"\r\n"),
    "data.csv.gz": gzip.compress(CSV),
    "data.csv.bz2": bz2.compress(CSV),
    "data.csv.xz": lzma.compress(CSV),
    "data.csv.zst": pa.compress(CSV, "zstd", asbytes=True),
    "data.parquet": PARQUET,
    "data.parquet.gz": gzip.compress(PARQUET),
    "data.arrow": ARROW,
    "data.arrow.zst": pa.compress(ARROW, "zstd", asbytes=True),
    "data.arrows": STREAM,
}


def written(folder, name: str, data: bytes) -> str:
    (folder / name).write_bytes(data)
    return str(folder / name)


@pytest.mark.parametrize("name", FORMS)
def test_parts_together_are_the_whole(tmp_path, monkeypatch, name):
    monkeypatch.setattr("dualboost.readers.slices._CELLS", 300)
    path = written(tmp_path, name, FORMS[name])
    parts = list(stream(path, block=700))
    assert pl.concat([part.frame for part in parts]).equals(read(path).frame)
    assert len(parts) > 3 or name == "data.arrows", "a stream has the batches that it has"
    assert {part.source.format for part in parts} == {read(path).source.format}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.text('ab,"\n 1', max_size=6), st.integers(0, 99)), min_size=1, max_size=30),
    st.integers(16, 90),
)
def test_any_cells_and_any_size_of_the_parts(tmp_path_factory, cells, block):
    frame = pl.DataFrame({"text": [text + "." for text, _ in cells], "number": [number for _, number in cells]})
    path = written(tmp_path_factory.mktemp("cells"), "data.csv", frame.write_csv().encode())
    together = pl.concat([part.frame for part in stream(path, block=block)])
    assert together.equals(read(path).frame)


def test_standard_input_other_encodings_no_header_and_svmlight(tmp_path, monkeypatch):
    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(gzip.compress(PARQUET)))

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert sum(len(part) for part in stream("-")) == 500
    before = set(Path(os.environ.get("TMPDIR", "/tmp")).glob("dualboost.*"))
    assert not before, "the copy on the disk is gone"
    text = "name,label\n" + "Köln,x\nŁódź,y\n" * 40
    path = written(tmp_path, "utf16.csv", text.encode("utf-16"))
    frame = pl.concat([part.frame for part in stream(path, encoding="utf-16", block=50)])
    assert frame.columns == ["name", "label"] and frame["name"].to_list() == ["Köln", "Łódź"] * 40
    numbers = written(tmp_path, "numbers.csv", b"1,2\n" * 5 + b"3,word\n" * 20)
    frame = pl.concat([part.frame for part in stream(numbers, block=30)])
    assert frame.height == 25 and frame.columns == ["column 1", "column 2"]
    svm = written(tmp_path, "data.svm", b"1 1:0.5 3:2\n-1 2:1\n" * 30)
    parts = list(stream(svm, block=70))
    assert len(parts) > 3 and all(isinstance(part, SparseTable) for part in parts) and sum(map(len, parts)) == 60


def test_bad_parts_are_refused_with_the_line_of_the_file(tmp_path):
    ragged = written(tmp_path, "ragged.csv", b"a,b,c\n" + b"1,2,3\n" * 50 + b"1,2\n" + b"1,2,3\n" * 50)
    with pytest.raises(BadInput, match="line 52 has 2 cells, the first has 3"):
        list(stream(ragged, block=64))
    with pytest.raises(BadInput, match="is empty"):
        list(stream(written(tmp_path, "empty.csv", b"")))
    with pytest.raises(BadInput, match="no rows"):
        list(stream(written(tmp_path, "header.csv", b"a,b\n")))
    with pytest.raises(BadInput, match="never ends"):
        list(stream(written(tmp_path, "open.csv", b'a,b\n"' + b"1,2\n" * 3000), block=64))
    with pytest.raises(BadInput, match="damaged or cut short"):
        list(stream(written(tmp_path, "cut.csv.gz", gzip.compress(CSV)[:-30]), block=64))
    with pytest.raises(BadInput, match="damaged"):
        list(stream(written(tmp_path, "cut.parquet", PARQUET[:-30])))
    with pytest.raises(BadInput, match="not UTF-8"):
        list(stream(written(tmp_path, "latin.csv", b"a,b\n\xe9,2\n")))


def test_predict_in_parts_gives_the_same_and_says_things_once(capsys, tmp_path, monkeypatch):
    data = written(tmp_path, "data.csv", CSV)
    model = str(tmp_path / "m.dualboost")
    assert main(["fit", data, "--nu", "0.4", "--max-rounds", "20", "-o", model, "-q"]) == 0
    new = written(tmp_path, "new.csv", CSV.replace(b"Oslo", b"Lima"))
    capsys.readouterr()
    assert main(["predict", model, new]) == 0
    whole = capsys.readouterr()
    monkeypatch.setattr("dualboost.readers.parts._BLOCK", 500)
    assert main(["predict", model, new]) == 0
    parts = capsys.readouterr()
    assert parts.out == whole.out and len(parts.out.splitlines()) == 501
    assert parts.err == whole.err and "125 cells such as 'Lima' are new" in parts.err


def test_a_bad_part_leaves_no_file(capsys, tmp_path, monkeypatch):
    data, model = written(tmp_path, "data.csv", CSV), str(tmp_path / "m.dualboost")
    assert main(["fit", data, "--nu", "0.4", "--max-rounds", "5", "-o", model, "-q"]) == 0
    monkeypatch.setattr("dualboost.readers.parts._BLOCK", 500)
    bad = written(tmp_path, "bad.csv", CSV.replace(b"70.0,", b"seventy,"))
    before = set(tmp_path.iterdir())
    assert main(["predict", model, bad, "-o", str(tmp_path / "out.csv")]) == 2
    assert set(tmp_path.iterdir()) == before and "'seventy'" in capsys.readouterr().err


# ---- memory ---------------------------------------------------------------------------------------------------------


def test_costs_follow_the_length_of_the_cells():
    short, long = Cost.of_text(b"a,b\n" + b"0,1\n" * 100), Cost.of_text(b"a,b\n" + b"0.123456789,1.234567890\n" * 100)
    assert short.rate > 3 * long.rate > 6
    assert free_memory() > 0


def test_a_parquet_file_is_judged_by_its_cells(tmp_path, monkeypatch):
    """A million equal cells take a few bytes of the file."""
    path = tmp_path / "dense.parquet"
    pl.DataFrame({f"x{j}": np.zeros(50_000) for j in range(20)}).write_parquet(path)
    monkeypatch.setattr(memory, "free_memory", lambda: 20_000_000)
    assert path.stat().st_size < 1_000_000
    with pytest.raises(BadInput, match=r"48.* MB of memory.*--rows"):
        read(str(path))
    assert len(read(str(path), rows=100)) == 100


def test_the_sentence_says_what_to_do(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 4_000_000_000)
    with pytest.raises(BadInput) as caught:
        check_memory("big.csv", 10_000_000_000, Cost(6))
    assert str(caught.value) == (
        "big.csv holds at least 10.0 GB and would need some 60.0 GB of memory, but 4.0 GB are free: "
        "take a part of it with --rows, or use a larger machine."
    )


LIMITED = """
import json, resource, sys
from dualboost.readers.memory import free_memory
import dualboost.estimators, polars, sklearn.datasets, dualboost.files, dualboost.cli.app
import numpy
polars.DataFrame({"a": ["1"]}).select(polars.col("a").cast(float))
numpy.linalg.solve(numpy.eye(300), numpy.ones((300, 300)) @ numpy.ones(300))  # buffers of the linear algebra
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
from dualboost.cli import main
print([main(command) for command in json.loads(sys.argv[2])])
"""
ONE_HEAP = {"MALLOC_ARENA_MAX": "1", "POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Otherwise the C library sets 64 MB of addresses aside for each thread that happens to run beside another."""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="address-space limits as on Linux")
def test_on_a_small_machine_predict_streams_and_fit_says_what_to_do(tmp_path):
    """40 MB with 220 MB to spare: the file itself would fit, what is made of it (290 MB) would not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 200)).round(6)
    rows = "".join(",".join(map(str, row)) + f",{'yes' if row[0] > 0 else 'no'}\n" for row in X.tolist())
    head = ",".join(f"x{j}" for j in range(200)) + ",label\n"
    small, big = written(tmp_path, "small.csv", (head + rows).encode()), str(tmp_path / "big.csv")
    with open(big, "w") as file:
        file.write(head)
        file.writelines(rows for _ in range(50))
    model, out, whole = (str(tmp_path / name) for name in ("m.dualboost", "out.csv", "whole.dualboost"))
    assert main(["fit", small, "--nu", "0.3", "--max-rounds", "3", "-o", model, "-q"]) == 0
    commands = [
        ["predict", model, big, "-o", out, "-q"],
        ["fit", big, "-o", whole, "-q"],
        ["fit", big, "--rows", "400", "--nu", "0.3", "-o", str(tmp_path / "part.dualboost"), "-q"],
    ]
    call = [sys.executable, "-c", LIMITED, "220000000", json.dumps(commands)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=300, env={**os.environ, **ONE_HEAP})
    assert done.stdout.splitlines()[-1:] == ["[0, 2, 0]"], done.stderr
    assert "take a part of it with --rows" in done.stderr and len(done.stderr.splitlines()) == 1
    assert not Path(whole).exists()
    lines = Path(out).read_text().splitlines()
    assert len(lines) == 20_001 and lines[1:401] == lines[-400:]
