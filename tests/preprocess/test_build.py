"""From raw edges to a dataset and back, whatever the options, order, memory or moment of a kill."""

import errno
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from preprocess_tools import data_files, decoded, make, shared

from marius_lite.errors import RunError, UserError
from marius_lite.graph import Dataset
from marius_lite.preprocess import plan
from marius_lite.preprocess.disk import sort
from marius_lite.preprocess.report import summary

INTS = st.integers(0, 2**63 - 1) | st.integers(0, 12)
TEXTS = st.text(st.characters(exclude_characters="\t\r\n", exclude_categories=["Cs"]), min_size=1, max_size=12)


@st.composite
def edge_lists(draw):
    """(ids kind, triples or pairs): few distinct ids, so that duplicates and self-loops happen."""
    kind = draw(st.sampled_from(["int", "str"]))
    names = draw(st.lists(INTS if kind == "int" else TEXTS, min_size=1, max_size=12, unique=True))
    relations = draw(st.none() | st.lists(TEXTS, min_size=1, max_size=4, unique=True))
    end = st.sampled_from(names)
    edge = st.tuples(end, st.just("") if relations is None else st.sampled_from(relations), end)
    return kind, relations is not None, draw(st.lists(edge, min_size=1, max_size=60))


def cleaned(edges, undirected, drop_duplicates, drop_self_loops):
    """What should be stored, the plain way."""
    kept = [e for e in edges if not (drop_self_loops and e[0] == e[2])]
    if undirected:
        kept += [(d, r, s) for s, r, d in kept if s != d]
    return Counter(set(kept) if drop_duplicates else kept)


def write_text(path, edges, with_relation):
    rows = ["\t".join(map(str, edge if with_relation else (edge[0], edge[2]))) for edge in edges]
    path.write_text("\n".join(rows) + "\n", newline="")


@settings(max_examples=30, deadline=None)
@given(edge_lists(), st.booleans(), st.booleans(), st.booleans(), st.integers(1, 5), st.integers(0, 3))
def test_round_trip(edges_of_kind, undirected, drop_duplicates, drop_self_loops, partitions, seed):
    kind, with_relation, edges = edges_of_kind
    expected = cleaned(edges, undirected, drop_duplicates, drop_self_loops)
    with tempfile.TemporaryDirectory() as folder:
        write_text(Path(folder) / "e.tsv", edges, with_relation)
        options = {
            "ids": kind,
            "delimiter": "tab",
            "comment": "",
            "header": "no",
            "partitions": partitions,
            "seed": seed,
            "undirected": undirected,
            "drop_duplicates": drop_duplicates,
            "drop_self_loops": drop_self_loops,
            "columns": "src,rel,dst" if with_relation else "src,dst",
        }
        if not expected:
            with pytest.raises(UserError, match="no edges at all"):
                make(f"{folder}/d", f"{folder}/e.tsv", **options)
            return
        dataset = make(f"{folder}/d", f"{folder}/e.tsv", **options)
        dataset.verify()
        found = decoded(dataset)
        assert Counter({(s, str(r), d): n for (s, r, d), n in found.items()}) == expected
        nodes = dataset.raw_ids(0, dataset.manifest.nodes).to_pylist()
        assert sorted(nodes) == sorted({end for s, _, d in edges for end in (s, d)})
        assert dataset.lookup_nodes(nodes).tolist() == list(range(len(nodes)))


@pytest.fixture
def random_edges(tmp_path):
    """2 x 10,000 edges with relations, among 500 nodes, in two files."""
    rng = np.random.default_rng(1)
    for name in "ab":
        rows = rng.integers(0, 500, (10_000, 3)) % [500, 7, 500]
        np.savetxt(tmp_path / f"{name}.tsv", rows, "n%d\tr%d\tn%d")
    return tmp_path


def test_same_bytes_for_any_memory_and_file_order(random_edges, monkeypatch):
    files = [random_edges / "a.tsv", random_edges / "b.tsv"]
    options = {"partitions": 4, "split": "0.8,0.1,0.1"}
    make(random_edges / "much", files, **options)
    monkeypatch.setattr(sort, "LEAST_RECORDS", 64)
    monkeypatch.setattr(plan, "sort_memory", lambda _: 15_000)
    make(random_edges / "little", files[::-1], memory="1MiB", **options)
    assert json.loads((random_edges / "little/report.json").read_text())["sorted_runs"] > 5
    assert data_files(random_edges / "much") == data_files(random_edges / "little")


def test_another_seed_is_another_order_of_the_same_edges(random_edges):
    one, two = (make(random_edges / f"d{seed}", random_edges / "a.tsv", seed=seed) for seed in (1, 2))
    assert one.fingerprint != two.fingerprint
    assert one.raw_ids(0, 500).to_pylist() != two.raw_ids(0, 500).to_pylist()
    assert decoded(one) == decoded(two)


