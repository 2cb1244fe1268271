"""Sums of neighbours' rows against autograd over arrays of one row for each edge."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbourhoods import by_definition, random_lists

import marius_lite.nn.aggregate as aggregate
from marius_lite import _native
from marius_lite.nn.aggregate import neighbour_sum


@pytest.mark.parametrize("native", [True, False])
@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(0, 40),
    st.integers(0, 60),
    st.integers(0, 300),
    st.sampled_from([1, 7, 32, 130]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([torch.int32, torch.int64]),
    st.sampled_from([1, 3, 64, 1024]),
)
def test_values_and_gradients(native, seed, targets, sources, edges, width, weighted, mean, owned, dtype, piece):
    """Also without gradients, where long bags are summed in pieces."""
    torch.manual_seed(seed)
    sources = max(sources, targets) if owned else sources  # the first sources are the targets
    indptr, indices = random_lists(seed, targets, sources, edges, dtype)
    x = torch.randn(sources, width, requires_grad=True)
    exact = x.detach().double().requires_grad_()
    weights = torch.randn(len(indices)) if weighted else None
    grad = torch.randn(targets, width)
    own = torch.randn(targets) if owned else None
    expected = by_definition(exact, indptr, indices, weights, mean, own)
    expected.backward(grad.double())
    with pytest.MonkeyPatch.context() as patch:
        if not native:
            patch.setattr(aggregate, "native_usable", lambda x: False)
        out = neighbour_sum(x, indptr, indices, weights, mean, own)
        out.backward(grad)
        patch.setattr(aggregate, "PIECE", piece)
        with torch.no_grad():
            evaluated = neighbour_sum(x, indptr, indices, weights, mean, own)
    torch.testing.assert_close(evaluated.double(), expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(out.double(), expected, rtol=1e-4, atol=1e-4)  # up to 300 terms
    torch.testing.assert_close(x.grad.double(), exact.grad, rtol=1e-4, atol=1e-4)


def test_gradients_that_are_no_dense_matrix():
    """A sum hands back an expanded scalar: all strides 0."""
    indptr, indices = random_lists(1, 9, 12, 40)
    x = torch.randn(12, 5).T.contiguous().T.requires_grad_()
    neighbour_sum(x, indptr, indices).sum().backward()
    torch.testing.assert_close(x.grad, torch.bincount(indices, minlength=12).float().unsqueeze(1).expand(-1, 5))


@pytest.mark.parametrize("mean", [False, True])
def test_same_bits_for_any_number_of_threads(mean):
    indptr, indices = random_lists(2, 3000, 9000, 40_000, torch.int32)
    grad = torch.randn(3000, 20, generator=torch.Generator().manual_seed(0)).numpy()
    results = []
    for threads in (1, 2, 3, 8):
        out = np.full((9000, 20), np.nan, np.float32)
        _native.neighbour_sum_backward(grad, indptr.numpy(), indices.numpy(), out, mean=mean, threads=threads)
        results.append(out.tobytes())
    assert len(set(results)) == 1


def test_rows_apart():
    """Targets beside other columns, sources that are the first columns of wider rows."""
    indptr, indices = random_lists(3, 50, 80, 300)
    table = np.random.default_rng(3).random((80, 12), np.float32)
    out, expected = np.empty((50, 16), np.float32), np.empty((50, 10), np.float32)
    _native.neighbour_sum(table, indptr.numpy(), indices.numpy(), out[:, 3:13], mean=True)
    _native.neighbour_sum(np.ascontiguousarray(table[:, :10]), indptr.numpy(), indices.numpy(), expected, mean=True)
    np.testing.assert_array_equal(out[:, 3:13], expected)
    with pytest.raises(ValueError, match="the rows of out have gaps"):
        _native.neighbour_sum(table, indptr.numpy(), indices.numpy(), out[:, ::2], mean=True)


def test_base():
    indptr, indices = random_lists(4, 50, 80, 300)
    rng = np.random.default_rng(4)
    grad, base = (rng.normal(size=(50, 6)).astype(np.float32) for _ in range(2))
    plain, out = np.empty((80, 6), np.float32), np.empty((80, 6), np.float32)
    _native.neighbour_sum_backward(grad, indptr.numpy(), indices.numpy(), plain)
    _native.neighbour_sum_backward(grad, indptr.numpy(), indices.numpy(), out, base=base)
    plain[:50] += base
    np.testing.assert_allclose(out, plain, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("indptr", "indices"),
    [([0, 2, 1], [0, 1]), ([0, 1, 3], [0, 1]), ([-1, 1, 2], [0, 1]), ([0, 1, 2], [0, 5]), ([0, 1, 2], [-1, 0])],
)
def test_what_is_not_there_is_refused(indptr, indices):
    indptr, indices = np.array(indptr), np.array(indices)
    x, out = np.ones((5, 3), np.float32), np.ones((2, 3), np.float32)
    with pytest.raises(ValueError, match="not there"):
        _native.neighbour_sum(x, indptr, indices, out)
    with pytest.raises(ValueError, match="not there"):
        _native.neighbour_sum_backward(out, indptr, indices, x)


@pytest.mark.parametrize("rounded", ["all", "result"])
def test_bfloat16_rounds_the_result_alone(rounded):
    """Sums of rows of bfloat16 are those of the same numbers as float32, rounded once, also beside other columns."""
    indptr, indices = random_lists(5, 50, 80, 300)
    weights = torch.rand(300)
    table = torch.randn(80, 12).bfloat16()
    expected = neighbour_sum(table.float(), indptr, indices, weights, True, torch.ones(50)).bfloat16()
    out = torch.zeros(50, 20, dtype=torch.bfloat16)
    x = table if rounded == "all" else table.float()
    aggregate.native_sum(x, indptr, indices, out[:, 3:15], weights=weights, mean=True, own=torch.ones(50))
    assert torch.equal(out[:, 3:15], expected)
    assert not out[:, :3].any()
    assert not out[:, 15:].any()


def test_bfloat16_gradients_and_what_is_no_number():
    indptr, indices = random_lists(6, 50, 80, 300)
    grad = torch.randn(50, 9).bfloat16()
    grad[7, 2], grad[8, 3], grad[9, 4] = torch.nan, torch.inf, -torch.inf
    sums = []
    for each in (grad.float(), grad):
        x = torch.zeros(80, 9, dtype=each.dtype, requires_grad=True)
        neighbour_sum(x, indptr, indices, mean=True).backward(each)
        sums.append(x.grad.bfloat16())
    assert sums[0].isnan().any()
    torch.testing.assert_close(sums[1], sums[0], rtol=0, atol=0, equal_nan=True)
