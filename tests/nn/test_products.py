"""Products are products, whichever library makes them. In mixed precision they are near float32's, and nothing is left behind."""

import pytest
import torch

import marius_lite.nn.products as products
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


@pytest.mark.parametrize(("mkl", "chosen"), [(0.5, True), (1.2, True), (1.3, False)])
def test_onednn_is_chosen_unless_mkl_is_far_ahead(mkl, chosen, monkeypatch):
    monkeypatch.setattr(products, "_mkl_far_ahead", products._mkl_far_ahead.__wrapped__)
    monkeypatch.setattr(products, "rates", lambda: {"onednn": 1.0, "mkl": mkl})
    assert products.onednn_chosen() == (chosen and products.onednn_usable())
    monkeypatch.setattr(products, "onednn_usable", lambda: False)
    assert not products.onednn_chosen()


@pytest.mark.parametrize("usable", [True, False])
def test_sums_over_rows(usable, monkeypatch):
    """Either operand may have rows of 0 behind."""
    if usable and not products.onednn_usable():
        pytest.skip("this torch or CPU has no oneDNN product")
    monkeypatch.setattr(products, "onednn_chosen", lambda: usable)
    left, right = torch.randn(2100, 9), torch.randn(2100, 7)
    expected = left.double().T @ right.double()
    for sides in ((left, right), (torch.cat([left, torch.zeros(12, 9)]), right), (left.bfloat16(), right.bfloat16())):
        found = products.summed_over_rows(*sides)
        assert found.dtype == torch.float32
        assert relative(found.double(), expected) < (1e-2 if sides[0].dtype == torch.bfloat16 else 1e-6)


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
