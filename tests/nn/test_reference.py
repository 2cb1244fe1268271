"""The model against a plain torch program: dense tensors, autograd, the same negatives."""

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from link_models import learn, make_model

from marius_lite.nn.biases import FACTOR
from marius_lite.nn.decoders import DECODERS, decoder_class
from marius_lite.optim.dense import DenseOptimizer
from marius_lite.optim.rows import ROW_OPTIMIZERS
from marius_lite.rows.host import HostRowUpdater
from marius_lite.storage.record import record_of
from marius_lite.types import DeviceBatch, EdgeBatch, RowGrads, SampledBatch

NODES, RELATIONS, DIM, EDGES, CHUNKS, COUNT, LR = 60, 5, 8, 37, 4, 11, 0.1
INNER = [name for name, entry in DECODERS.items() if entry.inner]
LOSSES = {
    "softmax": {},
    "logistic": {"margin": 1.0},
    "margin": {"margin": 1.5},
    "self_adversarial": {"margin": 1.0, "temperature": 0.7},
}


def score(decoder, src, rel, dst):
    """(n, m) scores of src (n, 1, dim), rel (n, 1, .), dst (n, m, dim), or src and dst swapped."""
    if decoder == "dot":
        return (src * dst).sum(-1)
    if decoder == "distmult":
        return (src * rel * dst).sum(-1)
    if decoder == "transe":
        return -torch.linalg.vector_norm(src + rel - dst, 2, -1)
    if decoder == "transe_l1":
        return -torch.linalg.vector_norm(src + rel - dst, 1, -1)
    src, dst = (torch.complex(*x.chunk(2, -1)) for x in (src, dst))
    if decoder == "complex":
        return (src * torch.complex(*rel.chunk(2, -1)) * dst.conj()).real.sum(-1)
    return -(src * torch.polar(torch.ones_like(rel), rel) - dst).abs().sum(-1)


def side_loss(loss, options, positive, negative):
    if loss == "softmax":
        scores = torch.cat([positive, negative], 1)
        return F.cross_entropy(scores, torch.zeros(len(scores), dtype=torch.long), reduction="sum")
    margin = options["margin"]
    if loss == "margin":
        return F.relu(margin + negative - positive).mean(1).sum()
    weights = torch.softmax(options.get("temperature", 0.0) * (negative + margin), 1).detach()
    return -(F.logsigmoid(margin + positive).sum() + (weights * F.logsigmoid(-margin - negative)).sum())


def reference_loss(decoder, loss, reciprocal, entities, relations, sampled, biases=False):
    """The summed loss of a batch, by definition, from whole tables. With ``biases`` the last two numbers of entities are such."""
    added = torch.zeros(2, NODES, dtype=torch.float64)
    if biases:
        entities, added = F.pad(entities[:, :-2], (0, 2)), FACTOR * entities[:, -2:].T
    edges, total = sampled.edges, 0.0
    rel = torch.from_numpy(edges.rel)
    chunk_of = torch.arange(len(rel)) // -(-len(rel) // sampled.negatives.shape[1])
    src, dst = entities[edges.src][:, None], entities[edges.dst][:, None]
    for side, negatives in enumerate(torch.from_numpy(sampled.negatives)):
        others = entities[negatives[chunk_of]]
        if reciprocal and side == 1:
            r = relations[rel + RELATIONS][:, None]
            positive, negative = score(decoder, dst, r, src), score(decoder, dst, r, others)
        else:
            r = relations[rel][:, None]
            positive = score(decoder, src, r, dst)
            negative = score(decoder, src, r, others) if side == 0 else score(decoder, others, r, dst)
        positive = positive + added[side][edges.src if side else edges.dst][:, None]
        negative = negative + added[side][negatives[chunk_of]]
        name = "logistic" if loss == "self_adversarial" else loss
        total = total + side_loss(name, LOSSES[loss], positive, negative)
    return total


def sampled_batch(rng, index=0, sides=2):
    edges = EdgeBatch(
        1, 2, index, rng.integers(0, NODES, EDGES), rng.integers(0, NODES, EDGES), rng.integers(0, RELATIONS, EDGES)
    )
    return SampledBatch(edges, rng.integers(0, NODES, (sides, CHUNKS, COUNT)), seed=5)


def device_batch(sampled, table):
    rows = torch.from_numpy(table[:, :DIM])
    return DeviceBatch.of(sampled, rows[sampled.places], torch.from_numpy(sampled.edges.rel))


def make(decoder, loss, reciprocal, rng, biases=False):
    name = "logistic" if loss == "self_adversarial" else loss
    return make_model(decoder, RELATIONS, DIM, rng, reciprocal=reciprocal, biases=biases, loss=name, options=LOSSES[loss])


def difference(ours, theirs):
    ours, theirs = (torch.as_tensor(x, dtype=torch.float64) for x in (ours, theirs))
    return float((ours - theirs).norm() / theirs.norm().clamp_min(1e-30))


