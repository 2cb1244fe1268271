"""Multiply float32 matrices, and choose the precision: float32, or inputs rounded to fewer bits and summed in float32.

oneDNN does it where it can be used, unless MKL is far faster on this processor. On AMD oneDNN is twice as fast as MKL, which
avoids wide vectors there. On Intel MKL sums over many rows twice as fast.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from marius_lite._native import shared_loss_ways, weight_gradient, weight_gradient_usable
from marius_lite.errors import UserError
from marius_lite.nn.aggregate import array_of
from marius_lite.nn.timing import least_seconds, preferred
from marius_lite.nn.workspace import Workspace

WORTHWHILE = 1 << 20
"""The fewest multiplications for oneDNN. With fewer its start costs more than it saves."""
WIDE = 1 << 13
"""The most rows of a result to which oneDNN's product is added. With more rows, the extra pass over the transposed product costs
more than a slower product."""
SUMMED_ROWS = 1024
"""Rows that a sum over many rows takes at a time: these rows of both operands stay in a core's cache."""
TIMED = (4096, 128, 128)
"""Rows, and numbers of each before and after, of the products that libraries are timed on."""
SHORT = {"cpu": "bf16", "cuda": "tf32"}
"""What products in mixed precision round their inputs to, by device."""


@contextmanager
def products_in(precision: str) -> Iterator[None]:
    """Give float32 matrix products a ``precision`` until the block ends: float32, or mixed (bfloat16 on a CPU, TF32 on a GPU).

    Torch's settings are of the whole process. They are put back, so that evaluation outside the block stays exact. Raises
    UserError where torch is too old for mixed.
    """
    if precision != "mixed":
        yield
        return
    if not hasattr(torch.backends.mkldnn, "matmul"):
        raise UserError(f"`training.precision` is mixed, which needs torch 2.9 or newer: found {torch.__version__}")
    settings = {"cpu": torch.backends.mkldnn.matmul, "cuda": torch.backends.cuda.matmul}
    before = {name: setting.fp32_precision for name, setting in settings.items()}
    try:
        for name, setting in settings.items():
            setting.fp32_precision = SHORT[name]
        yield
    finally:
        for name, setting in settings.items():
            setting.fp32_precision = before[name]


def mixed() -> bool:
    """Return whether products round their inputs. Torch then calls oneDNN itself, without an extra pass over a new result."""
    setting = getattr(torch.backends.mkldnn, "matmul", None)
    return setting is not None and setting.fp32_precision == "bf16"


def product(left: torch.Tensor, right: torch.Tensor, name: str, workspace: Workspace) -> torch.Tensor:
    """Return left (n, d) times the transpose of right (m, d), float32 (n, m). It stays valid until ``name`` is used again.

    This is fast where each operand, or its transpose, is contiguous.
    """
    work = left.shape[0] * left.shape[1] * right.shape[0]
    if work >= WORTHWHILE and not left.is_cuda and not mixed() and onednn_chosen() and _dense(left) and _dense(right):
        return _onednn(left, right)
    out = workspace.tensor(name, (left.shape[0], right.shape[0]), left.device)
    return torch.mm(left, right.T, out=out)


def add_product_(out: torch.Tensor, left: torch.Tensor, right: torch.Tensor, workspace: Workspace) -> None:
    """Add the transpose of right (n, m) times left (n, d) to ``out`` (m, d)."""
    if mixed() or out.is_cuda or len(out) > WIDE:
        torch.addmm(out, right.T, left, out=out)
    else:
        out += product(left.T, right.T, "columns", workspace).T


def products(left: torch.Tensor, right: torch.Tensor, name: str, workspace: Workspace) -> torch.Tensor:
    """Return `product` of each left[i] (n, d) with right[i] (m, d): float32 (b, n, m), valid until ``name`` is used again."""
    if len(left) == 1:
        return product(left[0], right[0], name, workspace)[None]
    out = workspace.tensor(name, (len(left), left.shape[1], right.shape[1]), left.device)
    return torch.bmm(left, right.mT, out=out)


def add_products_(out: torch.Tensor, left: torch.Tensor, right: torch.Tensor, workspace: Workspace) -> None:
    """Add to each out[i] (m, d) the transpose of right[i] (n, m) times left[i] (n, d)."""
    if len(left) == 1:
        add_product_(out[0], left[0], right[0], workspace)
    else:
        out.baddbmm_(right.mT, left)


