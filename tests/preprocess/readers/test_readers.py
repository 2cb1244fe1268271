"""The same edges read from every format, compression, delimiter, header, block size."""

import bz2
import gzip
import io
import lzma
import random
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from preprocess_tools import data_files, decoded, make

from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.in_order import ordered_map
from marius_lite.preprocess.readers.lines import LineBlock, strip_comments
from marius_lite.preprocess.readers.raw import RawEdges
from marius_lite.preprocess.readers.sniff import sniff
from marius_lite.preprocess.readers.source import ByteStream
from marius_lite.preprocess.readers.text import BlockParser, TextReader

EDGES = [(f"n{random.Random(i).randrange(300)}", f"r{i % 5}", f"n{i * 7 % 301}") for i in range(5000)]
TEXT = "".join(f"{s}\t{r}\t{d}\n" for s, r, d in EDGES).encode()


def options(**given):
    return Options.parse(edges=["e"], output="d", **given)


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [
        ("", bytes),
        ("gz", gzip.compress),
        ("bz2", bz2.compress),
        ("xz", lzma.compress),
        ("zst", lambda b: pa.compress(b, "zstd", asbytes=True)),
        ("gz", lambda b: gzip.compress(b[:40_003]) + gzip.compress(b[40_003:])),
        ("zst", lambda b: b"".join(pa.compress(part, "zstd", asbytes=True) for part in (b[:40_003], b[40_003:]))),
        ("bz2", lambda b: bz2.compress(b[:40_003]) + bz2.compress(b[40_003:])),
        ("xz", lambda b: lzma.compress(b[:40_003]) + lzma.compress(b[40_003:])),
    ],
    ids=["plain", "gz", "bz2", "xz", "zst", "gz twice", "zst twice", "bz2 twice", "xz twice"],
)
def test_compressions_give_the_same_edges(tmp_path, suffix, pack):
    (tmp_path / f"e.tsv.{suffix}").write_bytes(pack(TEXT))
    assert decoded(make(tmp_path / "d", tmp_path / f"e.tsv.{suffix}", memory="1MiB")) == Counter(EDGES)


