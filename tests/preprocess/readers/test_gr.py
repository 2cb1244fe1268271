"""PACE and DIMACS graphs: what the problem line announces holds, nodes without edges stay."""

import gzip
import json
import lzma

import pytest
from preprocess_tools import data_files, decoded, make

from marius_lite.errors import UserError

PACE = b"c a comment\n\np tw 6 3\n1 2\nc another\n2 3\n5 1\n"
EDGES = {(1, "", 2): 1, (2, "", 3): 1, (5, "", 1): 1}


def report(tmp_path, name="d"):
    return json.loads((tmp_path / name / "report.json").read_text())


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
@pytest.mark.parametrize("name", ["g.gr", "g", "g.tsv"])
def test_pace_by_content(tmp_path, pack, name):
    (tmp_path / name).write_bytes(pack(PACE))
    dataset = make(tmp_path / "d", tmp_path / name)
    assert decoded(dataset) == EDGES
    assert sorted(dataset.raw_ids(0, 6).to_pylist()) == [1, 2, 3, 4, 5, 6]
    assert dataset.manifest.nodes == 6
    assert report(tmp_path)["comment_lines"] == 2
    (said,) = report(tmp_path)["read_as"]
    assert said.startswith("PACE/DIMACS .gr (p tw, 6 nodes, 3 edges announced)")


def test_both_directions_only_where_asked_for(tmp_path):
    (tmp_path / "g.gr").write_bytes(PACE)
    both = {**EDGES, **{(d, r, s): 1 for s, r, d in EDGES}}
    assert decoded(make(tmp_path / "d", tmp_path / "g.gr", undirected=True)) == both


@pytest.mark.parametrize(
    "content",
    [
        b"p sp 6 3\na 1 2 10\na 2 3 11\na 5 1 7\n",
        b"p edge 6 99\ne 1 2\ne 2 3\ne 5 1\n",
        b"p  col 6 3\r\ne 1 2\r\ne 2 3\r\ne 5 1",
        b"p tw 6 3\n  1\t2 \n2  3\n\n5 1",
        b"p tw 6 3\n1 2\n2  3\nc x  y\n5 1\n",
    ],
)
def test_dimacs_and_loose_spaces(tmp_path, content):
    (tmp_path / "g").write_bytes(content)
    dataset = make(tmp_path / "d", tmp_path / "g")
    assert (decoded(dataset), dataset.manifest.nodes) == (EDGES, 6)


def test_ids_as_text_and_beside_other_formats(tmp_path):
    (tmp_path / "g.gr").write_bytes(PACE)
    (tmp_path / "h.tsv").write_bytes(b"3\tx\n")
    dataset = make(tmp_path / "d", [tmp_path / "g.gr", tmp_path / "h.tsv"], ids="str")
    assert decoded(dataset) == {("1", "", "2"): 1, ("2", "", "3"): 1, ("5", "", "1"): 1, ("3", "", "x"): 1}
    assert dataset.manifest.nodes == 7
    assert len(report(tmp_path)["read_as"]) == 2


