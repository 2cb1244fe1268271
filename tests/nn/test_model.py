"""What learning adds to the reference: dropout, the regularizer, one side, errors, repeatability."""

from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
import torch
from link_models import learn, make_model
from pretended_gpu import pretended_gpu

from marius_lite.errors import RunError, UserError
from marius_lite.nn.decoders import DECODERS
from marius_lite.types import DeviceBatch, EdgeBatch, SampledBatch

NODES, RELATIONS, DIM, EDGES = 40, 4, 8, 23


def make(decoder="complex", **options):
    return make_model(decoder, RELATIONS, DIM, np.random.default_rng(1), **options)


def make_batch(seed=0, sides=2, scale=0.5, mask_seed=9, shared=False):
    rng = np.random.default_rng(seed)
    edges = EdgeBatch(3, 4, 5, rng.integers(0, NODES, EDGES), rng.integers(0, NODES, EDGES), rng.integers(0, RELATIONS, EDGES))
    shape = (1, 1, 7) if shared else (sides, 3, 7)
    sampled = SampledBatch(edges, rng.integers(0, NODES, shape), mask_seed, shared)
    table = torch.from_numpy(rng.normal(0, scale, (NODES, DIM)).astype(np.float32))
    return DeviceBatch.of(sampled, table[sampled.places], torch.from_numpy(edges.rel))


def parts(grads):
    return [part.clone() for part in grads.grads]


