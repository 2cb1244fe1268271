"""Edges of a type come in batches by types, with negatives among nodes of its two types."""

import numpy as np
import pytest
from typed_graph import EDGE_TYPES, RELATIONS, TYPES, arguments

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric", reason="the loaders need the extra `gnn`")

from torch_geometric.data import HeteroData  # noqa: E402
from torch_geometric.nn import GraphSAGE, to_hetero  # noqa: E402
from torch_geometric.sampler import EdgeSamplerInput, HeteroSamplerOutput, NegativeSampling  # noqa: E402
from torch_geometric.sampler.neighbor_sampler import edge_sample  # noqa: E402

from marius_lite.errors import UserError  # noqa: E402
from marius_lite.pyg import LinkNeighborLoader  # noqa: E402

MADE, NEAR = ("author", "made", "paper"), ("paper", "near", "paper")


def edges_of(typed, edge_type):
    """The edges of a type, (2, edges), by raw ids."""
    types = typed["types"]
    mine = [(s, d) for s, r, d in typed["edges"].tolist() if (types[s], RELATIONS[r], types[d]) == edge_type]
    return torch.tensor(mine).T


def batches(typed, asked, **options):
    with LinkNeighborLoader(typed["dataset"], [2], asked, **{"batch_size": 8, **options}) as loader:
        return list(loader)


def ends_of(batch, edge_type, places):
    """Raw ids of the two ends of edges, given their places among the nodes of their types."""
    return torch.stack([batch[edge_type[side]].n_id[row] for side, row in zip((0, 2), places)])


@pytest.mark.parametrize("kind", [MADE, NEAR])
@pytest.mark.parametrize("disjoint", [False, True])
def test_edges_and_binary_negatives(typed, memory, kind, disjoint):
    wanted, types = edges_of(typed, kind)[:, :10], typed["types"]
    options = {"neg_sampling_ratio": 2, "disjoint": disjoint, "batch_size": 2, "seed": 4}
    found = batches(typed, (kind, wanted), memory=memory, **options)
    for batch, plain in zip(found, batches(typed, (kind, wanted), **options), strict=True):
        assert isinstance(batch, HeteroData)
        store = batch[kind]
        assert torch.equal(store.edge_label, torch.tensor([1.0] * 2 + [0.0] * 4))
        ends = ends_of(batch, kind, store.edge_label_index)
        assert torch.equal(ends[:, :2], wanted[:, store.input_id])
        assert [set(types[row]) for row in ends.numpy()] == [{kind[0]}, {kind[2]}]
        assert torch.equal(ends, ends_of(plain, kind, plain[kind].edge_label_index))
        for name in TYPES:
            np.testing.assert_array_equal(batch[name].x, typed["features"][batch[name].n_id])
            assert torch.equal(batch[name].n_id, plain[name].n_id)
        if disjoint:
            trees = [batch[kind[side]].batch[row] for side, row in zip((0, 2), store.edge_label_index)]
            assert [tree.tolist() for tree in trees] == [[0, 1] * 3] * 2


def test_all_nodes_of_the_types_are_drawn_and_no_others(typed):
    (batch,) = batches(typed, (("paper", "near", "venue"), None), batch_size=1200, neg_sampling_ratio=6)
    negatives = ends_of(batch, ("paper", "near", "venue"), batch["paper", "near", "venue"].edge_label_index)[:, 1200:]
    assert [torch.unique(row).tolist() for row in negatives] == [list(range(600)), list(range(960, 984))]