def test_split_by_hash_keeps_equal_edges_together_and_to_its_fractions(random_edges):
    (random_edges / "twice.tsv").write_text((random_edges / "a.tsv").read_text() * 2)
    for undirected in (False, True):
        dataset = make(random_edges / f"d{undirected}", random_edges / "twice.tsv", split="0.7,0.2,0.1", undirected=undirected)
        parts = {split: decoded(dataset, split) for split in ("train", "valid", "test")}
        assert not parts["train"].keys() & (parts["valid"].keys() | parts["test"].keys())
        assert not parts["valid"].keys() & parts["test"].keys()
        if undirected:
            assert all((d, r, s) in part for part in parts.values() for s, r, d in part)
        share = {split: len(part) / sum(map(len, parts.values())) for split, part in parts.items()}
        assert share == pytest.approx({"train": 0.7, "valid": 0.2, "test": 0.1}, abs=0.02)


@pytest.mark.parametrize("timed", [True, False])
def test_edges_with_times_that_are_dealt_at_random_are_told_of(tmp_path, timed):
    (tmp_path / "e.csv").write_text("src,dst,when\n" + "".join(f"{i % 7},{i % 5},{i}\n" for i in range(60)))
    make(tmp_path / "d", [tmp_path / "e.csv"], split="0.8,0.1,0.1", timestamp="when" if timed else None)
    report = json.loads((tmp_path / "d" / "report.json").read_text())
    assert any("whatever their times" in line for line in report["warnings"]) == timed


@pytest.mark.parametrize(
    ("rows", "options", "told"),
    [
        ("a\tb\na\tb\nb\tc\n", {}, "1 of 3 edges repeat others"),
        ("a\tb\na\tb\nb\tc\n", {"drop_duplicates": True}, None),
        ("a\tb\nb\tc\nc\td\na\td\na\tb\n", {}, None),  # one of five
        ("a\tb\nb\ta\n", {"undirected": True}, "2 of 4 stored edges stand there twice"),
    ],
)
def test_many_edges_that_repeat_others_are_told_of(tmp_path, rows, options, told):
    (tmp_path / "e.tsv").write_text(rows)
    make(tmp_path / "d", [tmp_path / "e.tsv"], **options)
    found = [line for line in json.loads((tmp_path / "d" / "report.json").read_text())["warnings"] if "--drop-duplicates" in line]
    assert [told in line for line in found] == [True] if told else found == []


def test_split_without_test_part(random_edges):
    dataset = make(random_edges / "d", random_edges / "a.tsv", split="0.9,0.1,0")
    assert dataset.manifest.edges.keys() == {"train", "valid"}
    assert sum(dataset.manifest.edges.values()) == 10_000


def test_report_counts_what_it_says(tmp_path):
    (tmp_path / "train.tsv").write_text("# two\na\tb\na\tb\nb\tb\n# more\nc\ta\n")
    (tmp_path / "valid.tsv").write_text("a\tb\na\td\na\td\n")
    make(tmp_path / "d", tmp_path / "train.tsv", valid=[tmp_path / "valid.tsv"])
    report = json.loads((tmp_path / "d/report.json").read_text())
    assert (report["rows_read"], report["comment_lines"], report["nodes"]) == (7, 2, 4)
    assert ", 2 lines of comments left out, " in summary(report)
    assert "comments" not in summary({**report, "comment_lines": 0})
    assert report["edges"]["train"] == {"stored": 4, "self_loops": 1, "duplicates": 1, "duplicates_dropped": False}
    assert report["edges"]["valid"] == {
        "stored": 3,
        "self_loops": 0,
        "duplicates": 1,
        "duplicates_dropped": False,
        "also_in_train": 1,
        "reverse_in_train": 0,
        "inverse_in_train": 0,
        "unseen_in_train": 2,
        "nodes_unseen_in_train": 1,
    }
    assert report["train_degrees"]["out"] == {"mean": 1.0, "p50": 1, "p90": 2, "p99": 2, "max": 2}
    assert report["train_degrees"]["nodes_without_edges"] == 1


