"""Batches by types are those of one type, taken apart: PyTorch Geometric's HeteroData, of which its models learn."""

from collections import Counter

import numpy as np
import pytest
from typed_graph import EDGE_TYPES, RELATIONS, TYPES, WIDTH

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric", reason="the loaders need the extra `gnn`")

from torch_geometric.data import Data, HeteroData  # noqa: E402
from torch_geometric.nn import GraphSAGE, HGTConv, to_hetero  # noqa: E402
from torch_geometric.utils import trim_to_layer  # noqa: E402
from weighted_dataset import with_weights  # noqa: E402

from marius_lite.errors import UserError  # noqa: E402
from marius_lite.graph import Dataset  # noqa: E402
from marius_lite.pyg import NeighborLoader  # noqa: E402
from marius_lite.pyg.subgraphs import _labelled  # noqa: E402
from marius_lite.sampling.neighbours import NeighbourLists  # noqa: E402
from marius_lite.seeds import seed_for  # noqa: E402

TRAIN = ("paper", "train")


@pytest.fixture(scope="module")
def known(typed):
    """The edges, (source, edge type, target)."""
    types = typed["types"]
    return {(s, (types[s], RELATIONS[r], types[d]), d) for s, r, d in typed["edges"].tolist()}


def batches(folder, *asked, **options):
    with NeighborLoader(folder, *asked, **{"batch_size": 8, **options}) as loader:
        return list(loader)


def named_edges(batch):
    """The edges of a batch, (source, edge type, target), by raw ids."""
    found = []
    for edge_type in batch.edge_types:
        sources, targets = batch[edge_type].edge_index
        ends = zip(batch[edge_type[0]].n_id[sources].tolist(), batch[edge_type[2]].n_id[targets].tolist())
        found += [(source, edge_type, target) for source, target in ends]
    return found


def all_attributes(batch):
    """Each attribute of each type, as a tensor."""
    stores = {**{name: batch[name] for name in batch.node_types}, **{name: batch[name] for name in batch.edge_types}}
    return {(of, name): torch.as_tensor(value) for of, store in stores.items() for name, value in store.items()}


def same(one, other):
    found, expected = all_attributes(one), all_attributes(other)
    assert found.keys() == expected.keys()
    for name, value in found.items():
        assert torch.equal(value, expected[name]), name


def check(batch, typed, known, loaded):
    """A batch is of the source files, whatever was drawn. ``loaded``: its seeds."""
    assert isinstance(batch, HeteroData)
    assert batch.validate()
    assert (sorted(batch.node_types), sorted(batch.edge_types)) == (TYPES, EDGE_TYPES)
    for name in TYPES:
        n_id = batch[name].n_id.numpy()
        assert set(typed["types"][n_id]) <= {name}
        np.testing.assert_array_equal(batch[name].x, typed["features"][n_id])
        assert ("y" in batch[name]) == (name == "paper")
    assert all(value.is_contiguous() for value in all_attributes(batch).values())
    np.testing.assert_array_equal(batch["paper"].y, typed["classes"][batch["paper"].n_id])
    assert set(named_edges(batch)) <= known
    assert batch["paper"].n_id[: batch["paper"].batch_size].tolist() == loaded


def test_all_neighbours_are_those_without_types(typed, known):
    given = [3, 599, 20, 7]
    for options in ({}, {"disjoint": True}, {"subgraph_type": "induced"}):
        (batch,) = batches(typed["dataset"], [-1, -1], ("paper", given), **options)
        (plain,) = batches(typed["dataset"], [-1, -1], given, **options)
        assert isinstance(plain, Data)
        check(batch, typed, known, given)
        assert batch["paper"].input_id.tolist() == [0, 1, 2, 3]
        types = typed["types"][plain.n_id]
        for name in TYPES:  # in the same order
            assert batch[name].n_id.tolist() == plain.n_id[types == name].tolist()
            assert "batch" not in plain or batch[name].batch.tolist() == plain.batch[types == name].tolist()
        ends = plain.n_id[plain.edge_index].T.tolist()
        drawn = [(s, (typed["types"][s], RELATIONS[r], typed["types"][d]), d) for (s, d), r in zip(ends, plain.edge_type)]
        assert Counter(named_edges(batch)) == Counter(drawn)
        for edge_type in EDGE_TYPES:
            mine = [edge for edge in named_edges(batch) if edge[1] == edge_type]
            assert mine == [edge for edge in drawn if edge[1] == edge_type]


