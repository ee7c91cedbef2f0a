"""Data files: every format gives the same numbers, guesses follow fixed rules, bad files get one sentence."""

import bz2
import gzip
import io
import lzma
import sys
from datetime import date

import numpy as np
import pytest

from dualboost.readers import BadInput, Schema, SparseTable, Wishes, apply, learn, memory, read

pl = pytest.importorskip("polars")

FRAME = pl.DataFrame(
    {
        "age": [31.5, None, 12.0, 70.0, 45.0, 8.0],
        "sex": ["male", "female", "female", None, "male", "female"],
        "town": ["Rome", "Oslo", "Bern", "Rome", "Oslo", "Rome"],
        "alive": [True, False, True, True, False, True],
        "born": [date(1990, 1, 1), date(1970, 1, 2), None, date(1950, 5, 5), date(2000, 1, 1), date(1971, 1, 1)],
        "label": ["yes", "no", "no", "yes", "yes", "no"],
    }
)
CSV = FRAME.write_csv().encode()
WANTED = ("age", "sex", "town", "alive", "born")


def written(tmp_path, data: bytes, name: str = "data.csv") -> str:
    (tmp_path / name).write_bytes(data)
    return str(tmp_path / name)


def zstd(data: bytes) -> bytes:
    return pytest.importorskip("pyarrow").compress(data, "zstd", asbytes=True)


def parquet() -> bytes:
    FRAME.write_parquet(out := io.BytesIO())
    return out.getvalue()


def arrow() -> bytes:
    FRAME.write_ipc(out := io.BytesIO())
    return out.getvalue()


def stream() -> bytes:
    FRAME.write_ipc_stream(out := io.BytesIO())
    return out.getvalue()


FORMS = {
    "data.csv": CSV,
    "data.tsv": FRAME.write_csv(separator="\t").encode(),
    "semicolons.csv": FRAME.write_csv(separator=";").replace("31.5", "31,5").encode(),
    "data.csv.gz": gzip.compress(CSV),
    "data.csv.bz2": bz2.compress(CSV),
    "data.csv.xz": lzma.compress(CSV),
    "data.csv.zst": zstd(CSV),
    "two_frames.csv.zst": zstd(CSV[:100]) + zstd(CSV[100:]),
    "data.parquet.zst": zstd(parquet()),
    "no_suffix": gzip.compress(CSV),
    "with_mark.csv": b"\xef\xbb\xbf" + CSV,
    "windows.csv": CSV.replace(b"\n", b"\r\n"),
    "blanks.csv": CSV.replace(b",", b" , "),
    "question.csv": CSV.replace(b"no,", b"no ,").replace(b",,", b",?,"),
    "data.parquet": parquet(),
    "data.parquet.gz": gzip.compress(parquet()),
    "data.arrow": arrow(),
    "data.feather": stream(),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_format_gives_the_same_numbers(tmp_path, name):
    reference = learn(read(written(tmp_path, parquet(), "reference")))
    problem = learn(read(written(tmp_path, FORMS[name], name)))
    assert reference.schema.features == WANTED and [c.name for c in problem.schema.columns] == FRAME.columns[:-1]
    truths = [c.kind for c in problem.schema.columns]
    assert truths[0] == "number" and truths[1] == truths[2] == "category" and truths[4] == "date"
    np.testing.assert_array_equal(problem.y, reference.y)
    shared = apply(reference.schema, read(written(tmp_path, FORMS[name], name)))
    assert shared.X.equals(reference.X)


def test_numbers_are_what_the_cells_say():
    problem = learn(table_of(FRAME))
    assert problem.X["age"].to_list() == [31.5, None, 12, 70, 45, 8]
    assert problem.X["sex"].to_list() == ["male", "female", "female", None, "male", "female"]
    assert problem.X["town"].dtype == pl.Enum(["Bern", "Oslo", "Rome"])
    assert problem.X["alive"].to_list() == [1, 0, 1, 1, 0, 1]
    assert problem.X["born"].to_list()[:3] == [7305, 1, None]
    assert problem.y.tolist() == ["yes", "no", "no", "yes", "yes", "no"] and problem.schema.target == "label"
    assert problem.cells(1) == {
        "age": "", "sex": "female", "town": "Oslo", "alive": "False", "born": "1970-01-02", "label": "no"
    }  # fmt: skip


def table_of(frame):
    from dualboost.readers import FrameTable, Source

    return FrameTable(frame, Source("memory", "frame", "", frame.height))


def test_standard_input_is_read_too(monkeypatch):
    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(gzip.compress(CSV)))

    monkeypatch.setattr(sys, "stdin", Stdin)
    table = read("-")
    assert len(table) == 6 and table.source.name == "standard input"


