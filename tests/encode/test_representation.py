"""Vectors of places and the gradients that go back: those of torch through rows, encoder and sums of equal places."""

import numpy as np
import pytest
import torch
from open_parts import ENCODER, LINKS, open_parts

from marius_lite.encode.layer_graph import layer_graph
from marius_lite.encode.representation import RowsThemselves
from marius_lite.rows.host import OnHost

NOTHING = (np.empty(0, np.int64), np.empty(0, np.int64))


def arrived_of(rows, prepared):
    """What a batch's places hold, gathered from the buffers as they are."""
    buffers = rows.buffers
    features = (
        [torch.from_numpy(buffers.features.rows[prepared.rows[0], : buffers.stored.width].astype(np.float32))]
        if buffers.features
        else []
    )
    return OnHost([*features, torch.from_numpy(buffers.learned.rows[prepared.rows[-1], : buffers.dim].copy())], prepared.arrays)


@pytest.fixture
def work(featured):
    pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    with open_parts(featured, *LINKS, *ENCODER) as parts:
        parts.work.initialise()
        parts.work.enter(parts.work.plan(0).steps[0], None)
        yield parts.work


@pytest.fixture
def places(work):
    """Rows of the main buffer, some of them several times."""
    k = work.rows.resident[0]
    return work.rows.base_rows()[k] + np.array([3, 9, 3, 40, 9, 3])


def test_rows_are_vectors_where_nothing_encodes_them(work, places):
    themselves = RowsThemselves(work.rows)
    prepared = themselves.prepare(places, NOTHING, 0)
    values = torch.from_numpy(work.rows.main.rows[places, :8])
    vectors = themselves.vectors(prepared, OnHost([values], {}), 0)
    assert vectors.values is values
    grads = [torch.ones(2, 8), torch.ones(4, 8)]
    assert vectors.backward(grads) is grads


def test_equal_places_have_equal_vectors(work, places):
    encoded = work._representation
    prepared = encoded.prepare(places, NOTHING, 7)
    values = encoded.vectors(prepared, arrived_of(work.rows, prepared), 1).values
    assert values.shape == (6, 8)
    assert torch.equal(values[0], values[2])
    assert torch.equal(values[1], values[4])
    assert not torch.equal(values[0], values[1])


def test_gradients_are_those_of_torch(work, places):
    encoded = work._representation
    prepared = encoded.prepare(places, NOTHING, 7)
    arrived, grads = arrived_of(work.rows, prepared), torch.rand(6, 8)
    (found,) = encoded.vectors(prepared, arrived, 1).backward([grads[:2], grads[2:]])
    weights = {name: weight.grad.clone() for name, weight in encoded._encoder.named_parameters()}
    encoded._encoder.zero_grad()
    x = arrived_of(work.rows, prepared).values().requires_grad_()
    out = encoded._encoder(x, layer_graph(prepared.sample, arrived, prepared.arrays))
    out[arrived.tensor("inverse")].backward(grads)
    torch.testing.assert_close(found, x.grad[:, -8:])
    for name, weight in encoded._encoder.named_parameters():
        torch.testing.assert_close(weights[name], weight.grad)


def test_no_message_passes_an_excluded_edge(work, places):
    encoded = work._representation
    around = encoded.prepare(places, NOTHING, 7).sample
    targets = np.repeat(np.arange(len(around.indptr) - 1), np.diff(around.indptr))
    own = around.rows[around.indices], around.rows[targets]
    left = encoded.prepare(places, own, 7).sample
    assert len(around.indices) > 0
    passed = set(zip(left.nodes[left.indices], left.nodes[np.repeat(np.arange(len(left.indptr) - 1), np.diff(left.indptr))]))
    excluded = set(zip(around.nodes[around.indices], around.nodes[targets]))
    assert not passed & (excluded | {(dst, src) for src, dst in excluded})
