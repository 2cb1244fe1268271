"""A user's own modules as encoders."""

import sys

import numpy as np
import pytest
import torch
from neighbourhoods import Graph

from marius_lite.errors import UserError
from marius_lite.nn.encoders import EncoderShape, Layered, make_encoder, whole_graph_reason
from marius_lite.own_code import VARIABLE

pyg = pytest.importorskip("torch_geometric.nn")

SOURCE = """
import torch
from torch_geometric.nn import GraphSAGE, RGCNConv, SAGEConv, TAGConv
from torch_geometric.nn.models.basic_gnn import BasicGNN

answer = 42

class Two(torch.nn.Module):
    def __init__(self, in_channels, hidden_channels, out_channels, slope=0.5):
        super().__init__()
        self.slope = slope
        self.first = SAGEConv(in_channels, hidden_channels)
        self.second = SAGEConv(hidden_channels, out_channels)

    def forward(self, x, edge_index):
        return self.second(self.first(x, edge_index).relu() * self.slope, edge_index)

class Typed(torch.nn.Module):
    def __init__(self, in_channels, out_channels, num_relations):
        super().__init__()
        self.conv = RGCNConv(in_channels, out_channels, num_relations)

    def forward(self, x, edge_index, edge_type):
        return self.conv(x, edge_index, edge_type)

class Asks(torch.nn.Module):
    def __init__(self, in_channels, temperature):
        super().__init__()

class Fails(torch.nn.Module):
    def __init__(self, in_channels):
        raise RuntimeError("out of luck")

class Narrow(torch.nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, edge_index):
        return x[:, :1]

class Own(BasicGNN):
    supports_edge_weight = supports_edge_attr = False

    def init_conv(self, in_channels, out_channels, **kwargs):
        return TAGConv(in_channels, out_channels)

class Changed(GraphSAGE):
    def forward(self, x, edge_index):
        return super().forward(x, edge_index) * len(x)

class NormedSage(GraphSAGE):
    pass

class Plain:
    pass
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    (tmp_path / "own_package").mkdir()
    (tmp_path / "own_package" / "models.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv(VARIABLE, "1")
    return "own_package.models"


def test_a_module_in_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "beside.py").write_text(SOURCE)
    (tmp_path / "broken.py").write_text("answer = 1 / 0")
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"model.encoder: beside:Two: .*--allow-code .*MARIUS_LITE_ALLOW_CODE=1"):
        make_encoder("beside:Two", EncoderShape(5, [7, 4]))
    monkeypatch.setenv(VARIABLE, "1")
    assert type(make_encoder("beside:Two", EncoderShape(5, [7, 4])).module).__name__ == "Two"
    with pytest.raises(UserError, match="cannot import broken: ZeroDivisionError: division by zero"):
        make_encoder("broken:Two", EncoderShape(5, [7, 4]))


def sampled():
    graph = Graph.random(np.random.default_rng(0), 30, 120, 3)
    torch.manual_seed(0)
    x = torch.randn(30, 5)
    ids, around = graph.sample([3, 1, 8], [-1, -1])
    return graph, x, x[ids], around


def test_a_module_sees_the_sampled_graph(package):
    graph, x, rows, around = sampled()
    model = make_encoder(f"{package}:Two", EncoderShape(5, [7, 4]))
    expected = model.module(x, graph.edge_index)[[3, 1, 8]]
    torch.testing.assert_close(model(rows, around), expected, rtol=1e-5, atol=1e-5)


def test_a_module_that_asks_for_relations(package):
    graph, x, rows, around = sampled()
    model = make_encoder(f"{package}:Typed", EncoderShape(5, [7, 4], relations=3))
    expected = model.module(x, graph.edge_index, graph.edge_type)[[3, 1, 8]]
    torch.testing.assert_close(model(rows, around), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Two", "has layers of its own"),
        ("Changed", "has layers of its own"),
        ("Own", "has layers of kind TAGConv, which may look further"),
    ],
)
def test_what_cannot_be_run_by_layers_says_why(package, name, why):
    encoder = make_encoder(f"{package}:{name}", EncoderShape(5, [7, 4]))
    assert not isinstance(encoder, Layered)
    assert whole_graph_reason(encoder.module).startswith(why)


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (pyg.GCN(5, 7, 2, 4, improved=True), "has layers of kind GCNConv"),
        (pyg.GAT(5, 7, 2, 4, norm="pair_norm"), "has norms of kind PairNorm, which may look at all nodes"),
        (pyg.GAT(5, 7, 2, 4, norm="layer_norm"), "has norms of kind LayerNorm"),
        (pyg.GIN(5, 7, 1, 4, norm="graph_norm"), "has norms of kind GraphNorm"),
    ],
)
def test_models_of_torch_geometric_that_cannot_be_run_by_layers_say_why(model, why):
    assert whole_graph_reason(model).startswith(why)


def test_a_model_whose_name_speaks_of_norms_is_none(package):
    assert isinstance(make_encoder(f"{package}:NormedSage", EncoderShape(5, [7, 4])), Layered)


def test_models_of_torch_geometric():
    assert whole_graph_reason(pyg.GraphSAGE(5, 7, 2, 4, norm="batch_norm")) is None
    graph, x, rows, around = sampled()
    model = make_encoder("torch_geometric.nn:GIN", EncoderShape(5, [7, 4]))
    assert isinstance(model, Layered)
    torch.testing.assert_close(model(rows, around), model.module(x, graph.edge_index)[[3, 1, 8]], rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("no_such_package:Model", "cannot import no_such_package"),
        ("{}:Nothing", "Nothing has no such name, expected a class of torch.nn.Module in own_package.models"),
        ("{}:answer", "answer is int"),
        ("{}:Plain", "Plain is <class"),
        ("{}:", "expected package.module:Class"),
        (":Two", "expected package.module:Class"),
        ("{}:Fails", "making own_package.models:Fails failed: RuntimeError: out of luck"),
        ("{}:Asks", "asks for temperature, allowed are in_channels"),
    ],
)
def test_wrong_names_are_refused(package, name, text):
    with pytest.raises(UserError, match=text) as refused:
        make_encoder(name.format(package), EncoderShape(5, [7, 4]))
    assert str(refused.value).startswith("model.encoder: ")
    assert "\n" not in str(refused.value)


def test_wrong_layers_are_refused(package):
    with pytest.raises(UserError, match="one hidden width is needed"):
        make_encoder(f"{package}:Two", EncoderShape(5, [7, 8, 4]))


def test_wrong_results_are_refused(package):
    _, _, rows, around = sampled()
    with pytest.raises(UserError, match=r"returned \(\d+, 1\) for \d+ nodes: expected"):
        make_encoder(f"{package}:Narrow", EncoderShape(5, [7, 4]))(rows, around)