@pytest.mark.parametrize("options", [{}, {"replace": True}])
def test_samples_are_those_of_fanouts_by_relation(typed, known, options):
    """Where each edge type is a relation of its own, the sampler's fanouts by relation draw the same."""
    asked = {edge_type: [2 + k, 4 - k] for k, edge_type in enumerate(EDGE_TYPES)}
    explicit, given = Dataset.open(typed["explicit"]), list(range(40))
    found = batches(typed["dataset"], asked, ("paper", given), batch_size=40, seed=7, **options)
    lists = NeighbourLists(explicit.adjacency)
    lists.enter({k: k * explicit.partitioning.rows for k in range(4)})
    numbers = [int(name) for name in explicit.relation_names()]
    fanouts = [np.array([asked[EDGE_TYPES[number]][hop] for number in numbers]) for hop in range(2)]
    seeds = explicit.lookup_nodes(given)
    sample = lists.sample(seeds, fanouts, seed_for(7, "neighbours", 0, 0, 0), replace=options.get("replace", False))
    lists.close()
    raw = explicit.raw_ids(0, explicit.manifest.nodes).to_numpy()[sample.nodes]
    targets = raw[np.repeat(np.arange(len(sample.indptr) - 1), np.diff(sample.indptr))]
    drawn = [(s, EDGE_TYPES[numbers[r]], d) for s, r, d in zip(raw[sample.indices].tolist(), sample.rel, targets.tolist())]
    (batch,) = found
    check(batch, typed, known, given)
    assert Counter(named_edges(batch)) == Counter(drawn)
    hops = np.repeat(np.arange(3), sample.hop_nodes)
    for name in TYPES:
        mine = typed["types"][raw] == name
        assert batch[name].n_id.tolist() == raw[mine].tolist()
        assert batch[name].num_sampled_nodes == np.bincount(hops[mine], minlength=3).tolist()
    assert [sum(each) for each in zip(*(batch[of].num_sampled_edges for of in EDGE_TYPES))] == sample.hop_edges.tolist()


def test_every_node_draws_as_many_of_each_edge_type(typed, known):
    asked = {edge_type: [k] for k, edge_type in enumerate(EDGE_TYPES)}
    indegree = Counter((edge_type, target) for _, edge_type, target in known)
    for batch in batches(typed["dataset"], asked, ("paper", None), batch_size=50):
        drawn = Counter((edge_type, target) for _, edge_type, target in named_edges(batch))
        for k, edge_type in enumerate(EDGE_TYPES):
            for node in batch["paper"].n_id[:50].tolist() * (edge_type[2] == "paper"):
                assert drawn[edge_type, node] == min(k, indegree[edge_type, node])
        assert len(set(named_edges(batch))) == len(named_edges(batch))


@pytest.mark.parametrize("options", [{}, {"replace": True}, {"disjoint": True}, {"disjoint": True, "subgraph_type": "induced"}])
def test_the_memory_and_the_threads_change_nothing(typed, memory, known, options):
    arguments = {"shuffle": True, "seed": 5, **options}
    with NeighborLoader(typed["dataset"], [2, 1], TRAIN, batch_size=2, memory=memory, threads=2, **arguments) as loader:
        assert loader._subgraphs.packs == (memory != "1GB")
        found = list(loader)
    for one, two in zip(found, batches(typed["dataset"], [2, 1], TRAIN, batch_size=2, threads=1, **arguments), strict=True):
        same(one, two)
        check(one, typed, known, one["paper"].n_id[:2].tolist())
        if options.get("disjoint"):
            for source, _, target in EDGE_TYPES:
                sources, targets = one[source, _, target].edge_index
                assert torch.equal(one[source].batch[sources], one[target].batch[targets])


def test_weights_count_within_an_edge_type(typed, known, tmp_path):
    weighted = with_weights(typed["dataset"], tmp_path / "weighted", lambda src, dst, rel: src % 2)
    (batch,) = batches(weighted, [3], ("author", None), batch_size=360, weight_attr="weight")
    drawn = named_edges(batch)
    weights = weighted.lookup_nodes(list(range(984))) % 2
    assert {weights[source] for source, _, _ in drawn} == {1}
    heavy = Counter(target for source, _, target in known if weights[source])
    assert Counter(target for _, _, target in drawn) == {node: min(3, heavy[node]) for node in range(600, 960) if heavy[node]}


def test_input_nodes_of_a_type(typed):
    def loaded(asked):
        found = batches(typed["dataset"], [1], asked, batch_size=64)
        name = asked[0]
        return torch.cat([batch[name].n_id[: batch[name].batch_size] for batch in found]).tolist()

    mask = torch.zeros(984, dtype=torch.bool)
    mask[[965, 983]] = True
    train = np.load(typed["folder"] / "train.npy")
    assert loaded(("venue", mask)) == [965, 983]
    assert loaded(("author", None)) == list(range(600, 960))
    assert loaded(TRAIN) == sorted(train)
    assert loaded(("paper", torch.tensor([9, 2]))) == [9, 2]
    assert loaded(("paper", [9, 2])) == [9, 2]


