"""Counts of what is put on a device: launches, calls, waits, bytes that cross the link."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from marius_lite._native import CudaLibrary

NO_LAUNCH = (
    *("view", "unsafe_view", "reshape", "as_strided", "alias", "detach", "slice", "select", "split", "expand", "squeeze"),
    *("unsqueeze", "unbind", "transpose", "permute", "empty", "new_empty", "lift_fresh", "local_scalar_dense"),
)
KERNELS = {"aten::sort": 4, "aten::index_put_": 6, "aten::_embedding_bag": 2, "aten::_embedding_bag_backward": 6}
"""Launches of what torch does in several kernels: a radix sort's passes; index_put_ with accumulate, and gradients of bags of
embeddings, sort first."""
WAITS = ("aten::_local_scalar_dense", "aten::nonzero", "aten::equal", "aten::is_nonzero")
COUNTED = ("copy", "copy_rows", "row_step", "segment_sum", "softmax_loss")


@dataclass
class Counts:
    """Of one batch. ``up``, ``down``: bytes that cross the link."""

    launches: int = 0
    calls: int = 0
    waits: int = 0
    up: int = 0
    down: int = 0
    names: Counter[str] = field(default_factory=Counter)


class Counting(TorchDispatchMode):
    """Counts torch's calls while it is open. ``on_host``: addresses of tensors of the host, which nothing waits for."""

    def __init__(self, counts: Counts, on_host: set[int]):
        super().__init__()
        self.counts, self.on_host = counts, on_host

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = function.name()
        plain = name.split(".")[0]
        if plain.startswith("profiler"):
            return function(*args, **(kwargs or {}))
        self.counts.calls += 1
        self.counts.waits += plain in WAITS and args[0].data_ptr() not in self.on_host
        if not plain.removeprefix("aten::").lstrip("_").startswith(NO_LAUNCH) and plain != "aten::t":
            accumulates = plain != "aten::index_put_" or (len(args) > 3 and args[3])
            launches = KERNELS.get(plain, 1) if accumulates else 1
            self.counts.launches += launches
            self.counts.names[name] += launches
        return function(*args, **(kwargs or {}))


class CountingLibrary:
    """A CudaLibrary that counts its launches and the bytes that they bring over the link, which the host's ``table`` is at."""

    def __init__(self, library: CudaLibrary, counts: Counts):
        self.library, self.counts = library, counts

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.library, name)
        if name not in COUNTED:
            return call

        def counted(**arguments: Any) -> Any:
            self.counts.launches += 1
            self.counts.calls += 1
            self.counts.names[name] += 1
            if name == "copy":
                self.counts.up += arguments["bytes"]
            if name == "copy_rows" and arguments.get("index_bytes", 8) == 8:
                size = arguments["count"] * arguments["columns"] * 4
                self.counts.up += size if "source_rows" in arguments else 0
                self.counts.down += size if "target_rows" in arguments else 0
            return call(**arguments)

        return counted