@pytest.mark.parametrize("delimiter", ["\t", ",", ";", "|", " ", ":"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_delimiters_and_line_ends(tmp_path, delimiter, newline):
    rows = [delimiter.join(edge) for edge in EDGES[:100]]
    rows.insert(50, "# a comment")
    rows.insert(60, "")
    (tmp_path / "e.txt").write_bytes((newline.join(rows)).encode())
    given = {"delimiter": ":"} if delimiter == ":" else {}
    assert decoded(make(tmp_path / "d", tmp_path / "e.txt", **given)) == Counter(EDGES[:100])


@pytest.mark.parametrize(
    ("header", "given", "order"),
    [
        ("src\trel\tdst", {}, (0, 1, 2)),
        ("Head\tRelation\tTail", {}, (0, 1, 2)),
        ("tail\trelation\thead", {}, (2, 1, 0)),
        ("x\ty\tz", {"header": "yes"}, (0, 1, 2)),
        ("x\ty\tz", {"columns": "z,y,x"}, (2, 1, 0)),
        ("x\ty\tz", {"columns": "y,z,x"}, (2, 0, 1)),
        ("weight\tdst\tsrc\trel", {}, (None, 2, 0, 1)),
        ("# comment\nsrc\trel\tdst", {}, (0, 1, 2)),
        (None, {"columns": "dst,rel,src"}, (2, 1, 0)),
        (None, {"columns": "rel,src,_,dst"}, (1, 0, None, 2)),
    ],
)
def test_headers_and_column_orders(tmp_path, header, given, order):
    """``order[k]``: which part of the edge stands in the file's column k."""
    rows = ["\t".join("9" if part is None else edge[part] for part in order) for edge in EDGES[:50]]
    (tmp_path / "e.tsv").write_text("\n".join([header, *rows] if header else rows))
    assert decoded(make(tmp_path / "d", tmp_path / "e.tsv", **given)) == Counter(EDGES[:50])


def test_types_tell_a_header_of_unknown_names(tmp_path):
    (tmp_path / "e.csv").write_text("alpha,omega\n1,2\n2,3\n")
    assert decoded(make(tmp_path / "d", tmp_path / "e.csv")) == {(1, "", 2): 1, (2, "", 3): 1}


def test_two_columns_may_be_turned_round(tmp_path):
    (tmp_path / "e.csv").write_text("1,2\n2,3\n")
    assert decoded(make(tmp_path / "d", tmp_path / "e.csv", columns="dst,src")) == {(2, "", 1): 1, (3, "", 2): 1}


def test_quotes_mean_something_in_comma_files_only(tmp_path):
    (tmp_path / "e.csv").write_text('"a,1",b\nb,"say ""hi"""\n')
    assert decoded(make(tmp_path / "d", tmp_path / "e.csv")) == {("a,1", "", "b"): 1, ("b", "", 'say "hi"'): 1}
    (tmp_path / "e.tsv").write_text('"a\tb\nb\t"c"\n')
    assert decoded(make(tmp_path / "t", tmp_path / "e.tsv")) == {('"a', "", "b"): 1, ("b", "", '"c"'): 1}


@pytest.mark.parametrize(
    ("rows", "kind"),
    [("1\t2\n3\t4\n", "int"), ("1\t2\n3\tx\n", "str"), ("01\t2\n", "str"), ("0\t2\n", "int"), ("1.5\t2\n", "str")],
)
def test_ids_auto(tmp_path, rows, kind):
    (tmp_path / "e.tsv").write_text(rows)
    assert make(tmp_path / "d", tmp_path / "e.tsv").manifest.ids == kind


def test_relations_are_integers_if_all_are(tmp_path):
    (tmp_path / "e.tsv").write_text("a\t10\tb\na\t9\tb\n")
    assert make(tmp_path / "d", tmp_path / "e.tsv").relation_names() == [9, 10]
    assert make(tmp_path / "s", tmp_path / "e.tsv", ids="str").relation_names() == ["10", "9"]


def test_formats_agree(tmp_path):
    rows = np.random.default_rng(0).integers(0, 90, (3000, 3))
    np.savetxt(tmp_path / "e.tsv", rows, "%d\t%d\t%d")
    for name, dtype in [("i32", np.int32), ("u64", np.uint64), ("big", ">i8")]:
        np.save(tmp_path / f"{name}.npy", rows.astype(dtype))
    np.save(tmp_path / "fortran.npy", np.asfortranarray(rows))
    table = {"other": rows[:, 0] * 0.5, "dst": rows[:, 2], "rel": rows[:, 1], "src": rows[:, 0]}
    pq.write_table(pa.table(table), tmp_path / "e.parquet", row_group_size=700)
    for name, new in [("e.arrow", pa.ipc.new_file), ("e.arrows", pa.ipc.new_stream)]:
        with new(tmp_path / name, pa.table(table).schema) as written:
            written.write_table(pa.table(table), max_chunksize=700)
    text = {"src": rows[:, 0].astype(str), "rel": rows[:, 1].astype(str), "dst": rows[:, 2].astype(str)}
    pq.write_table(pa.table(text), tmp_path / "text.parquet", row_group_size=700)
    made = {}
    for path in sorted(path for path in tmp_path.iterdir() if path.is_file()):
        dataset = make(tmp_path / f"{path.name}.d", path, ids="int", memory="1MiB", partitions=3)
        made[path.name] = {name: data for name, data in data_files(dataset.path).items() if str(name) != "zarr.json"}
    assert len(made) == 9
    assert all(files == made["e.tsv"] for files in made.values())


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_an_array_of_either_shape_and_either_order(tmp_path, turned, order, suffix):
    """numpy.save(file, edges.T) stores (2, E) column after column."""
    rows = np.random.default_rng(0).integers(0, 90, (9000, 2))
    array = np.array(rows.T if turned else rows, order=order)
    np.save(tmp_path / "e.npy", array) if suffix == "npy" else np.savez(tmp_path / "e.npz", edges=array)
    dataset = make(tmp_path / "d", tmp_path / f"e.{suffix}", memory="1MiB", partitions=2)
    assert decoded(dataset) == Counter((s, "", d) for s, d in rows.tolist())


def test_globs_take_every_file_once_and_empty_ones_are_fine(tmp_path):
    for part in range(3):
        (tmp_path / f"part-{part}.tsv").write_bytes(TEXT if part else b"")
    dataset = make(tmp_path / "d", tmp_path / "part-*.tsv")
    assert decoded(dataset) == Counter(EDGES + EDGES)
    assert [source.name for source in dataset.manifest.sources] == ["part-0.tsv", "part-1.tsv", "part-2.tsv"]
    assert dataset.manifest.sources[1].size == len(TEXT)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([b"#c", b"a\tb", b"", b"##", b" #", b"x#y"]), max_size=12), st.booleans())
