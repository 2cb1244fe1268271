"""METIS graph files: neighbours by node, each undirected edge once."""

import gzip
import json

import numpy as np
import pytest
from preprocess_tools import decoded, make

from marius_lite.errors import UserError
from marius_lite.preprocess.readers.metis import FORMAT

# The manual's example: 7 nodes, 11 edges.
MANUAL = b"% a comment\n7 11\n5 3 2\n1 3 4\n5 4 2 1\n2 3 6 7\n1 3 6\n5 4 7\n6 4\n"
EDGES = {
    (1, "", 5),
    (1, "", 3),
    (1, "", 2),
    (2, "", 3),
    (2, "", 4),
    (3, "", 5),
    (3, "", 4),
    (4, "", 6),
    (4, "", 7),
    (5, "", 6),
    (6, "", 7),
}
LENGTHS = b"7 11 001\n5 1 3 2 2 1\n1 1 3 2 4 1\n5 3 4 2 2 2 1 2\n2 1 3 2 6 2 7 5\n1 1 3 3 6 2\n5 2 4 2 7 6\n6 6 4 5\n"
WEIGHTS = (
    b"7 11 011\n4 5 1 3 2 2 1\n2 1 1 3 2 4 1\n5 5 3 4 2 2 2 1 2\n3 2 1 3 2 6 2 7 5\n1 1 1 3 3 6 2\n6 5 2 4 2 7 6\n2 6 6 4 5\n"
)
THREE = b"7 11 010 3\n1 2 0 5 3 2\n0 2 2 1 3 4\n4 1 1 5 4 2 1\n2 2 3 2 3 6 7\n1 1 1 1 3 6\n2 2 1 5 4 7\n1 2 1 6 4\n"


@pytest.mark.parametrize("content", [MANUAL, LENGTHS, WEIGHTS, THREE, MANUAL.replace(b" ", b"  \t").replace(b"\n", b" \r\n")])
def test_the_manual_s_graphs(tmp_path, content):
    (tmp_path / "g.graph").write_bytes(content)
    dataset = make(tmp_path / "d", tmp_path / "g.graph")
    assert set(decoded(dataset).elements()) == EDGES
    assert (dataset.edges("train").total, dataset.manifest.nodes) == (11, 7)


@pytest.mark.parametrize(("name", "pack"), [("g.metis", bytes), ("g.graph.gz", gzip.compress)])
def test_by_name_and_both_ways(tmp_path, name, pack):
    (tmp_path / name).write_bytes(pack(MANUAL))
    dataset = make(tmp_path / "d", tmp_path / name, undirected=True)
    assert set(decoded(dataset).elements()) == EDGES | {(d, r, s) for s, r, d in EDGES}


def test_nodes_without_edges_are_empty_lines(tmp_path):
    (tmp_path / "g.graph").write_bytes(b"5 2\n\n3\n% between\n2 5\n\n3\n\n")
    dataset = make(tmp_path / "d", tmp_path / "g.graph")
    assert decoded(dataset) == {(2, "", 3): 1, (3, "", 5): 1}
    assert sorted(dataset.raw_ids(0, 5).to_pylist()) == [1, 2, 3, 4, 5]


def test_blocks_of_any_size_give_the_same(tmp_path):
    rng = np.random.default_rng(0)
    pairs = np.unique(np.sort(rng.integers(1, 3001, (40_000, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    lines = [" ".join(map(str, ends[ends[:, 0] == node, 1])) for node in range(1, 3001)]
    (tmp_path / "g.graph").write_text(f"3000 {len(pairs)}\n" + "\n".join(lines))
    for memory in ("1MiB", "1GB"):
        found = decoded(make(tmp_path / memory, tmp_path / "g.graph", memory=memory))
        assert sorted(found.elements()) == sorted((s, "", d) for s, d in pairs.tolist())


@pytest.mark.parametrize(
    ("name", "expected"),
    [("g.graph", True), ("g.metis", True), ("g.graph.gz", True), ("g.graph.txt", False), ("g.txt", False), ("graph", False)],
)
def test_only_its_name_says_that_a_file_is_metis(name, expected):
    assert FORMAT.named(name) is expected


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"3 2\n2\n1 3\n4\n", {}, r"g\.graph:4: neighbour 4 is no id from 1 to 3.*: '4'"),
        (b"3 2\n2\n% c\n1 x\n2\n", {}, r"g\.graph:4: 'x' is no integer.*: '1 x'"),
        (b"3 2\n2\n1 3\n2\n1\n", {}, r"g\.graph:5: a line for node 4, the header announces 3 nodes"),
        (b"3 2 001\n2 5\n1 5 3\n2 5\n", {}, r"g\.graph:3: 3 numbers where .* pairs"),
        (b"3 2\n2\n1 3\n", {}, r"g\.graph: 1 edges are listed at one end only"),
        (b"3 5\n2\n1 3\n2\n", {}, r"g\.graph: 2 edges where its header says 5"),
        (b"a b\n", {"format": "metis"}, "g\\.graph: 'a b': a METIS file says first"),
        (b"3 2O\n2\n1 3\n2\n", {}, "g\\.graph: '3 2O': a METIS file says first .* with --format text"),
        (b"100 10\xc2\xa0\n1 2\n3 4\n", {}, "a METIS file says first"),
        (b"3 3 011 " + b"7" * 5000 + b"\n2 3\n1 3\n1 2\n", {"on_bad_row": "skip"}, "a METIS file says first"),
        (b"1\t2\t3\n", {}, "a METIS file says first"),
        (b"", {}, "a METIS file says first"),
    ],
)
def test_bad_files(tmp_path, content, options, message):
    (tmp_path / "g.graph").write_bytes(content)
    with pytest.raises(UserError, match=message) as raised:
        make(tmp_path / "d", tmp_path / "g.graph", **options)
    assert "\n" not in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["g.graph"]


def test_skipping_leaves_a_bad_line_out(tmp_path):
    (tmp_path / "g.graph").write_bytes(b"3 2\n2\n1 3 x\n2\n")
    assert decoded(make(tmp_path / "d", tmp_path / "g.graph", on_bad_row="skip")) == {(1, "", 2): 1}
    skipped = json.loads((tmp_path / "d/report.json").read_text())["skipped_rows"]
    assert skipped["examples"][0].endswith("g.graph:3: 'x' is no integer: '1 3 x'")


@pytest.mark.parametrize("byte", ["\u00a0", "\x1f", "\x0b", "\x0c", "\u2003"])
def test_only_spaces_and_tabs_stand_between_numbers(tmp_path, byte):
    """What else Python takes for white space is no gap."""
    for text in (MANUAL.replace(b"5 3 2", f"5{byte}3 2".encode()), MANUAL.replace(b"6 4", b"9" * 5000)):
        (tmp_path / "g.graph").write_bytes(text)
        with pytest.raises(UserError, match=r"g\.graph:\d+: .* is no integer"):
            make(tmp_path / "d", tmp_path / "g.graph")


def test_more_comments_than_are_kept(tmp_path):
    (tmp_path / "g.graph").write_bytes(b"% and so on\n" * 300_000 + MANUAL)
    assert set(decoded(make(tmp_path / "d", tmp_path / "g.graph")).elements()) == EDGES
    assert json.loads((tmp_path / "d/report.json").read_text())["comment_lines"] == 300_001
