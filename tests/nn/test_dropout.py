"""Masks come from the seed alone, at the right rate, and the gradient sees the same mask."""

import pytest
import torch

from marius_lite.nn.dropout import Dropout, dropout
from marius_lite.nn.workspace import Workspace

CPU = torch.device("cpu")


def seeded(probability, seed):
    dropout = Dropout(probability, Workspace())
    dropout.generator(CPU).manual_seed(seed)
    return dropout


def dropped(probability, seed, values):
    return seeded(probability, seed)("x", values).clone()


def test_same_seed_same_mask():
    values = torch.ones(50, 7)
    assert torch.equal(dropped(0.3, 4, values), dropped(0.3, 4, values))
    assert not torch.equal(dropped(0.3, 4, values), dropped(0.3, 5, values))
    assert torch.equal(values, torch.ones(50, 7))


@pytest.mark.parametrize("probability", [0.01, 0.25, 0.5, 0.9])
def test_rate_and_scale(probability):
    out = dropped(probability, 1, torch.ones(1000, 100))
    zeros = float((out == 0).double().mean())
    assert abs(zeros - probability) < 5 * (probability * (1 - probability) / out.numel()) ** 0.5
    kept = out[out != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - probability)), rtol=1e-4, atol=0)


def test_gradient_has_the_mask_of_the_values():
    dropout = seeded(0.5, 3)
    out = dropout("neg", torch.ones(2, 6, 4))
    grad = dropout.backward_("neg", torch.ones(2, 6, 4))
    assert torch.equal(grad, out)


def test_probability_zero_touches_nothing():
    dropout = seeded(0.0, 3)
    values = torch.randn(4, 3)
    assert dropout("x", values) is values
    assert dropout.backward_("x", values) is values


@pytest.mark.parametrize("probability", [0.25, 0.5, 1.0])
def test_dropout_of_torchs_generator(probability):
    values = torch.rand(200, 301).add_(0.5).requires_grad_()
    torch.manual_seed(3)
    out = dropout(values, probability)
    assert float((out == 0).float().mean()) == pytest.approx(probability, abs=0.01)
    kept = out != 0
    scale = 1 / (1 - probability) if probability < 1 else 0.0
    torch.testing.assert_close(out, values * kept * scale)
    out.sum().backward()
    torch.testing.assert_close(values.grad, kept * scale)
    torch.manual_seed(3)
    assert torch.equal(dropout(values, probability), out)
    assert probability == 1.0 or not torch.equal(dropout(values, probability), out)