def test_types_without_nodes_or_edges_are_there(typed):
    none = {edge_type: [0] for edge_type in EDGE_TYPES}
    for batch in batches(typed["dataset"], none, ("venue", [960]), transform=lambda data: data.clone()):
        assert batch["venue"].x.shape == (1, WIDTH)
        assert batch["paper"].x.shape == batch["author"].x.shape == (0, WIDTH)
        assert batch["paper"].y.shape == batch["paper"].n_id.shape == (0,)
        assert [batch[edge_type].edge_index.shape for edge_type in EDGE_TYPES] == [(2, 0)] * 5


def test_types_of_which_a_node_has_a_label():
    codes = np.array([0, 1, 1, 2, 3], np.uint16)
    assert _labelled(np.array([-1, -1, 4, 0, -1]), codes) == {1, 2}
    assert _labelled(np.array([[-1, -1], [0, 0], [-1, -1], [-1, -1], [1, 0]], np.int8), codes) == {1, 3}


def test_trimming_to_layers_leaves_the_seeds_as_they_are(typed):
    """Hops tell which nodes and edges a layer still needs: without the others, the seeds have the same results."""
    torch.manual_seed(0)
    (batch,) = batches(typed["dataset"], [3, 2], ("paper", list(range(8))))
    layers = [HGTConv(WIDTH, WIDTH, batch.metadata()) for _ in range(2)]

    def results(trims):
        x, edges = batch.x_dict, batch.edge_index_dict
        for depth, layer in enumerate(layers):
            if trims:
                x, edges, _ = trim_to_layer(depth, batch.num_sampled_nodes_dict, batch.num_sampled_edges_dict, x, edges)
            x = {name: value for name, value in layer(x, edges).items() if value is not None}
        return x["paper"][:8]

    torch.testing.assert_close(results(True), results(False))


class Attending(torch.nn.Module):
    def __init__(self, metadata):
        super().__init__()
        self.first, self.last = HGTConv(WIDTH, 16, metadata), torch.nn.Linear(16, 3)

    def forward(self, x, edges):
        return {"paper": self.last(self.first(x, edges)["paper"].relu())}


@pytest.mark.parametrize("kind", ["to_hetero", "HGTConv"])
def test_models_of_pytorch_geometric_learn(typed, kind):
    torch.manual_seed(0)
    with NeighborLoader(typed["dataset"], [4, 3], TRAIN, batch_size=20, shuffle=True) as loader:
        metadata = loader.metadata()
        model = to_hetero(GraphSAGE(WIDTH, 16, 2, 3), metadata) if kind == "to_hetero" else Attending(metadata)
        optimizer, losses = torch.optim.Adam(model.parameters(), lr=0.005), []
        for _ in range(6):
            for batch in loader:
                optimizer.zero_grad()
                scores = model(batch.x_dict, batch.edge_index_dict)["paper"][: batch["paper"].batch_size]
                loss = torch.nn.functional.cross_entropy(scores, batch["paper"].y[: batch["paper"].batch_size])
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    assert np.mean(losses[-5:]) < 0.5 * np.mean(losses[:5])


def test_metadata(typed):
    with NeighborLoader(typed["dataset"], [1], ("author", None)) as loader:
        names, edge_types = loader.metadata()
        assert (names, sorted(edge_types)) == (TYPES, EDGE_TYPES)
    with NeighborLoader(typed["dataset"], [1]) as loader, pytest.raises(UserError, match="batches of this loader have no types"):
        loader.metadata()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"num_neighbors": {EDGE_TYPES[0]: [2]}}, r"num_neighbors: edge type .* is missing"),
        ({"num_neighbors": {}, "input_nodes": "train"}, "give the type of the nodes too"),
        ({"input_nodes": ("book", None)}, "input_nodes: no node type 'book' in .*: it has 'author', 'paper', 'venue'"),
        ({"input_nodes": ("paper", [3, 700])}, "input_nodes: node 700 \\(entry 1\\) is of type 'author', not 'paper'"),
        ({"input_nodes": ("author", "train")}, "input_nodes: no node of type 'author' is there for train"),
        ({"subgraph_type": "bidirectional"}, "bidirectional: an edge back has no type"),
        ({"memory": 10_000}, "memory: 10.00 KB are given"),
    ],
)
def test_what_cannot_be_is_refused(typed, arguments, said):
    with pytest.raises(UserError, match=said) as raised:
        NeighborLoader(typed["dataset"], **{"num_neighbors": [2], "input_nodes": TRAIN, **arguments})
    assert "\n" not in str(raised.value)


def test_a_dataset_without_types_is_refused(wide, featured):
    for asked in ({"num_neighbors": [2]}, {"num_neighbors": {EDGE_TYPES[0]: [2]}}):
        with pytest.raises(UserError, match="nodes have no types: preprocess stores them with --node-types FILE"):
            NeighborLoader(wide["dataset"], input_nodes=TRAIN, **asked)
    with NeighborLoader(featured, [2], ("node7", "node0"), batch_size=2) as loader:  # two raw ids, no type
        assert loader.raw_ids(next(iter(loader)).n_id)[:2] == ["node7", "node0"]
