"""Node ids beyond 2^32 and edges beyond 2^32: tables of which almost nothing is there."""

from collections import Counter

import numpy as np
import pytest

from marius_lite._native import EdgeLayout, crc32c
from marius_lite.graph.adjacency import ARRAYS, Adjacency, PartitionLists, checksum_columns
from marius_lite.graph.edges import EdgeBuckets
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.disk.sort import ExternalSort
from marius_lite.preprocess.edges.buckets import SplitWriter, Tally, write_buckets
from marius_lite.preprocess.ids.numbering import id_dtype
from marius_lite.storage.columns import CHUNK, ColumnWriter
from marius_lite.storage.metadata import create_group
from marius_lite.storage.small_arrays import write_array

NODES, PARTITIONS, AHEAD = 5_000_000_000, 64, 1 << 32
EDGES = 3000


@pytest.fixture
def partitioning():
    return Partitioning(NODES, PARTITIONS)


@pytest.fixture
def ids():
    """What keys stand for, up to the last id there is."""
    rng = np.random.default_rng(0)
    some = rng.choice(NODES, 300, replace=False)
    some[:6] = [0, 2**31 - 1, 2**31, 2**32 - 1, 2**32, NODES - 1]
    return some.astype(id_dtype(NODES))


def test_ids_have_64_bits():
    assert [id_dtype(nodes) for nodes in (1 << 32, (1 << 32) + 1)] == [np.uint32, np.uint64]


@pytest.mark.parametrize("ahead", [0, AHEAD])
def test_edges(tmp_path, partitioning, ids, ahead):
    """Of bucket (0, 0), 2^32 edges are only said to be there; all others are found behind them."""
    rng = np.random.default_rng(1)
    src, dst = rng.integers(len(ids), size=(2, EDGES)).astype(np.uint32)
    rel = np.zeros(EDGES, np.uint32)
    layout = EdgeLayout(partitioning.rows, partitioning.partitions, 1)
    sorter = ExternalSort(tmp_path / "runs", 1 << 14, 2, EDGES, layout.words)
    for at in range(0, EDGES, 500):
        part = slice(at, at + 500)
        sorter.keep(
            layout.pack(
                src[part],
                rel[part],
                dst[part],
                None,
                ids,
                ids,
                np.zeros(1, np.uint32),
                split=0,
                bounds=None,
                key=0,
                undirected=False,
                threads=2,
                out=sorter.room(500),
            )
        )
    assert layout.words == 2
    writer, tally = SplitWriter(tmp_path / "train", 1 << 33, partitioning, ()), Tally.zeros(partitioning, 1, None)
    for column in writer._columns:
        column.length = ahead
    tally.bucket_counts[0, 0] = ahead
    written = write_buckets(sorter.sorted(), {"train": writer}, layout, NODES, (), tally, False)
    assert {path.name for path in written} == {str(ahead // CHUNK)}
    assert len(sorter.runs) > 1

    edges, found = EdgeBuckets(tmp_path / "train", partitioning), Counter()
    assert edges.total == ahead + EDGES
    assert int(edges.counts.sum()) == ahead + EDGES
    for i, j in np.argwhere(edges.counts).tolist():
        if (i, j) != (0, 0):
            src_ends, dst_ends = (ends.astype(np.int64) for ends in edges.read(i, j)[:2])
            found.update(zip((src_ends + i * partitioning.rows).tolist(), (dst_ends + j * partitioning.rows).tolist()))
    ends = ids[src].tolist(), ids[dst].tolist()
    assert found == Counter((s, d) for s, d in zip(*ends) if max(s, d) >= partitioning.rows)
    last, least = range(PARTITIONS - 9, PARTITIONS), (PARTITIONS - 9) * partitioning.rows
    pieces = edges.block(last, last, 7, ("src", "dst"))
    assert sum(len(piece.columns[0]) for piece in pieces) == sum(min(s, d) >= least for s, d in zip(*ends))


def test_in_edges(tmp_path):
    """The lists of partition 0 are only said to be there."""
    partitioning = Partitioning(8, 2)
    expected = PartitionLists(np.array([0, 2, 2, 5, 6]), np.array([7, 1, 2, 2, 3, 0], np.uint32), None)
    create_group(tmp_path / "in")
    lengths = [0, AHEAD, AHEAD + len(expected.sources)]
    sources, indptr = ColumnWriter(tmp_path / "in/sources", CHUNK), ColumnWriter(tmp_path / "in/indptr", 16, np.int64)
    sources.length = AHEAD
    sources.append(expected.sources)
    indptr.append(np.concatenate([np.full(5, AHEAD), expected.indptr]))
    for column in (sources, indptr):
        column.close()
    checksums = np.zeros((2, checksum_columns(False)), np.uint32)
    checksums[1, :2] = [crc32c(values.view(np.uint8)) for values in (expected.indptr, expected.sources)]
    write_array(tmp_path / "in/starts", np.array(lengths))
    write_array(tmp_path / "in/checksums", checksums)
    assert ARRAYS[:2] == ("indptr", "sources")
    found = Adjacency(tmp_path / "in", partitioning, 1).read(1)
    assert found.indptr.tolist() == expected.indptr.tolist()
    assert found.sources.tolist() == expected.sources.tolist()
