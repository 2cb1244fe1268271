"""Tells where a host would wait for a GPU, without a GPU."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

ASKING = (
    "aten::_local_scalar_dense",
    "aten::nonzero",
    "aten::equal",
    "aten::is_nonzero",
    "aten::masked_select",
    "aten::_unique2",
)
INDEXING = ("aten::index", "aten::index_put_")


class NoWaits(TorchDispatchMode):
    """Refuses calls of torch that wait for a GPU: for a number, for how many truth values are true, or because a number of Python
    is copied there, as at places that are set to it.
    """

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.name().split(".")[0]
        if name in ASKING:
            raise AssertionError(f"{name} is waited for")
        if name in INDEXING and any(index is not None and index.dtype == torch.bool for index in args[1]):
            raise AssertionError(f"{name} asks how many are true")
        if name == "aten::lift_fresh" and args[0].ndim == 0:
            raise AssertionError("a number of Python is sent")
        return function(*args, **(kwargs or {}))