def test_small_blocks_give_the_same(tmp_path):
    rows = [(i % 997 + 1, i * 7 % 1009 + 1) for i in range(60_000)]
    (tmp_path / "g.gr").write_text("p tw 1009 60000\n" + "".join(f"{u} {v}\n" for u, v in rows))
    (tmp_path / "g.tsv").write_text("".join(f"{u}\t{v}\n" for u, v in rows))
    made = {
        name: data_files(make(tmp_path / f"{name}.d", tmp_path / f"g.{name}", memory="1MiB", partitions=3).path)
        for name in ("gr", "tsv")
    }
    for name in list(made["gr"]):
        if name.suffix != ".json":
            assert made["gr"][name] == made["tsv"][name]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"p tw 3 2\n1 2\n2 4\n", {}, r"g\.gr:3: column 2 \(dst\): no id from 1 to 3.*: '2 4'"),
        (b"p tw 3 2\n1 2\n0 1\n", {}, r"g\.gr:3: column 1 \(src\): no id from 1 to 3"),
        (b"p tw 3 2\n1 2\n-1 1\n", {}, r"g\.gr:3: column 1 \(src\): negative id"),
        (b"p tw 3 2\n1 2\n1 x\n", {}, r"g\.gr:3: column 2 \(dst\): not an integer id: '1 x'"),
        (b"p tw 3 2\n1 2\n1 3 5\n", {}, r"g\.gr:3: 3 columns where 2 were expected"),
        (b"p sp 3 2\na 1 2 1\nb 1 3 5\n", {}, r"g\.gr:3: column 1: 'b' where 'a' was expected"),
        (b"p tw 3 4\n1 2\n2 3\n", {}, r"g\.gr: 2 edges where its header says 4"),
        (b"1 2\n2 3\n", {"format": "gr"}, r"g\.gr:1: no problem line: '1 2'"),
        (b"p tw 3 0\n", {}, "no edges at all"),
        (b"p tw 99999999999999999 1\n1 2\n", {}, "99,999,999,999,999,999 nodes, with 1 edges: is the number right"),
        (PACE, {"columns": "src,dst"}, "--columns src,dst: a gr file says itself"),
        (b"PAR1 and more", {"format": "gr"}, "not a gr file"),
    ],
)
def test_bad_graphs(tmp_path, content, options, message):
    (tmp_path / "g.gr").write_bytes(content)
    with pytest.raises(UserError, match=message) as raised:
        make(tmp_path / "d", tmp_path / "g.gr", **options)
    assert "\n" not in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["g.gr"]


def test_skipping_counts_bad_lines_and_a_wrong_count(tmp_path):
    (tmp_path / "g.gr").write_bytes(b"p tw 3 9\n1 2\n2 4\n3 1\n")
    assert decoded(make(tmp_path / "d", tmp_path / "g.gr", on_bad_row="skip")) == {(1, "", 2): 1, (3, "", 1): 1}
    skipped = report(tmp_path)["skipped_rows"]
    assert skipped["count"] == 2
    assert skipped["examples"][0].endswith("'2 4'")


def test_a_line_says_what_a_file_was_taken_for(tmp_path, caplog):
    caplog.set_level("INFO", "marius_lite")
    (tmp_path / "g.txt").write_bytes(PACE)
    make(tmp_path / "d", tmp_path / "g.txt")
    assert f"{tmp_path}/g.txt: read as PACE/DIMACS .gr (p tw, 6 nodes, 3 edges announced), ids int" in caplog.messages


def test_any_number_of_comments_before_the_problem_line(tmp_path):
    (tmp_path / "g.gr").write_bytes(b"c and so on\n" * 30_000 + b"p tw 3 2\n1 2\n2 3\n")
    assert set(decoded(make(tmp_path / "d", tmp_path / "g.gr")).elements()) == {(1, "", 2), (2, "", 3)}


@pytest.mark.parametrize("name", ["g.gr", "g.gr.gz"])
@pytest.mark.parametrize(
    ("content", "line", "found"),
    [
        (b"p edge 4\ne 1 2\ne 2 3\n", 1, "p edge 4"),  # read as edges it has the relation "edge"
        (b"q sp 4 2\na 1 2 5\na 2 3 5\n", 1, "q sp 4 2"),
        (b"c what this is\n\n1 2\n2 3\n", 3, "1 2"),
        (b"4 2\n1 2\n2 3\np tw 4 2\n", 1, "4 2"),
        (b"c and so on\n" * 30_000 + b"p 4 2\n1 2\n2 3\n", 30_001, "p 4 2"),
    ],
)
def test_a_gr_file_without_its_problem_line_is_no_edge_list(tmp_path, name, content, line, found):
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    with pytest.raises(UserError) as told:
        make(tmp_path / "d", tmp_path / name)
    assert str(told.value).startswith(f"{tmp_path / name}:{line}: no problem line: {found!r}: ")
    assert "p tw NODES EDGES" in str(told.value)
    assert "--format text" in str(told.value)


def test_format_text_reads_a_plain_list_of_that_name(tmp_path):
    (tmp_path / "g.gr").write_bytes(b"1 2\n2 3\n5 1\n")
    assert decoded(make(tmp_path / "d", tmp_path / "g.gr", format="text")) == EDGES
