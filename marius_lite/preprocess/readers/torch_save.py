"""Graphs that torch.save wrote: a PyTorch Geometric ``Data`` with one graph, a dict with ``edge_index``, or that tensor alone.

Only the names in the pickle are read. Nothing of it is imported or called, which is stricter than ``weights_only``: no file can
run code, and torch need not be installed. Such a file is a zip archive, from which numbers are read in blocks.
"""

from __future__ import annotations

import pickle
import pickletools
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np

from marius_lite.errors import UserError
from marius_lite.files import reading
from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.array_file import SKIPPED_AT_ONCE, Take, read_all
from marius_lite.preprocess.readers.arrays import checked_edges, to_arrow
from marius_lite.preprocess.readers.format import Format
from marius_lite.preprocess.readers.raw import RawEdges
from marius_lite.preprocess.readers.source import InputFile, Progress, checksum_of

PICKLE = "/data.pkl"
LEAST_PICKLED, PICKLED_SHARE = 1 << 20, 256  # bytes; a 256th of the memory: a byte can become an object of 216
STORES = ("PUT", "BINPUT", "LONG_BINPUT")
DTYPES = {"LongStorage": np.int64, "IntStorage": np.int32}
ADVICE = "save a torch_geometric Data of one graph, or {'edge_index': tensor of shape (2, E)}, with torch.save"


@dataclass(frozen=True)
class Tensor:
    """A tensor of a file. Its numbers are in member ``data/<key>``; ``offset`` and ``stride`` count numbers. ``dtype``: None
    where they are not integers."""

    key: str
    dtype: Any
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]

    def sound(self) -> bool:
        """Whether the fields are as torch.save writes them. A file may hold anything."""
        shape = isinstance(self.size, tuple) and isinstance(self.stride, tuple) and len(self.size) == len(self.stride)
        return (
            shape
            and isinstance(self.key, str)
            and all(isinstance(one, int) and 0 <= one < 1 << 63 for one in (self.offset, *self.size, *self.stride))
        )


class _Object(dict[Any, Any]):
    """Stands for an object of any class, and holds its state."""

    def __init__(self, *_: Any):
        super().__init__()

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, dict):
            self.update(state)


