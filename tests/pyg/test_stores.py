"""The stores give PyTorch Geometric's own loaders a dataset's rows and edges, by the raw ids of its source files."""

import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric", reason="the stores need the extra `gnn`")

from torch_geometric.loader import NodeLoader  # noqa: E402
from torch_geometric.sampler import BaseSampler, SamplerOutput  # noqa: E402

from marius_lite.errors import UserError  # noqa: E402
from marius_lite.graph import Dataset  # noqa: E402
from marius_lite.pyg import FeatureStore, GraphStore  # noqa: E402


class InEdges(BaseSampler):
    """All in-edges of the seeds, read as PyTorch Geometric's samplers read them: `csc` of the graph store."""

    edge_permutation = None

    def __init__(self, store):
        self.row, self.colptr, permutation = store.csc()
        assert permutation is None
        assert self.row.dtype == self.colptr.dtype == torch.int64

    def sample_from_nodes(self, index, **_):
        seeds = index.node
        edge = torch.cat([torch.arange(self.colptr[node], self.colptr[node + 1]) for node in seeds.tolist()])
        col = torch.repeat_interleave(torch.arange(len(seeds)), self.colptr[seeds + 1] - self.colptr[seeds])
        node = torch.cat([seeds, self.row[edge]])
        row = torch.arange(len(seeds), len(node))
        return SamplerOutput(node, row, col, edge, None, metadata=(index.input_id, None))

    def sample_from_edges(self, *_, **__):
        raise NotImplementedError


def test_a_loader_of_theirs_reads_the_source_files(wide):
    features, graph = FeatureStore(wide["dataset"], width=900), GraphStore(wide["dataset"])
    loader = NodeLoader((features, graph), InEdges(graph), input_nodes=torch.from_numpy(wide["train"]), batch_size=40)
    of_train = Dataset.open(wide["dataset"]).manifest.edges["train"]
    edges, seen = {tuple(edge) for edge in wide["edges"].tolist()}, 0
    assert len(graph.csc()[0]) == of_train
    for batch in loader:
        n_id = batch.n_id.numpy()
        np.testing.assert_array_equal(batch.x.numpy(), wide["features"][n_id])
        np.testing.assert_array_equal(batch.y.numpy(), wide["labels"][n_id])
        assert {tuple(edge) for edge in n_id[batch.edge_index.numpy()].T.tolist()} <= edges
        seen += batch.batch_size
    assert seen == len(wide["train"])


def test_edges_are_the_training_edges_with_their_relations(typed):
    """Each edge once, at the place that ``e_id`` names, with its relation."""
    dataset = Dataset.open(typed["dataset"])
    store, buckets = GraphStore(dataset), dataset.edges("train")
    row, colptr, _ = store.csc()
    col = torch.repeat_interleave(torch.arange(len(store.ids)), torch.diff(colptr))
    found = np.stack([row.numpy(), col.numpy(), store.edge_type.numpy()])
    parts = []
    for i, j in np.argwhere(buckets.counts).tolist():
        src, dst, rel = buckets.read(i, j)
        size = dataset.partitioning.rows
        parts.append([store.ids.places[src.astype(np.int64) + i * size], store.ids.places[dst.astype(np.int64) + j * size], rel])
    expected = np.concatenate(parts, 1).astype(np.int64)
    np.testing.assert_array_equal(found[:, np.lexsort(found)], expected[:, np.lexsort(expected)])


def test_rows_come_in_any_order_and_several_times(wide):
    store, asked = FeatureStore(wide["dataset"]), torch.tensor([399, 0, 17, 399])
    np.testing.assert_array_equal(store[None, "x", asked].numpy(), wide["features"][asked])
    np.testing.assert_array_equal(store[None, "y", None].numpy(), wide["labels"])
    assert store[None, "x", asked[:0]].shape == (0, 900)
    assert store.get_tensor_size(group_name=None, attr_name="x") == (400, 900)


def test_ids_are_the_places_of_raw_ids(cli, tmp_path):
    """Raw ids with gaps are counted in their order; texts have no order of their own."""
    for name, ids in {"gaps": ["70", "9", "300"], "texts": ["b", "c", "a"]}.items():
        file = tmp_path / f"{name}.tsv"
        file.write_text("".join(f"{one}\t{other}\n" for one, other in zip(ids, ids[1:] + ids[:1])))
        assert cli("preprocess", file, "--adjacency", "in", "--partitions", 1, "--output", tmp_path / name) == 0
        store = GraphStore(tmp_path / name)
        numbers = store.ids.of([int(each) for each in ids] if name == "gaps" else ids)
        assert list(map(str, store.ids.names(numbers))) == ids
        if name == "gaps":
            assert numbers.tolist() == [1, 0, 2]


def test_what_cannot_be_is_said_in_a_line(wide, typed):
    dataset, features = wide["dataset"], FeatureStore(wide["dataset"])
    without = f"{typed['dataset']}"
    cases = {
        "nodes have 900 features, not 64": lambda: FeatureStore(dataset, width=64),
        r"found node 400 \(entry 1\): a store has nodes 0 to 399": lambda: features[None, "x", torch.tensor([3, 400])],
        r"found x \(400, 64\) to store: a dataset is only read": lambda: features.put_tensor(
            torch.zeros(400, 64), group_name=None, attr_name="x", index=None
        ),
        "memory: 10.00 KB are given, .*edges .*, ids .*: give more": lambda: GraphStore(dataset, memory="10KB"),
        "memory: 'lots': give bytes": lambda: GraphStore(without, memory="lots"),
        "the features of 400 nodes take 1.44 MB, `memory` leaves": lambda: FeatureStore(dataset, memory="100KB")[None, "x", None],
        "expected the folder of a dataset": lambda: FeatureStore(3),
    }
    for message, call in cases.items():
        with pytest.raises(UserError, match=message):
            call()


def test_without_torch_geometric(monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("torch_geometric", "marius_lite.pyg.graph_store"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    import marius_lite.pyg

    with pytest.raises(UserError, match=r"marius_lite.pyg.GraphStore needs torch_geometric.*pip install 'marius-lite"):
        _ = marius_lite.pyg.GraphStore
