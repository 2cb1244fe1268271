"""Whose row is whose: every way it can be wrong is one line that says where; nothing is left behind."""

import gzip

import numpy as np
import pytest
from preprocess_tools import make

from marius_lite.errors import UserError

INTS, TEXT = "0\t1\n1\t2\n", "a\tb\nb\tc\n"
CASES = {
    # edges, rows, lines of --node-ids or None, options, what the message must say
    "fewer rows than ids": (INTS, 2, None, {}, r"node 2 has no feature row, .*x\.npy has rows 0 to 1: .*--node-ids"),
    "text ids without names": (TEXT, 3, None, {}, r"x\.npy: the edges name nodes by text: .*--node-ids"),
    "ids as text without names": (INTS, 3, None, {"ids": "str"}, r"x\.npy: the edges name nodes by text"),
    "node without a name": (TEXT, 2, b"a\nb\n", {}, r"node 'c' does not stand in .*ids\.txt"),
    "integer without a name": (INTS, 2, b"0\n1\n", {}, r"node 2 does not stand in"),
    "an id twice": (TEXT, 4, b"a\nb\nc\nb\n", {}, r"ids\.txt:4: id 'b' stands at .*ids\.txt:2 already"),
    "an integer twice": (INTS, 4, b"0\n1\n2\n 1\n", {}, r"ids\.txt:4: id 1 stands at .*ids\.txt:2 already"),
    "fewer lines than rows": (TEXT, 4, b"a\nb\nc\n", {}, r"ids\.txt: 3 ids: .*x\.npy has 4 rows"),
    "more lines than rows": (TEXT, 3, b"a\nb\nc\nd", {}, r"ids\.txt:4: more ids than rows: .*x\.npy has 3 rows"),
    "no line": (TEXT, 3, b"", {}, r"ids\.txt: 0 ids"),
    "an empty line": (TEXT, 3, b"a\n\nb\n", {}, r"ids\.txt:2: empty"),
    "negative id": (INTS, 3, b"0\n1\n-2\n", {}, r"ids\.txt:3: negative id: '-2'.*--ids str"),
    "text among integers": (INTS, 3, b"0\nx\n2\n", {}, r"ids\.txt:2: not an integer id: 'x'.*--ids str"),
    "too large": (INTS, 3, b"0\n1\n9223372036854775808\n", {}, r"ids\.txt:3: id above 2\^63 - 1"),
    "not UTF-8": (TEXT, 3, b"a\nb\xff\nc\n", {}, r"ids\.txt:2: not UTF-8"),
    "an array": (INTS, 3, b"\x93NUMPY", {}, r"ids\.txt: not a readable \.npy array"),
    "damaged": (TEXT, 3, gzip.compress(b"a\nb\nc\n" * 999)[:-20], {}, r"ids\.txt: damaged or cut short"),
}


def write(folder, edges, rows, names):
    (folder / "e.tsv").write_text(edges)
    np.save(folder / "x.npy", np.arange(rows * 3, dtype=np.float32).reshape(rows, 3))
    if names is None:
        return {"features": folder / "x.npy"}
    (folder / "ids.txt").write_bytes(names)
    return {"features": folder / "x.npy", "node_ids": folder / "ids.txt"}


@pytest.mark.parametrize(("edges", "rows", "names", "options", "message"), CASES.values(), ids=list(CASES))
def test_wrong_ids(tmp_path, edges, rows, names, options, message):
    files = write(tmp_path, edges, rows, names)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(UserError, match=message) as raised:
        make(tmp_path / "d", tmp_path / "e.tsv", **files, **options)
    assert "\n" not in str(raised.value)
    assert sorted(tmp_path.iterdir()) == before


def test_files_that_are_missing_and_names_without_features(tmp_path):
    files = write(tmp_path, TEXT, 3, b"a\nb\nc\n")
    for name in files:
        with pytest.raises(UserError, match="none: No such file"):
            make(tmp_path / "d", tmp_path / "e.tsv", **(files | {name: tmp_path / "none"}))
    with pytest.raises(UserError, match=r"--node-ids .*ids\.txt: .* --features"):
        make(tmp_path / "d", tmp_path / "e.tsv", node_ids=tmp_path / "ids.txt")


@pytest.mark.parametrize(
    "encode",
    [
        bytes,
        gzip.compress,
        lambda text: b"\xef\xbb\xbf" + text,
        lambda text: text[:-1],
        lambda text: text.replace(b"\n", b"\r\n"),
    ],
)
def test_names_in_any_dress(tmp_path, encode):
    names = [f"node {k}" for k in range(50_000)]
    files = write(tmp_path, "node 7\tnode 40000\n", len(names), encode("".join(f"{name}\n" for name in names).encode()))
    dataset = make(tmp_path / "d", tmp_path / "e.tsv", memory="1MiB", delimiter="tab", **files)
    rows = np.concatenate([dataset.features.read(k) for k in range(dataset.partitioning.partitions)])
    assert np.array_equal(rows[dataset.lookup_nodes(names), 0], 3 * np.arange(len(names), dtype=np.float32))


def test_the_files_stand_among_the_sources(tmp_path):
    files = write(tmp_path, TEXT, 3, b"a\nb\nc\n")
    sources = make(tmp_path / "d", tmp_path / "e.tsv", **files).manifest.sources
    assert {source.name: source.size for source in sources} == {
        path.name: path.stat().st_size for path in tmp_path.iterdir() if path.is_file()
    }


def test_ids_may_begin_with_more_zeros_than_python_reads(tmp_path):
    files = write(tmp_path, INTS, 3, b"0\n" + b"0" * 5000 + b"1\n2\n")
    dataset = make(tmp_path / "d", tmp_path / "e.tsv", **files)
    assert sorted(dataset.raw_ids(0, 3).to_pylist()) == [0, 1, 2]
