"""Float32 matrix products, by oneDNN where usable: twice as fast as MKL, which spares wide vectors on AMD."""

from __future__ import annotations

from functools import cache

import torch

from marius_lite.nn.workspace import Workspace

WORTHWHILE = 1 << 20
"""Multiplications below which oneDNN's start costs more than it saves."""


def product(left: torch.Tensor, right: torch.Tensor, name: str, workspace: Workspace) -> torch.Tensor:
    """left (n, d) times the transpose of right (m, d), float32: (n, m), valid until ``name`` is used again.

    Fast where each operand, or its transpose, is contiguous.
    """
    work = left.shape[0] * left.shape[1] * right.shape[0]
    if work >= WORTHWHILE and not left.is_cuda and onednn_usable() and _dense(left) and _dense(right):
        return _onednn(left, right)
    out = workspace.tensor(name, (left.shape[0], right.shape[0]), left.device)
    return torch.mm(left, right.T, out=out)


@cache
def onednn_usable() -> bool:
    """Whether this torch offers oneDNN's float32 product, asked once, and gives right answers by it."""
    if "AVX512" not in torch.backends.cpu.get_cpu_capability():
        return False
    left = torch.arange(1024.0).remainder_(7).view(32, 32)
    try:
        return torch.equal(_onednn(left, left.T), left @ left)  # small integers: exact
    except (RuntimeError, AttributeError):
        return False


def _onednn(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    out: torch.Tensor = torch.ops.mkldnn._linear_pointwise(left, right, None, "none", [], "")
    return out


def _dense(matrix: torch.Tensor) -> bool:
    return matrix.is_contiguous() or matrix.T.is_contiguous()
