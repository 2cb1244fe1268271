"""A replica is all weights of a model, and what it keeps beside them, as one vector there and back."""

import torch

from marius_lite.merging.replica import Replica


def model(seed):
    torch.manual_seed(seed)
    made = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.BatchNorm1d(7), torch.nn.Linear(7, 3))
    made(torch.randn(10, 5))
    return made


def test_a_vector_is_the_whole_model():
    first, second = model(0), model(1)
    one, two = (Replica(each.parameters(), each) for each in (first, second))
    vector = one.vector()
    assert (len(vector), one.width, one.exact) == (5 * 7 + 7 + 14 + 7 * 3 + 3 + 14, 5, 14)
    two.load(vector)
    given = torch.randn(4, 5)
    assert torch.equal(first.eval()(given), second.eval()(given))
    assert torch.equal(two.vector(), vector)
    with torch.no_grad():
        first[0].weight.zero_()
    assert torch.equal(two.vector(), vector), "it is a copy"


def test_a_counter_stays():
    first, second = model(0), model(1)
    second(torch.randn(10, 5))
    Replica(second.parameters(), second).load(Replica(first.parameters(), first).vector())
    assert second[1].num_batches_tracked == 2


def test_a_model_without_weights():
    replica = Replica([], torch.nn.Identity())
    assert len(replica.vector()) == 0
    replica.load(torch.empty(0))