def rounds_rows(x: torch.Tensor) -> bool:
    """Return whether `linear` rounds what it multiplies to tensors of bfloat16, and gives one: mixed precision on a CPU for it.

    So a row is rounded once for all of its products, and takes half of the memory until the next layer.
    """
    if x.device.type != "cpu" or x.dtype != torch.float32:
        return x.device.type == "cpu" and x.dtype == torch.bfloat16
    return mixed() and bfloat16_usable()


def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Do what torch.nn.functional.linear does to x (n, in). Where oneDNN does it, only first derivatives exist.

    Where `rounds_rows`, the result is bfloat16.
    """
    if x.is_cuda:  # with a bias torch asks cuBLASLt how, which takes the host 0.7 ms for every shape that is new
        result = torch.mm(x, weight.T)
        return result if bias is None else result.add_(bias)
    if not rounds_rows(x):
        work = x.shape[0] * weight.numel()
        plain = x.dtype != torch.float32 or not _dense(x) or not weight.is_contiguous()
        if work < WORTHWHILE or plain or not onednn_chosen():
            return torch.nn.functional.linear(x, weight, bias)
    out: torch.Tensor = _Linear.apply(x, weight, bias)  # type: ignore[no-untyped-call]
    return out


def unrounded(x: torch.Tensor) -> torch.Tensor:
    """Return ``x``, as float32 where it is bfloat16."""
    return x.float() if x.dtype == torch.bfloat16 else x


def room_for(x: torch.Tensor, rows: int, width: int) -> torch.Tensor:
    """Return a new tensor (`recurring_rows`, width) for ``rows`` operands of a product. The rows behind them are 0."""
    room = x.new_empty(recurring_rows(rows), width, dtype=_operand(x))
    room[rows:] = 0
    return room


def mapped(
    rows: torch.Tensor, count: int, weight: torch.Tensor, bias: torch.Tensor | None = None, rectified: bool = False
) -> torch.Tensor:
    """Return the first ``count`` of rows (n, in) times the transpose of weight (out, in), plus bias, without a gradient.

    ``rectified``: with 0 for what is below.
    """
    weight, bias = weight.to(rows.dtype), None if bias is None else bias.to(rows.dtype)
    if onednn_usable() if rows.dtype == torch.bfloat16 else onednn_chosen():
        out = _onednn(rows, weight, bias, "relu" if rectified else "none")
    else:
        out = torch.nn.functional.linear(rows, weight, bias)
        out = out.relu_() if rectified else out
    return out.resize_(count, len(weight))


def rows_for_products(x: torch.Tensor) -> torch.Tensor:
    """Return ``x``, with rows of 0 behind it up to `recurring_rows`; rounded where `rounds_rows`."""
    if recurring_rows(len(x)) == len(x) and x.is_contiguous() and x.dtype == _operand(x):
        return x
    room = room_for(x, len(x), x.shape[1])
    room[: len(x)] = x
    return room


def mapped_backward(
    grad: torch.Tensor, rows: torch.Tensor, weight: torch.Tensor, needs_rows: bool, rectified: torch.Tensor | None = None
) -> tuple[torch.Tensor | None, torch.Tensor, torch.Tensor]:
    """Return the gradients of the rows, the weight and the bias from grad (count, out), that of the result of `mapped`.

    ``rectified``: the result, where what was below 0 has become 0 and has no gradient. Without ``needs_rows`` theirs is None.
    """
    count, natively = len(grad), rows.dtype == torch.bfloat16 and _native_gradients()
    if rectified is not None and (needs_rows or not natively):
        room = room_for(rectified, count, grad.shape[1])
        torch.ops.aten.threshold_backward.grad_input(grad, rectified, 0, grad_input=room[:count])
        grad, rectified = room, None
    elif needs_rows:
        grad = rows_for_products(grad)
    d_rows = mapped(grad, count, weight.T) if needs_rows else None
    return d_rows, *weight_gradients(grad, rows, rectified)


def weight_gradients(
    grad: torch.Tensor, rows: torch.Tensor, rectified: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients of a linear map's weight and bias, float32, from grad (n, out) and rows (n, in).

    Sums are float32. Either operand may have rows of 0 behind. ``rectified`` is as in `mapped_backward`, for bfloat16.
    """
    if rows.dtype != torch.bfloat16 or not _native_gradients():
        return summed_over_rows(grad.to(rows.dtype), rows), grad.sum(0).float()
    count = min(len(grad), len(rows))
    weight, bias = torch.empty(grad.shape[1], rows.shape[1]), torch.empty(grad.shape[1])
    grad, rows = grad[:count].to(rows.dtype).contiguous(), rows[:count].contiguous()
    seen = None if rectified is None else array_of(rectified)
    weight_gradient(array_of(grad), array_of(rows), weight.numpy(), bias.numpy(), seen, torch.get_num_threads())
    return weight, bias


