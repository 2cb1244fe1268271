"""What training steps of every encoder take of torch's memory is what was planned for them, and not far less."""

import itertools

import pytest
import torch

from marius_lite.config.encoder_memory import EncoderSizes, ResidentGraph, encoder_bytes
from marius_lite.config.load import load
from marius_lite.nn.encoders import EncoderShape, LayerGraph, make_encoder

RELATIONS, OUT = 40, 16
WIDE = {"width": 128, "layers": [128], "fanouts": [10, 10], "nodes": 6_000, "seeds": 60}
DEEP = {"width": 16, "layers": [256, 256], "fanouts": [8, 5, 3], "nodes": 6_000, "seeds": 60}
FEW = {"width": 300, "layers": [32], "fanouts": [10, 10], "nodes": 1_000, "seeds": 60}
SHAPES = {"wide": WIDE, "deep": DEEP, "few": FEW}
SMALL, ALONE = (16, 128, 3, 5), (2, "float64")
"""Of couplings: the size that is measured in all ways, and the way in which the others are."""
OWN = [f"torch_geometric.nn:{name}" for name in ("GIN", "GAT", "GraphSAGE", "EdgeCNN")]


def neighbourhood(shape) -> LayerGraph:
    """As many nodes and edges as a batch can reach."""
    draw = torch.Generator().manual_seed(1)
    hops, offsets, indices = [shape["seeds"]], [0], []
    for fanout in shape["fanouts"]:
        drawn = hops[-1] * fanout
        hops.append(min(drawn, shape["nodes"] - sum(hops)))
        indices.append(torch.randint(0, sum(hops), (drawn,), generator=draw))
        offsets += [offsets[-1] + fanout * (place + 1) for place in range(hops[-2])]
    relations = torch.randint(0, RELATIONS, (offsets[-1],), generator=draw)
    return LayerGraph(tuple(hops), torch.tensor(offsets), torch.cat(indices).int(), relations, torch.full((sum(hops),), 5.0))


def most_bytes(run) -> int:
    """What torch's CPU allocator held at most of what ``run`` asked for."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        run()
    events = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
    return max(itertools.accumulate(event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("encoder", "heads", "learned"),
    [
        *((name, 1, learned) for name in ("sage", "gcn", "rgcn", "gat") for learned in (False, True)),
        ("gat", 4, True),
        *((name, 1, False) for name in OWN),
    ],
)
def test_a_step_takes_no_more_than_was_planned(shape, encoder, heads, learned):
    pytest.importorskip("torch_geometric")
    given, more = SHAPES[shape], {} if ":" in encoder else {"norm": "layer", "residual": True, "degree_unit": 4.0 * learned}
    graph = neighbourhood(given)
    widths = [*given["layers"], OUT]
    module = make_encoder(encoder, EncoderShape(given["width"], widths, 0.1, heads=heads, relations=RELATIONS, **more))
    rows = torch.randn(graph.nodes(graph.hops), given["width"])

    def step():
        module(rows.clone().requires_grad_(learned), graph).square().sum().backward()

    step()  # parameters' gradients are there from now on
    model = {"encoder": encoder, "layers": given["layers"], "heads": heads, "dropout": 0.1, **more}
    config = load(
        sets=[
            "task=node_classification",
            f"sampling.fanouts={given['fanouts']}",
            *(f"model.{key}={value}" for key, value in model.items()),
        ]
    )
    sizes = EncoderSizes(given["seeds"], ResidentGraph(given["nodes"], 10**9, RELATIONS), given["width"], OUT, 4 * given["width"])
    planned, taken = encoder_bytes(config, sizes, learned), most_bytes(step) + rows.nbytes
    assert taken <= planned <= (14 if encoder in OWN else 3.5) * taken


@pytest.mark.parametrize(
    ("width", "hidden", "count", "edges", "groups", "sums"),
    [
        pytest.param(*size, *how, marks=[pytest.mark.slow] if size != SMALL and how != ALONE else [])
        for size in ((128, 64, 8, 20), SMALL, (600, 32, 20, 2))
        for how in (ALONE, (4, "float64"), (2, "float32"))
    ],
)
@pytest.mark.parametrize("encoder", ["sage", "gcn", "rgcn", "gat"])
def test_couplings_take_no_more_than_was_planned(encoder, groups, sums, width, hidden, count, edges):
    pytest.importorskip("torch_geometric")
    nodes, more = 1_500, {"norm": "layer", "dropout": 0.1, "heads": 2}
    draw = torch.Generator().manual_seed(1)
    relations = torch.randint(0, RELATIONS, (nodes * edges,), generator=draw)
    indices = torch.randint(0, nodes, (nodes * edges,), generator=draw).int()
    shape = EncoderShape(width, [hidden] * count + [OUT], relations=RELATIONS, groups=groups, sums=getattr(torch, sums), **more)
    module, hops = make_encoder(encoder, shape), 2 + groups * (count - 1)
    graph = LayerGraph(
        (nodes, *[0] * hops),
        torch.arange(nodes + 1) * edges,
        indices,
        relations,
        torch.full((nodes,), 5.0),
        (len(indices),) * hops,
    )
    rows = torch.randn(nodes, width)

    def step():
        module(rows.clone(), graph).square().sum().backward()

    step()  # parameters' gradients are there from now on
    model = {"encoder": encoder, "layers": [hidden] * count, "reversible": groups, "reversible_sums": sums, **more}
    config = load(sets=["task=node_classification", "training.method=cluster", *(f"model.{k}={v}" for k, v in model.items())])
    sizes = EncoderSizes(nodes, ResidentGraph(nodes, len(indices), RELATIONS), width, OUT, 4 * width)
    planned, taken = encoder_bytes(config, sizes, learned=False), most_bytes(step) + rows.nbytes
    assert taken <= planned <= 3.5 * taken
