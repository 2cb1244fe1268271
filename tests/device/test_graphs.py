"""What a graph repeats, on a GPU and as the emulation does it: the work once more, on the numbers that are there then."""

import gc

import emulated
import pytest
import torch

from marius_lite.device import graphs


@pytest.fixture(params=["host", pytest.param("gpu", marks=pytest.mark.gpu)])
def place(request):
    """A device, and what captures there."""
    if request.param == "host":
        return torch.device("cpu"), emulated.capture
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    return torch.device("cuda"), graphs.Captures()


def test_the_work_is_done_once_and_again_at_each_launch(place):
    device, capture = place
    x, total = torch.ones(4, device=device), torch.zeros(4, device=device)

    def work():
        total.add_(x)
        return x.sum(), [x * 2]

    (loss, grads), again = capture(work, [])
    assert (total.tolist(), float(loss), grads[0].tolist()) == ([1] * 4, 4, [2] * 4)
    for step in range(2, 5):
        x.fill_(step)
        again()
        assert (float(loss), grads[0].tolist()) == (4 * step, [2 * step] * 4)
    assert total.tolist() == [1 + 2 + 3 + 4] * 4


def test_gradients_are_captured(place):
    device, capture = place
    x, weight = torch.ones(3, device=device), torch.full((3,), 2.0, device=device)

    def work():
        w = weight.detach().requires_grad_()
        loss = (w * x).square().sum()
        return loss.detach(), torch.autograd.grad(loss, [w])

    (loss, grads), again = capture(work, [])
    x.copy_(torch.tensor([1.0, 2.0, 3.0]))
    again()
    assert float(loss) == 4 + 16 + 36
    assert grads[0].tolist() == [4, 16, 36]


def test_what_is_drawn_follows_from_the_seed_at_the_launch(place):
    device, capture = place
    generator = torch.Generator(device)

    def draw():
        return torch.zeros((), device=device), [torch.rand(1000, device=device, generator=generator)]

    expected = []
    for seed in (5, 6):
        generator.manual_seed(seed)
        expected.append(draw()[1][0].clone())
    generator.manual_seed(6)
    (_, drawn), again = capture(draw, [generator])
    assert torch.equal(drawn[0], expected[1])
    for seed in (5, 6):
        generator.manual_seed(seed)
        again()
        assert torch.equal(drawn[0], expected[seed - 5])


@pytest.mark.gpu
def test_what_waits_for_the_device_cannot_be_captured():
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    x = torch.ones(3, device="cuda")
    generator = torch.Generator("cuda").manual_seed(3)
    with pytest.raises(RuntimeError):
        graphs.Captures()(lambda: (x.sum().item(), []), [generator])
    torch.cuda.synchronize()
    assert float((x + 1).sum()) == 6  # the device goes on, and so does what it draws
    drawn = torch.rand(9, device="cuda", generator=generator.manual_seed(4))
    assert torch.equal(drawn, torch.rand(9, device="cuda", generator=torch.Generator("cuda").manual_seed(4)))


@pytest.mark.gpu
def test_graphs_that_were_dropped_leave_no_memory():
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    x, captures, kept, reserved = torch.ones(1 << 22, device="cuda"), graphs.Captures(), [], []
    for _ in range(40):
        kept = [*kept[-1:], captures(lambda: ((x * 2 + 1).square().sum(), [(x + 3).sin()]), [])]
        torch.cuda.synchronize()
        reserved.append(torch.cuda.memory_reserved())
    assert reserved[-1] == reserved[4]


def test_several_may_be_launched_in_turn(place):
    """They have memory in common: each gives its own result, whichever was launched before."""
    device, capture = place
    kinds = []
    for size in (1000, 10, 300):
        x = torch.ones(size, device=device)

        def work(x=x):
            doubled = x * 2
            return (doubled + 1).sum(), [doubled.square() + x]

        kinds.append((x, *capture(work, [])))
    for step in (2, 3):
        for x, (loss, grads), again in (*kinds, *kinds[::-1]):
            x.fill_(step)
            again()
            assert float(loss) == len(x) * (2 * step + 1)
            assert grads[0].tolist() == [4 * step**2 + step] * len(x)


def test_another_graph_can_be_captured_once_all_are_gone(place):
    device, capture = place
    x = torch.ones(4, device=device)
    for step in range(3):
        (loss, _), again = capture(lambda scale=step: (x.sum() * scale, []), [])
        again()
        assert float(loss) == 4 * step
        del loss, again
        gc.collect()
