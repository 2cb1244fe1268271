"""What a device may repeat: batches that are alike, at equal rates, where a step does the same whatever its number."""

import pytest
import torch

from marius_lite.optim.dense import DenseOptimizer
from marius_lite.rows.batch import Learner, PreparedBatch
from marius_lite.types import NodeBatch

BATCH = PreparedBatch(NodeBatch(0, 0, 0, torch.arange(2).numpy()), None, [])


class Plain:
    """A learning whose gradients are those of a sum of squares."""

    def __init__(self, model):
        self.model, self.calls = model, []

    def enter(self, step): ...
    def windows(self, step): ...
    def open(self, epoch, window, following): ...
    def foresee(self, batches): ...
    def prepare(self, batch): ...
    def evaluate(self): ...
    def close(self): ...

    items = 2

    def gradients(self, prepared, arrived):
        self.calls.append("gradients")
        self.model.weight.grad = self.model.weight.detach() * 2
        return self.model.weight.detach().square().sum(), []


class WithSeed(Plain):
    generators = ()

    def alike(self, prepared):
        return "a" if prepared.batch.epoch == 0 else None

    def seed(self, prepared):
        self.calls.append("seed")

    def repeated(self, prepared, batches):
        self.calls.append(f"repeated {batches}")

    def seeded_gradients(self, prepared, arrived):
        return self.gradients(prepared, arrived)


class Arrived:
    def check(self, loss, batch): ...


def learner(kind, optimizer="adagrad", repeats=True):
    model = torch.nn.Linear(2, 1, bias=False)
    learning, dense = kind(model), DenseOptimizer(optimizer, model, 0.5)
    return Learner(learning, dense, repeats), learning, dense


@pytest.mark.parametrize("kind", [Plain, WithSeed])
def test_a_call_takes_gradients_and_makes_a_step(kind):
    made, learning, _ = learner(kind, "sgd")
    before = learning.model.weight.detach().clone()
    made(BATCH, Arrived())
    assert learning.calls == ["gradients"]
    assert torch.allclose(learning.model.weight, before - 0.5 * 2 * before)


def test_what_is_alike_has_its_rate():
    made, _, dense = learner(WithSeed)
    first = made.alike(BATCH)
    assert first == made.alike(BATCH)
    dense.rate = 0.5
    assert made.alike(BATCH) not in (None, first)


@pytest.mark.parametrize(
    ("kind", "optimizer", "repeats"), [(Plain, "adagrad", True), (WithSeed, "adam", True), (WithSeed, "adagrad", False)]
)
def test_nothing_is_alike_where_it_cannot_be_repeated(kind, optimizer, repeats):
    made, *_ = learner(kind, optimizer, repeats)
    assert made.alike(BATCH) is None
    assert list(made.generators) == []


def test_both_count_what_a_device_repeated():
    made, learning, dense = learner(WithSeed)
    made.repeated(BATCH, 1)
    assert learning.calls == ["repeated 1"]
    made(BATCH, Arrived())
    assert dense.state_tensors()["weight/step"] == 2


def test_a_batch_that_is_not_alike_to_any_is_none():
    made, *_ = learner(WithSeed)
    assert made.alike(PreparedBatch(NodeBatch(1, 0, 0, torch.arange(2).numpy()), None, [])) is None


def test_a_repeated_step_counts_as_one():
    made, _, dense = learner(WithSeed, "adagrad")
    for _ in range(3):
        made.seeded(BATCH, Arrived())
    expected = dense.state_tensors()
    again, _, other = learner(WithSeed, "adagrad")
    again.seeded(BATCH, Arrived())
    for count in (1, 1, 1, -1):
        again.repeated(BATCH, count)
    assert float(other.state_tensors()["weight/step"]) == float(expected["weight/step"]) == 3