def test_first_rows_only_and_line_ends_inside_quotes(tmp_path):
    text = b'a,label\n"1\n",x\n2,y\n3,x\n4,y\n'
    for name, data in {"d.csv": text, "d.csv.gz": gzip.compress(text)}.items():
        table = read(written(tmp_path, data, name), rows=2)
        assert len(table) == 2 and table.frame["label"].to_list() == ["x", "y"]
    assert len(read(written(tmp_path, parquet(), "d.parquet"), rows=3)) == 3


def test_svmlight(tmp_path):
    text = b"# a comment\n+1 1:0.5 3:2\n-1 2:1\n1 3:-1e2 # here too\n"
    table = read(written(tmp_path, bz2.compress(text), "data.bz2"))
    assert isinstance(table, SparseTable)
    problem = learn(table)
    assert problem.y.tolist() == [1, -1, 1] and problem.schema.sparse == 4
    np.testing.assert_array_equal(problem.X.toarray(), [[0, 0.5, 0, 2], [0, 0, 1, 0], [0, 0, 0, -100]])
    wider = apply(problem.schema, read(written(tmp_path, b"1 1:1 9:4\n", "new")))
    assert wider.X.toarray().tolist() == [[0, 1, 0, 0]] and "Features above 3" in wider.notes[0]
    narrow = apply(problem.schema, read(written(tmp_path, b"1 1:1\n", "new")))
    assert narrow.X.shape == (1, 4)
    with pytest.raises(BadInput, match="SVMlight"):
        apply(problem.schema, table_of(FRAME))


@pytest.mark.parametrize(
    ("columns", "wishes", "target"),
    [
        ({"y": [0, 1, 0, 1], "a": [1, 2, 3, 4]}, Wishes(), "y"),
        ({"a": [1, 2, 3, 4], "last": [0, 1, 0, 1]}, Wishes(), "last"),
        ({"a": [1, 2, 3, 4], "Class": ["x", "y", "x", "y"], "b": [0, 1, 0, 1]}, Wishes(), "Class"),
        ({"a": [1, 2, 3, 4], "b": [0, 1, 0, 1], "c": [5, 6, 7, 8]}, Wishes(), "b"),
        ({"a": [0, 1, 0, 1], "b": [0, 1, 0, 1], "c": [5, 6, 7, 8]}, Wishes(target="a"), "a"),
    ],
)
def test_the_target_is_guessed_by_fixed_rules(columns, wishes, target):
    problem = learn(table_of(pl.DataFrame(columns)), wishes)
    assert problem.schema.target == target
    assert any(f"Target {target!r}" in note for note in problem.notes)


def test_kinds_of_columns_are_judged_and_said():
    n = 40
    frame = pl.DataFrame(
        {
            "id": range(n),
            "name": [f"person {k}" for k in range(n)],
            "size": [str(k * 0.5) if k % 13 else "unknown" for k in range(n)],
            "code": [str(k % 3) + "x" for k in range(n)],
            "many": [f"town {k % 19}" for k in range(n)],
            "void": [None] * n,
            "list": [[k] for k in range(n)],
            "label": [k % 2 for k in range(n)],
        }
    )
    problem = learn(table_of(frame))
    kinds = {column.name: column.kind for column in problem.schema.columns}
    assert kinds == {"size": "number", "code": "category", "many": "category"}
    said = " ".join(problem.notes)
    for name in (
        "'id' only counts",
        "'name' holds names",
        "'size' holds numbers, and words",
        "'void' is empty",
        "'list'",
    ):
        assert name in said
    assert problem.X["size"].to_list()[:2] == [None, 0.5]
    assert problem.y.dtype == np.int64


def test_labels_have_one_spelling_and_missing_ones_are_left_out(tmp_path):
    problem = learn(read(written(tmp_path, b"a,label\n1,+1\n2,1.0\n3,-1\n4,\n5,1\n")))
    assert problem.y.tolist() == [1, 1, -1, 1] and problem.rows.tolist() == [0, 1, 2, 4]
    assert "1 row without a target was left out." in problem.notes


