"""A decoder with weights is one class and one line in a table: one that is none of the package's learns, resumes and ranks."""

import shutil

import numpy as np
import pytest
import torch
import toy_decoder
import zarr
from link_models import learn, make_model
from safetensors.torch import load_file

import marius_lite as ml
from marius_lite.config.decoders import DECODERS
from marius_lite.errors import UserError
from marius_lite.nn.decoders import Decoder, decoder_class, make_decoder
from marius_lite.types import DeviceBatch, EdgeBatch, SampledBatch

NODES, RELATIONS, DIM, EDGES = 30, 3, 6, 17
SETTINGS = {
    "model": {"decoder": "toy", "dim": 8},
    "training": {"epochs": 2, "batch_size": 100, "threads": 1},
    "negatives": {"count": 20, "chunks": 2},
    "optimizer": {"dense": {"clip": 0.5}},
    "checkpoint": {"every_minutes": 0.00001, "keep": 99},
}
OWN = ["decoder.turn.bias", "decoder.turn.weight"]


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    toy_decoder.register(monkeypatch)


def make(seed=1, **options):
    return make_model("toy", RELATIONS, DIM, np.random.default_rng(seed), **options)


def make_batch(shared):
    rng = np.random.default_rng(0)
    src, dst, rel = (rng.integers(limit, size=EDGES) for limit in (NODES, NODES, RELATIONS))
    edges = EdgeBatch(0, 0, 0, src, dst, rel)
    sampled = SampledBatch(edges, rng.integers(NODES, size=(1, 1, 5) if shared else (2, 1, 5)), 9, shared)
    table = torch.from_numpy(rng.normal(size=(NODES, DIM)).astype(np.float32))
    return DeviceBatch.of(sampled, table[sampled.places], torch.from_numpy(rel))


@pytest.mark.parametrize("name", DECODERS)
def test_the_table_says_what_is_true_of_each_class(name):
    decoder, entry = make_decoder(name, 8), DECODERS[name]
    assert entry.weights(8) == sum(weight.numel() for weight in decoder.parameters())
    assert entry.asks_for_relations == (decoder_class(name).relation_query is not Decoder.relation_query)
    if entry.even:
        with pytest.raises(UserError, match="an even number"):
            make_decoder(name, 7)


def test_first_weights_follow_from_the_seed_and_change_no_other_draw():
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    first, same, other = make(), make(), make(seed=2)
    assert torch.rand(1) == expected
    assert torch.equal(first.decoder.turn.weight, same.decoder.turn.weight)
    assert not torch.equal(first.decoder.turn.weight, other.decoder.turn.weight)
    assert torch.equal(first.relations, make_model("distmult", RELATIONS, DIM, np.random.default_rng(1)).relations)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("reciprocal", [False, True])
def test_gradients_of_its_weights_equal_autograd(shared, reciprocal):
    model, batch = make(reciprocal=reciprocal), make_batch(shared)
    model.decoder.dropout.p = 0.0
    learn(model, make_batch(not shared))  # leaves nothing behind
    learn(model, batch)
    found = {name: weight.grad.clone() for name, weight in model.named_parameters()}
    model.zero_grad()
    loss = 0.0
    for side, (known, answer) in enumerate(((batch.src, batch.dst), (batch.dst, batch.src))):
        relation = model.relations[batch.rel + (RELATIONS if reciprocal and side else 0)]
        turned = model.decoder.turn
        query = relation * turned(known) if reciprocal or side == 0 else (relation * known) @ turned.weight
        candidates = torch.cat([(query * answer).sum(-1, keepdim=True), query @ batch.negatives[0 if shared else side, 0].T], 1)
        loss = loss + torch.nn.functional.cross_entropy(candidates, torch.zeros(EDGES, dtype=torch.long), reduction="sum")
    loss.backward()
    for name, weight in model.named_parameters():
        torch.testing.assert_close(found[name], weight.grad, rtol=1e-4, atol=1e-5)


def test_its_dropout_follows_from_the_batch_and_rests_while_it_ranks():
    model, batch = make(), make_batch(False)
    losses = [learn(model, batch)[0] for _ in range(2)]
    model.decoder.dropout.p = 0.0
    assert losses[0] == losses[1] != learn(model, batch)[0]
    plain = model.query(batch.src, batch.rel, 0)
    model.decoder.dropout.p = 0.9
    assert torch.equal(model.query(batch.src, batch.rel, 0), plain)
    assert model.decoder.training


def dense(run, checkpoint="latest"):
    return load_file(run / "checkpoints" / checkpoint / "dense.safetensors")


@pytest.mark.parametrize("capacity", [4, 2])
def test_a_run_changes_its_weights_resumes_to_the_same_bits_and_ranks(tiny_dataset, tmp_path, capacity):
    config = ml.load_config(values={**SETTINGS, "storage": {"capacity": capacity}})
    whole, again = tmp_path / "whole", tmp_path / "again"
    ml.train_run(tiny_dataset, whole, config)
    shutil.copytree(whole, again, symlinks=True)
    weights = dense(whole)
    assert {*OWN} <= {name.removeprefix("model.") for name in weights}
    assert {f"optimizer.{name}/sum" for name in OWN} <= set(weights)
    middle = sorted(path.name for path in (again / "checkpoints").iterdir() if path.name.split(".")[0] == "0")
    assert middle, "no checkpoint was made inside the first epoch"
    for name in OWN:
        assert not torch.equal(weights[f"model.{name}"], dense(again, middle[0])[f"model.{name}"])
    ml.resume_run(again, middle[0])
    assert all(torch.equal(tensor, weights[name]) for name, tensor in dense(again).items())
    nodes = [zarr.open(run / "checkpoints" / "latest" / "nodes", mode="r")[:] for run in (whole, again)]
    np.testing.assert_array_equal(*nodes)
    assert ml.evaluate_run(again, "test")["mrr"] == ml.evaluate_run(whole, "test")["mrr"] > 0.01
    assert len(list(ml.predict_links(again, [("node1", "rel0", None)], topk=3))) > 0


def test_the_plan_counts_its_weights(tiny_dataset):
    config = ml.load_config(values=SETTINGS)
    plain = ml.load_config(values={**SETTINGS, "model": {"decoder": "distmult", "dim": 8}})
    planned, without = (ml.plan_run(tiny_dataset, each)["memory"]["workspace"] for each in (config, plain))
    assert planned - without >= 3 * 4 * (8 * 8 + 8)  # weights, gradients, what the optimizer keeps


def test_a_name_without_a_line_is_refused():
    with pytest.raises(UserError, match=r"`model\.decoder` is 'conve': Input should be 'dot', .* 'rotate' or 'toy'"):
        ml.load_config(values={"model": {"decoder": "conve"}})
