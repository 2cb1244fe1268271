"""A workspace hands out the same memory again."""

import torch

from marius_lite.nn.workspace import Workspace

CPU = torch.device("cpu")


def test_memory_is_reused_and_grown():
    workspace = Workspace()
    first = workspace.tensor("a", (4, 5), CPU)
    assert workspace.tensor("a", (2, 3), CPU).data_ptr() == first.data_ptr()
    assert workspace.tensor("b", (4, 5), CPU).data_ptr() != first.data_ptr()
    assert workspace.tensor("a", (40, 5), CPU).shape == (40, 5)
    assert workspace.tensor("a", (3,), CPU, torch.int64).dtype == torch.int64
