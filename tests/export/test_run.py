"""Exports hold every node's values beside its raw id, and nothing else; readers of the formats open them."""

import json
import resource
import sys
from contextlib import contextmanager

import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from marius_lite.errors import RunError, UserError
from marius_lite.export import run as export
from marius_lite.export.format import FORMATS, ExportFormat
from marius_lite.export.npy import write_npy
from marius_lite.graph.dataset import Dataset
from marius_lite.preprocess.build import preprocess
from marius_lite.preprocess.options import Options
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.table import RowTable
from marius_lite.tasks import link_vectors

NODES, DIM, WIDTH, P = 40, 5, 12, 3


@pytest.fixture(params=["str", "int"])
def world(request, tmp_path):
    """A dataset, and a table whose values follow from the raw ids and whose other columns are 99."""
    rng = np.random.default_rng(0)
    name = "nö" if request.param == "str" else ""
    pairs = [*enumerate(rng.permutation(NODES)), *rng.integers(0, NODES, (100, 2))]
    lines = [f"{name}{s}\tr{s % 2}\t{name}{t}\n" for s, t in pairs]
    (tmp_path / "edges.tsv").write_text("".join(lines))
    preprocess(Options.parse(edges=[str(tmp_path / "edges.tsv")], output=tmp_path / "dataset", partitions=P))
    dataset = Dataset.open(tmp_path / "dataset")
    raw = dataset.raw_ids(0, NODES).to_pylist()
    table = RowTable.create(tmp_path / "nodes", NODES, WIDTH, dataset.partitioning.rows)
    with PartitionBuffer(table, P) as buffer:
        for k in range(P):
            rows = buffer.adopt(k)
            rows[:, DIM:] = 99
            for at, node in enumerate(dataset.partitioning.range(k)):
                rows[at, :DIM] = int(str(raw[node]).removeprefix(name)) + np.arange(DIM) / 8
    return dataset, table, raw, name


def run_export(world, output, format, relations=None):
    dataset, table, _, _ = world
    if relations is None:
        relations = np.arange(4 * 3, dtype=np.float32).reshape(4, 3)
    with PartitionBuffer(table, 2) as buffer:
        export.check_place(output, format, dataset, DIM)
        vectors = link_vectors.link_vectors(buffer, dataset, DIM, relations, {"decoder": "complex"})
        return export.write_exported(dataset, output, format, vectors)


def expected(world):
    _, _, raw, name = world
    numbers = np.array([int(str(each).removeprefix(name)) for each in raw], np.float32)
    return numbers[:, None] + np.arange(DIM, dtype=np.float32) / 8


@pytest.mark.parametrize("block_bytes", [64, link_vectors.BLOCK_BYTES])
def test_npy(world, tmp_path, monkeypatch, block_bytes):
    monkeypatch.setattr(link_vectors, "BLOCK_BYTES", block_bytes)
    summary = run_export(world, tmp_path / "out", "npy")
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "nodes.npy", mmap_mode="r"), expected(world))
    if isinstance(world[2][0], int):
        assert np.load(tmp_path / "out" / "nodes_ids.npy").tolist() == world[2]
    else:
        assert (tmp_path / "out" / "nodes_ids.txt").read_text(encoding="utf-8").splitlines() == world[2]
    assert np.load(tmp_path / "out" / "relations.npy").tolist() == [[0, 1, 2], [3, 4, 5]]
    assert np.load(tmp_path / "out" / "reciprocal_relations.npy").tolist() == [[6, 7, 8], [9, 10, 11]]
    assert (tmp_path / "out" / "relations_ids.txt").read_text().splitlines() == world[0].relation_names()
    assert json.loads((tmp_path / "out" / "export.json").read_text()).items() <= summary.items()
    facts = {"nodes": NODES, "relations": 2, "dim": DIM, "decoder": "complex"}
    assert facts.items() <= summary.items()


@pytest.mark.parametrize("block_bytes", [64, link_vectors.BLOCK_BYTES])
def test_parquet(world, tmp_path, monkeypatch, block_bytes):
    monkeypatch.setattr(link_vectors, "BLOCK_BYTES", block_bytes)
    run_export(world, tmp_path / "out", "parquet")
    frame = polars.read_parquet(tmp_path / "out" / "nodes.parquet")
    assert frame["raw_id"].to_list() == world[2]
    np.testing.assert_array_equal(np.array(frame["vector"].to_list(), np.float32), expected(world))
    groups = pq.ParquetFile(tmp_path / "out" / "nodes.parquet").num_row_groups
    assert groups == P if block_bytes > 64 else groups > P
    relations = pq.read_table(tmp_path / "out" / "relations.parquet").to_pydict()
    assert relations == {"raw_id": world[0].relation_names(), "vector": [[0, 1, 2], [3, 4, 5]]}


def test_a_decoder_without_relations_has_no_relation_files(world, tmp_path):
    run_export(world, tmp_path / "out", "npy", np.empty((2, 0), np.float32))
    assert not list((tmp_path / "out").glob("*relations*"))


def test_what_exists_is_left_alone(world, tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(UserError, match="out: exists already"):
        run_export(world, tmp_path / "out", "npy")


def test_a_folder_of_ones_own_beside_it_stays(world, tmp_path):
    (tmp_path / ".out.tmp").mkdir()
    (tmp_path / ".out.tmp" / "mine").touch()
    run_export(world, tmp_path / "out", "npy")
    assert (tmp_path / ".out.tmp" / "mine").exists()
    assert {path.name for path in tmp_path.iterdir() if "out" in path.name} == {"out", ".out.tmp"}


def test_an_unknown_format_names_the_known(world, tmp_path):
    with pytest.raises(UserError, match="--format csv: unknown: use one of parquet, npy"):
        run_export(world, tmp_path / "out", "csv")


def test_a_failure_leaves_nothing_behind(world, tmp_path, monkeypatch):
    def fail(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(export, "described", lambda format: ExportFormat(fail))
    with pytest.raises(KeyboardInterrupt):
        run_export(world, tmp_path / "out", "npy")
    assert not [path for path in tmp_path.iterdir() if "out" in path.name]


@contextmanager
def files_of_at_most(size):
    """Let each write past so many bytes of a file fail.

    Modules that are imported meanwhile are not kept compiled: Python 3.11 keeps what could be written of them, and fails later.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_a_failing_disk_is_told_in_one_line_and_leaves_nothing(world, tmp_path, format):
    before = sorted(tmp_path.iterdir())
    with files_of_at_most(160), pytest.raises(RunError, match=r"out: .*(File too large|disk I/O error)"):
        run_export(world, tmp_path / "out", format)
    assert sorted(tmp_path.iterdir()) == before


def test_numbers_that_do_not_fit_on_the_disk_say_why(tmp_path):
    many = np.arange(100_000)
    with files_of_at_most(100_000), pytest.raises(OSError, match="File too large"):
        write_npy(tmp_path, "nodes", iter([(pa.array(many), {"vector": many})]), len(many), {})