def test_one_class_against_all_others(tmp_path):
    path = written(tmp_path, b"a,kind\n1,x\n2,y\n3,z\n4,x\n")
    problem = learn(read(path), Wishes("kind", "x"))
    assert problem.y.tolist() == ["x", "not x", "not x", "x"]
    assert apply(problem.schema, read(path), with_target=True).y.tolist() == problem.y.tolist()
    with pytest.raises(BadInput, match="never has the value 'w'"):
        learn(read(path), Wishes("kind", "w"))


def test_new_categories_are_no_error_and_said(tmp_path):
    schema = learn(table_of(FRAME)).schema
    path = written(tmp_path, CSV.replace(b"Bern", b"Lima"))
    problem = apply(schema, read(path))
    assert problem.X["town"].to_list()[1:4] == ["Oslo", None, "Rome"]
    assert "'Lima' are new and count as missing" in problem.notes[0]
    assert not apply(schema, read(written(tmp_path, CSV))).notes


def test_rare_categories_count_as_one_and_new_ones_with_them():
    levels = [f"c{k:02d}" for k in range(60) for _ in range(60 - k)]
    frame = pl.DataFrame({"c": levels, "label": [k % 2 for k in range(len(levels))]})
    problem = learn(table_of(frame))
    column = problem.schema.columns[0]
    assert column.levels == tuple(f"c{k:02d}" for k in range(51)) and len(column.words) == 9
    assert "60 values: 51 are told apart, the rare others count as one" in " ".join(problem.notes)
    assert problem.X["c"].to_list()[-1] == "(others)" and problem.X["c"].to_list()[0] == "c00"
    new = apply(problem.schema, table_of(pl.DataFrame({"c": ["c00", "c59", "never", None]})))
    assert new.X["c"].to_list() == ["c00", "(others)", "(others)", None]
    assert new.notes == ("Column 'c': 1 cells such as 'never' are new and count like rare ones.",)


def test_a_column_of_rare_values_tells_at_most_who_has_one():
    n = 200
    some = [f"cabin {k // 2}" if k % 4 < 2 else None for k in range(n)]
    label = [k % 2 for k in range(n)]
    problem = learn(table_of(pl.DataFrame({"cabin": some, "x": [k % 7 for k in range(n)], "label": label})))
    assert problem.X["cabin"].to_list()[:4] == ["(others)", "(others)", None, None]
    whole = pl.DataFrame(
        {"cabin": [f"cabin {k // 2}" for k in range(n)], "x": [k % 7 for k in range(n)], "label": label}
    )
    assert learn(table_of(whole)).schema.features == ("x",)


def test_a_schema_survives_json_and_refuses_nonsense():
    schema = learn(table_of(FRAME)).schema
    assert Schema.from_json(schema.to_json()) == schema
    for code in (
        {},
        None,
        {"target": 1},
        {**schema.to_json(), "columns": [{"name": "a"}]},
        {**schema.to_json(), "sparse": []},
    ):
        with pytest.raises(BadInput):
            Schema.from_json(code)
    strange = {**schema.to_json(), "columns": [{"name": "a", "kind": "sound", "levels": [], "words": []}]}
    with pytest.raises(BadInput, match="newer dualboost"):
        Schema.from_json(strange)


