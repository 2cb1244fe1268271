"""The branches for tensors on a GPU, taken with tensors on this processor: where they lie is all that is pretended."""

from contextlib import contextmanager

import pytest
import torch


@contextmanager
def pretended_gpu():
    """Let every tensor say that it is on a GPU, until the block ends."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "is_cuda", property(lambda self: True), raising=False)
        yield
