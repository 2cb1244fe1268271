"""Evaluation over a real dataset and a paged table: the same numbers as over everything in memory."""

import shutil

import numpy as np
import pytest
from ranking_fakes import FakeBuffer

from marius_lite.errors import UserError
from marius_lite.evaluate import EdgeBlock, Ranker, RankingOptions, rank, select_edges
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.edges import COLUMNS
from marius_lite.nn.model import LinkPredictionModel
from marius_lite.preprocess.build import preprocess
from marius_lite.preprocess.options import Options
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.table import RowTable

NODES, DIM, WIDTH, P = 90, 6, 8, 5


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluate")
    rng = np.random.default_rng(0)
    triples = np.stack([rng.integers(0, limit, 1500) for limit in (NODES, 3, NODES)], axis=1)
    triples[:NODES, 0] = np.arange(NODES)
    (folder / "edges.tsv").write_text("".join(f"n{s}\tr{r}\tn{t}\n" for s, r, t in triples))
    options = Options.parse(edges=[str(folder / "edges.tsv")], output=folder / "dataset", split="0.8,0.1,0.1", partitions=P)
    preprocess(options)
    return Dataset.open(folder / "dataset")


@pytest.fixture
def values(dataset):
    return np.random.default_rng(1).standard_normal((dataset.manifest.nodes, DIM)).astype(np.float32)


@pytest.fixture
def table(dataset, values, tmp_path):
    table = RowTable.create(tmp_path / "nodes", dataset.manifest.nodes, WIDTH, dataset.partitioning.rows)
    with PartitionBuffer(table, P) as buffer:
        for k in range(P):
            ids = dataset.partitioning.range(k)
            buffer.adopt(k)[:, :DIM] = values[ids.start : ids.stop]
    return table


@pytest.fixture
def model(dataset):
    rng = np.random.default_rng(2)
    return LinkPredictionModel("complex", dataset.manifest.relations, DIM, rng, reciprocal=True)


@pytest.mark.parametrize("slots", [1, 2, 4, P])
def test_a_paged_table_gives_the_same_ranks(dataset, table, values, model, slots):
    known = [dataset.edges(split) for split in dataset.manifest.edges]
    (edges,) = select_edges(dataset.edges("test"), None, 0)
    fake = FakeBuffer(values, dataset.partitioning, P)
    expected = Ranker(fake, dataset.partitioning, DIM, model, known, RankingOptions()).ranks(edges)
    with PartitionBuffer(table, slots) as buffer:
        found = Ranker(buffer, dataset.partitioning, DIM, model, known, RankingOptions()).ranks(edges)
        assert buffer.counters()["bytes_written"] == 0
    np.testing.assert_array_equal(found, expected)


def test_the_filter_is_complete(dataset, table, model):
    """Where all scores are equal, the worst rank counts every candidate that is not left out."""
    model.relations.data.zero_()
    splits = list(dataset.manifest.edges)
    true = {
        edge
        for split in splits
        for block in select_edges(dataset.edges(split), None, 0)
        for edge in zip(*(column.tolist() for column in block))
    }
    known = [dataset.edges(split) for split in splits]
    src, rel, dst = (np.array([value]) for value in sorted(true)[0])
    with PartitionBuffer(table, 2) as buffer:
        options = RankingOptions(ties="pessimistic")
        ranker = Ranker(buffer, dataset.partitioning, DIM, model, known, options)
        worst = ranker.ranks(EdgeBlock(src, rel, dst))[0, 0]
    assert worst == dataset.manifest.nodes - sum((s, r) == (src[0], rel[0]) for s, r, _ in true) + 1


def test_relations_are_named(dataset, table, model):
    with PartitionBuffer(table, 2) as buffer:
        edges = select_edges(dataset.edges("valid"), 40, 0)
        result = rank(
            buffer,
            dataset.partitioning,
            DIM,
            model,
            edges,
            [dataset.edges("train")],
            RankingOptions(candidates=30, split="valid"),
            dataset.relation_names(),
        )
    assert set(result["per_relation"]) == {"r0", "r1", "r2"}
    assert (result["split"], result["count"], result["candidates"]) == ("valid", 40, "sampled(30)")


@pytest.mark.parametrize("edges", [1, 7, 10**6])
def test_streamed_buckets_are_whole(dataset, edges):
    train = dataset.edges("train")
    for i, j in ((0, 0), (2, 3), (4, 1)):
        pieces = list(train.stream_columns(i, j, edges, COLUMNS))
        assert all(0 < len(piece[0]) <= edges for piece in pieces)
        for found, expected in zip(map(np.concatenate, zip(*pieces)), train.read(i, j)):
            np.testing.assert_array_equal(found, expected)


def test_a_changed_bucket_is_noticed_while_streaming(dataset, tmp_path):
    shutil.copytree(dataset.path, tmp_path / "changed")
    changed = tmp_path / "changed" / "edges" / "train" / "rel" / "c" / "0"
    data = bytearray(changed.read_bytes())
    data[0] ^= 1
    changed.write_bytes(data)
    with pytest.raises(UserError, match=r"bucket \(0, 0\)"):
        list(Dataset.open(tmp_path / "changed").edges("train").stream_columns(0, 0, 5, COLUMNS))
