"""Attention against autograd in float64 over arrays of a row for each edge."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbourhoods import random_lists
from torch.nn.functional import leaky_relu, linear

import marius_lite.nn.products as products
from marius_lite import _native
from marius_lite.nn.attention import Attention, attended
from marius_lite.nn.products import bfloat16_usable, products_in

NEAR = {"float32": 2e-5, "mixed": 2e-2}


def places_of(attention):
    """(source, target, place) of all that is attended to."""
    found = []
    for t in range(attention.targets):
        first, last = attention.indptr[t : t + 2].tolist()
        sources = [s for s in attention.indices[first:last].tolist() if s != t] + [t]
        found += [(s, t, first + t + i) for i, s in enumerate(sources)]
    return np.array(found, np.int64).reshape(-1, 3).T


def rounded(x, weight, bias):
    """What the encoder makes of rows, with exact gradients: what rounding moves past 0 has another slope in a score."""
    exact = linear(x, weight, bias)
    found = products.linear(*(tensor.detach().float() for tensor in (x, weight, bias)))
    return exact + (found.double() - exact).detach()


def by_autograd(x, attention, vector, left, right):
    sources, targets, places = (torch.from_numpy(each) for each in places_of(attention))
    heads, width = vector.shape
    rows = rounded(x, *left).view(-1, heads, width)
    own = rounded(x[: attention.targets], *right).view(-1, heads, width)
    scores = (leaky_relu(rows[sources] + own[targets], attention.slope) * vector).sum(2)
    most = scores.new_full((attention.targets, heads), -torch.inf)
    most = most.scatter_reduce(0, targets[:, None].expand_as(scores), scores.detach(), "amax")
    exponentials = (scores - most[targets]).exp()
    weights = exponentials / torch.zeros_like(most).index_add(0, targets, exponentials)[targets]
    if attention.kept is not None:
        weights = weights * attention.kept[places]
    return torch.zeros_like(own).index_add(0, targets, weights.unsqueeze(2) * rows[sources]).flatten(1)


def drawn(seed, targets, sources, edges, heads, dropped=False):
    torch.manual_seed(seed)
    sources = max(sources, targets)
    indptr, indices = random_lists(seed, targets, sources, edges, torch.int32)
    kept = torch.randint(2, (len(indices) + targets, heads)) * 2.0 if dropped else None
    return Attention(indptr, indices, 0.2, kept), sources


def parameters(sources, inner, heads, width):
    maps = [torch.randn(heads * width, inner) * inner**-0.5 for _ in range(2)]
    biases = [torch.randn(heads * width) for _ in range(2)]
    vector = torch.randn(heads, width) * width**-0.5
    return [torch.randn(sources, inner), vector, maps[0], biases[0], maps[1], biases[1]]


def result(function, tensors, attention):
    x, vector, *maps = tensors
    return function(x, attention, vector, tuple(maps[:2]), tuple(maps[2:]))


def lengths(tensors):
    """One number for all: the gradient of a bias that softmax takes out again is nothing but rounding."""
    return float(sum(tensor.detach().double().square().sum() for tensor in tensors)) ** 0.5


@pytest.mark.parametrize("precision", NEAR)
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    shape=st.tuples(st.integers(0, 40), st.integers(0, 60), st.integers(0, 300)),
    heads=st.integers(1, 4),
    width=st.sampled_from([1, 3, 8, 16, 21, 40]),
    dropped=st.booleans(),
)
def test_values_and_gradients(precision, seed, shape, heads, width, dropped):
    attention, sources = drawn(seed, *shape, heads, dropped)
    tensors = parameters(sources, 9, heads, width)
    exact = [tensor.double().requires_grad_() for tensor in tensors]
    ours = [tensor.clone().requires_grad_() for tensor in tensors]
    grad = torch.randn(attention.targets, heads * width)
    with products_in(precision):
        expected = result(by_autograd, exact, attention)
        expected.backward(grad.double())
        out = result(attended, ours, attention)
        out.backward(grad.to(out.dtype))
    near = NEAR[precision]
    assert out.dtype == (torch.bfloat16 if precision == "mixed" and bfloat16_usable() else torch.float32)
    assert lengths([out.detach() - expected.detach()]) <= near * lengths([expected])
    given_ours, given_exact = [tensor.grad for tensor in ours], [tensor.grad for tensor in exact]
    apart = [mine - theirs for mine, theirs in zip(given_ours, given_exact, strict=True)]
    assert lengths(apart) <= near * lengths(given_exact)


def arrays(seed, heads=3, width=21, dtype=np.float32):
    attention, sources = drawn(seed, 900, 1500, 7000, heads, dropped=True)
    rng = np.random.default_rng(seed)
    shapes = ((sources, heads * width), (900, heads * width), (heads, width), (900, heads * width))
    left, right, vector, grad = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
    return attention, left, right, vector, grad


def natively(seed, **options):
    """(out, gradients of left, right and vector)."""
    attention, left, right, vector, grad = arrays(seed)
    edges = attention.indptr.numpy(), attention.indices.numpy()
    out, grads = np.empty_like(right), [np.full_like(each, np.nan) for each in (left, right, vector)]
    weights, kept = np.zeros((7900, 3), np.float32), attention.kept.numpy()
    _native.attend(left, right, *edges, vector, 0.2, out, weights=weights, kept=kept, **options)
    _native.attend_backward(left, right, *edges, vector, 0.2, grad, weights, *grads, kept=kept, **options)
    return [out, *grads]


@pytest.mark.parametrize("width", _native.attention_widths())
def test_same_bits_for_any_number_of_threads(width):
    results = [b"".join(each.tobytes() for each in natively(1, width=width, threads=threads)) for threads in (1, 2, 3, 8)]
    assert len(set(results)) == 1


@pytest.mark.parametrize("width", _native.attention_widths())
def test_every_width_of_vectors_gives_the_same_numbers(width):
    for mine, widest in zip(natively(2, width=width), natively(2), strict=True):
        np.testing.assert_allclose(mine, widest, rtol=1e-4, atol=1e-4)


def test_without_weights_to_keep():
    attention, left, right, vector, _ = arrays(3)
    edges, kept = (attention.indptr.numpy(), attention.indices.numpy()), attention.kept.numpy()
    outs = [np.empty_like(right) for _ in range(2)]
    _native.attend(left, right, *edges, vector, 0.2, outs[0], weights=np.empty((7900, 3), np.float32), kept=kept)
    _native.attend(left, right, *edges, vector, 0.2, outs[1], kept=kept)
    np.testing.assert_array_equal(*outs)


def test_scores_too_large_for_exponentials():
    """A softmax of scores around 1,000 is that of the same scores less their maximum."""
    attention, _ = drawn(4, 20, 30, 100, 1)
    tensors = parameters(30, 5, 1, 7)
    tensors[1] *= 1000
    expected = result(by_autograd, [tensor.double() for tensor in tensors], attention)
    torch.testing.assert_close(result(attended, tensors, attention).double(), expected, rtol=1e-3, atol=1e-3)


def test_what_is_no_number_stays_with_those_who_see_it():
    attention, sources = drawn(5, 20, 30, 60, 2)
    tensors = parameters(sources, 5, 2, 7)
    tensors[0][25] = torch.nan
    out = result(attended, tensors, attention)
    seen, targets, _ = places_of(attention)
    assert out.isnan().any(1).nonzero().flatten().tolist() == sorted(set(targets[seen == 25].tolist()))


@pytest.mark.parametrize(
    ("indptr", "indices"),
    [([0, 2, 1], [0, 1]), ([0, 1, 3], [0, 1]), ([-1, 1, 2], [0, 1]), ([0, 1, 2], [0, 5]), ([0, 1, 2], [-1, 0])],
)
def test_what_is_not_there_is_refused(indptr, indices):
    edges = np.array(indptr), np.array(indices)
    left, right, vector = np.ones((5, 6), np.float32), np.ones((2, 6), np.float32), np.ones((2, 3), np.float32)
    weights = np.ones((4, 2), np.float32)
    with pytest.raises(ValueError, match="not there"):
        _native.attend(left, right, *edges, vector, 0.2, right.copy())
    with pytest.raises(ValueError, match="not there"):
        _native.attend_backward(left, right, *edges, vector, 0.2, right, weights, left.copy(), right.copy(), vector.copy())


def test_misfits_are_refused():
    edges = np.array([0, 1, 2]), np.array([3, 4])
    left, right, vector = np.ones((5, 6), np.float32), np.ones((2, 6), np.float32), np.ones((2, 3), np.float32)
    for wrong, text in (
        ({"vector": vector[:1]}, "heads"),
        ({"out": np.ones((3, 6), np.float32)}, "row for each target"),
        ({"left": left[:1]}, "not there"),
        ({"kept": np.ones((2, 2), np.float32)}, "kept"),
        ({"weights": np.ones((2, 2), np.float32)}, "weights"),
        ({"width": 3}, "vectors"),
    ):
        arguments = {"left": left, "right": right, "vector": vector, "slope": 0.2, "out": right.copy(), **wrong}
        with pytest.raises(ValueError, match=text):
            _native.attend(indptr=edges[0], indices=edges[1], **arguments)
