"""Batches of the dataset's loader are those of PyTorch Geometric's form: raw ids, rows, labels and edges of the source files."""

import copy
import errno
import os
import re
import threading
import weakref

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric", reason="the loaders need the extra `gnn`")
from torch_geometric.data import Data  # noqa: E402

from marius_lite.errors import RunError, UserError  # noqa: E402
from marius_lite.graph import Dataset  # noqa: E402
from marius_lite.pyg import NeighborLoader  # noqa: E402
from marius_lite.pyg.loader import _filled  # noqa: E402


def same(one, other):
    assert one.keys() == other.keys()
    for key, value in one.items():
        assert torch.equal(value, other[key]) if isinstance(value, torch.Tensor) else value == other[key], key


@pytest.mark.parametrize("hops", [[3], [3, 2], [-1]])
def test_batches_are_of_the_source_files(wide, memory, hops):
    loader = NeighborLoader(wide["dataset"], hops, torch.from_numpy(wide["train"]), batch_size=4, shuffle=True, memory=memory)
    assert loader._subgraphs.packs == (memory != "1GB")
    edges, seen = {tuple(edge) for edge in wide["edges"].tolist()}, []
    assert len(loader) == 38
    for batch in loader:
        n_id = batch.n_id.numpy()
        assert len(np.unique(n_id)) == len(n_id) == batch.num_nodes
        np.testing.assert_array_equal(batch.x.numpy(), wide["features"][n_id])
        np.testing.assert_array_equal(batch.y.numpy(), wide["labels"][n_id])
        seeds = n_id[: batch.batch_size]
        np.testing.assert_array_equal(wide["train"][batch.input_id], seeds)
        seen += seeds.tolist()
        assert {tuple(edge) for edge in n_id[batch.edge_index.numpy()].T.tolist()} <= edges
        assert sum(batch.num_sampled_nodes) == len(n_id)
        assert sum(batch.num_sampled_edges) == batch.num_edges
        assert batch.num_sampled_nodes[0] == batch.batch_size
        degrees = np.bincount(batch.edge_index[1], minlength=len(n_id))
        if hops[0] >= 0:
            assert degrees.max() <= max(hops)
    assert sorted(seen) == sorted(wide["train"])
    loader.close()


def test_a_batch_is_as_its_constructor_makes_it(wide):
    with NeighborLoader(wide["dataset"], [3, 2], "train", batch_size=4) as loader:
        batch = next(iter(loader))
    made = Data(**batch.to_dict())
    assert repr(batch) == repr(made)
    assert batch.is_node_attr("n_id")
    assert not batch.is_node_attr("edge_index")
    assert batch.stores[0]._parent() is batch
    same(copy.deepcopy(batch).to_dict(), made.to_dict())

    class Elsewhere(Data):  # as a version might be that holds attributes in another way
        stores = property(lambda self: [None])

    same(_filled(Elsewhere(), batch.to_dict()).to_dict(), made.to_dict())


def test_the_memory_and_the_threads_change_nothing(wide, memory):
    arguments = {"input_nodes": "train", "batch_size": 4, "shuffle": True, "seed": 5}
    loader = NeighborLoader(wide["dataset"], [4, 2], memory=memory, threads=2, num_workers=3, **arguments)
    other = NeighborLoader(wide["dataset"], [4, 2], threads=1, **arguments)
    first = list(loader)
    for one, two in zip(first, other, strict=True):
        same(one.to_dict(), two.to_dict())
    anew = list(loader)
    assert not torch.equal(anew[0].n_id, first[0].n_id)
    same(anew[7].to_dict(), list(other)[7].to_dict())
    for each in (loader, other):
        each.close()


def test_input_nodes(wide):
    def loaded(asked, **more):
        loader = NeighborLoader(wide["dataset"], [1], asked, batch_size=64, **more)
        found = [batch.n_id[: batch.batch_size] for batch in loader]
        assert len(found) == len(loader)
        loader.close()
        return torch.cat(found).tolist()

    mask = torch.zeros(400, dtype=torch.bool)
    mask[[5, 399, 17]] = True
    assert loaded(mask) == [5, 17, 399]
    assert loaded([399, 3]) == [399, 3]
    assert loaded(None) == list(range(400))
    assert loaded("train") == sorted(wide["train"])
    assert loaded(torch.arange(100), drop_last=True) == list(range(64))