def recurring_rows(rows: int) -> int:
    """Return ``rows`` rounded up, by at most 3 % or to a multiple of 16.

    oneDNN compiles a kernel for each number of rows, and every batch has another number.
    """
    step = max(16, 1 << max(rows - 1, 0).bit_length() >> 6)
    return -(-rows // step) * step


def summed_over_rows(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Return the transpose of left (n, a) times right (n, b), in float32: (a, b). It is the gradient of a linear map's weight.

    Sums are float32. Of bfloat16 operands the result is rounded to bfloat16 once. Either may have rows of 0 behind.
    """
    count = min(len(left), len(right))
    left, right = left[:count], right[:count]
    if left.dtype == torch.bfloat16 or not onednn_chosen():
        return (left.T @ right).float()
    return _summed_by_onednn(left, right)


def _summed_by_onednn(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    rest = len(left) % SUMMED_ROWS
    out = left[:rest].T @ right[:rest]
    for start in range(rest, len(left), SUMMED_ROWS):
        rows = slice(start, start + SUMMED_ROWS)
        out += _onednn(left[rows].T, right[rows].T)
    return out


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        rows = rows_for_products(x)
        ctx.save_for_backward(rows, weight)
        return mapped(rows, len(x), weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        rows, weight = ctx.saved_tensors
        d_x, d_weight, d_bias = mapped_backward(grad, rows, weight, ctx.needs_input_grad[0])
        return d_x, d_weight, d_bias if ctx.needs_input_grad[2] else None


@cache
def _native_gradients() -> bool:
    """Return whether the native kernel makes gradients of weights from bfloat16. Where there are AMX's tiles torch is faster."""
    return weight_gradient_usable() and "amx" not in (name for name, _ in shared_loss_ways())


@cache
def bfloat16_usable() -> bool:
    """Return whether this processor multiplies bfloat16 faster than float32: whether it has instructions for it."""
    return any(rounds for _, rounds in shared_loss_ways())


@cache
def onednn_usable() -> bool:
    """Return whether this torch offers oneDNN's float32 product, and the product is right. It is tried once."""
    if "AVX512" not in torch.backends.cpu.get_cpu_capability():
        return False
    left = torch.arange(1024.0).remainder_(7).view(32, 32)
    try:
        return torch.equal(_onednn(left, left.T), left @ left)  # small integers: exact
    except (RuntimeError, AttributeError):
        return False


_library = "auto"


def use_library(name: str) -> None:
    """Let onednn or mkl multiply float32 matrices from now on, as the record of a run says; auto: the `fastest_library`."""
    global _library
    _library = name


def onednn_chosen() -> bool:
    """Return whether oneDNN multiplies float32 matrices. The other library is what torch.mm takes, which is MKL on x86."""
    return onednn_usable() and (mixed() or (fastest_library() if _library == "auto" else _library) == "onednn")


@cache
def fastest_library() -> str:
    """Return onednn, or mkl where it is far ahead on this processor, or where there is no oneDNN."""
    return preferred("onednn", rates()) if onednn_usable() else "mkl"


def rates() -> dict[str, float]:
    """Return how often in a second one thread of each library, at best, makes the products of `TIMED`: a map and its gradient.

    A product alone would not do: on Intel's processors both are as fast for that, and MKL is twice as fast where a weight's
    gradient is summed over many rows.
    """
    rows, inner, outer = TIMED
    left, right, out = torch.ones(rows, inner), torch.ones(outer, inner), torch.empty(rows, outer)
    taken = least_seconds(
        {
            "onednn": lambda: (_onednn(left, right), _summed_by_onednn(out, left)),
            "mkl": lambda: (torch.mm(left, right.T, out=out), out.T @ left),
        }
    )
    return {name: 1 / seconds for name, seconds in taken.items()}


def _onednn(left: torch.Tensor, right: torch.Tensor, bias: torch.Tensor | None = None, last: str = "none") -> torch.Tensor:
    out: torch.Tensor = torch.ops.mkldnn._linear_pointwise(left, right, bias, last, [], "")
    return out


def _operand(x: torch.Tensor) -> torch.dtype:
    return torch.bfloat16 if rounds_rows(x) else torch.float32


def _dense(matrix: torch.Tensor) -> bool:
    return matrix.is_contiguous() or matrix.T.is_contiguous()