@pytest.mark.parametrize("kind", [MADE, NEAR])
@pytest.mark.parametrize("negatives", ["binary", "triplet"])
@pytest.mark.parametrize("ratio", [1, 3])
def test_trees_of_ends_stand_as_in_pytorch_geometric(typed, kind, negatives, ratio):
    wanted = edges_of(typed, kind)[:, :7]
    with LinkNeighborLoader(
        typed["dataset"], [0], (kind, wanted), batch_size=7, disjoint=True, neg_sampling=negatives, neg_sampling_ratio=ratio
    ) as loader:
        (batch,) = loader

    def only_seeds(seeds, time):
        trees = {name: torch.arange(len(seed)) for name, seed in seeds.items()}
        return HeteroSamplerOutput(seeds, {}, {}, None, batch=trees)

    given = EdgeSamplerInput(torch.arange(7), wanted[0], wanted[1], input_type=kind)
    nodes = dict.fromkeys(TYPES, 24)
    theirs = edge_sample(given, only_seeds, nodes, True, None, NegativeSampling(negatives, ratio))
    _, *metadata, _ = theirs.metadata
    if negatives == "triplet":
        found = [batch[kind[0]].src_index, batch[kind[2]].dst_pos_index, batch[kind[2]].dst_neg_index]
    else:
        found = [batch[kind].edge_label_index, batch[kind].edge_label]
    for one, two in zip(found, metadata, strict=True):
        assert torch.equal(one, two)
    for name, trees in theirs.batch.items():
        assert torch.equal(batch[name].batch, trees)


def test_edges_of_a_split(typed):
    for edge_type in EDGE_TYPES:
        for asked in ("train", None):
            found = batches(typed, (edge_type, asked), batch_size=500)
            ends = torch.cat([ends_of(batch, edge_type, batch[edge_type].edge_label_index) for batch in found], 1)
            assert sorted(ends.T.tolist()) == sorted(edges_of(typed, edge_type).T.tolist())


def test_edges_of_another_split(typed, cli):
    (typed["folder"] / "valid.tsv").write_text("600\tmade\t5\n700\tmade\t1\n3\tnear\t4\n")
    asked = arguments(typed, "validated", lambda edge_type: [edge_type[1]])
    assert cli(*asked, "--valid", typed["folder"] / "valid.tsv") == 0
    validated = {"dataset": typed["folder"] / "validated"}
    (batch,) = batches(validated, (MADE, "valid"))
    assert sorted(ends_of(batch, MADE, batch[MADE].edge_label_index).T.tolist()) == [[600, 5], [700, 1]]
    with pytest.raises(UserError, match=r"no edge of type \('venue', 'near', 'paper'\) is in valid"):
        batches(validated, (("venue", "near", "paper"), "valid"))


def test_a_model_of_pytorch_geometric_learns_links(typed):
    torch.manual_seed(0)
    with LinkNeighborLoader(
        typed["dataset"], [4, 2], (MADE, "train"), batch_size=100, shuffle=True, neg_sampling_ratio=1
    ) as loader:
        model = to_hetero(GraphSAGE(450, 16, 2), loader.metadata())
        optimizer, losses = torch.optim.Adam(model.parameters(), lr=0.01), []
        for _ in range(3):
            for batch in loader:
                optimizer.zero_grad()
                vectors, (source, target) = model(batch.x_dict, batch.edge_index_dict), batch[MADE].edge_label_index
                scores = (vectors["author"][source] * vectors["paper"][target]).sum(1)
                loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, batch[MADE].edge_label)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    assert np.mean(losses[-5:]) < 0.8 * np.mean(losses[:5])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"edge_label_index": "train", "num_neighbors": {MADE: [2]}}, "give the type of the edges too"),
        ({"edge_label_index": (("author", "near", "venue"), None)}, r"edge_label_index: no edge type \('author', 'near'"),
        ({"edge_label_index": (MADE, [[700, 3], [2, 1]])}, r"source 3 \(entry 1\) is of type 'paper', not 'author'"),
        ({"edge_label_index": (MADE, [[700], [980]])}, r"target 980 \(entry 0\) is of type 'venue', not 'paper'"),
        ({"edge_label_index": (MADE, "valid")}, "no split 'valid'"),
        ({"edge_label_index": (MADE, np.zeros((3, 2), int))}, r"found shape \(3, 2\)"),
    ],
)
def test_what_cannot_be_is_refused(typed, asked, said):
    with pytest.raises(UserError, match=said) as raised:
        LinkNeighborLoader(typed["dataset"], **{"num_neighbors": [2], **asked})
    assert "\n" not in str(raised.value)