BAD = {
    "empty.csv": (b"", "is empty"),
    "blank.csv": (b"\n\n", "is empty"),
    "header.csv": (b"a,label\n", "no rows"),
    "short.csv": (b"a,b,label\n1,2,x\n3,y\n", "ragged: line 3 has 2 cells, the first has 3"),
    "long.csv": (b"a,label\n1,x\n2,y,z\n", "ragged: line 3 has 3 cells"),
    "latin.csv": (b"a,label\n\xe9,x\n", "--encoding latin-1"),
    "utf16.csv": ("a,label\n1,x\n".encode("utf-16"), "--encoding utf-16"),
    "little.csv": ("a,label\n1,x\n".encode("utf-16-le"), "--encoding utf-16-le"),
    "big.csv": ("größe,label\n1,x\n".encode("utf-16-be"), "--encoding utf-16-be"),
    "picture.csv": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "no text file"),
    "broken.csv.gz": (gzip.compress(CSV)[:-20], "damaged or cut short"),
    "broken.parquet": (parquet()[:-20], "damaged"),
    "broken.arrow": (arrow()[:40], "damaged"),
    "data.zst": (b"\x28\xb5\x2f\xfd rest", "damaged or cut short"),
    "broken.csv.bz2": (bz2.compress(CSV)[:-20], "damaged or cut short"),
    "broken.csv.xz": (lzma.compress(CSV)[:-20], "damaged or cut short"),
    "broken.csv.zst": (zstd(CSV)[:-20], "damaged or cut short"),
    "data.zip": (b"PK\x03\x04 rest", "zip"),
    "data.npz": (b"PK\x03\x04 rest", "NumPy arrays"),
    "data.xlsx": (b"PK\x03\x04 rest", "save it as CSV"),
    "broken.svm": (b"1 1:2 2:3\n1 a:b\n", "SVMlight"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_in_one_sentence(tmp_path, name):
    data, words = BAD[name]
    with pytest.raises(BadInput) as caught:
        read(written(tmp_path, data, name))
    assert words in str(caught.value) and "\n" not in str(caught.value) and str(caught.value).endswith(".")


PROBLEMS = {
    "one value": (b"a,label\n1,x\n2,x\n", Wishes(target="label"), "only one value, x"),
    "one value, unnamed": (b"a,b,label\n1,0,x\n2,1,x\n", Wishes(), "'label' has only one value, x"),
    "one of many": (b"a,b,c,d,e,f,g,h,i,j\n" + b"1," * 9 + b"x\n", Wishes(target="z"), "g, h and 2 more."),
    "no such target": (b"a,label\n1,x\n2,y\n", Wishes(target="lable"), "no column 'lable'; it has a, label"),
    "no such column to drop": (b"a,label\n1,x\n2,y\n", Wishes(drop=("b",)), "no column 'b'"),
    "which target": (b"a,b,c\n0,0,5\n1,1,6\n0,1,7\n", Wishes(), "--target: one of a, b"),
    "no target in sight": (b"a,b\n1,5\n2,6\n3,7\n", Wishes(), "none has exactly two values"),
    "empty target": (b"a,label\n1,\n2,\n", Wishes(target="label"), "empty in every row"),
    "too many classes": (
        b"a,label\n" + b"".join(b"%d,%d\n" % (k % 7, k) for k in range(60)), Wishes(target="label"), "--positive"
    ),
    "infinite": (b"a,label\n1,x\ninf,y\n3,x\n", Wishes(), "infinite in row 2"),
    "nothing to learn from": (b"label\nx\ny\n", Wishes(), "no column to learn from"),
}  # fmt: skip


@pytest.mark.parametrize("name", PROBLEMS)
def test_bad_problems_are_refused_in_one_sentence(tmp_path, name):
    data, wishes, words = PROBLEMS[name]
    with pytest.raises(BadInput) as caught:
        learn(read(written(tmp_path, data)), wishes)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_columns_that_differ_at_predict_are_refused(tmp_path):
    schema = learn(table_of(FRAME)).schema
    with pytest.raises(BadInput, match="no column 'age'"):
        apply(schema, table_of(FRAME.drop("age")))
    with pytest.raises(BadInput, match="'label'"):
        apply(schema, table_of(FRAME.drop("label")), with_target=True)
    with pytest.raises(BadInput, match="'age' is a number for this model, but row 3 holds 'old'"):
        apply(schema, read(written(tmp_path, CSV.replace(b"12.0", b"old"))))
    reordered = apply(schema, table_of(FRAME.select(sorted(FRAME.columns))))
    assert reordered.X.equals(apply(schema, table_of(FRAME)).X)


def test_what_does_not_fit_into_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 1000)
    for name in ("data.csv", "data.csv.gz"):
        with pytest.raises(BadInput, match="--rows"):
            read(written(tmp_path, FORMS[name] if name.endswith("gz") else CSV * 3, name))
    assert len(read(written(tmp_path, CSV * 3), rows=2)) == 2


def test_a_wrong_encoding_can_be_named(tmp_path):
    path = written(tmp_path, "a,label\nö,x\nü,y\n".encode("latin-1"))
    assert read(path, encoding="latin-1").frame["a"].to_list() == ["ö", "ü"]
    with pytest.raises(BadInput, match="no encoding 'klingon'"):
        read(path, encoding="klingon")


def test_a_file_without_header(tmp_path):
    problem = learn(read(written(tmp_path, b"1,5,0\n2,6,1\n3,7,0\n4,9,1\n")))
    assert problem.schema.target == "column 3" and "no header" in problem.notes[0]
