"""Products are products, whichever library makes them. In mixed precision they are near float32's, and nothing is left behind."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import marius_lite.nn.products as products
from marius_lite import _native
from marius_lite.nn.workspace import Workspace


@pytest.mark.parametrize("usable", [True, False])
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 2), (300, 101, 100)])
@pytest.mark.parametrize("transposed", [False, True])
def test_product(usable, shape, transposed, monkeypatch):
    if usable and not products.onednn_usable():
        pytest.skip("this torch or CPU has no oneDNN product")
    monkeypatch.setattr(products, "onednn_chosen", lambda: usable)
    n, m, d = shape
    left, right = torch.randn(d, n).T if transposed else torch.randn(n, d), torch.randn(m, d)
    for operands in ((left, right), (left[:, : d // 2], right[:, : d // 2])):  # the second: rows with gaps
        expected = operands[0].double() @ operands[1].double().T
        ours = products.product(*operands, "out", Workspace())
        assert ours.is_contiguous()
        torch.testing.assert_close(ours.double(), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("usable", [True, False])
@pytest.mark.parametrize(("rows", "biased"), [(1, True), (3000, True), (3000, False)])
def test_linear(usable, rows, biased, monkeypatch):
    if usable and not products.onednn_usable():
        pytest.skip("this torch or CPU has no oneDNN product")
    monkeypatch.setattr(products, "onednn_chosen", lambda: usable)
    monkeypatch.setattr(products, "WORTHWHILE", 0)
    tensors = [torch.randn(rows, 21), torch.randn(13, 21), torch.randn(13)][: 3 if biased else 2]
    exact = [tensor.double().requires_grad_() for tensor in tensors]
    ours = [tensor.requires_grad_() for tensor in tensors]
    upstream = torch.randn(rows, 13)
    out, expected = products.linear(*ours), torch.nn.functional.linear(*exact)
    out.backward(upstream)
    expected.backward(upstream.double())
    torch.testing.assert_close(out.double(), expected, rtol=1e-5, atol=1e-4)
    for mine, theirs in zip(ours, exact):
        torch.testing.assert_close(mine.grad.double(), theirs.grad, rtol=1e-4, atol=1e-3)


@pytest.mark.skipif(not products.onednn_usable(), reason="this torch or CPU has no oneDNN product")
def test_both_libraries_are_timed():
    threads = torch.get_num_threads()
    assert all(rate > 0 for rate in products.rates().values())
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize(("mkl", "chosen"), [(0.5, "onednn"), (1.2, "onednn"), (1.3, "mkl")])
def test_onednn_is_chosen_unless_mkl_is_far_ahead(mkl, chosen, monkeypatch):
    monkeypatch.setattr(products, "_library", "auto")
    monkeypatch.setattr(products, "fastest_library", products.fastest_library.__wrapped__)
    monkeypatch.setattr(products, "rates", lambda: {"onednn": 1.0, "mkl": mkl})
    monkeypatch.setattr(products, "onednn_usable", lambda: True)
    assert products.fastest_library() == chosen
    assert products.onednn_chosen() == (chosen == "onednn")
    monkeypatch.setattr(products, "onednn_usable", lambda: False)
    assert products.fastest_library() == "mkl"
    assert not products.onednn_chosen()


def test_a_run_takes_the_library_that_its_record_says(monkeypatch):
    monkeypatch.setattr(products, "onednn_usable", lambda: True)
    monkeypatch.setattr(products, "_library", "auto")  # put back afterwards
    for name in ("mkl", "onednn"):
        products.use_library(name)
        assert products.onednn_chosen() == (name == "onednn")


@pytest.mark.parametrize("usable", [True, False])
def test_sums_over_rows(usable, monkeypatch):
    """Either operand may have rows of 0 behind."""
    if usable and not products.onednn_usable():
        pytest.skip("this torch or CPU has no oneDNN product")
    monkeypatch.setattr(products, "onednn_chosen", lambda: usable)
    torch.manual_seed(0)
    left, right = torch.randn(2100, 9), torch.randn(2100, 7)
    expected = left.double().T @ right.double()
    for sides in ((left, right), (torch.cat([left, torch.zeros(12, 9)]), right), (left.bfloat16(), right.bfloat16())):
        found = products.summed_over_rows(*sides)
        assert found.dtype == torch.float32
        assert relative(found.double(), expected) < (1e-2 if sides[0].dtype == torch.bfloat16 else 1e-6)


@pytest.mark.parametrize("natively", [True, False])
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    rows=st.one_of(st.integers(0, 40), st.integers(250, 270), st.integers(5000, 5100)),
    widths=st.tuples(st.sampled_from([1, 7, 12, 31, 33, 128]), st.sampled_from([1, 5, 32, 100])),
    rectified=st.booleans(),
    behind=st.integers(0, 3),
)
def test_gradients_of_weights_from_rounded_rows(natively, seed, rows, widths, rectified, behind):
    """What the native kernel adds up is exact to float32's digits."""
    if natively and not products._native_gradients():
        pytest.skip("this processor has no kernel for it, or tiles that are faster")
    torch.manual_seed(seed)
    grad, seen, x = (torch.randn(rows, width).bfloat16() for width in (widths[0], widths[0], widths[1]))
    expected = grad.double() * (seen > 0 if rectified else 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "_native_gradients", lambda: natively)
        padded = torch.cat([x, x.new_zeros(behind, widths[1])])
        if rectified and natively:
            weight, bias = products.weight_gradients(grad, padded, seen)
        else:
            weight, bias = products.weight_gradients(expected.bfloat16(), padded)
    sizes = expected.abs().T @ x.double().abs(), expected.abs().sum(0)
    for found, exact, size in ((weight, expected.T @ x.double(), sizes[0]), (bias, expected.sum(0), sizes[1])):
        assert found.dtype == torch.float32
        assert float((found - exact).norm()) <= (1e-6 if natively else 4e-3) * float(size.norm())