def test_strip_comments_is_what_a_line_loop_does(lines, ends):
    data = b"\n".join(lines) + (b"\n" if ends else b"")
    pieces = data.splitlines(keepends=True)
    kept = [line for line in pieces if not line.startswith(b"#")]
    assert strip_comments(data, b"#") == (b"".join(kept), len(pieces) - len(kept))
    assert strip_comments(data, b"") == (data, 0)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400), st.integers(1, 3))
def test_blocks_of_any_size_give_every_line_once(block_bytes, threads):
    data = b"\xef\xbb\xbf# head\n" + b"".join(b"n%d\tn%d\n%s" % (i, i + 1, b"# c\n" if i % 9 == 0 else b"") for i in range(200))
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        stream = ByteStream(Path(file.name))
        reader = TextReader(stream, options(), block_bytes, threads)
        reader._lines.start = reader._lines.start[:20]
        stream._stream = io.BytesIO(data[23:])
        edges = list(reader.read("str"))
        stream.close()
    assert [name for block in edges for name in block.src.to_pylist()] == [f"n{i}" for i in range(200)]
    assert sum(block.comments for block in edges) == 1 + 23


def test_ordered_map_keeps_order_and_raises_where_it_happened():
    assert list(ordered_map(lambda x: x * x, range(50), 3)) == [x * x for x in range(50)]
    results = ordered_map(lambda x: 1 // (x - 3), range(50), 3)
    assert [next(results) for _ in range(3)] == [-1, -1, -1]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_the_slow_pass_accepts_what_the_fast_one_does():
    sample = b"1\t2\n"
    parser = BlockParser("f", sniff(sample, options(), "f"), "int", options())
    for field in ["5", " 5", "5 ", "007", "9223372036854775807"]:
        assert parser._checked(f"{field}\t1".encode()) == ([field, "1"], None)
        found = parser.parse(LineBlock(f"{field}\t1\n".encode(), 1))
        assert isinstance(found, RawEdges)
        assert found.src.to_pylist() == [int(field)]


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("   1    2\n  10  300\n 100    4\n", {}),
        ("1 2 \n10 300 \n100 4 \n", {}),
        ("1\t2\n10 300\n100   4\n", {}),
        (" 1 2\n10\t300\n\t100 4\t\n \t\n", {"delimiter": "whitespace"}),
        ("1 2\r\n10  300\r\n100 4\r\n", {}),
        ("# n\n  from    to\n   1    2\n  10  300\n 100    4\n", {}),
    ],
)
def test_any_number_of_spaces_and_tabs(tmp_path, text, given):
    (tmp_path / "e.txt").write_text(text, newline="")
    assert decoded(make(tmp_path / "d", tmp_path / "e.txt", **given)) == {(1, "", 2): 1, (10, "", 300): 1, (100, "", 4): 1}


def test_words_with_spaces_stay_whole_between_tabs(tmp_path):
    (tmp_path / "e.tsv").write_text("new york\tin\tus\nlos angeles\tin\tus\nsan diego\tin\tus\nno such  row here\n")
    dataset = make(tmp_path / "d", tmp_path / "e.tsv", on_bad_row="skip")
    assert decoded(dataset) == {("new york", "in", "us"): 1, ("los angeles", "in", "us"): 1, ("san diego", "in", "us"): 1}
