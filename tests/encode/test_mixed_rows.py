"""First rows that say where nodes are, out of core, against products in memory."""

import numpy as np
import pytest
import torch
from whole_graph import matrix

from marius_lite.config.load import load
from marius_lite.encode.mixed_rows import MixedRows, _DrawnRows, _mean, _Walk, mixed_rows
from marius_lite.errors import UserError
from marius_lite.evaluate.inference import infer
from marius_lite.graph import Dataset
from marius_lite.graph.partitioning import Partitioning
from marius_lite.nn.encoders.base import Block
from marius_lite.storage.bfloat16 import floats
from marius_lite.tasks.resolved import resolved

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

DIM, HOPS = 12, 3
SETS = ["task=node_classification", "model.encoder=gcn", "model.layers=[8]", "model.inputs=embeddings", f"model.dim={DIM}"]


def config_for(dataset, *sets):
    return resolved(dataset, load(sets=[*SETS, "storage.capacity=2", f"init.hops={HOPS}", *sets]))[0]


def as_little_memory(monkeypatch):
    """No row of a layer stays in memory."""
    monkeypatch.setattr("marius_lite.evaluate.layer_pass.IN_MEMORY_SHARE", 0)


def at_length_one(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True).clip(1e-30)


def walked(dataset, config):
    """What the first rows should be, by powers of the whole graph's matrix, float64."""
    p, hop = dataset.partitioning, matrix(dataset, "sage")
    lone = hop.sum(1) == 0
    hop[lone, lone] = 1
    drawn = _DrawnRows(p, DIM, config.training.seed)
    rows = np.linalg.matrix_power(hop, HOPS) @ np.concatenate([drawn.read(k) for k in range(p.partitions)])
    rows = at_length_one(rows)
    return at_length_one(rows - rows.mean(0)) * DIM**0.5


def filled(dataset, config, folder, dtype=np.float32):
    p = dataset.partitioning
    records = [np.full((p.size(k), DIM + 3), 7, dtype) for k in range(p.partitions)]
    with mixed_rows(dataset, config, folder) as mixed:
        for k, rows in enumerate(records):
            mixed.fill(k, rows)
    assert not list(folder.iterdir())
    whole = np.concatenate(records)
    assert (whole[:, DIM:] == 7).all()  # the optimizer's state is left alone
    return whole[:, :DIM]


@pytest.mark.parametrize("on_disk", [False, True])
def test_they_equal_powers_in_memory(communities, tmp_path, monkeypatch, on_disk):
    if on_disk:
        as_little_memory(monkeypatch)
    dataset = Dataset.open(communities)
    config = config_for(dataset)
    assert np.abs(filled(dataset, config, tmp_path) - walked(dataset, config)).max() < 1e-3


def test_memory_changes_no_bit(communities, tmp_path, monkeypatch):
    dataset = Dataset.open(communities)
    whole = filled(dataset, config_for(dataset), tmp_path)
    as_little_memory(monkeypatch)
    monkeypatch.setattr("marius_lite.encode.mixed_rows.PART_BYTES", 1000)
    assert np.array_equal(filled(dataset, config_for(dataset), tmp_path), whole)


def test_rows_of_bfloat16_are_rounded(communities, tmp_path):
    dataset = Dataset.open(communities)
    config = config_for(dataset)
    rounded, whole = (filled(dataset, config, tmp_path, dtype) for dtype in (np.uint16, np.float32))
    assert np.abs(floats(np.ascontiguousarray(rounded)) - whole).max() < 2**-8 * np.abs(whole).max()


def test_nodes_of_a_community_begin_alike(communities, tmp_path):
    dataset = Dataset.open(communities)
    rows = at_length_one(filled(dataset, config_for(dataset), tmp_path))
    p, labels = dataset.partitioning, dataset.required_labels()
    classes = np.concatenate([labels.read(k)[: p.size(k)] for k in range(p.partitions)]).reshape(-1)
    alike, same = rows @ rows.T, classes[:, None] == classes
    assert alike[same].mean() > alike[~same].mean() + 0.3


def test_what_says_nothing_stays(tmp_path):
    """All nodes of a complete graph with loops are alike after a hop."""
    nodes, p = 10, Partitioning(10, 2)
    lists = _Lists(np.arange(0, 51, 10), np.tile(np.arange(nodes, dtype=np.uint32), 5))
    table = infer(_Walk(DIM, 2), _DrawnRows(p, DIM, 0), lists, p, 1 << 26, tmp_path / "rows")
    rows = np.full((5, DIM), 7, np.float32)
    MixedRows(table, _mean(table, DIM)).fill(0, rows)
    assert (rows == 7).all()


