"""Bytes of the tensors that operations make, while they live."""

import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class LiveBytes(TorchDispatchMode):
    """Counts storages from their first tensor's birth to their own end; ``most``: at one time."""

    def __init__(self):
        super().__init__()
        self.now = self.most = 0
        self._known = weakref.WeakSet()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                self._count(tensor.untyped_storage())
        return result

    def _count(self, storage):
        if storage not in self._known:
            self._known.add(storage)
            self.now += storage.nbytes()
            self.most = max(self.most, self.now)
            weakref.finalize(storage, self._end, storage.nbytes())

    def _end(self, size):
        self.now -= size
