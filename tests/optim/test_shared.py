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
    lanes = [SharedWeights(optimizer, many) for _ in range(3)]
    alone = DenseOptimizer(name, one, 0.1)
    for step in range(3):
        given = []
        for seed, lane in enumerate(lanes):
            given.append(learn(many, 10 * step + seed))
            before = [parameter.detach().clone() for parameter in many.parameters()]
            lane.step()
            assert all(torch.equal(old, new) for old, new in zip(before, many.parameters()))
            assert all(parameter.grad is None for parameter in many.parameters())
        lanes[0].step_together([lane.take() for lane in lanes])
        for parameter, grads in zip(one.parameters(), zip(*given)):
            parameter.grad = (grads[0] + grads[1]) + grads[2]
        alone.step()
        assert all(torch.equal(a, b) for a, b in zip(one.parameters(), many.parameters()))


def test_a_weight_without_a_gradient_stays_and_so_do_all_where_no_lane_has_learned():
    model = weights()
    shared = SharedWeights(DenseOptimizer("adam", model, 0.1), model)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    shared.step_together([])
    model[0].weight.grad = torch.ones(4, 3)
    shared.step()
    shared.step_together([shared.take()])
    changed = [not torch.equal(old, new) for old, new in zip(before, model.parameters())]
    assert changed == [True, False, False, False]


def test_what_several_batches_learn_before_a_step_is_added():
    one, many = weights(), weights()
    shared, alone = SharedWeights(DenseOptimizer("sgd", many, 0.1), many), DenseOptimizer("sgd", one, 0.1)
    given = []
    for seed in range(2):
        given.append(learn(many, seed))
        shared.step()
    shared.step_together([shared.take()])
    for parameter, grads in zip(one.parameters(), zip(*given)):
        parameter.grad = grads[0] + grads[1]
    alone.step()
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), many.parameters()))
    assert not shared.take().any()


def test_running_means_move_by_the_mean_of_the_lanes_whoever_trains_them():
    def trained(processes):
        """Two lanes with a batch each, in one process or in one each. Returns the state of each process."""
        models = [torch.nn.BatchNorm1d(2) for _ in range(processes)]
        shared = [SharedWeights(DenseOptimizer("sgd", model, 0.1), model) for model in models]
        for turn in range(3):
            taken = []
            for lane in range(2):
                model, weights = models[lane % processes], shared[lane % processes]
                values = torch.randn(8, 2, generator=torch.Generator().manual_seed(2 * turn + lane))
                model(values).square().sum().backward()
                weights.step()
                taken.append(weights.take())
            for weights in shared:
                weights.step_together(taken)
        return [model.state_dict() for model in models]

    (one,) = trained(1)
    for other in trained(2):
        assert all(torch.equal(one[name], other[name]) for name in one)
    assert one["num_batches_tracked"] == 3
    values = [
        [torch.randn(8, 2, generator=torch.Generator().manual_seed(2 * t + lane)).mean(0) for lane in range(2)] for t in range(3)
    ]
    expected = torch.zeros(2)
    for each in values:
        expected = 0.9 * expected + 0.1 * (each[0] + each[1]) / 2
    torch.testing.assert_close(one["running_mean"], expected)