def test_an_iteration_ends_the_one_before(wide, memory):
    before = threading.active_count()
    loader = NeighborLoader(wide["dataset"], [2], "train", batch_size=2, memory=memory)
    first = iter(loader)
    kept = next(first)
    values = kept.x.clone()
    assert len(list(loader)) == 75
    assert list(first) == []
    assert torch.equal(kept.x, values)  # a batch is the user's
    for batch in loader:
        assert batch.batch_size == 2
        break
    loader.close()
    assert threading.active_count() == before


def test_subgraphs_in_both_directions_and_transforms(wide):
    one = NeighborLoader(wide["dataset"], [3, 3], "train", batch_size=8)
    both = NeighborLoader(
        wide["dataset"], [3, 3], "train", batch_size=8, subgraph_type="bidirectional", transform=lambda data: (data, 7)
    )
    for batch, (other, seven) in zip(one, both, strict=True):
        assert seven == 7
        assert other.is_undirected()
        ends = {tuple(edge) for edge in batch.edge_index.T.tolist()}
        assert {tuple(edge) for edge in other.edge_index.T.tolist()} == ends | {(b, a) for a, b in ends}
        assert not other.is_coalesced() or other.num_edges == len(ends | {(b, a) for a, b in ends})
    for each in (one, both):
        each.close()


def test_names_and_relations(featured):
    dataset = Dataset.open(featured)
    loader = NeighborLoader(dataset, [5], ["node7", "node0"], batch_size=2)
    (batch,) = loader
    names = loader.raw_ids(batch.n_id)
    assert names[:2] == ["node7", "node0"]
    np.testing.assert_array_equal(batch.n_id, dataset.lookup_nodes(names))
    known = set()
    for i in range(4):
        for j in range(4):
            src, dst, rel = dataset.edges("train").read(i, j)
            rows = dataset.partitioning.rows
            known |= set(zip((src + i * rows).tolist(), (dst + j * rows).tolist(), rel.tolist()))
    found = zip(*batch.n_id[batch.edge_index].tolist(), batch.edge_type.tolist())
    assert set(found) <= known
    assert not hasattr(batch, "y") or batch.y is None
    loader.close()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"num_neighbors": [3, -2]}, r"num_neighbors: \[3, -2\]: give a number for each hop"),
        ({"num_neighbors": []}, "num_neighbors"),
        ({"input_nodes": torch.tensor([5, 400])}, r"input_nodes: no node is called 400 \(entry 1\)"),
        ({"input_nodes": torch.tensor([5, 6, 5])}, r"input_nodes: 5 stands twice \(entry 2\)"),
        ({"input_nodes": torch.tensor([0.5])}, "found float32: expected integers"),
        ({"input_nodes": torch.zeros(4, dtype=torch.bool)}, "of at least one node"),
        ({"input_nodes": torch.zeros((2, 2), dtype=torch.int64)}, r"found shape \(2, 2\)"),
        ({"input_nodes": "test"}, "for test|no node"),
        ({"input_nodes": "all"}, "input_nodes: 'all': give train, valid, test"),
        ({"subgraph_type": "whole"}, "subgraph_type: 'whole': give directional, bidirectional, induced"),
        ({"weight_attr": "weight"}, "its edges have no weights"),
        ({"weight_attr": "time"}, "weight_attr: 'time'"),
        ({"batch_size": 0}, "batch_size: 0"),
        ({"threads": -1}, "threads: -1"),
        ({"folder": "/nowhere/at/all"}, "folder: /nowhere/at/all: there is no such folder"),
        ({"time_attr": "time"}, "time_attr: no option of a loader: there are batch_size, "),
        ({"memory": "much"}, "memory: 'much': give bytes"),
        ({"memory": 10_000}, "memory: 10.00 KB are given, .* are needed: in-edges"),
    ],
)
def test_what_cannot_be_is_refused(wide, arguments, said):
    with pytest.raises(UserError, match=said) as raised:
        NeighborLoader(wide["dataset"], **{"num_neighbors": [2], "input_nodes": "train", **arguments})
    assert "\n" not in str(raised.value)


def test_what_is_no_dataset_is_refused():
    with pytest.raises(UserError, match="data: found Data: expected the folder of a dataset"):
        NeighborLoader(Data(), [2])


