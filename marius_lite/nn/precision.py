"""Choose the arithmetic of matrix products: float32, or inputs rounded to fewer bits and summed in float32."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from marius_lite.errors import UserError

SHORT = {"cpu": "bf16", "cuda": "tf32"}


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
