"""Weights and times of edges from every format that can have them, next to the edges they belong to."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from preprocess_tools import make

from marius_lite.errors import UserError
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.detect import open_reader
from marius_lite.preprocess.readers.source import InputFile

COUNT = 20_000
RANDOM = np.random.default_rng(0)
SRC, REL, DST = RANDOM.integers(0, 500, (3, COUNT))
WEIGHT = RANDOM.standard_normal(COUNT).astype(np.float32)
TIME = RANDOM.integers(-(1 << 62), 1 << 62, COUNT)
TYPES = {"weight": pa.float32(), "time": pa.int64()}
TABLE = {"when": TIME, "head": SRC, "kind": REL, "how": WEIGHT, "tail": DST}


def read(path, key=None, block_bytes=1 << 16, **given):
    """Columns of all blocks, as arrays, and the bad rows."""
    options = Options.parse(edges=[str(path)], output="d", **given)
    with closing(open_reader(InputFile(Path(path), 0, key), options, block_bytes, 2, lambda _: None)) as reader:
        blocks = list(reader.read(reader.kind or "int"))
    columns = {}
    for role in ("src", "rel", "dst", "weight", "time"):
        parts = [getattr(block, role) for block in blocks]
        if all(part is None for part in parts):
            continue
        assert all(len(part) == len(block.src) for part, block in zip(parts, blocks))
        columns[role] = np.array([value for part in parts for value in part.to_pylist()])
        assert {part.type for part in parts} == {TYPES[role]} if role in TYPES else True
    return columns, [row for block in blocks for row in block.bad]


def check(columns, **expected):
    assert set(columns) == set(expected)
    for role, values in expected.items():
        assert np.array_equal(columns[role].astype(values.dtype), values), role


def text(path, delimiter="\t", header=True):
    rows = [delimiter.join(TABLE)] if header else []
    rows += [delimiter.join(map(str, row)) for row in zip(*(column.tolist() for column in TABLE.values()))]
    path.write_text("\n".join(rows))
    return path


def test_text_by_name(tmp_path):
    file = text(tmp_path / "e.tsv")
    named = {"columns": "head,kind,tail", "edge_weight": "how", "timestamp": "when"}
    check(read(file, **named)[0], src=SRC, rel=REL, dst=DST, weight=WEIGHT, time=TIME)
    check(read(file, columns="tail,head", timestamp="when")[0], src=DST, dst=SRC, time=TIME)
    check(read(file, ids="str", **named)[0], src=SRC, rel=REL, dst=DST, weight=WEIGHT, time=TIME)


@pytest.mark.parametrize("delimiter", [",", ";", " ", " \t "])
def test_text_by_place(tmp_path, delimiter):
    file = text(tmp_path / "e.txt", delimiter, header=False)
    check(read(file, columns="time,src,rel,weight,dst")[0], src=SRC, rel=REL, dst=DST, weight=WEIGHT, time=TIME)
    check(read(file, columns="_,dst,_,weight,src")[0], src=DST, dst=SRC, weight=WEIGHT)


def test_parquet(tmp_path):
    pq.write_table(pa.table({**TABLE, "how": WEIGHT.astype(np.float64)}), tmp_path / "e.parquet", row_group_size=700)
    check(
        read(tmp_path / "e.parquet", edge_weight="how", timestamp="when", columns="head,kind,tail")[0],
        src=SRC,
        rel=REL,
        dst=DST,
        weight=WEIGHT,
        time=TIME,
    )
    check(read(tmp_path / "e.parquet", columns="time,src,rel,weight,dst")[0], src=SRC, rel=REL, dst=DST, weight=WEIGHT, time=TIME)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, ">f8"])
def test_arrays_of_floats(tmp_path, dtype, order):
    three, four = (np.stack(columns, 1).astype(dtype, order) for columns in ((SRC, DST, WEIGHT), (WEIGHT, SRC, REL, DST)))
    np.save(tmp_path / "3.npy", three)
    np.savez_compressed(tmp_path / "4.npz", edges=four)
    check(read(tmp_path / "3.npy", columns="src,dst,weight")[0], src=SRC, dst=DST, weight=WEIGHT)
    check(read(tmp_path / "4.npz", columns="weight,dst,rel,src")[0], src=DST, rel=REL, dst=SRC, weight=WEIGHT)


def test_an_array_of_integers(tmp_path):
    np.save(tmp_path / "e.npy", np.stack([TIME, SRC, DST, REL], 1))
    check(read(tmp_path / "e.npy", columns="time,src,dst,weight")[0], src=SRC, dst=DST, time=TIME, weight=REL.astype(np.float32))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("edges", ["rows", "turned", "parts"])
def test_archives(tmp_path, save, edges):
    arrays = {
        "rows": {"edges": np.stack([SRC, DST], 1)},
        "turned": {"edges": np.stack([SRC, DST])},
        "parts": {"row": SRC, "col": DST},
    }[edges]
    save(tmp_path / "e.npz", **arrays, w=WEIGHT.astype(np.float64), t=TIME.astype(np.uint64))
    good = TIME >= 0
    columns, bad = read(tmp_path / "e.npz", edge_weight="w", timestamp="t", on_bad_row="skip")
    check(columns, src=SRC[good], dst=DST[good], weight=WEIGHT[good], time=TIME[good])
    assert [row.line for row in bad] == np.flatnonzero(~good).tolist()
    assert {row.reason for row in bad} == {"time: number above 2^63 - 1"}
    check(read(tmp_path / "e.npz")[0], src=SRC, dst=DST)


def test_values_of_a_sparse_matrix(tmp_path):
    rows = np.sort(SRC)
    np.savez(
        tmp_path / "m.npz",
        indptr=np.searchsorted(rows, np.arange(501)),
        indices=DST.astype(np.int32),
        data=WEIGHT.astype(float),
        shape=np.array([500, 500]),
        format=np.array(b"csr"),
    )
    check(read(tmp_path / "m.npz", edge_weight="data")[0], src=rows, dst=DST, weight=WEIGHT)


@pytest.mark.parametrize("weight", ["", "nan", "inf", "-inf", "1e39", "x", "1_0", "0x1", "1.5f", "\u0661"])
@pytest.mark.parametrize("memory", [1 << 12, 1 << 22])
def test_a_weight_that_is_none_is_a_bad_row(tmp_path, weight, memory):
    (tmp_path / "e.csv").write_text(f"1,2,0.5\n1,3,{weight}\n2,3, -1E1 \n1,3,.5\n5,5,+3.\n")
    columns, bad = read(tmp_path / "e.csv", columns="src,dst,weight", on_bad_row="skip", block_bytes=memory)
    check(columns, src=np.array([1, 2, 1, 5]), dst=np.array([2, 3, 3, 5]), weight=np.float32([0.5, -10, 0.5, 3]))
    assert [str(row) for row in bad] == [f"{tmp_path}/e.csv:2: column 3 (weight): no finite number: '1,3,{weight}'"]
    with pytest.raises(UserError, match=r"e\.csv:2: column 3 \(weight\): no finite number: .*: mend the line"):
        read(tmp_path / "e.csv", columns="src,dst,weight")


def test_a_bad_first_line_may_be_titles(tmp_path):
    """Nothing tells titles from data where a weight under them is no number."""
    (tmp_path / "e.csv").write_text("who,whom,how\na,b,x\nb,c,0.5\n")
    with pytest.raises(UserError, match=r"e\.csv:1: column 3 \(weight\): .*or say that it has titles: --header yes$"):
        read(tmp_path / "e.csv", columns="src,dst,weight")
    with pytest.raises(UserError, match=r"e\.csv:2: column 3 \(weight\): no finite number: [^-]*--on-bad-row skip$"):
        read(tmp_path / "e.csv", columns="src,dst,weight", header="yes")


@pytest.mark.parametrize("time", ["", "1.0", "x", "9223372036854775808", "0x1"])
def test_a_time_that_is_none_is_a_bad_row(tmp_path, time):
    (tmp_path / "e.csv").write_text(f"a,b,-5\na,c,{time}\n")
    columns, bad = read(tmp_path / "e.csv", columns="src,dst,time", on_bad_row="skip")
    check(columns, src=np.array(["a"]), dst=np.array(["b"]), time=np.array([-5]))
    assert [(row.line, row.reason) for row in bad] == [(2, "column 3 (time): no whole number of 64 bits")]


def test_bad_rows_of_arrays(tmp_path):
    rows = np.array([[0, 1, 0.5], [1.5, 2, 0.5], [2, np.nan, 1], [3, 4, np.inf], [-1, 2, 1], [2**54, 1, 1], [7, 8, 2]])
    np.save(tmp_path / "e.npy", rows)
    columns, bad = read(tmp_path / "e.npy", columns="src,dst,weight", on_bad_row="skip")
    check(columns, src=np.array([0, 7]), dst=np.array([1, 8]), weight=np.float32([0.5, 2]))
    part = "no whole number that a float holds exactly"
    assert [(row.line, row.reason) for row in bad] == [
        (1, f"src: {part}"),
        (2, f"dst: {part}"),
        (3, "weight: no finite number"),
        (4, "src: negative id"),
        (5, f"src: {part}"),
    ]
    pq.write_table(
        pa.table({"src": [1, 1, 1], "dst": [2, 2, 2], "w": [1.0, None, float("nan")], "t": [1, 2, None]}), tmp_path / "e.parquet"
    )
    columns, bad = read(tmp_path / "e.parquet", edge_weight="w", timestamp="t", on_bad_row="skip")
    check(columns, src=np.array([1]), dst=np.array([2]), weight=np.float32([1]), time=np.array([1]))
    assert [(row.line, row.reason) for row in bad] == [(1, "weight: null"), (2, "weight: no finite number")]


def test_an_empty_weight_may_stand_for_a_number(tmp_path):
    weights, rows = np.float32([0.5, 3, 3, 2]), [("a", "b", "0.5"), ("b", "c", ""), ("c", "a", ""), ("a", "c", "2")]
    (tmp_path / "e.csv").write_text("src,dst,w\n" + "".join(",".join(row) + "\n" for row in rows))
    (tmp_path / "quoted.csv").write_text("src,dst,w\n" + "".join(",".join(f'"{part}"' for part in row) + "\n" for row in rows))
    values = [0.5, None, float("nan"), 2.0]
    src, dst, _ = zip(*rows)
    pq.write_table(pa.table({"src": src, "dst": dst, "w": values}), tmp_path / "e.parquet")
    for name in ("e.csv", "quoted.csv", "e.parquet"):
        columns, bad = read(tmp_path / name, edge_weight="w", weight_default=3.0)
        check(columns, src=np.array(["a", "b", "c", "a"]), dst=np.array(["b", "c", "a", "c"]), weight=weights)
        columns, bad = read(tmp_path / name, edge_weight="w", on_bad_row="skip")
        check(columns, src=np.array(["a", "a"]), dst=np.array(["b", "c"]), weight=np.float32([0.5, 2]))
        assert len(bad) == 2


def test_only_a_weight_may_be_empty(tmp_path):
    (tmp_path / "e.csv").write_text("1,2,0.5,7\n,2,,7\n3,4,,7\n3,4,1,\n3,4,x,7\n")
    columns, found = read(tmp_path / "e.csv", columns="src,dst,weight,time", weight_default=1.5, on_bad_row="skip")
    bad = {row.line: row.reason for row in found}
    check(columns, src=np.array([1, 3]), dst=np.array([2, 4]), weight=np.float32([0.5, 1.5]), time=np.array([7, 7]))
    assert bad == {
        2: "column 1 (src): empty",
        4: "column 4 (time): no whole number of 64 bits",
        5: "column 3 (weight): no finite number",
    }


@pytest.mark.parametrize(
    ("default", "columns", "message"),
    [
        (1.0, "src,dst", "edges have no weights: name their column"),
        (float("inf"), "src,dst,weight", "must be a finite float32"),
        (1e39, "src,dst,weight", "must be a finite float32"),
    ],
)
def test_a_default_that_is_no_weight(tmp_path, default, columns, message):
    with pytest.raises(UserError, match=message):
        Options.parse(edges=["e.csv"], output=tmp_path / "d", columns=columns, weight_default=default)


def test_what_has_no_such_column(tmp_path):
    edges = np.stack([SRC, DST], 1)
    np.save(tmp_path / "e.npy", edges)
    np.savez(tmp_path / "e.npz", edges=edges, short=WEIGHT[1:], words=np.array(["a"] * COUNT), w=WEIGHT)
    pq.write_table(pa.table({"src": SRC, "dst": DST, "words": ["a"] * COUNT, "w": WEIGHT}), tmp_path / "e.parquet")
    (tmp_path / "g.gr").write_text("p tw 2 1\n1 2\n")
    for name, given, message in [
        ("e.npy", {"edge_weight": "w"}, r"e\.npy: --edge-weight: the array's columns have no names: give their order"),
        ("e.npz", {"edge_weight": "none"}, r"e\.npz:none: which array\? the archive has edges, short, words, w"),
        ("e.npz", {"edge_weight": "short"}, r"e\.npz:short: --edge-weight: shape \(19999,\) where there are 20000 edges"),
        ("e.npz", {"edge_weight": "words"}, r"e\.npz:words: --edge-weight: an array of <U1: must be numbers"),
        ("e.npz", {"timestamp": "w"}, r"e\.npz:w: --timestamp: an array of float32: must be integers"),
        ("e.parquet", {"edge_weight": "words"}, r"column 'words' \(weight\) is of type string: weights must be numbers"),
        ("e.parquet", {"timestamp": "w"}, r"column 'w' \(time\) is of type float: times must be integers"),
        ("g.gr", {"edge_weight": "w"}, r"g\.gr: weights and times are not read from a gr file"),
    ]:
        with pytest.raises(UserError, match=message) as raised:
            make(tmp_path / "d", tmp_path / name, **given)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("columns", "values"), [("src,dst,weight", ["0.5", "-1e3"]), ("src,dst,time", ["5", "6"])])
def test_words_above_numbers_of_a_column_that_has_values_are_titles(tmp_path, columns, values):
    path = tmp_path / "e.csv"
    path.write_text("von,nach,Stärke\n" + "".join(f"a{row},b,{value}\n" for row, value in enumerate(values)))
    found, bad = read(path, columns=columns)
    assert found["src"].tolist() == ["a0", "a1"]
    assert not bad
    path.write_text("a,b,x\na0,b,y\n")  # no number stands below: all of it is wrong
    assert len(read(path, columns=columns, on_bad_row="skip")[1]) == 2
