"""Reversible couplings give the gradients of the same couplings with everything kept, and take no more memory for more layers."""

import itertools
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbourhoods import Graph

from marius_lite.nn.encoders import EncoderShape, make_encoder

pytest.importorskip("torch_geometric")

IN, WIDTH, OUT, RELATIONS = 5, 24, 3, 2
KINDS = ["sage", "gcn", "gat", "rgcn"]


def set_up(name, seed, layers=6, groups=2, dropout=0.3, nodes=30, edges=120, moved=0.1, **more):
    """An encoder in training, the whole graph as seen from seeds, and rows.

    Weights are ``moved``: a row of zeros is at the kink of ReLU, where its rebuilt one may be on the other side in float64.
    """
    graph = Graph.random(np.random.default_rng(seed), nodes, edges, RELATIONS)
    torch.manual_seed(seed)
    shape = EncoderShape(IN, [WIDTH] * layers + [OUT], dropout, "layer", heads=2, relations=RELATIONS, groups=groups, **more)
    encoder = make_encoder(name, shape)
    with torch.no_grad():
        for weight in encoder.parameters():
            weight += moved * torch.randn_like(weight)
    return encoder, graph.sample(list(range(4)), [-1] * len(encoder.widths))[1], torch.randn(nodes, IN)


def rows_of(x, graph):
    return x[: graph.nodes(graph.hops)]


def with_everything_kept(encoder, x, graph):
    """What `Reversible.forward` says, by torch's autograd alone."""
    nodes, couplings = graph.whole(), encoder.couplings
    x = encoder.first.layer(0, x, nodes)
    seed = int(torch.randint(1 << 62, ()))
    with torch.random.fork_rng([]):
        parts = couplings.parts(x)
        for step in range(len(couplings.steps)):
            couplings.add(step, parts, nodes, seed)
    rows = torch.cat(parts, 1).to(x.dtype)
    return encoder.last(rows[: graph.nodes(1)], graph.block(graph.hops - 1))


def gradients(encoder, forward, x, graph):
    """The result, and the gradients of all weights and of the rows."""
    torch.manual_seed(7)
    encoder.zero_grad()
    rows = rows_of(x, graph).clone().requires_grad_()
    out = forward(rows, graph)
    out.square().sum().backward()
    return out.detach(), [rows.grad, *(weight.grad for weight in encoder.parameters())]


def difference(ours, theirs):
    """The largest difference, as a share of the largest number of each tensor."""
    pairs = [(a, b) for a, b in zip(ours, theirs, strict=True) if b is not None]
    assert len(pairs) > 10
    return max(float((a - b).abs().max() / b.abs().max().clamp(min=1e-3)) for a, b in pairs)


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 12), st.sampled_from([2, 3, 4]), st.sampled_from([0.0, 0.4]))
def test_gradients_are_those_with_everything_kept(name, seed, layers, groups, dropout):
    encoder, graph, x = set_up(name, seed, layers, groups, dropout)
    for dtype, most in ((torch.float32, 1e-4), (torch.float64, 1e-9)):
        encoder.to(dtype)
        out, ours = gradients(encoder, encoder, x.to(dtype), graph)
        expected, theirs = gradients(encoder, lambda *given: with_everything_kept(encoder, *given), x.to(dtype), graph)
        assert torch.equal(out, expected)  # the same masks, also after the couplings
        assert difference(ours, theirs) < most


def both(encoder, x, graph):
    """The gradients with inputs made again, and those with everything kept."""
    return [gradients(encoder, forward, x, graph)[1] for forward in (encoder, partial(with_everything_kept, encoder))]


@pytest.mark.parametrize("moved", [0.0, 0.1])
@pytest.mark.parametrize(
    ("name", "seed", "layers", "groups", "dropout"),
    [
        ("gat", 429, 11, 4, 0.0),
        ("gat", 8927, 10, 2, 0.4),
        ("gat", 3, 63, 2, 0.5),
        ("gcn", 3, 63, 2, 0.5),
        ("rgcn", 3, 31, 3, 0.5),
    ],
)
def test_inputs_are_made_again_to_the_bit(name, seed, layers, groups, dropout, moved):
    encoder, graph, x = set_up(name, seed, layers, groups, dropout, moved=moved)
    ours, theirs = both(encoder, x, graph)
    assert all(b is None or torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_sums_of_float32_lose_digits():
    """How many depends on the processor: 6e-6 of the largest gradient with AVX2, above 1e-4 with AVX-512."""
    encoder, graph, x = set_up("gat", 8927, 10, dropout=0.4, sums=torch.float32)
    assert 1e-7 < difference(*both(encoder, x, graph)) < 1e-2


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("groups", [2, 3])
@torch.no_grad()
def test_layer_after_layer_over_all_nodes_is_the_forward(name, groups):
    encoder, _, x = set_up(name, 1, layers=4, groups=groups)
    graph = Graph.random(np.random.default_rng(1), 30, 120, RELATIONS).sample(list(range(30)), [-1] * len(encoder.widths))[1]
    encoder.eval()
    rows, block = x, graph.block(len(encoder.widths) - 1)
    for layer, width in enumerate(encoder.widths):
        early, before = encoder.early_width(layer), rows
        rows = encoder.layer(layer, before, block)
        assert rows.shape == (30, width)
        if early is not None:
            mapped = encoder.early(layer, before)
            assert mapped.shape == (30, early)
            assert torch.allclose(encoder.late(layer, mapped, block), rows, atol=1e-5)
    assert torch.allclose(rows, encoder(x, graph), atol=1e-5)


def test_other_draws_are_not_disturbed():
    encoder, graph, x = set_up("sage", 0)
    encoder(rows_of(x, graph), graph)
    loss = encoder(rows_of(x, graph), graph).sum()
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    loss.backward()
    assert torch.equal(torch.rand(3), expected)


def most_bytes(run):
    """What torch's CPU allocator held at most of what ``run`` asked for."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        run()
    events = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
    return max(itertools.accumulate(event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())))


def step(encoder, rows, graph):
    encoder(rows, graph).sum().backward()


def test_memory_does_not_grow_with_the_layers():
    taken = {}
    for layers in (3, 63):
        encoder, graph, x = set_up("sage", 0, layers, nodes=3_000, edges=12_000)
        rows = rows_of(x, graph)
        step(encoder, rows, graph)  # gradients of weights are there from now on
        taken[layers] = most_bytes(partial(step, encoder, rows, graph))
    assert taken[63] <= 1.2 * taken[3]


def test_hops_are_counted():
    encoder, graph, x = set_up("sage", 0)
    few = Graph.random(np.random.default_rng(0), 30, 120, RELATIONS).sample([0], [-1] * 3)[1]
    with pytest.raises(ValueError, match="a graph of 3 hops for an encoder of 12 convolutions"):
        encoder(x, few)
    assert encoder(rows_of(x, graph), graph).shape == (4, OUT)
