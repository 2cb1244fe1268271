"""What layers learn is, by name, shape and first value, what PyTorch Geometric's layers learn, and so is what is drawn next."""

import subprocess
import sys

import pytest
import torch

from marius_lite.nn.encoders.parameters import BatchNorm, GatParameters, GcnParameters, RgcnParameters, SageParameters

pyg = pytest.importorskip("torch_geometric.nn")
PAIRS = {
    "sage": (lambda: SageParameters(10, 6), lambda: pyg.SAGEConv(10, 6)),
    "gcn": (lambda: GcnParameters(10, 6), lambda: pyg.GCNConv(10, 6)),
    "gat beside": (lambda: GatParameters(10, 6, 3, True), lambda: pyg.GATv2Conv(10, 6, heads=3)),
    "gat averaged": (lambda: GatParameters(10, 6, 3, False), lambda: pyg.GATv2Conv(10, 6, heads=3, concat=False)),
    "rgcn": (lambda: RgcnParameters(10, 6, 5), lambda: pyg.RGCNConv(10, 6, 5)),
    "batch norm": (lambda: BatchNorm(10), lambda: pyg.BatchNorm(10, allow_single_element=True)),
    "layer norm": (lambda: torch.nn.LayerNorm(10), lambda: pyg.LayerNorm(10, mode="node")),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_seed_gives_the_parameters_that_it_gives_there(name):
    found = []
    for make in PAIRS[name]:
        torch.manual_seed(3)
        made = make()
        found.append(([*made.named_parameters()], made.state_dict(), torch.rand(1)))
    (names, state, then), (their_names, theirs, their_then) = found
    assert [each for each, _ in names] == [each for each, _ in their_names]
    assert list(state) == list(theirs)
    assert all(torch.equal(state[key], theirs[key]) for key in state)
    assert torch.equal(then, their_then)


@pytest.mark.parametrize("rows", [1, 2, 7])
@pytest.mark.parametrize("training", [True, False])
def test_rows_are_normalised_as_there(rows, training):
    ours, theirs = (make().train(training) for make in PAIRS["batch norm"])
    x = torch.randn(rows, 10, generator=torch.Generator().manual_seed(rows))
    assert torch.equal(ours(x), theirs(x))
    assert all(torch.equal(a, b) for a, b in zip(ours.state_dict().values(), theirs.state_dict().values()))


def test_encoders_are_made_without_importing_pytorch_geometric():
    code = (
        "import sys; from marius_lite.nn.encoders import EncoderShape, make_encoder\n"
        "for name in ('sage', 'gcn', 'gat', 'rgcn', 'sgc'):\n"
        "    make_encoder(name, EncoderShape(8, [8, 4], heads=2, relations=2, hops=2, norm='batch'))\n"
        "    assert not {'torch_geometric', 'torch._dynamo', 'sympy'} & {*sys.modules}, name"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