@pytest.mark.parametrize("reciprocal", [False, True])
@pytest.mark.parametrize(
    ("decoder", "loss", "biases"),
    [*itertools.product(DECODERS, LOSSES, [False]), *itertools.product(INNER, ["softmax", "logistic"], [True])],
)
def test_gradients_and_first_step_equal_autograd(decoder, loss, biases, reciprocal):
    rng = np.random.default_rng(11)
    model = make(decoder, loss, reciprocal, rng, biases)
    model.relations.data.add_(torch.from_numpy(rng.normal(0, 0.3, tuple(model.relations.shape))).float())
    values = rng.normal(0, 0.7, (NODES, DIM)).astype(np.float32)
    if biases:
        values[:, -2:] /= FACTOR
    sampled = sampled_batch(rng)

    entities = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    relations = model.relations.detach().double().requires_grad_()
    expected = reference_loss(decoder, loss, reciprocal, entities, relations, sampled, biases)
    expected.backward()
    mean, grads = learn(model, device_batch(sampled, values))

    assert mean == pytest.approx(float(expected.detach()) / (2 * EDGES), rel=1e-5)
    dense = torch.zeros(NODES, DIM, dtype=torch.float64)
    for rows, part in zip(grads.rows, grads.grads, strict=True):
        dense.index_add_(0, torch.from_numpy(rows), part.double())
    assert difference(dense, entities.grad) < 1e-5
    if decoder != "dot":
        assert difference(model.relations.grad, relations.grad) < 1e-5
    for name in ROW_OPTIMIZERS:
        assert_one_step_equal(name, values, grads, entities.grad.numpy(), rng)


def assert_one_step_equal(name, values, grads, expected_grad, rng):
    """From the same values and state, the optimizer's step with the model's gradients and the reference's."""
    optimizer = ROW_OPTIMIZERS[name]()
    state = rng.random((NODES, record_of(name, DIM).state_columns)).astype(np.float32) + 0.5
    if name == "adam":
        state[:, -1] = 4
    table = np.concatenate([values, state], 1)
    expected = table.astype(np.float64)
    rows = HostRowUpdater(optimizer, DIM, LR).apply(table, grads)
    reference_step(name, expected, rows, expected_grad[rows])
    assert difference(table, expected) < 1e-5
    assert difference(table[:, :DIM] - values, expected[:, :DIM] - values) < 1e-5


def reference_step(name, table, rows, grad):
    """The optimizer's definition in float64."""
    value, state = table[rows, :DIM], table[rows, DIM:]
    if name == "sgd":
        value -= LR * grad
    elif name == "row_adagrad":
        state += (grad**2).mean(1, keepdims=True)
        value -= LR * grad / (np.sqrt(state) + 1e-10)
    elif name == "adagrad":
        state += grad**2
        value -= LR * grad / (np.sqrt(state) + 1e-10)
    else:
        first, second, steps = state[:, :DIM], state[:, DIM:-1], state[:, -1:]
        steps += 1
        first += (1 - 0.9) * (grad - first)
        second += (1 - 0.999) * (grad**2 - second)
        value -= LR * (first / (1 - 0.9**steps)) / (np.sqrt(second / (1 - 0.999**steps)) + 1e-8)
    table[rows] = np.concatenate([value, state], 1)


@pytest.mark.parametrize(
    ("decoder", "optimizer"), list(itertools.product(["dot", "distmult", "complex"], ["sgd", "row_adagrad"]))
)
def test_rows_after_fifty_batches(decoder, optimizer):
    rng = np.random.default_rng(12)
    model = make(decoder, "softmax", decoder == "complex", rng)
    rows = ROW_OPTIMIZERS[optimizer]()
    table = np.zeros((NODES, DIM + record_of(optimizer, DIM).state_columns), np.float32)
    table[:, :DIM] = decoder_class(decoder).node_draw(DIM)(rng, NODES, DIM) + rng.normal(0, 0.1, (NODES, DIM))
    updater = HostRowUpdater(rows, DIM, LR)
    dense = DenseOptimizer("adagrad", model, LR)

    expected = table.astype(np.float64)
    relations = torch.nn.Parameter(model.relations.detach().double())
    reference_dense = torch.optim.Adagrad([relations], lr=LR)
    for index in range(50):
        sampled = sampled_batch(rng, index=index)
        _, grads = learn(model, device_batch(sampled, table))
        updater.apply(table, grads)
        dense.step()

        entities = torch.tensor(expected[:, :DIM], requires_grad=True)
        reference_loss(decoder, "softmax", model.reciprocal, entities, relations, sampled).backward()
        reference_step(optimizer, expected, touched(grads), entities.grad.numpy()[touched(grads)])
        if decoder != "dot":
            reference_dense.step()
            reference_dense.zero_grad()
    assert difference(table, expected) < 1e-5
    assert difference(model.relations.detach(), relations.detach()) < 1e-5


def touched(grads: RowGrads):
    return np.unique(np.concatenate(grads.rows))