@pytest.mark.parametrize("decoder", DECODERS)
def test_n3_adds_the_gradient_of_its_definition(decoder):
    plain, regular, batch = make(decoder), make(decoder, n3_weight=0.3), make_batch()
    expected_loss, without = learn(plain, batch)
    loss, grads = learn(regular, batch)
    assert loss == expected_loss
    relation = plain.relations.detach()[batch.rel].requires_grad_()
    rows = [batch.src.clone().requires_grad_(), batch.dst.clone().requires_grad_(), relation]
    for values in rows:
        numbers = torch.complex(*values.chunk(2, -1)) if decoder == "complex" else values
        times = 1 if values is relation else 2  # both sides of an edge count its ends
        (times * 0.3 * numbers.abs().pow(3).sum()).backward()
    for ours, base, values in zip(grads.grads, without.grads, rows[:2], strict=False):
        torch.testing.assert_close(ours - base, values.grad, rtol=1e-4, atol=1e-5)
    for ours, base in zip(grads.grads[2:], without.grads[2:], strict=True):
        assert torch.equal(ours, base)
    if decoder != "dot":
        expected = torch.zeros_like(plain.relations).index_add_(0, batch.rel, 2 * relation.grad)  # both sides
        ours = regular.relations.grad - plain.relations.grad
        torch.testing.assert_close(ours, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("decoder", ["distmult", "complex", "transe"])
def test_dropout_gradients_are_derivatives(decoder, shared):
    """The slope along the gradient, by differences, in directions of the rows and of the relations."""
    model, batch = make(decoder, dropout=0.4, reciprocal=shared), make_batch(shared=shared)
    noise = np.random.default_rng(2).normal(0, 0.3, model.relations.shape)
    model.relations.data += torch.from_numpy(noise).float()
    _, grads = learn(model, batch)
    d_src, d_dst, *d_negatives = parts(grads)
    d_relations = model.relations.grad.clone()
    step = 1e-3
    slope = sum(float(g.double().square().sum()) for g in (d_src, d_dst, d_relations, *d_negatives))
    losses = []
    for sign in (1, -1):
        moved = DeviceBatch(
            batch.sampled,
            batch.ends + sign * step * torch.cat([d_src, d_dst]),
            batch.negatives + sign * step * torch.stack(d_negatives).view_as(batch.negatives),
            batch.rel,
        )
        model.relations.data += sign * step * d_relations
        losses.append(learn(model, moved)[0] * 2 * EDGES)
        model.relations.data -= sign * step * d_relations
    assert (losses[0] - losses[1]) / (2 * step) == pytest.approx(slope, rel=2e-2)


@pytest.mark.parametrize("options", [{}, {"dropout": 0.3, "n3_weight": 0.1, "reciprocal": True}])
def test_learning_repeats_bit_by_bit_and_changes_no_input(options):
    batch = make_batch()
    before = [t.clone() for t in (batch.src, batch.dst, batch.negatives)]
    first, second = make(**options), make(**options)
    learn(second, make_batch(seed=1))  # another batch before it leaves no trace
    for _ in range(2):
        loss, grads = learn(first, batch)
        other_loss, other_grads = learn(second, batch)
        assert loss == other_loss
        assert all(torch.equal(a, b) for a, b in zip(grads.grads, other_grads.grads, strict=True))
        assert torch.equal(first.relations.grad, second.relations.grad)
    for ours, old in zip((batch.src, batch.dst, batch.negatives), before, strict=True):
        assert torch.equal(ours, old)


def test_gradients_outlive_the_next_batch():
    model = make("transe")
    _, grads = learn(model, make_batch())
    kept = parts(grads)
    learn(model, make_batch(seed=1))
    assert all(torch.equal(a, b) for a, b in zip(grads.grads, kept, strict=True))


def test_row_grads_name_their_rows():
    batch = make_batch()
    _, grads = learn(make(), batch)
    sampled = batch.sampled
    expected = [sampled.edges.src, sampled.edges.dst, *(side.ravel() for side in sampled.negatives)]
    for rows, grad, wanted in zip(grads.rows, grads.grads, expected, strict=True):
        np.testing.assert_array_equal(rows, wanted)
        assert grad.shape == (len(wanted), DIM)


def test_one_side_trains_destinations_only():
    batch = make_batch(sides=1)
    model = make(reciprocal=True)
    _, grads = learn(model, batch)
    assert len(grads.rows) == 3
    assert (model.relations.grad[RELATIONS:] == 0).all()
    assert (model.relations.grad[:RELATIONS] != 0).any()


@pytest.mark.parametrize("loss", ["softmax", "logistic", "margin"])
def test_a_loss_that_is_no_number_names_its_place(loss):
    batch = make_batch()
    batch.negatives[0, 1, 2] = torch.nan
    with pytest.raises(RunError, match="loss is nan in epoch 3, step 4, batch 5"):
        learn(make(loss=loss), batch)


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("reciprocal", [False, True])
def test_queries_for_ranking(decoder, reciprocal):
    model, batch = make(decoder, reciprocal=reciprocal), make_batch()
    forward = model.scores(model.query(batch.src, batch.rel, 0), batch.dst).diagonal()
    backward = model.scores(model.query(batch.dst, batch.rel, 1), batch.src).diagonal()
    assert not forward.requires_grad
    if reciprocal and decoder in ("transe", "rotate"):
        assert not torch.allclose(forward, backward)
    elif not reciprocal:
        torch.testing.assert_close(forward, backward, rtol=1e-4, atol=1e-4)


def test_wrong_names_are_explained():
    with pytest.raises(UserError, match=r"model\.decoder: found 'foo', allowed are dot, distmult"):
        make("foo")
    with pytest.raises(UserError, match=r"loss\.name: found 'foo', allowed are softmax, logistic, margin"):
        make(loss="foo")
    with pytest.raises(UserError, match=r"loss\.margin: no option of loss softmax, which has none"):
        make(options={"margin": 1})


@pytest.mark.parametrize("reciprocal", [False, True])
@pytest.mark.parametrize("options", [{}, {"n3_weight": 0.1}, {"loss": "logistic"}, {"loss": "margin"}, {"relation_weight": 0.5}])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("decoder", DECODERS)
def test_the_branches_for_a_gpu_compute_the_same(host_library, decoder, shared, options, reciprocal):
    if "relation_weight" in options and not DECODERS[decoder].asks_for_relations:
        pytest.skip("this decoder ranks no relations")
    batch, found = make_batch(shared=shared), []
    for place in (nullcontext, partial(pretended_gpu, host_library)):
        model = make(decoder, reciprocal=reciprocal, **options)
        with place():
            loss, grads = learn(model, batch)
        found.append([torch.tensor(loss), *parts(grads), model.relations.grad])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