def test_a_mask_is_for_integer_ids(featured):
    with pytest.raises(UserError, match="input_nodes"):
        NeighborLoader(featured, [2], torch.ones(300, dtype=torch.bool))


def test_numbers_of_numpy_and_a_closed_loader(wide):
    loader = NeighborLoader(wide["dataset"], np.array([2, 0]), "train", batch_size=50)
    assert len(list(loader)) == 3
    loader.close()
    loader.close()
    with pytest.raises(UserError, match="the loader is closed"):
        iter(loader)


def test_a_loader_that_nobody_has_goes(wide, memory):
    loader = NeighborLoader(wide["dataset"], [2], "train", batch_size=2, memory=memory)
    gone = weakref.ref(loader)
    for _ in loader:
        break
    del loader
    assert gone() is None


def test_a_full_disk_is_told_and_the_next_iteration_works(wide, monkeypatch, tmp_path):
    monkeypatch.setattr("marius_lite.config.packing.BLOCK_BYTES", 1 << 14)
    monkeypatch.setattr("marius_lite.config.packing.LEAST_LISTS", 1 << 12)
    with NeighborLoader(wide["dataset"], [2], "train", batch_size=4, memory="1MB", folder=tmp_path) as loader:
        with monkeypatch.context() as full:

            def fails(descriptor, offset, size):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            full.setattr(os, "posix_fallocate", fails)
            with pytest.raises(RunError, match="the disk is full"):
                next(iter(loader))
        for batch in loader:
            np.testing.assert_array_equal(batch.x.numpy(), wide["features"][batch.n_id.numpy()])
    monkeypatch.setattr("marius_lite.files.free_bytes", lambda path: 10)
    with pytest.raises(UserError, match="a loader's temporary files"):
        NeighborLoader(wide["dataset"], [2], "train", batch_size=4, memory="1MB")


def test_a_dataset_that_lacks_what_it_needs(tiny_dataset):
    with pytest.raises(UserError, match=re.escape("preprocessed with --features FILE and --adjacency in")):
        NeighborLoader(tiny_dataset, [2])


def test_a_model_of_pytorch_geometric_learns_from_it(wide, memory):
    from torch_geometric.nn import GraphSAGE

    torch.manual_seed(0)
    model = GraphSAGE(900, 32, 2, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    loader = NeighborLoader(wide["dataset"], [3, 3], "train", batch_size=4, shuffle=True, memory=memory)
    for _ in range(6):
        for batch in loader:
            optimizer.zero_grad()
            scores = model(batch.x, batch.edge_index)[: batch.batch_size]
            torch.nn.functional.cross_entropy(scores, batch.y[: batch.batch_size]).backward()
            optimizer.step()
    loader.close()
    with NeighborLoader(wide["dataset"], [-1, -1], torch.arange(391), batch_size=64) as everything, torch.no_grad():
        model.eval()
        right = [
            (model(batch.x, batch.edge_index)[: batch.batch_size].argmax(1) == batch.y[: batch.batch_size]).float()
            for batch in everything
        ]
    assert torch.cat(right).mean() > 0.9


def test_features_with_few_numbers_that_are_not_0_need_little_memory(wide, cli, tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    words = (rng.random((400, 900)) < 0.02) * rng.random((400, 900)).astype(np.float32)
    np.save(tmp_path / "words.npy", words)
    np.save(tmp_path / "edges.npy", wide["edges"])
    more = ["--features", tmp_path / "words.npy", "--adjacency", "in", "--partitions", "4", "--output", tmp_path / "dataset"]
    assert cli("preprocess", tmp_path / "edges.npy", *more) == 0
    arguments = {"num_neighbors": [4, 2], "batch_size": 16, "shuffle": True, "seed": 5}
    with NeighborLoader(tmp_path / "dataset", memory="200kB", **arguments) as loader:  # 1.4 MB are stored
        found = list(loader)
    monkeypatch.setattr("marius_lite.pyg.subgraphs.held_sparse", lambda stored, most: None)
    with pytest.raises(UserError, match=r"memory: 200\.00 KB are given"):
        NeighborLoader(tmp_path / "dataset", memory="200kB", **arguments)
    with NeighborLoader(tmp_path / "dataset", **arguments) as loader:
        for one, two in zip(found, loader, strict=True):
            same(one.to_dict(), two.to_dict())
            np.testing.assert_array_equal(one.x.numpy(), words[one.n_id])
