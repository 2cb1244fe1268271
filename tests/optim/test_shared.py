"""A step of the weights with what several lanes have learned."""

import pytest
import torch

from marius_lite.optim.dense import DENSE_OPTIMIZERS, DenseOptimizer
from marius_lite.optim.shared import SharedWeights


def weights():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))


def learn(model, seed):
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator)
    return [parameter.grad.clone() for parameter in model.parameters()]


@pytest.mark.parametrize("name", DENSE_OPTIMIZERS)
def test_lanes_step_with_the_sum_of_their_gradients(name):
    one, many = weights(), weights()
    optimizer = DenseOptimizer(name, many, 0.1)
    lanes = [SharedWeights(optimizer) for _ in range(3)]
    alone = DenseOptimizer(name, one, 0.1)
    for step in range(3):
        given = []
        for seed, lane in enumerate(lanes):
            given.append(learn(many, 10 * step + seed))
            before = [parameter.detach().clone() for parameter in many.parameters()]
            lane.step()
            assert all(torch.equal(old, new) for old, new in zip(before, many.parameters()))
            assert all(parameter.grad is None for parameter in many.parameters())
        lanes[0].step_together([lane.taken for lane in lanes])
        for parameter, grads in zip(one.parameters(), zip(*given)):
            parameter.grad = (grads[0] + grads[1]) + grads[2]
        alone.step()
        assert all(torch.equal(a, b) for a, b in zip(one.parameters(), many.parameters()))


def test_a_weight_without_a_gradient_stays_and_so_do_all_where_no_lane_has_learned():
    model = weights()
    shared = SharedWeights(DenseOptimizer("adam", model, 0.1))
    before = [parameter.detach().clone() for parameter in model.parameters()]
    shared.step_together([])
    model[0].weight.grad = torch.ones(4, 3)
    shared.step()
    shared.step_together([shared.taken])
    changed = [not torch.equal(old, new) for old, new in zip(before, model.parameters())]
    assert changed == [True, False, False, False]
