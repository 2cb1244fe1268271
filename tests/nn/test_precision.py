"""Mixed precision: products near float32's, learning the same, nothing left behind."""

import pytest
import torch

from marius_lite.nn.precision import products_in
from marius_lite.nn.products import product
from marius_lite.nn.workspace import Workspace


def multiply(precision):
    generator = torch.Generator().manual_seed(0)
    left, right = torch.randn(512, 256, generator=generator), torch.randn(384, 256, generator=generator)
    with products_in(precision):
        return product(left, right, "out", Workspace()).clone(), left.double() @ right.double().T


def relative(found, exact):
    return float((found - exact).norm() / exact.norm())


def test_float32_is_exact_to_its_digits_and_mixed_to_bfloat16s():
    assert relative(*multiply("float32")) < 1e-6
    assert relative(*multiply("mixed")) < 1e-2


def test_settings_are_put_back_even_after_an_error():
    before = torch.backends.mkldnn.matmul.fp32_precision, torch.backends.cuda.matmul.fp32_precision
    with pytest.raises(KeyError), products_in("mixed"):
        raise KeyError(torch.backends.cuda.matmul.fp32_precision)
    assert (torch.backends.mkldnn.matmul.fp32_precision, torch.backends.cuda.matmul.fp32_precision) == before
    assert relative(*multiply("float32")) < 1e-6