def test_fb15k_237(tmp_path):
    with tarfile.open(shared("fb15k-237/FB15k-237.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    train, valid, test = (next(tmp_path.rglob(f"{split}.txt")) for split in ("train", "valid", "test"))
    dataset = make(tmp_path / "d", train, valid=[valid], test=[test])
    assert (dataset.manifest.nodes, dataset.manifest.relations) == (14_541, 237)
    assert dataset.manifest.edges == {"train": 272_115, "valid": 17_535, "test": 20_466}
    rows = Counter(tuple(line.split("\t")) for line in test.read_text().splitlines())
    assert decoded(dataset, "test") == rows


def test_web_graph_with_comments_and_gzip(tmp_path):
    make(tmp_path / "d", shared("web-notredame/web-NotreDame.txt.gz"))
    report = json.loads((tmp_path / "d/report.json").read_text())
    assert (report["nodes"], report["edges"]["train"]["stored"], report["ids"]) == (325_729, 1_497_134, "int")


def test_other_programs_read_the_files(random_edges):
    import duckdb
    import polars
    import pyarrow.parquet as pq
    import zarr

    dataset = make(random_edges / "d", random_edges / "a.tsv", partitions=4)
    group = zarr.open_group(random_edges / "d", mode="r")
    assert group.attrs["marius_lite"]["nodes"] == dataset.manifest.nodes
    offsets = group["edges/train/bucket_offsets"][:]
    src, dst, rel = (group[f"edges/train/{name}"][:] for name in ("src", "dst", "rel"))
    assert len(offsets) == 17
    for flat in range(16):
        for ours, theirs in zip(dataset.edges("train").read(flat // 4, flat % 4), (src, dst, rel)):
            assert np.array_equal(ours, theirs[offsets[flat] : offsets[flat + 1]])
    nodes = str(random_edges / "d/nodes.parquet")
    assert pq.ParquetFile(nodes).num_row_groups == 4
    frame = polars.read_parquet(nodes)
    assert frame["node_id"].to_list() == list(range(dataset.manifest.nodes))
    assert frame["raw_id"].to_list() == dataset.raw_ids(0, 500).to_pylist()
    counts = duckdb.sql(f"select raw_id, count from '{random_edges}/d/relations.parquet' order by relation_id").fetchall()
    assert counts == [(f"r{k}", int((rel == k).sum())) for k in range(7)]


def test_an_error_leaves_nothing(tmp_path, monkeypatch):
    (tmp_path / "e.tsv").write_text("a\tb\nb\n")
    with pytest.raises(UserError):
        make(tmp_path / "d", tmp_path / "e.tsv")
    assert [path.name for path in tmp_path.iterdir()] == ["e.tsv"]


@pytest.mark.parametrize(
    "where",
    ["preprocess.disk.spool.write_file", "storage.columns.write_file_range", "preprocess.disk.sort.write_file", "nodes.parquet"],
)
def test_after_a_full_disk_the_same_command_goes_on(random_edges, monkeypatch, where):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "some/file")

    if where == "nodes.parquet":
        monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", lambda *_, **__: full())
    else:
        monkeypatch.setattr(f"marius_lite.{where}", full)
    monkeypatch.setattr(plan, "sort_memory", lambda _: 15_000)
    with pytest.raises(RunError, match="disk is full"):
        make(random_edges / "d", random_edges / "a.tsv")
    assert not (random_edges / "d").exists()
    monkeypatch.undo()
    make(random_edges / "d", random_edges / "a.tsv").verify()
    make(random_edges / "e", random_edges / "a.tsv")
    assert data_files(random_edges / "d") == data_files(random_edges / "e")


def test_too_little_space_is_refused_before_writing(random_edges, monkeypatch):
    monkeypatch.setattr("marius_lite.files.free_bytes", lambda _: 1000)
    with pytest.raises(UserError, match=r"needs .* are free"):
        make(random_edges / "d", random_edges / "a.tsv")
    assert not (random_edges / "d").exists()


def test_what_is_spooled_is_not_asked_for_again(tmp_path, monkeypatch):
    """8 bytes an edge are spooled, 12 stored: a disk that has room for a quarter more does."""
    np.save(tmp_path / "e.npy", np.random.default_rng(0).integers(1000, size=(100_000, 2)))

    def free(_):
        return 25 * 100_000 - sum(path.stat().st_size for path in tmp_path.glob(".d.tmp/**/*") if path.is_file())

    monkeypatch.setattr("marius_lite.files.free_bytes", free)
    make(tmp_path / "d", tmp_path / "e.npy")


def test_overwrite_replaces_a_dataset_and_nothing_else(tmp_path):
    (tmp_path / "e.tsv").write_text("a\tb\n")
    (tmp_path / "f.tsv").write_text("a\tb\nb\tc\n")
    make(tmp_path / "d", tmp_path / "e.tsv")
    with pytest.raises(UserError, match="--overwrite"):
        make(tmp_path / "d", tmp_path / "f.tsv")
    assert make(tmp_path / "d", tmp_path / "f.tsv", overwrite=True).manifest.nodes == 3
    (tmp_path / "home").mkdir()
    (tmp_path / "home/letter").write_text("dear")
    with pytest.raises(UserError, match="no dataset"):
        make(tmp_path / "home", tmp_path / "f.tsv", overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d", "e.tsv", "f.tsv", "home"]


@pytest.mark.parametrize("delay", [0.0, 0.1, 0.3])
def test_kill_leaves_no_dataset_and_the_same_command_starts_over(random_edges, delay):
    command = (
        "from preprocess_tools import make; import sys; print('go', flush=True); "
        "make(sys.argv[2], sys.argv[1], split='0.5,0.3,0.2')"
    )
    rows = (random_edges / "a.tsv").read_text() * 100
    (random_edges / "big.tsv").write_text(rows)
    process = subprocess.Popen(
        [sys.executable, "-c", command, str(random_edges / "big.tsv"), str(random_edges / "d")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": f"{Path(__file__).parent}:{Path(__file__).parents[2]}"},
    )
    assert process.stdout.readline() == b"go\n"
    while not (random_edges / ".d.tmp/work").exists() and process.poll() is None:
        time.sleep(0.005)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    if (random_edges / "d").exists():
        Dataset.open(random_edges / "d").verify()
    else:
        assert (random_edges / ".d.tmp").exists()
        make(random_edges / "d", random_edges / "a.tsv").verify()
    assert not (random_edges / ".d.tmp").exists()
