"""Sum or average the rows of neighbours, with gradients, and without an array that has a row for each edge.

On CPUs `csrc/layers/aggregate.cpp` does the work. Elsewhere torch's bags of embeddings do, whose sums are in a fixed order.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding_bag

import marius_lite._native as _native

PIECE = 1024
"""Rows of a bag that are summed one after the other, at most, where bags may be long."""


def neighbour_sum(
    x: Tensor, indptr: Tensor, indices: Tensor, weights: Tensor | None = None, mean: bool = False, own: Tensor | None = None
) -> Tensor:
    """Return (t, d): for each target t the sum, or ``mean``, of weights[e] * x[indices[e]] over its edges e, plus own[t] * x[t].

    The edges of t are indptr[t]:indptr[t+1], from 0 on to the last edge; without edges its row is 0. x: (s, d) float32 or
    bfloat16, and so is the result; indptr: (t + 1,) int64; indices: (e,) int32 or int64; weights: (e,) float32; own: (t,)
    float32, all 0 where it is missing; these get no gradient. On the CPU, sums are float32, and the gradient of x has the same
    bits for any number of threads.
    """
    if native_usable(x):
        summed: Tensor = _NeighbourSum.apply(x, indptr, indices, weights, mean, own)  # type: ignore[no-untyped-call]
        return summed
    scales = None if weights is None else weights.to(x.dtype)
    at_once = torch.is_grad_enabled()  # else all neighbours of a node are summed, in an evaluation: maybe very many
    out = (_bags if at_once else _bags_in_pieces)(indices, x, indptr, scales, mean)
    return out if own is None else out + x[: len(out)] * own.unsqueeze(1)


def _bags(indices: Tensor, x: Tensor, starts: Tensor, weights: Tensor | None, mean: bool = False) -> Tensor:
    """Sum the rows of each bag; or take their mean, where there are no weights by one launch."""
    if mean and weights is not None:
        return _divided(_bags(indices, x, starts, weights), starts)
    mode = "mean" if mean else "sum"
    return embedding_bag(indices, x, starts.to(indices.dtype), mode=mode, per_sample_weights=weights, include_last_offset=True)


def _divided(sums: Tensor, starts: Tensor) -> Tensor:
    return sums / starts.diff().clamp(min=1).unsqueeze(1).to(sums.dtype)


def _bags_in_pieces(indices: Tensor, x: Tensor, starts: Tensor, weights: Tensor | None, mean: bool) -> Tensor:
    """Do what `_bags` does, where a bag may have a million rows: a GPU adds those of a bag one after the other.

    Bags are cut at multiples of PIECE, and the sums of pieces are summed. Nothing waits for a GPU to tell how long bags are.
    """
    cuts = torch.arange(0, len(indices), PIECE, dtype=starts.dtype, device=starts.device)
    pieces = torch.cat([starts, cuts]).sort().values
    sums = _bags(indices, x, pieces, weights)
    order = torch.arange(len(sums), device=starts.device)  # what lies behind the last bag are empty pieces
    summed = _bags(order, sums, torch.searchsorted(pieces, starts), None)
    return _divided(summed, starts) if mean else summed


def targets_of(indptr: Tensor, edges: int) -> Tensor:
    """Return the target of each edge, (edges,) int64. ``edges``: how many there are, so that nothing waits for a GPU."""
    return torch.repeat_interleave(indptr.diff(), output_size=edges)


def native_sum(x: Tensor, indptr: Tensor, indices: Tensor, out: Tensor, **options: Any) -> Tensor:
    """Call `_native.neighbour_sum` on CPU tensors, whose dtypes must be those it takes. Returns ``out``."""
    _native.neighbour_sum(array_of(x), indptr.numpy(), indices.numpy(), array_of(out), **_arrays(options))
    return out


def native_sum_backward(grad: Tensor, indptr: Tensor, indices: Tensor, out: Tensor, **options: Any) -> Tensor:
    """Call `_native.neighbour_sum_backward` on CPU tensors, whose dtypes must be those it takes. Returns ``out``."""
    _native.neighbour_sum_backward(array_of(grad), indptr.numpy(), indices.numpy(), array_of(out), **_arrays(options))
    return out


def native_usable(x: Tensor) -> bool:
    """Return whether the native kernels take ``x``."""
    return not x.is_cuda and x.dtype in (torch.float32, torch.bfloat16)


def array_of(tensor: Tensor) -> Any:
    """Return the array of a CPU tensor, or of its bits, uint16, where it is bfloat16. Nothing is copied."""
    tensor = tensor.detach()
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()


def _arrays(options: dict[str, Any]) -> dict[str, Any]:
    return {name: array_of(value) if isinstance(value, Tensor) else value for name, value in options.items()}


class _NeighbourSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, indptr: Tensor, indices: Tensor, *options: Any) -> Tensor:
        weights, ctx.mean, own = options
        ctx.save_for_backward(indptr, indices, weights, own)
        ctx.sources = len(x)
        out = x.new_empty(len(indptr) - 1, x.shape[1])
        return native_sum(with_dense_rows(x), indptr, indices, out, weights=weights, mean=ctx.mean, own=own)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        indptr, indices, weights, own = ctx.saved_tensors
        out = grad.new_empty(ctx.sources, grad.shape[1])
        native_sum_backward(with_dense_rows(grad), indptr, indices, out, weights=weights, mean=ctx.mean, own=own)
        return out, None, None, None, None, None


def with_dense_rows(matrix: Tensor) -> Tensor:
    """Return ``matrix``, copied only where there are gaps between the numbers of a row."""
    return matrix if matrix.stride(1) == 1 or matrix.shape[1] <= 1 else matrix.contiguous()
