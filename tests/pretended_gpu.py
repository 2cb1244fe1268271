"""The branches for tensors on a GPU, taken with tensors on this processor: where they lie is all that is pretended."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest
import torch

from marius_lite.nn import losses


@contextmanager
def pretended_gpu(library):
    """Let every tensor say that it is on a GPU, and losses call that CUDA library, the host's, until the block ends."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "is_cuda", property(lambda self: True), raising=False)
        patch.setattr(torch.cuda, "current_stream", lambda device: SimpleNamespace(cuda_stream=0))
        patch.setattr(losses, "library", lambda: library)
        yield
