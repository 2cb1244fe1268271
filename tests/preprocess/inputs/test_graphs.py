"""A graph of PyTorch Geometric is taken apart into what its tensors mean."""

import numpy as np
import pytest
import torch
from preprocess_tools import decoded, make

from marius_lite.errors import UserError

pytest.importorskip("torch_geometric", reason="its graphs need the extra `gnn`")

from torch_geometric.data import Data, HeteroData
from torch_geometric.transforms import RandomLinkSplit


def of_all_nodes(dataset, read):
    """What ``read`` gives by partition, by raw id."""
    partitioning = dataset.partitioning
    values = [row for k in range(partitioning.partitions) for row in read(k)[: partitioning.size(k)].tolist()]
    return dict(zip(dataset.raw_ids(0, dataset.manifest.nodes).to_pylist(), values))


@pytest.fixture
def data():
    generator = torch.Generator().manual_seed(0)
    place = torch.rand(60, generator=generator)
    return Data(
        x=torch.rand(60, 3, generator=generator),
        edge_index=torch.randint(0, 50, (2, 300), generator=generator),
        edge_weight=torch.rand(300, generator=generator),
        y=torch.randint(0, 4, (60,), generator=generator),
        train_mask=place < 0.5,
        val_mask=(place >= 0.5) & (place < 0.7),
        test_mask=place >= 0.7,
    )


def test_data(data, tmp_path):
    made = make(tmp_path / "d", data, partitions=2, edge_weight="edge_weight")
    ends = data.edge_index.t().tolist()
    assert sorted((s, d) for (s, _, d), times in decoded(made).items() for _ in range(times)) == sorted(map(tuple, ends))
    assert of_all_nodes(made, made.features.read) == dict(enumerate(data.x.tolist()))
    assert of_all_nodes(made, made.labels.read) == dict(enumerate(data.y.tolist()))
    assert made.manifest.node_split == {
        "train": int(data.train_mask.sum()),
        "valid": int(data.val_mask.sum()),
        "test": int(data.test_mask.sum()),
    }
    assert made.manifest.edge_columns == ("weight",)


def test_nodes_without_edges_and_relations_stay(tmp_path):
    made = make(tmp_path / "d", Data(edge_index=torch.tensor([[0, 1], [1, 2]]), edge_type=torch.tensor([1, 0]), num_nodes=9))
    assert decoded(made) == {(0, 1, 1): 1, (1, 0, 2): 1}
    assert sorted(made.raw_ids(0, 9).to_pylist()) == [*range(9)]


def test_what_is_given_beside_the_graph_goes_before(data, tmp_path):
    made = make(
        tmp_path / "d",
        data,
        features=np.ones((60, 2)),
        node_split="0.5,0.2,0.3",
        train_nodes=None,
        valid_nodes=None,
        test_nodes=None,
    )
    assert made.manifest.features.width == 2
    assert made.manifest.options["node_split"]


def test_a_split_of_links(data, tmp_path):
    parts = RandomLinkSplit(num_val=0.1, num_test=0.2)(Data(edge_index=data.edge_index, num_nodes=60))
    made = make(tmp_path / "d", parts[0], valid=parts[1], test=parts[2])
    assert made.manifest.edges == {"train": 210, "valid": 30, "test": 60}
    positive = parts[2].edge_label_index[:, parts[2].edge_label > 0]
    assert set(decoded(made, "test")) == {(s, "", d) for s, d in positive.t().tolist()}


def test_hetero_data_is_numbered_as_to_homogeneous_numbers_it(tmp_path):
    data = HeteroData()
    data["author"].x, data["paper"].x = torch.rand(7, 2), torch.rand(5, 2)
    data["paper"].y, data["paper"].train_mask = torch.arange(5) % 2, torch.tensor([True, True, False, False, False])
    data["author", "writes", "paper"].edge_index = torch.tensor([[0, 6, 3], [4, 0, 1]])
    data["paper", "cites", "paper"].edge_index = torch.tensor([[0, 1], [1, 2]])
    made = make(tmp_path / "d", data, partitions=2)
    same = data.to_homogeneous()
    names = ["__".join(edge_type) for edge_type in data.edge_types]
    rows = zip(same.edge_index[0].tolist(), [names[code] for code in same.edge_type.tolist()], same.edge_index[1].tolist())
    assert set(decoded(made)) == set(rows)
    assert of_all_nodes(made, made.features.read) == dict(enumerate(same.x.tolist()))
    assert of_all_nodes(made, made.labels.read) == dict(enumerate([-1] * 7 + data["paper"].y.tolist()))
    types = dict(zip(made.raw_ids(0, 12).to_pylist(), made.node_types(0, 12).to_pylist()))
    assert types == {i: "author" if i < 7 else "paper" for i in range(12)}
    assert made.manifest.node_split == {"train": 2}


def test_a_graph_without_edges_is_refused(tmp_path):
    with pytest.raises(UserError, match="a graph without edge_index"):
        make(tmp_path / "d", Data(x=torch.rand(3, 2)))
    with pytest.raises(UserError, match="--edge-weight w: edges of the graph have no such attribute"):
        make(tmp_path / "d", Data(edge_index=torch.tensor([[0], [1]])), edge_weight="w")
