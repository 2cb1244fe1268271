"""The arithmetic of matrix products: float32, or inputs rounded to fewer bits with float32 sums."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from marius_lite.errors import UserError

SHORT = {"cpu": "bf16", "cuda": "tf32"}


@contextmanager
def products_in(precision: str) -> Iterator[None]:
    """Within it, float32 matrix products have ``precision``: float32, or mixed (bfloat16 on a CPU, TF32 on a GPU).

    It changes torch's settings for the whole process, so that evaluation, outside of it, stays exact.
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