class _Lists:
    """The same lists of each partition."""

    weighs, rel, factors = False, None, None

    def __init__(self, indptr, sources):
        self.indptr, self.sources = indptr, sources

    def read(self, k, *, relations=True):
        return self

    def edges(self, k):
        return len(self.sources)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_hop_is_the_mean_of_neighbours(weighted):
    x = torch.randn(5, DIM)
    factors = torch.tensor([2.0, 1.0, 0.5]) if weighted else None
    block = Block(torch.tensor([0, 2, 2, 3]), torch.tensor([3, 4, 0], dtype=torch.int32), factors=factors)
    found, shares = _Walk(DIM, 1).layer(0, x, block), [2 / 3, 1 / 3] if weighted else [0.5, 0.5]
    expected = torch.stack([shares[0] * x[3] + shares[1] * x[4], x[1], x[0]])
    assert torch.allclose(found, expected, atol=1e-6)


@pytest.fixture
def one_way(cli, tmp_path):
    """A graph of 60 nodes whose edges lead on, of two relations; some nodes have no edges at one end."""
    rng = np.random.default_rng(0)
    source = rng.integers(50, size=200)
    np.save(tmp_path / "edges.npy", np.stack([source, rng.integers(2, size=200), source + rng.integers(1, 10, size=200)], 1))
    np.save(tmp_path / "y.npy", np.arange(60) % 2)
    for name, nodes in (("train", np.unique(source)[:20]), ("valid", np.unique(source)[20:40])):
        np.save(tmp_path / f"{name}.npy", nodes)
    given = ["--labels", tmp_path / "y.npy", "--train-nodes", tmp_path / "train.npy", "--valid-nodes", tmp_path / "valid.npy"]
    told = ["--columns", "src,rel,dst", *given, "--adjacency", "in", "--partitions", "4", "--output", tmp_path / "data"]
    assert cli("preprocess", tmp_path / "edges.npy", *told) == 0
    return Dataset.open(tmp_path / "data")


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize("encoder", ["rgcn", "gcn"])
def test_by_turns_rows_go_along_edges_and_against_them(one_way, tmp_path, monkeypatch, encoder, on_disk):
    if on_disk:
        as_little_memory(monkeypatch)
    p, come = one_way.partitioning, matrix(one_way, "sum")
    sides = []
    for counts in (come, come.T):
        hop = counts / counts.sum(1, keepdims=True).clip(1)
        lone = hop.sum(1) == 0
        hop[lone, lone] = 1
        sides.append(hop)
    (tmp_path / "scratch").mkdir()
    config = config_for(one_way, "init.by_turns=true", f"model.encoder={encoder}")
    drawn = np.concatenate([_DrawnRows(p, DIM, config.training.seed).read(k) for k in range(p.partitions)])
    halves = []
    for half, rows in enumerate(np.split(drawn, 2, axis=1)):
        for hop in range(HOPS):
            rows = sides[(hop + half) % 2] @ rows
        halves.append(rows)
    expected = at_length_one(np.concatenate(halves, 1))
    expected = at_length_one(expected - expected.mean(0)) * DIM**0.5
    assert np.abs(filled(one_way, config, tmp_path / "scratch") - expected).max() < 1e-3


def test_without_hops_there_are_none(communities, tmp_path):
    dataset = Dataset.open(communities)
    with mixed_rows(dataset, config_for(dataset, "init.hops=0"), tmp_path) as mixed:
        assert mixed is None


def test_they_want_rows_that_are_learned(communities):
    dataset = Dataset.open(communities)
    with pytest.raises(UserError, match=r"`init.hops` is 3, but `model.encoder` begins with features alone: set it to 0"):
        config_for(dataset, "model.inputs=features")
    with pytest.raises(
        UserError, match=r"`init.hops` is 3, but `model.encoder` is none, so nodes have no neighbours: set it to 0"
    ):
        resolved(dataset, load(sets=["init.hops=3"]))


@pytest.mark.parametrize(("inputs", "hops"), [("embeddings", 8), ("features", 0), ("both", 0), ("auto", 0)])
def test_rows_beside_features_are_only_drawn(communities, inputs, hops):
    assert config_for(Dataset.open(communities), f"model.inputs={inputs}", "init.hops=auto").init.hops == hops
