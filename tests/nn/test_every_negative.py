"""1vsAll and the prediction of relations against a plain torch program over whole tables."""

import numpy as np
import pytest
import torch
from link_models import learn, make_model

from marius_lite.nn.decoders import DECODERS, EdgeContext, make_decoder
from marius_lite.sampling.every_resident import EveryResident
from marius_lite.sampling.negatives import ResidentNodes
from marius_lite.types import DeviceBatch, EdgeBatch

NODES, RELATIONS, DIM, EDGES = 30, 4, 8, 23
RESIDENT = ResidentNodes((0,), NODES, NODES, np.array([0]))


def all_scores(decoder, query, candidates):
    """(n, m), differentiable."""
    if decoder.similarity == "inner":
        return query @ candidates.T
    return -torch.linalg.vector_norm(query[:, None] - candidates, {"l1": 1, "l2": 2}[decoder.similarity], -1)


@pytest.mark.parametrize("reciprocal", [False, True])
@pytest.mark.parametrize("relation_weight", [0.0, 0.7])
@pytest.mark.parametrize("name", [name for name, entry in DECODERS.items() if entry.asks_for_relations])
def test_gradients_equal_autograd_over_all_nodes(name, relation_weight, reciprocal):
    rng, decoder = np.random.default_rng(5), make_decoder(name, DIM)
    model = make_model(name, RELATIONS, DIM, rng, reciprocal=reciprocal, relation_weight=relation_weight)
    table = torch.from_numpy(rng.normal(0, 0.7, (NODES, DIM)).astype(np.float32))
    edges = EdgeBatch(0, 0, 0, rng.integers(0, NODES, EDGES), rng.integers(0, NODES, EDGES), rng.integers(0, RELATIONS, EDGES))
    sampled = EveryResident(0).sample(edges, RESIDENT)
    rel = torch.from_numpy(edges.rel)
    mean, grads = learn(model, DeviceBatch.of(sampled, table[sampled.places], rel))

    entities = table.double().requires_grad_()
    relations = model.relations.detach().double().requires_grad_()
    src, dst, loss, more = entities[edges.src], entities[edges.dst], 0.0, 0.0
    for side, (one, other, answer) in enumerate(((src, dst, edges.dst), (dst, src, edges.src))):
        ids = rel + (RELATIONS if reciprocal and side else 0)
        query = decoder.query(one, EdgeContext(relations[ids]), 0 if reciprocal else side)
        scores = all_scores(decoder, query, entities)
        loss = loss + torch.nn.functional.cross_entropy(scores, torch.from_numpy(answer), reduction="sum")
        if reciprocal or not side:
            asked = all_scores(decoder, decoder.relation_query(one, other), relations)
            more = more + relation_weight * torch.nn.functional.cross_entropy(asked, ids, reduction="sum")
    (loss + more).backward()
    assert mean == pytest.approx(float(loss.detach()) / (2 * EDGES), rel=1e-5)
    dense = torch.zeros(NODES, DIM, dtype=torch.float64)
    for rows, part in zip(grads.rows, grads.grads, strict=True):
        dense.index_add_(0, torch.from_numpy(rows), part.double())
    torch.testing.assert_close(dense, entities.grad, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(model.relations.grad.double(), relations.grad, rtol=1e-4, atol=1e-5)
