"""Gradients from given ones: the bits of `torch.autograd.grad`, without what that imports."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from torch import Tensor

from marius_lite.nn.gradients import gradients


def _outputs(x: Tensor, weight: Tensor) -> list[Tensor]:
    return [(x @ weight).tanh(), x.exp() * 2]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_are_those_of_torch(dtype: torch.dtype) -> None:
    x, weight, unused = (torch.randn(shape).to(dtype).requires_grad_() for shape in ((5, 3), (3, 4), (2,)))
    given = [torch.randn_like(output) for output in _outputs(x, weight)]
    found = gradients(_outputs(x, weight), given, [x, weight, unused], allow_unused=True)
    wanted = torch.autograd.grad(_outputs(x, weight), [x, weight, unused], given, allow_unused=True)
    assert found[2] is wanted[2] is None
    for ours, theirs in zip(found[:2], wanted[:2], strict=True):
        assert ours.dtype == dtype
        assert torch.equal(ours, theirs)


def test_of_what_was_not_used_are_zeros_where_asked_for() -> None:
    x, unused = torch.randn(3, requires_grad=True), torch.randn(2, requires_grad=True)
    assert torch.equal(
        gradients([x * 2], [torch.ones(3)], [unused], materialize_grads=True, allow_unused=True)[0], torch.zeros(2)
    )


def test_a_gradient_of_another_shape_is_refused() -> None:
    x = torch.randn(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="shape"):
        gradients([x * 2], [torch.ones(4)], [x])


def test_can_be_asked_for_where_nothing_is_recorded() -> None:
    x = torch.randn(3, requires_grad=True)
    output = x * 2
    with torch.no_grad():
        assert torch.equal(gradients([output], [torch.ones(3)], [x])[0], torch.full((3,), 2.0))


def test_import_no_algebra() -> None:
    code = (
        "import sys, torch; from marius_lite.nn.gradients import gradients; x = torch.ones(3, requires_grad=True);"
        "gradients([x * 2], [torch.ones(3)], [x]); sys.exit('sympy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