class _Names(pickle.Unpickler):
    """Builds dicts, tuples and `Tensor`. Every other class becomes an `_Object`."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda storage, offset, size, stride, *_: Tensor(storage[0], storage[1], offset, size, stride)
        return DTYPES.get(name, _Object) if module == "torch" else _Object

    def persistent_load(self, pid: Any) -> Any:
        dtype = pid[1] if isinstance(pid[1], type) and issubclass(pid[1], np.integer) else None
        return pid[2], dtype


def _require_small(pickled: bytes) -> None:
    """Raise ValueError for a pickle whose objects would take much more memory than its bytes.

    The unpickler reserves room for the highest number of a kept object, and for a bytearray before it is read."""
    for operation, argument, at in pickletools.genops(pickled):
        if operation.name in STORES and argument is not None and at is not None and argument > at:
            raise ValueError(f"object {argument} where there can be {at}")


def is_torch_save(path: Path) -> bool:
    """Whether a zip archive is what torch.save writes."""
    with reading(path), ZipFile(path) as archive:
        return any(name.endswith(PICKLE) for name in archive.namelist())


class TorchReader:
    """Reads the edges of one graph. Raises UserError for a file without them."""

    kind: IdKind = "int"
    titles: tuple[str, ...] = ()

    def __init__(self, file: InputFile, options: Options, block_rows: int, progress: Progress):
        self.path = file.path
        self._options = options
        self._block_rows = block_rows
        self._most_pickled = max(LEAST_PICKLED, options.memory // PICKLED_SHARE)
        self._progress = progress
        self.checksum = 0
        with reading(self.path), ZipFile(self.path) as archive:
            self._folder = next(name for name in archive.namelist() if name.endswith(PICKLE)).removesuffix(PICKLE)
            self._stored = {info.filename: info.file_size for info in archive.infolist() if info.compress_type == ZIP_STORED}
            order = f"{self._folder}/byteorder"
            self._order = "<" if order not in archive.namelist() or archive.open(order).read(8) == b"little" else ">"
            with archive.open(self._folder + PICKLE) as stream:
                pickled = stream.read(self._most_pickled + 1)
        graph = self._graph(pickled)
        self._edges = self._tensor(graph, "edge_index", 2)
        size, stride = self._edges.size, self._edges.stride
        if size[0] != 2 or (stride[1] != 1 and stride != (1, 2)):
            raise UserError(f"{self.path}: edge_index: shape {size}, strides {stride}: {ADVICE}, contiguous")
        self._types = self._tensor(graph, "edge_type", 1) if isinstance(graph.get("edge_type"), Tensor) else None
        self._count = size[1]
        if self._types is not None and (self._types.size != (self._count,) or self._types.stride != (1,)):
            raise UserError(f"{self.path}: edge_type: shape {self._types.size} where there are {self._count} edges: {ADVICE}")
        if options.columns is not None:
            raise UserError(
                f"{self.path}: --columns {','.join(options.columns)}: the file names its tensors: leave out --columns"
            )
        self.columns = 2 + (self._types is not None)
        nodes, rows = graph.get("num_nodes"), graph.get("x")
        listed = isinstance(rows, Tensor) and rows.sound() and rows.size
        count = nodes if isinstance(nodes, int) else rows.size[0] if listed else None
        if count is not None and not 0 <= count < 1 << 63:
            raise UserError(f"{self.path}: num_nodes: no number of nodes: {ADVICE}")
        self.nodes = None if count is None else range(count)
        self.description = f"torch.save: edge_index{', edge_type' if self._types else ''}"

    def _graph(self, pickled: bytes) -> Any:
        if len(pickled) > self._most_pickled:
            raise UserError(
                f"{self.path}: more than {self._most_pickled} bytes beside its tensors, more than fits: give more "
                f"--memory, or {ADVICE}"
            )
        try:
            _require_small(pickled)
            graph = _Names(BytesIO(pickled)).load()
        except Exception as error:  # a broken or unusual pickle can raise anything
            raise UserError(f"{self.path}: not readable ({repr(error)[:100]}): {ADVICE}") from error
        if isinstance(graph, tuple) and graph:  # of PyTorch Geometric: (graphs one after the other, where each begins)
            if len(graph) > 1 and graph[1]:
                raise UserError(f"{self.path}: a collection of graphs, which are not read as one: {ADVICE}")
            graph = graph[0]
        if isinstance(graph, Tensor):
            return {"edge_index": graph}
        store = graph.get("_store", graph) if isinstance(graph, dict) else {}
        return store.get("_mapping", store) if isinstance(store, dict) else {}

    def _tensor(self, graph: Any, name: str, dimensions: int) -> Tensor:
        tensor = graph.get(name) if isinstance(graph, dict) else None
        if not isinstance(tensor, Tensor) or not tensor.sound() or len(tensor.size) != dimensions or tensor.dtype is None:
            what = f"{name} of shape {tensor.size}" if isinstance(tensor, Tensor) and tensor.sound() else f"no tensor {name}"
            raise UserError(f"{self.path}: {what}: must have {dimensions} dimensions and whole numbers: {ADVICE}")
        last = tensor.offset + sum((length - 1) * step for length, step in zip(tensor.size, tensor.stride))
        stored = self._stored.get(f"{self._folder}/data/{tensor.key}", 0)
        if min(tensor.size) and stored <= last * np.dtype(tensor.dtype).itemsize:
            raise UserError(f"{self.path}: {name}: its numbers are not all there: get the file again")
        return tensor

    def close(self) -> None:
        """Nothing stays open between blocks."""

    def rows_expected(self) -> int:
        return self._count

    def read(self, kind: IdKind) -> Iterator[RawEdges]:
        self.checksum = checksum_of(self.path, self._progress)
        with reading(self.path), ZipFile(self.path) as archive, ExitStack() as stack:
            by_row = self._edges.stride[1] == 1
            begins = (0, self._edges.stride[0]) if by_row else (0,)
            ends = [self._take(archive, self._edges, begin, stack) for begin in begins]
            types = None if self._types is None else self._take(archive, self._types, 0, stack)
            for first in range(0, self._count, self._block_rows):
                count = min(self._block_rows, self._count - first)
                src, dst = (take(count) for take in ends) if by_row else ends[0](2 * count).reshape(-1, 2).T
                columns = {"src": to_arrow(src, "src"), "dst": to_arrow(dst, "dst")}
                if types is not None:
                    columns["rel"] = to_arrow(types(count), "rel")
                yield checked_edges(str(self.path), first, columns, kind, self._options)

    def _take(self, archive: ZipFile, tensor: Tensor, first: int, stack: ExitStack) -> Take:
        """Return a function that reads the next numbers of a tensor, from number ``first`` on, as many as it is asked for."""
        dtype = np.dtype(tensor.dtype).newbyteorder(self._order)
        stream = stack.enter_context(archive.open(f"{self._folder}/data/{tensor.key}"))
        before = (tensor.offset + first) * dtype.itemsize
        for done in range(0, before, SKIPPED_AT_ONCE):
            read_all(stream, np.empty(min(SKIPPED_AT_ONCE, before - done), np.uint8))

        def take(count: int) -> Any:
            out = np.empty(count, dtype)
            read_all(stream, out.view(np.uint8))
            return out

        return take


FORMAT = Format(
    lambda opening: TorchReader(opening.file, opening.options, opening.block_rows, opening.progress),
    magic=("zip",),
    holds=is_torch_save,
)
