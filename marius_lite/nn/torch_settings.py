"""Set up torch for the whole process, before anything is computed."""

from __future__ import annotations

import os

import torch

from marius_lite.config.schema import Config
from marius_lite.nn.allocator import bound_kernel_caches, keep_large_blocks
from marius_lite.nn.products import use_library


def prepare_torch(config: Config) -> None:
    """Set threads, the library of products, deterministic kernels where a run promises the same bits, and how memory is kept."""
    bound_kernel_caches()
    keep_large_blocks()
    use_library(config.training.products)
    torch.set_num_threads(int(config.training.threads))
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it cuBLAS is not deterministic, and torch refuses
    same_bits = config.training.staleness == 0
    if same_bits:
        os.environ.setdefault("TORCHINDUCTOR_DETERMINISTIC", "1")  # for what torch.compile makes of an encoder of one's own
    # torch.use_deterministic_algorithms does the same, and loads the compiler, which takes longer than the rest of torch.
    torch.set_deterministic_debug_mode("error" if same_bits else "default")
    # No result depends on what new tensors are filled with, and filling them is a pass over each.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
