"""Mapped sums against autograd in float64, in both precisions."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbourhoods import by_definition, random_lists

import marius_lite.nn.mapped_sum as mapped_sum_module
from marius_lite.nn.mapped_sum import Neighbours, mapped_sum
from marius_lite.nn.products import bfloat16_usable, products_in

NEAR = {"float32": 1e-5, "mixed": 2e-2}


def far(found, exact, size=None):
    """The distance relative to the length of ``exact``, or of ``size``: what it would be if nothing cancelled."""
    return float((found.detach().double() - exact).norm() / (exact if size is None else size).norm().clamp(min=1e-30))


def by_autograd(x, neighbours, weight, bias, seen=None):
    """``seen``: a result whose zeros are rectified."""
    rows = by_definition(x, neighbours.indptr, neighbours.indices, neighbours.weights, neighbours.mean, neighbours.own)
    out = (torch.cat([rows, x[: len(rows)]], 1) if neighbours.beside else rows) @ weight.T + bias
    return out if seen is None else out * (seen > 0)


def drawn(seed, targets, sources, edges, **options):
    torch.manual_seed(seed)
    sources = max(sources, targets)  # the first sources are the targets
    indptr, indices = random_lists(seed, targets, sources, edges, torch.int32)
    weights = torch.rand(len(indices)) if options.pop("weighted") else None
    own = torch.rand(targets) if options.pop("owned") else None
    return Neighbours(indptr, indices, weights, own=own, **options), sources


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("precision", NEAR)
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    shape=st.tuples(st.integers(0, 40), st.integers(0, 60), st.integers(0, 300)),
    widths=st.tuples(st.sampled_from([1, 7, 32, 130]), st.sampled_from([1, 5, 40])),
    options=st.fixed_dictionaries({name: st.booleans() for name in ("weighted", "owned", "mean", "beside")}),
    rectified=st.booleans(),
)
def test_values_and_gradients(native, precision, seed, shape, widths, options, rectified):
    neighbours, sources = drawn(seed, *shape, **options)
    inner, outer = widths
    tensors = [
        torch.randn(sources, inner),
        torch.randn(outer, inner * (2 if neighbours.beside else 1)) * inner**-0.5,
        torch.randn(outer),
    ]
    exact = [tensor.double().requires_grad_() for tensor in tensors]
    sizes = [tensor.double().abs().requires_grad_() for tensor in tensors]
    ours = [tensor.clone().requires_grad_() for tensor in tensors]
    grad = torch.randn(shape[0], outer)
    with products_in(precision), pytest.MonkeyPatch.context() as patch:
        if not native:
            patch.setattr(mapped_sum_module, "native_usable", lambda x: False)
        out = mapped_sum(ours[0], neighbours, *ours[1:], rectified)
        out.backward(grad.to(out.dtype))
    seen = out.detach() if rectified else None
    expected, size = (by_autograd(each[0], neighbours, *each[1:], seen) for each in (exact, sizes))
    expected.backward(grad.double())
    size.backward(grad.double().abs())
    rounds = precision == "mixed" and bfloat16_usable()
    assert out.dtype == (torch.bfloat16 if rounds else torch.float32)
    near = NEAR["mixed" if rounds else "float32"]
    assert far(out, expected.detach(), size.detach()) < near
    assert not rectified or bool((out >= 0).all())
    for mine, theirs, sized in zip(ours, exact, sizes):
        assert mine.grad.dtype == torch.float32
        assert far(mine.grad, theirs.grad, sized.grad) < near


@pytest.mark.parametrize(("precision", "near"), NEAR.items())
def test_a_batch_of_many_rows(precision, near):
    """Weights' gradients are sums over many rows. Rounded to bfloat16 once, they are as near as anything rounded."""
    neighbours, sources = drawn(1, 20_000, 30_000, 100_000, weighted=False, owned=False, mean=True, beside=True)
    x, weight, bias = torch.randn(sources, 24), torch.randn(16, 48) / 5, torch.zeros(16)
    exact = [tensor.double().requires_grad_() for tensor in (x, weight, bias)]
    ours = [tensor.requires_grad_() for tensor in (x, weight, bias)]
    grad = torch.randn(20_000, 16)
    by_autograd(exact[0], neighbours, *exact[1:]).backward(grad.double())
    with products_in(precision):
        out = mapped_sum(ours[0], neighbours, *ours[1:])
        out.backward(grad.to(out.dtype))
    for mine, theirs in zip(ours, exact):
        assert far(mine.grad, theirs.grad) < near


@pytest.mark.parametrize("precision", NEAR)
def test_the_same_bits_again(precision):
    neighbours, sources = drawn(2, 2000, 3000, 9000, weighted=True, owned=True, mean=False, beside=False)
    grads = []
    for _ in range(2):
        torch.manual_seed(0)
        tensors = [torch.randn(sources, 20, requires_grad=True), torch.randn(30, 20, requires_grad=True), torch.zeros(30)]
        with products_in(precision):
            mapped_sum(tensors[0], neighbours, *tensors[1:]).float().square().sum().backward()
        grads.append([tensor.grad for tensor in tensors[:2]])
    assert all(torch.equal(*pair) for pair in zip(*grads))
