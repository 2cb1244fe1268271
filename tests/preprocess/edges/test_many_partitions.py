"""As many partitions as there may be: a million buckets, most of them empty."""

import numpy as np
import pytest
from preprocess_tools import data_files, make

from marius_lite.graph.edges import EdgeBuckets
from marius_lite.preprocess import repartition_dataset

NODES, EDGES, MOST = 20_000, 60_000, 1024


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    np.save(folder / "e.npy", np.random.default_rng(0).integers(0, NODES, (EDGES, 2)))
    return folder / "e.npy", make(folder / "d", folder / "e.npy", partitions=MOST, adjacency="in")


def test_every_edge_is_there(many):
    file, dataset = many
    p, edges = dataset.partitioning, dataset.edges("train")
    assert (p.partitions, edges.total) == (-(-p.nodes // p.rows), EDGES)
    assert p.partitions > 950
    raw = dataset.raw_ids(0, p.nodes).to_numpy()
    found = []
    for piece in edges.block(range(p.partitions), range(p.partitions), 7000, ("src", "dst")):
        i, j = np.divmod(piece.bucket_of_each(), p.partitions)
        found.append(raw[np.stack([piece.columns[0] + i * p.rows, piece.columns[1] + j * p.rows], 1)])
    assert sorted(map(tuple, np.concatenate(found).tolist())) == sorted(map(tuple, np.load(file).tolist()))
    dataset.verify()


def test_in_little_memory_and_again_from_few_partitions(many, tmp_path, monkeypatch):
    """No bucket is asked for by itself."""
    for name in ("stream_columns", "read", "read_into"):
        monkeypatch.setattr(EdgeBuckets, name, lambda *_, name=name: pytest.fail(name))
    file, dataset = many
    little = make(tmp_path / "little", file, partitions=MOST, adjacency="in", memory="1MiB")
    assert data_files(little.path) == data_files(dataset.path)
    make(tmp_path / "few", file, partitions=3, adjacency="in")
    again = repartition_dataset(tmp_path / "few", tmp_path / "again", MOST, memory="1MiB")
    assert data_files(again.path) == data_files(dataset.path)
    assert data_files(repartition_dataset(dataset.path, tmp_path / "three", 3).path) == data_files(tmp_path / "few")
