"""What a batch's edges are: drawn again and again, in trees of their own, or all among its nodes."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric", reason="the loaders need the extra `gnn`")

from weighted_dataset import edges_of, with_weights  # noqa: E402

from marius_lite._native import list_edges  # noqa: E402
from marius_lite.graph import Dataset  # noqa: E402
from marius_lite.pyg import NeighborLoader  # noqa: E402

KINDS = [
    {"replace": True},
    {"disjoint": True},
    {"disjoint": True, "replace": True, "subgraph_type": "bidirectional"},
    {"subgraph_type": "induced"},
    {"disjoint": True, "subgraph_type": "induced"},
]


@pytest.fixture(scope="module")
def known(wide):
    """The training edges, by raw ids, and how often each is there."""
    dataset = Dataset.open(wide["dataset"])
    raw = dataset.raw_ids(0, dataset.manifest.nodes).to_numpy()
    return Counter(zip(*(raw[ends].tolist() for ends in edges_of(dataset.edges("train"))[:2])))


@settings(deadline=None)
@given(st.lists(st.integers(0, 5), max_size=30), st.integers(0, 2**32))
def test_edges_of_lists(counts, seed):
    indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    indices = np.random.default_rng(seed).integers(1000, size=indptr[-1], dtype=np.int32)
    out = np.full((2, len(indices)), -1)
    list_edges(indptr, indices, out)
    assert out.tolist() == [indices.tolist(), np.repeat(np.arange(len(counts)), counts).tolist()]


@pytest.mark.parametrize(("indptr", "edges"), [([], 2), ([1, 2], 2), ([0, 2, 1, 2], 2), ([0, 1], 2), ([0, 3], 2)])
def test_lists_that_are_none(indptr, edges):
    with pytest.raises(ValueError, match="indptr: must"):
        list_edges(np.array(indptr, np.int64), np.zeros(edges, np.int32), np.empty((2, edges), np.int64))


def named_edges(batch):
    return list(zip(*batch.n_id[batch.edge_index].tolist()))


@pytest.mark.parametrize("hops", [[3, 2], [-1]])
@pytest.mark.parametrize("kind", KINDS)
def test_the_memory_and_the_threads_change_nothing(wide, memory, kind, hops):
    arguments = {"input_nodes": wide["train"][:60], "batch_size": 3, "shuffle": True, "seed": 5, **kind}
    with (
        NeighborLoader(wide["dataset"], hops, memory=memory, threads=2, **arguments) as loader,
        NeighborLoader(wide["dataset"], hops, threads=1, **arguments) as other,
    ):
        assert loader._subgraphs.packs == (memory != "1GB")
        for one, two in zip(loader, other, strict=True):
            found, expected = one.to_dict(), two.to_dict()
            assert found.keys() == expected.keys()
            for name, value in found.items():
                assert torch.equal(torch.as_tensor(value), torch.as_tensor(expected[name])), name
            np.testing.assert_array_equal(one.x, wide["features"][one.n_id])
            np.testing.assert_array_equal(one.y, wide["labels"][one.n_id])


def test_with_replacement_every_node_draws_as_many(wide, known):
    indegree = Counter(dst for _, dst in known)
    with NeighborLoader(wide["dataset"], [20], None, batch_size=400, replace=True) as loader:
        (batch,) = loader
    drawn = np.bincount(batch.edge_index[1], minlength=400)
    assert drawn.tolist() == [20 * (indegree[node] > 0) for node in batch.n_id.tolist()]
    assert set(named_edges(batch)) <= set(known)
    assert batch.num_sampled_edges == [batch.num_edges]


def test_weights_count_with_replacement_too(wide, tmp_path):
    weighted = with_weights(wide["dataset"], tmp_path / "weighted", lambda src, dst, rel: src % 3)
    with NeighborLoader(weighted, [6, 3], "train", batch_size=50, replace=True, weight_attr="weight") as loader:
        batch = next(iter(loader))
    drawn = np.bincount(batch.edge_index[1])
    assert set(drawn[:50].tolist()) == {0, 6}
    sources = weighted.lookup_nodes(batch.n_id[batch.edge_index[0]].tolist())
    assert set((sources % 3).tolist()) == {1, 2}


def test_each_seed_has_a_tree_of_its_own(wide):
    seeds = torch.from_numpy(wide["train"][:24])
    with NeighborLoader(wide["dataset"], [-1, -1], seeds, batch_size=24, disjoint=True) as loader:
        (batch,) = loader
    assert batch.batch[:24].tolist() == list(range(24))
    assert torch.equal(batch.n_id[:24], seeds)
    assert len(batch.n_id) > len(batch.n_id.unique())
    with NeighborLoader(wide["dataset"], [-1, -1], seeds, batch_size=1) as alone:
        for tree, single in enumerate(alone):
            its = batch.subgraph(batch.batch == tree)
            assert torch.equal(its.n_id, single.n_id)
            assert torch.equal(its.x, single.x)
            assert Counter(named_edges(its)) == Counter(named_edges(single))
    ends = batch.batch[batch.edge_index]
    assert torch.equal(ends[0], ends[1])
    assert sum(batch.num_sampled_nodes) == batch.num_nodes
    assert sum(batch.num_sampled_edges) == batch.num_edges


def test_trees_of_the_same_node_draw_for_themselves(wide, known):
    hub = max(Counter(dst for _, dst in known).items(), key=lambda item: item[1])[0]
    around = [src for src, dst in known if dst == hub and src != hub]
    with NeighborLoader(wide["dataset"], [-1, 1], None, batch_size=400, disjoint=True) as loader:
        (batch,) = loader
    assert len(around) > 1
    into = batch.n_id[batch.edge_index[1]] == hub
    of_tree = {}
    for tree, source in zip(batch.batch[batch.edge_index[1][into]].tolist(), batch.n_id[batch.edge_index[0][into]].tolist()):
        of_tree.setdefault(tree, set()).add(source)
    drawn = [min(sources) for sources in of_tree.values() if len(sources) == 1]
    assert len(set(drawn)) > 1


@pytest.mark.parametrize("disjoint", [False, True])
def test_induced_subgraphs_have_all_edges(wide, known, disjoint):
    with NeighborLoader(wide["dataset"], [3, 2], "train", batch_size=16, subgraph_type="induced", disjoint=disjoint) as loader:
        batch = next(iter(loader))
    tree = batch.batch if disjoint else torch.zeros(batch.num_nodes)
    placed = list(zip(tree.tolist(), batch.n_id.tolist()))
    found = Counter((placed[source], placed[target]) for source, target in batch.edge_index.T.tolist())
    there = set(placed)
    assert found == {
        ((t, src), (t, dst)): count
        for (src, dst), count in known.items()
        for t in set(tree.tolist())
        if (t, src) in there and (t, dst) in there
    }
    assert "num_sampled_edges" not in batch
    assert "num_sampled_nodes" not in batch


def test_relations_of_induced_edges(featured):
    dataset = Dataset.open(featured)
    with NeighborLoader(dataset, [3], None, batch_size=20, subgraph_type="induced") as loader:
        batch = next(iter(loader))
    here = set(batch.n_id.tolist())
    edges = zip(*(column.tolist() for column in edges_of(dataset.edges("train"))[:3]))
    expected = Counter((src, dst, rel) for src, dst, rel in edges if src in here and dst in here)
    assert Counter(zip(*batch.n_id[batch.edge_index].tolist(), batch.edge_type.tolist())) == expected


def test_the_types_of_pytorch_geometric_are_taken(wide):
    from torch_geometric.sampler.base import SubgraphType

    arguments = {"input_nodes": "train", "batch_size": 8}
    with (
        NeighborLoader(wide["dataset"], [2], subgraph_type=SubgraphType.induced, **arguments) as one,
        NeighborLoader(wide["dataset"], [2], subgraph_type="induced", **arguments) as other,
    ):
        assert torch.equal(next(iter(one)).edge_index, next(iter(other)).edge_index)
