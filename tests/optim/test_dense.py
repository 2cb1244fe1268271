"""Dense optimizers: a run that is saved and taken up again goes on bit by bit."""

import pytest
import torch
from safetensors.torch import load, save

from marius_lite.errors import RunError
from marius_lite.optim.dense import DENSE_OPTIMIZERS, DenseOptimizer


def module(seed):
    torch.manual_seed(seed)
    made = torch.nn.Linear(4, 3)
    made.register_parameter("empty", torch.nn.Parameter(torch.empty(2, 0)))
    return made


def train(model, optimizer, steps, seed):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        model(torch.randn(5, 4, generator=generator)).square().sum().backward()
        optimizer.step()
        assert model.weight.grad is None


@pytest.mark.parametrize("name", DENSE_OPTIMIZERS)
def test_steps_have_the_bits_of_torch(name):
    model, other = module(1), module(1)
    theirs = DENSE_OPTIMIZERS[name](other.parameters(), lr=0.1, weight_decay=0.01)
    train(model, DenseOptimizer(name, model, lr=0.1, weight_decay={"": 0.01}), 4, seed=1)
    generator = torch.Generator().manual_seed(1)
    for _ in range(4):
        other(torch.randn(5, 4, generator=generator)).square().sum().backward()
        theirs.step()
        theirs.zero_grad()
    assert all(torch.equal(one, two) for one, two in zip(model.parameters(), other.parameters()))


@pytest.mark.parametrize("name", DENSE_OPTIMIZERS)
def test_saved_state_continues_bit_by_bit(name):
    model = module(1)
    optimizer = DenseOptimizer(name, model, lr=0.1)
    train(model, optimizer, 3, seed=1)
    saved = load(save(optimizer.state_tensors()))
    other = module(2)
    other.load_state_dict(model.state_dict())
    resumed = DenseOptimizer(name, other, lr=0.1)
    resumed.load_state_tensors(saved)
    train(model, optimizer, 3, seed=2)
    train(other, resumed, 3, seed=2)
    assert torch.equal(model.weight, other.weight)
    assert torch.equal(model.bias, other.bias)
    ours, theirs = optimizer.state_tensors(), resumed.state_tensors()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)


def test_state_of_another_model_is_refused():
    optimizer = DenseOptimizer("adam", module(1), lr=0.1)
    with pytest.raises(RunError, match=r"'relations/exp_avg'.*weight, bias"):
        optimizer.load_state_tensors({"relations/exp_avg": torch.zeros(3)})
    with pytest.raises(RunError, match=r"\(5, 5\)"):
        optimizer.load_state_tensors({"weight/exp_avg": torch.zeros(5, 5)})


def test_weights_decay_by_the_beginning_of_their_names():
    model = torch.nn.ModuleDict({name: torch.nn.Linear(2, 2, bias=False) for name in ("first", "second", "other")})
    before = {name: part.weight.detach().clone() for name, part in model.items()}
    optimizer = DenseOptimizer("sgd", model, lr=0.1, weight_decay={"first.": 2.0, "second.": 0.5})
    for part in model.values():
        part.weight.grad = torch.zeros_like(part.weight)
    optimizer.step()
    for name, kept in (("first", 0.8), ("second", 0.95), ("other", 1.0)):
        torch.testing.assert_close(model[name].weight, kept * before[name])


def test_a_module_without_parameters_has_no_state():
    optimizer = DenseOptimizer("adagrad", torch.nn.Identity(), lr=0.1)
    optimizer.step()
    assert optimizer.state_tensors() == {}


def test_gradients_are_clipped_together_and_the_rate_multiplies():
    model = torch.nn.Linear(2, 1, bias=False)
    before = model.weight.detach().clone()
    optimizer = DenseOptimizer("sgd", model, lr=0.5, clip=1.0)
    optimizer.rate = 0.1
    model.weight.grad = torch.tensor([[30.0, 40.0]])
    optimizer.step()
    torch.testing.assert_close(before - model.weight, torch.tensor([[0.03, 0.04]]))
