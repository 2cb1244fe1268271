"""Edges come with the neighbourhoods of their ends and with negatives, in PyTorch Geometric's form."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric", reason="the loaders need the extra `gnn`")

from marius_lite.errors import UserError  # noqa: E402
from marius_lite.graph import Dataset  # noqa: E402
from marius_lite.pyg import LinkNeighborLoader  # noqa: E402


@pytest.mark.parametrize("ratio", [None, 2])
def test_edges_and_binary_negatives(wide, memory, ratio):
    wanted = torch.from_numpy(wide["edges"][100:150].T.copy())
    loader = LinkNeighborLoader(
        wide["dataset"], [2], wanted, batch_size=4, shuffle=True, neg_sampling_ratio=ratio, memory=memory, seed=3
    )
    seen = []
    assert len(loader) == 13
    for batch in loader:
        size = batch.batch_size
        named = batch.n_id[batch.edge_label_index]
        assert torch.equal(named[:, :size], wanted[:, batch.input_id])
        seen += batch.input_id.tolist()
        if ratio is None:
            assert batch.edge_label_index.shape == (2, size)
            assert "edge_label" not in batch
        else:
            assert torch.equal(batch.edge_label, torch.tensor([1.0] * size + [0.0] * 2 * size))
            assert batch.edge_label_index.shape == (2, 3 * size)
        np.testing.assert_array_equal(batch.x.numpy(), wide["features"][batch.n_id.numpy()])
        ends = torch.unique(batch.edge_label_index)
        assert ends.tolist() == list(range(batch.num_sampled_nodes[0]))
    assert sorted(seen) == list(range(50))
    loader.close()


def test_labels_of_edges_make_room_for_negatives(wide):
    wanted, label = wide["edges"][:9].T, torch.arange(9)
    with LinkNeighborLoader(wide["dataset"], [2], wanted, label, batch_size=9, neg_sampling="binary") as loader:
        (batch,) = loader
    assert batch.edge_label.tolist() == [*range(1, 10), *[0] * 9]
    ones = np.ones(9)
    with LinkNeighborLoader(wide["dataset"], [2], wanted, ones, batch_size=9, neg_sampling_ratio=1.0) as loader:
        (batch,) = loader
    assert batch.edge_label.tolist() == [*ones, *[0] * 9]  # there is room for 0
    with LinkNeighborLoader(wide["dataset"], [2], wanted, label, batch_size=9) as loader:
        (batch,) = loader
    assert batch.edge_label.tolist() == [*range(9)]


def test_triplets(wide):
    wanted = wide["edges"][:9].T
    with LinkNeighborLoader(wide["dataset"], [2], wanted, batch_size=3, neg_sampling="triplet", neg_sampling_ratio=4) as loader:
        first, again = list(loader), list(loader)
    for k, batch in enumerate(first):
        assert batch.n_id[batch.src_index].tolist() == wanted[0, 3 * k : 3 * k + 3].tolist()
        assert batch.n_id[batch.dst_pos_index].tolist() == wanted[1, 3 * k : 3 * k + 3].tolist()
        assert batch.dst_neg_index.shape == (3, 4)
    assert not torch.equal(first[0].n_id[first[0].dst_neg_index], again[0].n_id[again[0].dst_neg_index])


@pytest.mark.parametrize("kind", [None, "binary", "triplet"])
@pytest.mark.parametrize("ratio", [1, 3])
def test_trees_of_ends_stand_as_in_pytorch_geometric(wide, memory, kind, ratio):
    from torch_geometric.sampler import EdgeSamplerInput, NegativeSampling, SamplerOutput
    from torch_geometric.sampler.neighbor_sampler import edge_sample

    wanted = torch.from_numpy(wide["edges"][:7].T.copy())
    negatives = {"neg_sampling": kind, "neg_sampling_ratio": ratio} if kind else {}
    with LinkNeighborLoader(wide["dataset"], [0], wanted, batch_size=7, disjoint=True, memory=memory, **negatives) as loader:
        (batch,) = loader

    def only_seeds(seed, time):
        return SamplerOutput(seed, torch.empty(0), torch.empty(0), None, batch=torch.arange(len(seed)))

    given = EdgeSamplerInput(torch.arange(7), wanted[0], wanted[1])
    asked = NegativeSampling(kind, ratio) if kind else None
    theirs = edge_sample(given, only_seeds, 400, True, None, asked)
    _, *metadata, _ = theirs.metadata
    names = ("src_index", "dst_pos_index", "dst_neg_index") if kind == "triplet" else ("edge_label_index", "edge_label")
    for name, expected in zip(names, metadata, strict=True):
        assert (name not in batch) if expected is None else torch.equal(batch[name], expected), name
    assert torch.equal(batch.batch, theirs.batch)
    assert len(batch.n_id) == len(theirs.node)
    ends = (batch.src_index, batch.dst_pos_index) if kind == "triplet" else batch.edge_label_index[:, :7]
    assert torch.equal(torch.stack([batch.n_id[end] for end in ends]), wanted)
    np.testing.assert_array_equal(batch.x, wide["features"][batch.n_id])


@pytest.mark.parametrize("disjoint", [False, True])
def test_edges_with_all_edges_among_their_nodes(wide, disjoint):
    with LinkNeighborLoader(
        wide["dataset"], [2], "train", batch_size=6, disjoint=disjoint, replace=True, subgraph_type="induced"
    ) as loader:
        batch = next(iter(loader))
    places = {tuple(edge) for edge in batch.edge_index.T.tolist()}
    if not disjoint:  # the edges loaded are among them; of trees, only where a tree has both ends
        assert {tuple(edge) for edge in batch.edge_label_index.T.tolist()} <= places
    else:
        assert torch.equal(*batch.batch[batch.edge_index])
        assert batch.batch[batch.edge_label_index].tolist() == [list(range(6))] * 2


def test_a_split_of_the_dataset(wide):
    with LinkNeighborLoader(wide["dataset"], [1], "valid", batch_size=100) as loader:
        found = torch.cat([batch.n_id[batch.edge_label_index] for batch in loader], 1)
    edges = {tuple(edge) for edge in wide["edges"].tolist()}
    assert found.shape == (2, Dataset.open(wide["dataset"]).manifest.edges["valid"])
    assert {tuple(edge) for edge in found.T.tolist()} <= edges


def test_a_split_without_edges_has_no_batches(cli, wide, tmp_path):
    np.save(tmp_path / "edges.npy", wide["edges"])
    np.save(tmp_path / "features.npy", wide["features"])
    more = ["--features", tmp_path / "features.npy", "--adjacency", "in", "--split", "0.9999,0.0001,0"]
    assert cli("preprocess", tmp_path / "edges.npy", *more, "--output", tmp_path / "dataset") == 0
    for kind, label in ((None, None), (None, np.ones(0)), ("binary", np.ones(0)), ("triplet", None)):
        options = {"neg_sampling": kind, "edge_label": label, "shuffle": True}
        with LinkNeighborLoader(tmp_path / "dataset", [2], "valid", **options) as loader:
            assert (len(loader), list(loader)) == (0, [])
        with pytest.raises(UserError, match=r"edge_label: found shape \(3,\): expected \(0,\)"):
            LinkNeighborLoader(tmp_path / "dataset", [2], "valid", edge_label=np.ones(3))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"edge_label_index": torch.zeros((3, 2), dtype=torch.int64)}, r"edge_label_index: found shape \(3, 2\)"),
        ({"edge_label_index": torch.tensor([[1], [999]])}, "edge_label_index: no node is called 999"),
        ({"edge_label_index": "future"}, "no split 'future'"),
        ({"edge_label": torch.zeros(3)}, r"edge_label: found shape \(3,\): expected"),
        ({"neg_sampling": "some"}, "neg_sampling: 'some'"),
        ({"neg_sampling_ratio": 0.5}, "neg_sampling_ratio: 0.5"),
        ({"neg_sampling": "triplet", "edge_label": torch.zeros(3)}, "triplets have none"),
    ],
)
def test_what_cannot_be_is_refused(wide, arguments, said):
    with pytest.raises(UserError, match=said):
        LinkNeighborLoader(wide["dataset"], [2], **{"edge_label_index": "train", **arguments})
