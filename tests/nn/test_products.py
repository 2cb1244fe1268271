"""Products are products, whichever library makes them."""

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
    monkeypatch.setattr(products, "onednn_usable", lambda: usable)
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
    monkeypatch.setattr(products, "onednn_usable", lambda: usable)
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


def test_few_numbers_of_rows_recur():
    rows = [products.recurring_rows(n) for n in range(1, 100_001)]
    assert all(n <= padded <= n * 1.032 + 16 for n, padded in enumerate(rows, 1))
    assert len({padded for padded in rows if padded > 50_000}) <= 64