@pytest.mark.skipif(not _native.weight_gradient_usable(), reason="this processor does not multiply bfloat16")
def test_native_gradients_of_weights_have_the_same_bits_for_the_same_threads():
    grad, x = (np.random.default_rng(0).integers(0x3F00, 0x4000, (9000, width)).astype(np.uint16) for width in (9, 40))
    found = []
    for threads in (1, 1, 3, 3):
        weight, bias = np.empty((9, 40), np.float32), np.empty(9, np.float32)
        _native.weight_gradient(grad, x, weight, bias, threads=threads)
        found.append(weight.tobytes() + bias.tobytes())
    assert found[0] == found[1]
    assert found[2] == found[3]
    with pytest.raises(ValueError, match="as many rows"):
        _native.weight_gradient(grad[1:], x, weight, bias)
    with pytest.raises(ValueError, match="a row, and bias a number"):
        _native.weight_gradient(grad, x, weight[:, 1:].copy(), bias)
    with pytest.raises(ValueError, match="rectified"):
        _native.weight_gradient(grad, x, weight, bias, grad[1:])


def test_few_numbers_of_rows_recur():
    rows = [products.recurring_rows(n) for n in range(1, 100_001)]
    assert all(n <= padded <= n * 1.032 + 16 for n, padded in enumerate(rows, 1))
    assert len({padded for padded in rows if padded > 50_000}) <= 64


def multiply(precision):
    generator = torch.Generator().manual_seed(0)
    left, right = torch.randn(512, 256, generator=generator), torch.randn(384, 256, generator=generator)
    with products.products_in(precision):
        return products.product(left, right, "out", Workspace()).clone(), left.double() @ right.double().T


def relative(found, exact):
    return float((found - exact).norm() / exact.norm())


def test_float32_is_exact_to_its_digits_and_mixed_to_bfloat16s():
    assert relative(*multiply("float32")) < 1e-6
    assert relative(*multiply("mixed")) < 1e-2


def test_settings_are_put_back_even_after_an_error():
    before = torch.backends.mkldnn.matmul.fp32_precision, torch.backends.cuda.matmul.fp32_precision
    with pytest.raises(KeyError), products.products_in("mixed"):
        raise KeyError(torch.backends.cuda.matmul.fp32_precision)
    assert (torch.backends.mkldnn.matmul.fp32_precision, torch.backends.cuda.matmul.fp32_precision) == before
    assert relative(*multiply("float32")) < 1e-6
