"""
Native core of marius_lite: partition I/O, row kernels, distances, attention, graph building, neighbour sampling, the way to CUDA.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, overload

import numpy
from numpy.typing import NDArray


def crc32c(data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], initial: int = 0) -> int:
    """
    CRC-32C of uint8 data (n,), continuing the checksum `initial` of the bytes before.
    """

def crc32c_stretches(data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], size: int, checksums: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Continue checksums[s] by the elements of `size` bytes of `data` from ends[s - 1] to ends[s].
    """

def crc32c_combine(first: int, second: int, second_size: int) -> int:
    """
    CRC-32C of A followed by B from those of A and B and B's length in bytes.
    """

def read_file_range(path: str, offset: int, out: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], direct: bool = True, threads: int = 4) -> None:
    """
    Fill uint8 `out` (n,) with the file's bytes from `offset`. OSError; RuntimeError when it ends early.
    """

def write_file(path: str, data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], direct: bool = True, threads: int = 4) -> int:
    """
    Write uint8 data (n,) beside `path`, rename over it, unsynced. Returns the CRC-32C. OSError.
    """

def write_file_range(path: str, offset: int, data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], direct: bool = True, threads: int = 4) -> int:
    """
    Write uint8 data (n,) into the file from `offset`, a multiple of 4096, unsynced: it then has the bytes before and these. Returns the CRC-32C of data. OSError.
    """

def probe(directory: str) -> dict[str, bool | int]:
    """
    What the machine and the folder's file system support, and its memory in bytes.
    """

class PartitionBuffer:
    """Partitions of a table in memory; see csrc/io/partition_buffer.h."""

    def __init__(self, directory: str, partitions: int, rows: int, stride: int, slots: int, threads: int = 4, direct: bool = True, finite: int = 0) -> None: ...

    @property
    def memory(self) -> NDArray[numpy.uint8]:
        """uint8 (slots * slot_rows, stride); stays valid after close."""

    @property
    def slot_rows(self) -> int: ...

    @property
    def direct(self) -> bool: ...

    def enter(self, now: Sequence[int], next: Sequence[int]) -> None:
        """
        Make `now` resident; prefetch what fits of `next`; let all else go in the background.
        """

    def adopt(self, partition: int) -> int:
        """
        Give a partition a zeroed slot without reading its file; it is dirty. Returns the slot.
        """

    def slot(self, partition: int) -> int: ...

    def state(self, partition: int) -> str: ...

    def mark_dirty(self, partitions: Sequence[int]) -> None: ...

    def flush(self) -> None:
        """Write all that is dirty and wait for every write."""

    def await_writes(self) -> None:
        """Wait for the writes under way; write nothing more."""

    def checksums(self) -> dict[int, int]:
        """CRC-32C by partition, as last written or expected."""

    def expect(self, checksums: Mapping[int, int]) -> None:
        """Verify these whenever the partitions are loaded."""

    def counters(self) -> dict[str, float]: ...

    def take_past(self) -> list[tuple[int, bool, float, float]]:
        """
        The transfers that ended since the last call: (partition, whether it was a write, begin, end), in order. Times are seconds of time.perf_counter().
        """

    def close(self) -> None:
        """Wait for writes under way, end the threads; dirty data is dropped."""

class DryBuffer:
    """
    What a PartitionBuffer loads and writes, found out without memory and files: it decides the same, and every transfer ends as soon as it starts.
    """

    def __init__(self, partitions: int, slots: int) -> None: ...

    def enter(self, now: Sequence[int], next: Sequence[int]) -> None:
        """Make `now` resident, load what fits of `next`, let all else go."""

    def adopt(self, partition: int) -> None:
        """Make a partition resident and dirty without loading it."""

    def mark_dirty(self, partitions: Sequence[int]) -> None: ...

    def flush(self) -> None:
        """Write all that is dirty."""

    def moved(self) -> tuple[list[int], list[int]]:
        """The partitions loaded and those written since the last call, in order."""

def default_threads() -> int:
    """CPUs this process may run on; what threads=0 means."""

@overload
def gather(table: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int = 0) -> None:
    """
    out[i] = the first out.shape[1] columns of table[rows[i]]. float32 (n, w), int64 (m,), float32 (m, d).
    """

@overload
def gather(table: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], *, bfloat16: bool, threads: int = 0) -> None:
    """
    The same from the bits of 16-bit numbers, (n, w) uint16: float16, or bfloat16.
    """

@overload
def gather(table: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], *, scales: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int = 0) -> None:
    """The same from int8 (n, w), each column times its scale, float32 (w,)."""

def sort_rows(rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.int32]]:
    """
    (unique int64 (u,), order int32 (m,), starts int32 (u+1,)): unique ascends; positions order[starts[s]:starts[s+1]] hold unique[s], ascending.
    """

def sort_and_fill(rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], spare: int, spares: int) -> tuple[NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.int32]]:
    """
    (unique int64 (m,), order int32 (m,), starts int32 (m+1,), inverse int32 (m,)): what sort_rows and inverse_of give, with `spare`, `spare` + 1, ... behind the different rows, `spares` of them in turn, which stand at no position.
    """

def picked(column: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], places: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int64]:
    """
    column[places], int64 (m,). Raises ValueError for a place that is not in the column.
    """

def draw_below(seed: int, bound: int, out: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Numbers below `bound`, from 1 to 2^32 - 1, into out, int64 (n,): the first ones of numpy's Philox with the key (seed, 0).
    """

def shuffled(seed: int, count: int) -> object:
    """
    0 to count - 1, uint32 (count,), as numpy's Philox with the key (seed, 0) shuffles them. Raises ValueError from 2^32 on.
    """

def pack(arrays: Sequence[Annotated[NDArray[Any], dict(order='C', device='cpu', writable=False)]], out: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], start: int, alignment: int) -> list[int]:
    """
    Copy arrays into out, uint8 (n,), at multiples of `alignment`, the first one at `start`. Returns where each begins, and where the next one would. Raises ValueError where they do not fit.
    """

def place_rows(places: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], nodes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: int) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
    """
    (rows int64 (n,), others int64 (u,)) of distinct nodes, int64 (n,). Node v has the row places[v], int32 (nodes,); the others, where that is negative, ascend, and have the rows first, first + 1, ...
    """

def inverse_of(order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int32]:
    """
    The segment of each position, int32 (m,): s at order[starts[s]:starts[s + 1]], of what sort_rows gave.
    """

def group_rows(group_of: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], group_count: int, piece: int) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.int32]]:
    """
    Rows by group, in pieces of at most `piece` rows: (order, pieces, groups), int32. Piece p has the rows order[pieces[p]:pieces[p + 1]], group g the pieces groups[g]:groups[g + 1]. Where no group is longer than a piece, `pieces` is empty, and `groups` are rows. How many pieces there are does not depend on the groups: some are empty.
    """

def common_rows(left: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32]]:
    """
    (positions in left, positions in right), int32, of the rows that stand in both; each ascends without repetition.
    """

class HeldRows:
    """
    A set of rows, int64 (n,), ascending. It takes 0.19 bytes for each row up to the last.
    """

    def __init__(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def divide(self, places: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int32]]:
        """
        (rows int64 (u,), held int64 (h,), inverse int32 (m,)) of the rows at places, int64 (m,): first the rows that are not held, then the h that are, and which of the held rows these are. Place i has rows[inverse[i]], or rows[i] where `inverse` is empty. Only the first place's row is taken once, however often it stands there.
        """

def segment_sum(parts: Sequence[Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]], order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int = 0) -> None:
    """
    out[s] = sum of the gradients at positions order[starts[s]:starts[s+1]] of the parts, float32 (m_k, d), laid end to end; added in that order, for any number of threads.
    """

ROW_OPTIMIZERS: dict[str, dict[str, Any]] = ...

@overload
def row_step(optimizer: str, table: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], grads: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], lr: float, seed: int = 0, *, threads: int = 0, **options: Any) -> None:
    """
    One step of one of ROW_OPTIMIZERS, in place; rows ascend and are unique. A record has the values, then the state: per_value columns for each value, then per_row. Nothing is rounded by chance: the seed does not matter.
    """

@overload
def row_step(optimizer: str, table: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], grads: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], lr: float, seed: int = 0, *, threads: int = 0, **options: Any) -> None:
    """
    The same on the bits of bfloat16, rounded by chance, which follows from the record, its gradient and the lower 32 bits of the seed. Each column of per_row is two, whose sum it is.
    """

def round_by_chance(values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], key: int) -> None:
    """
    out[i] = the bits of one of the two bfloat16 around values[i]; the mean over keys is values[i]. What row_step does.
    """

class SparseRows:
    """
    Rows most of whose numbers are 0, added in order. They take 4 bytes a row, and 8 for each number whose bits are not 0.
    """

    def __init__(self, width: int) -> None: ...

    @property
    def rows(self) -> int:
        """How many were added."""

    @property
    def bytes(self) -> int:
        """What they take."""

    @overload
    def add(self, rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """Add the first columns of float32 rows, (n, w)."""

    @overload
    def add(self, rows: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], *, bfloat16: bool) -> None:
        """
        The same from the bits of 16-bit numbers, (n, w) uint16: float16, or bfloat16.
        """

    @overload
    def add(self, rows: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], *, scales: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """The same from int8 (n, w), each column times its scale, float32 (w,)."""

    def gather(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int = 0) -> None:
        """
        out[i] = row rows[i], with the bits that `gather` gives. int64 (m,), float32 (m, width).
        """

@overload
def neighbour_sum(x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, mean: bool = False, own: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, threads: int = 0) -> None: ...

@overload
def neighbour_sum(x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), device='cpu')], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, mean: bool = False, own: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, threads: int = 0) -> None: ...

@overload
def neighbour_sum(x: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), device='cpu')], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, mean: bool = False, own: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, threads: int = 0) -> None: ...

@overload
def neighbour_sum(x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, mean: bool = False, own: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, threads: int = 0) -> None:
    """
    out[t] = sum, or mean, of weights[e] * x[indices[e]] over e in indptr[t]:indptr[t+1], plus own[t] * x[t]. float32 (s, w), int64 (t+1,), int32 or int64 (e,), float32 (t, d), float32 (e,), float32 (t,); d <= w.
    """

@overload
def neighbour_sum(x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), device='cpu')], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, mean: bool = False, own: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, threads: int = 0) -> None:
    """The same, rounded to bfloat16, of which out has the bits."""

@overload
def neighbour_sum(x: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), device='cpu')], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, mean: bool = False, own: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, threads: int = 0) -> None:
    """The same of rows of bfloat16."""

@overload
def neighbour_sum_backward(grad: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, mean: bool = False, own: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, base: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)] | None = None, threads: int = 0) -> None: ...

@overload
def neighbour_sum_backward(grad: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, mean: bool = False, own: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, base: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), device='cpu', writable=False)] | None = None, threads: int = 0) -> None: ...

@overload
def neighbour_sum_backward(grad: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, mean: bool = False, own: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, base: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)] | None = None, threads: int = 0) -> None:
    """
    From the gradient of neighbour_sum's targets, float32 (t, d), that of its sources, out (s, d), plus base (b, d) in the first b rows. The same bits for any number of threads.
    """

@overload
def neighbour_sum_backward(grad: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, mean: bool = False, own: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, base: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), device='cpu', writable=False)] | None = None, threads: int = 0) -> None:
    """The same of rows of bfloat16."""

@overload
def add_block(block: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], first: int, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], sources: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], of_targets: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], next: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], sums: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], of_sources: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, without: int = -1, of_edges: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, threads: int = 0) -> None: ...

@overload
def add_block(block: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], first: int, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], sources: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], of_targets: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], next: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], sums: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], of_sources: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, without: int = -1, of_edges: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, threads: int = 0) -> None:
    """
    Add to sums, float32 (t, d), the rows of the nodes first, first + 1, ... in block, float32 (n, w), d <= w: of_targets[t] * of_sources[n] times, for each edge of t from them. sources: node ids, ascending in each list; next: int64 (t,), the edges from which on lists go on, moved on. Blocks must come in order. without: the node of target 0, where edges from a node to itself are left out. of_edges: float32 (edges,), numbers that each edge counts besides. The same bits however nodes are cut into blocks.
    """

def distance_scores(distance: str, query: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], candidates: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int = 0) -> None:
    """
    scores[i, j] = -distance of query[i] and candidates[j], l1 or complex_l2 (real parts first, imaginary parts after). float32 (n, d), (m, d), (n, m).
    """

def distance_gradients(distance: str, query: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], candidates: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], d_scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], d_query: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], d_candidates: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int = 0) -> None:
    """
    From the gradient of distance_scores' scores, float32 (n, m): sets d_query (n, d), adds to d_candidates (m, d). The same bits for any number of threads.
    """

def complex_product(left: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], conjugate: bool, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int = 0) -> None:
    """
    out = left * right, or left * conj(right), of complex numbers: real parts first, imaginary parts after. float32 (n, d).
    """

def query_products(factors: str, conjugate: bool, entity: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], relations: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], query: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int = 0) -> None:
    """
    query = entity * relations[ids], or its conjugate, of `real` or `complex` numbers (real parts first). float32 (n, d), (r, d), int64 (n,), float32 (n, d).
    """

def query_gradients(factors: str, conjugate: bool, entity: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], relations: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], grad: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], also: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, d_entity: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], d_relation: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int = 0) -> None:
    """
    The gradients of both factors of `query_products`, a row for each query, from its own. `also`, if any, is added to d_entity. float32 (n, d) each.
    """

def softmax_loss(positives: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], negatives: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], losses: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], threads: int = 0) -> None:
    """
    losses[r] = log(exp(positives[r]) + sum(exp(negatives[r]))) - positives[r]; the scores become its gradient. float32 (r,), (r, c), (r,).
    """

def count_answers(scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], positives: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], above: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], not_below: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], threads: int = 0) -> None:
    """
    Adds to above[i] how many of scores[i] are above positives[i], to not_below[i] how many are above or equal; NaN is neither. float32 (n, m), whose rows may lie apart, (n,); int64 (n,).
    """

def shared_loss_ways() -> list[tuple[str, bool]]:
    """
    The ways of shared_loss that this processor and its operating system allow, the fastest first: name, and whether what is multiplied is rounded to bfloat16.
    """

def shared_loss(way: str, loss: str, margin: float, sides: Sequence[tuple[Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], tuple[Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, tuple[Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]] | None] | None, Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')]]], threads: int = 0) -> None:
    """
    Each side, of one shape: (query, positive, candidates, hidden queries, hidden candidates, corrections or None, losses, d_query, d_positive, d_candidates). Scores are inner products of a query with its positive and with the candidates of its chunk, less corrections: of positives (n,), of candidates (chunks, m) or None, and of classes of candidates (chunks, m), by query (classes, n), or None. Hidden pairs (query, ascending; candidate of its chunk) score -inf. losses[i] of `loss` softmax: log(sum of exp(scores)) - score of the positive; logistic: softplus(-(margin + positive)) + the mean of softplus(margin + candidate); margin: the mean of max(0, margin + candidate - positive). And the gradients of the losses' sum. float32 (n, d), (chunks, m, d), (n,); int64. The same bits for the same way and number of threads, whatever other sides there are.
    """

@overload
def attend(left: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], vector: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], slope: float, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')] | None = None, kept: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, width: int = 0, threads: int = 0) -> None: ...

@overload
def attend(left: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], vector: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], slope: float, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')] | None = None, kept: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, width: int = 0, threads: int = 0) -> None: ...

@overload
def attend(left: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], vector: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], slope: float, out: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')] | None = None, kept: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, width: int = 0, threads: int = 0) -> None: ...

@overload
def attend(left: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], vector: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], slope: float, out: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')] | None = None, kept: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, width: int = 0, threads: int = 0) -> None:
    """
    GATv2: out (t, heads * d) from left (s, heads * d) and right (t, heads * d), float32 or the bits of bfloat16; vector (heads, d); weights and kept (edges + t, heads). width: numbers in a vector, of attention_widths.
    """

@overload
def attend_backward(left: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], vector: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], slope: float, grad: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], d_left: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], d_right: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], d_vector: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], kept: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, width: int = 0, threads: int = 0) -> None: ...

@overload
def attend_backward(left: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], vector: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], slope: float, grad: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], d_left: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], d_right: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], d_vector: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], kept: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, width: int = 0, threads: int = 0) -> None: ...

@overload
def attend_backward(left: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], vector: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], slope: float, grad: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], d_left: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], d_right: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], d_vector: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], kept: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, width: int = 0, threads: int = 0) -> None: ...

@overload
def attend_backward(left: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], vector: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], slope: float, grad: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], d_left: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], d_right: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], d_vector: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], kept: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, width: int = 0, threads: int = 0) -> None:
    """
    The gradients of left, right and vector, from grad, that of out, and attend's weights. The same bits for any number of threads.
    """

def attention_widths() -> list[int]:
    """
    Numbers in the vectors that attend may take on this processor, the widest, which are taken by default, first.
    """

def weight_gradient_usable() -> bool:
    """Whether this processor has the instructions of weight_gradient."""

def weight_gradient(grad: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], rectified: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, threads: int = 0) -> None:
    """
    weight (o, i) = transpose of grad (n, o) times rows (n, i), bias (o,) = sum of grad; bits of bfloat16 in, float32 out. Where rectified (n, o) is not above 0, grad counts as 0. The same bits for the same number of threads.
    """

class EdgeLayout:
    """
    How edges are packed into records; `carried`: words that each carries besides.
    """

    def __init__(self, rows: int, partitions: int, relations: int, carried: int = 0) -> None: ...

    @property
    def words(self) -> int: ...

    def pack_stored(self, src: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], dst: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], rel: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], carried: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, *, first: int, bucket_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: int, nodes: int, relations: int, split: int, threads: int, out: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """
        Stored edges of another layout, of `rows` nodes a partition, to records; `first`: edges that come before them.
        """

    def bucket(self, record: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int:
        """Flat index of the bucket a record lies in."""

    def unpack(self, records: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu')], nodes: int, drop_duplicates: bool, counts: EdgeCounts, out: Annotated[NDArray[numpy.uint32], dict(shape=(None, None, None), order='C', device='cpu')], carried: Annotated[NDArray[numpy.uint64], dict(shape=(None, None, None), order='C', device='cpu')] | None = None) -> tuple[int, int, int]:
        """
        Sorted records to per-split offsets in `out` (3, 3, n); counts what passes. Returns edges written per split.
        """

    @overload
    def pack(self, src: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], rel: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], dst: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], carried: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, node_ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], split_ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], relation_ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], *, split: int, bounds: object | None, key: int, undirected: bool, threads: int, out: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu')]) -> int: ...

    @overload
    def pack(self, src: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], rel: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], dst: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], carried: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, node_ids: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], split_ids: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], relation_ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], *, split: int, bounds: object | None, key: int, undirected: bool, threads: int, out: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu')]) -> int: ...

class EdgeCounts:
    """What is counted while sorted records pass; the arrays are filled."""

    @overload
    def __init__(self, buckets: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], relations: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], totals: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], out_degrees: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')] | None = None, in_degrees: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')] | None = None, splits: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')] | None = None) -> None: ...

    @overload
    def __init__(self, buckets: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], relations: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], totals: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], out_degrees: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')] | None, in_degrees: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')] | None, splits: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')] | None) -> None: ...

@overload
def count_ends(offsets: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], buckets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], partitions: int, rows: int, of_columns: bool, first: int, mark: int, splits: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], degrees: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')] | None) -> None: ...

@overload
def count_ends(offsets: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], buckets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], partitions: int, rows: int, of_columns: bool, first: int, mark: int, splits: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], degrees: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')] | None) -> None:
    """
    Count where edges begin or, `of_columns`, end, among the nodes from `first` on; the edges of buckets[s] end at ends[s].
    """

@overload
def add_to_histogram(values: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

@overload
def add_to_histogram(values: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Add how many of `values` are 0, 1, ... to `counts`; the last of them counts all that are larger too.
    """

@overload
def append_in_edges(src: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], dst: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], rel: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], buckets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], partitions: int, rows: int, first: int, cursors: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], sources: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')], rels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')] | None, weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')] | None = None) -> None: ...

@overload
def append_in_edges(src: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], dst: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], rel: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], buckets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], partitions: int, rows: int, first: int, cursors: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], sources: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')], rels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')] | None, weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')] | None = None) -> None:
    """
    Append edges, those of buckets[s] up to ends[s], to the in-lists of the nodes from `first` on: list i goes on at cursors[i], which moves.
    """

def sort_records(records: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu')], threads: int = 1) -> None:
    """Sort records (n, words) uint64 in place by their words in turn."""

def count_not_above(records: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu')], bound: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int:
    """How many leading records of a sorted array are <= bound."""

class IntIdTable:
    """Raw int64 ids to provisional ids, in order of first sight."""

    def __init__(self, key: int, mask: int = 18446744073709551615) -> None: ...

    def __len__(self) -> int: ...

    @property
    def bytes(self) -> int: ...

    @property
    def peak_bytes(self) -> int:
        """The most it takes until its ids are ranked, if few more come."""

    def close(self) -> None:
        """No more ids come: gives the memory of finding them back."""

    def rank(self, order: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')], rank: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> None: ...

    def add(self, raw: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

    def take(self, ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

class StringIdTable:
    """Raw byte strings to provisional ids, in order of first sight."""

    def __init__(self, key: int, mask: int = 18446744073709551615) -> None: ...

    def __len__(self) -> int: ...

    @property
    def bytes(self) -> int: ...

    @property
    def peak_bytes(self) -> int:
        """The most it takes until its ids are ranked, if few more come."""

    def close(self) -> None:
        """No more ids come: gives the memory of finding them back."""

    def rank(self, order: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')], rank: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> None: ...

    def add(self, offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

    def offsets(self, ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

    def take(self, ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

class IntRunMerge:
    """Merges runs of raw ids on disk, and numbers what is distinct."""

    def __init__(self, runs: Sequence[tuple[str, str, int, int]], numbers: Sequence[str], values: str, ends: str, *, key: int, mask: int, wide: bool, buffer: int) -> None: ...

    def advance(self, count: int) -> int:
        """Merge up to `count` more ids; fewer at the end."""

    @property
    def merged(self) -> int: ...

class StringRunMerge:
    """Merges runs of raw ids on disk, and numbers what is distinct."""

    def __init__(self, runs: Sequence[tuple[str, str, int, int]], numbers: Sequence[str], values: str, ends: str, *, key: int, mask: int, wide: bool, buffer: int) -> None: ...

    def advance(self, count: int) -> int:
        """Merge up to `count` more ids; fewer at the end."""

    @property
    def merged(self) -> int: ...

def hash_ints(raw: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], key: int, out: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

def unhash_ints(hashes: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], key: int, out: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """The ids that have these hashes."""

def hash_strings(offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], key: int, out: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

def mark_ids(ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], bound: int, bitmap: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')], out: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')]) -> bool:
    """
    Set the bits of ids and copy them to `out`; false, and nothing set, where one is not below the bound.
    """

def hashes_of_marked(bitmap: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], key: int, first: int, last: int, out: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')]) -> int:
    """
    Hashes in [first, last] of the ids that are set, in no order; returns how many, also where `out` is shorter.
    """

@overload
def merge_in_edges(before: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], later: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], sources: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')], rels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')] | None, weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')] | None) -> None: ...

@overload
def merge_in_edges(before: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], later: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], sources: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')], rels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')] | None, weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')] | None) -> None:
    """
    Merge two sets of in-edge lists (indptr, sources, rels, weights); the arrays `before` may end those that are written.
    """

def edges_with_ends(src: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], dst: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], buckets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], partitions: int, rows: int, sought: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int64]:
    """
    Places of the edges whose number, bucket * rows^2 + dst * rows + src, is among ascending ones; buckets[s] ends at ends[s].
    """

class NeighbourSamplerGrower:
    """A sample that grows in passes: see `sampling.passes`."""

    @property
    def in_partitions(self) -> object:
        """
        How many nodes of the hop under way each partition has, int64 (partitions,).
        """

class NeighbourSampler:
    """Samples in-neighbours among resident partitions; sources are uint32."""

    def __init__(self, rows_per_partition: int, nodes: int, everywhere: bool = False) -> None:
        """
        `everywhere`: a source need not be resident to be drawn, and rows are node ids.
        """

    def enter(self, k: int, base_row: int, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], sources: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], rel: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None:
        """Use partition k's in-edges, by reference, until `leave`."""

    def leave(self, k: int) -> None: ...

    def move(self, k: int, base_row: int) -> None:
        """Partition k stays, its first row is another one."""

    @property
    def edges_moved(self) -> int: ...

    def sample(self, seeds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], fanouts: Sequence[int | Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]], seed: int, threads: int = 0, exclude: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, both: bool = False, replace: bool = False) -> dict[str, Any]:
        """
        Sample `fanouts` in-neighbours hop by hop; a dict of what sampling.neighbours.NeighbourSample documents.
        """

    def sample_trees(self, seeds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], fanouts: Sequence[int | Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]], seed: int, threads: int = 0, replace: bool = False) -> dict[str, Any]:
        """Sample each seed a neighbourhood of its own; a dict as of `sample`."""

    def edges_among(self, nodes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], trees: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, threads: int = 0) -> dict[str, Any]:
        """
        All edges among distinct resident nodes, those of one tree: a dict of indptr, indices, rel.
        """

    def begin(self, seeds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], fanouts: Sequence[int | Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]], seed: int, threads: int = 0) -> NeighbourSamplerGrower:
        """
        Begin a sample that grows in passes, of a sampler that draws everywhere.
        """

    def draw(self, growers: Sequence[NeighbourSamplerGrower], k: int) -> None:
        """
        Draw with the lists of partition k. In each hop every partition that has nodes is drawn from, in ascending order.
        """

    def close_hop(self, growers: Sequence[NeighbourSamplerGrower]) -> None:
        """End the hop under way."""

    def grown(self, grower: NeighbourSamplerGrower) -> dict[str, Any]:
        """What `sample` returns, once: the grower is empty then."""

class WideNeighbourSamplerGrower:
    """A sample that grows in passes: see `sampling.passes`."""

    @property
    def in_partitions(self) -> object:
        """
        How many nodes of the hop under way each partition has, int64 (partitions,).
        """

class WideNeighbourSampler:
    """A NeighbourSampler whose sources are uint64."""

    def __init__(self, rows_per_partition: int, nodes: int, everywhere: bool = False) -> None:
        """
        `everywhere`: a source need not be resident to be drawn, and rows are node ids.
        """

    def enter(self, k: int, base_row: int, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], sources: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], rel: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None:
        """Use partition k's in-edges, by reference, until `leave`."""

    def leave(self, k: int) -> None: ...

    def move(self, k: int, base_row: int) -> None:
        """Partition k stays, its first row is another one."""

    @property
    def edges_moved(self) -> int: ...

    def sample(self, seeds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], fanouts: Sequence[int | Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]], seed: int, threads: int = 0, exclude: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, both: bool = False, replace: bool = False) -> dict[str, Any]:
        """
        Sample `fanouts` in-neighbours hop by hop; a dict of what sampling.neighbours.NeighbourSample documents.
        """

    def sample_trees(self, seeds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], fanouts: Sequence[int | Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]], seed: int, threads: int = 0, replace: bool = False) -> dict[str, Any]:
        """Sample each seed a neighbourhood of its own; a dict as of `sample`."""

    def edges_among(self, nodes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], trees: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, threads: int = 0) -> dict[str, Any]:
        """
        All edges among distinct resident nodes, those of one tree: a dict of indptr, indices, rel.
        """

    def begin(self, seeds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], fanouts: Sequence[int | Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]], seed: int, threads: int = 0) -> WideNeighbourSamplerGrower:
        """
        Begin a sample that grows in passes, of a sampler that draws everywhere.
        """

    def draw(self, growers: Sequence[WideNeighbourSamplerGrower], k: int) -> None:
        """
        Draw with the lists of partition k. In each hop every partition that has nodes is drawn from, in ascending order.
        """

    def close_hop(self, growers: Sequence[WideNeighbourSamplerGrower]) -> None:
        """End the hop under way."""

    def grown(self, grower: WideNeighbourSamplerGrower) -> dict[str, Any]:
        """What `sample` returns, once: the grower is empty then."""

def neighbour_draws(seed: int, hop: int, node: int, degree: int, fanout: int) -> object:
    """
    Which of a node's `degree` candidates a sampler takes, uint64 (fanout,).
    """

def neighbour_keys(seed: int, hop: int, node: int, degree: int, weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> object:
    """
    Keys, float64 (degree,), of a node's in-edges: those with the smallest are drawn by weight, or by relation.
    """

def list_edges(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    out[:, i] = source and target of edge i, int64 (2, edges), of lists: int64 (targets + 1,), int32 (edges,).
    """

def padded_sample(nodes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], hop_nodes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], hop_edges: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], rel: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, more_nodes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], more_edges: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> dict[str, Any]:
    """
    A sample with more_nodes[h] nodes, the first seed's, behind those of hop h, int64 (hops + 1,), and more_edges[h] edges, int64 (hops,), from each of these to itself: a dict of nodes, rows, indptr, indices, rel as `sample` gives them.
    """

def pack_arcs(src: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], rel: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], dst: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], node_rank: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], relation_rank: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], *, split: int, bounds: object | None, key: int, undirected: bool, out: Annotated[NDArray[numpy.uint64], dict(shape=(None, 2), order='C', device='cpu')]) -> int:
    """Both arcs of each training edge as records to sort; returns how many."""

class ArcWriter:
    """Sorted arcs to blocks of bytes; equal arcs add up."""

    def __init__(self) -> None: ...

    @property
    def arcs(self) -> int: ...

    @property
    def waiting(self) -> int: ...

    def append(self, records: Annotated[NDArray[numpy.uint64], dict(shape=(None, 2), order='C', device='cpu')]) -> None: ...

    def finish(self) -> None: ...

    def take(self, out: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """The waiting bytes as one block."""

class ClusterPass:
    """One pass of label propagation: no cluster grows beyond `most`."""

    def __init__(self, labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')], sizes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')], weights: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, most: int, seed: int) -> None: ...

    def read(self, block: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def finish(self) -> int:
        """How many nodes changed their cluster."""

class Contraction:
    """Arcs between nodes to records of arcs between their clusters."""

    def __init__(self, labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def read(self, block: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int:
        """How many records wait."""

    def finish(self) -> int: ...

    def take(self, out: Annotated[NDArray[numpy.uint64], dict(shape=(None, 2), order='C', device='cpu')]) -> None: ...

class RefinePass:
    """
    One pass that moves nodes to where more of their arcs lead, within room.
    """

    def __init__(self, parts: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], loads: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], room: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, first: int, loss: int) -> None: ...

    def read(self, block: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def finish(self) -> int:
        """How many nodes moved."""

class ListsBetween:
    """Arcs among a stretch of nodes as arrays, numbered from its first."""

    def __init__(self, begin: int, end: int, nodes: int, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], targets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

    def read(self, block: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def finish(self) -> int:
        """How many arcs there are."""

def number_clusters(labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')], sizes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')]) -> int:
    """
    Labels to 0, 1, 2, ... in place; `sizes` are used up. Returns how many clusters there are.
    """

def lay_out(parents: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], free: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')], starts: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Places of nodes side by side inside their clusters, which begin at `free`.
    """

def deal_nodes(parts: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], first: int, room: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
    """
    Make both groups fill their room exactly, keeping the order of (partition, node).
    """

def place_nodes(parts: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], order: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')], rank: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Give ids partition after partition; `order` and `rank` are overwritten.
    """

class Pinned:
    """
    Pinned host memory, which keeps its array alive. Unpinned by close() or with the object.
    """

    @property
    def address(self) -> int:
        """Where devices see the first byte. RuntimeError when closed."""

    @property
    def chunks(self) -> int:
        """Registrations it took."""

    @property
    def bytes(self) -> int: ...

    def close(self) -> None:
        """
        Unpin; closing twice is harmless. No device may use the memory any more.
        """

class NeighbourJob:
    """What a stage of neighbour sampling works on; at first all 0."""

    def __init__(self) -> None: ...

    def set(self, **fields: Any) -> None:
        """
        Set fields of marius_cuda_neighbours in csrc/cuda/api.h: addresses and numbers. The others stay.
        """

class CudaLibrary:
    """
    The CUDA library in a file; see csrc/cuda/api.h. OSError when it cannot be loaded, RuntimeError when it is another version, and for every error of a call. Launches return at once. Memory they name must live until the stream has done their work.
    """

    def __init__(self, path: str) -> None: ...

    def device_count(self) -> int:
        """GPUs; 0 without a driver."""

    def device_facts(self, device: int) -> dict[str, Any]:
        """
        name, pci_bus_id, compute_capability, multiprocessors, can_map_host_memory, driver_version, runtime_version, memory (bytes).
        """

    def pin(self, array: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu')], boundary: int, device: int, threads: int = 0) -> Pinned:
        """
        Pin a writable, contiguous uint8 array in chunks that end on multiples of `boundary` bytes; its pages are touched by `threads` threads first (0: every CPU).
        """

    def copy_rows(self, *, device: int, stream: int, source: int, target: int, count: int, source_stride: int, target_stride: int, columns: int, source_type: str = 'float32', target_type: str = 'float32', source_rows: int = 0, target_rows: int = 0, index_bytes: int = 8, max_sms: int = 0, sm_flags: int = 0) -> None:
        """
        target[target_rows[i]] = source[source_rows[i]] for i < count; rows 0: i itself. Strides in bytes; types float32, float16, bfloat16, or bytes (copied as they are); target rows do not repeat. max_sms: multiprocessors taken at most, 0: all; sm_flags: 1024 uint32, set to 1 for each multiprocessor that it ran on.
        """

    def segment_sum(self, *, device: int, stream: int, parts: Sequence[tuple[int, int]], order: int, starts: int, segments: int, out: int, dim: int) -> None:
        """
        out[s] = sum of the gradients at positions order[starts[s]:starts[s+1]] of at most 8 parts (address, count) laid end to end, in that order; float32 (segments, dim); int32 order and starts. Positions are not checked.
        """

    def row_step(self, *, device: int, stream: int, kind: str, block: int, count: int, stride: int, dim: int, grads: int, lr: float, **options: Any) -> None:
        """
        One step of one of ROW_OPTIMIZERS on records 0 .. count - 1 of a block, `stride` bytes apart.
        """

    def copy(self, *, device: int, stream: int, target: int, source: int, bytes: int) -> None:
        """Copy bytes between any two memories, in the stream's order."""

    def softmax_loss(self, *, device: int, stream: int, positive: int, negatives: int, losses: int, rows: int, columns: int) -> None:
        """
        losses[r] = log(exp(positive[r]) + sum of exp(negatives[r])) - positive[r]; float32 (rows,), (rows, columns), contiguous. Scores are overwritten with the gradient of the losses' sum: 0 for a negative of -inf. A NaN makes its row's loss NaN. Does not wait, takes no memory: a graph may capture it.
        """

    def neighbours(self, device: int, stream: int, stage: str, job: NeighbourJob) -> None:
        """
        Run a stage of neighbour sampling: find_excluded, expand, draw, fetch, insert, mark_new, label or keep_labels.
        """

    def host_gather(self, *, device: int, stream: int, table: int, table_stride: int, rows: int, count: int, block: int, block_stride: int, bytes: int, threads: int = 0) -> None:
        """
        On the CPU, in the stream's order: block[i] = the first `bytes` bytes of table[rows[i]]; int64 rows; strides in bytes; all host memory, which must not change until the stream has done it.
        """

    def host_scatter(self, *, device: int, stream: int, table: int, table_stride: int, rows: int, count: int, block: int, block_stride: int, bytes: int, threads: int = 0) -> None:
        """
        On the CPU, in the stream's order: table[rows[i]] = block[i]; as host_gather. Rows do not repeat.
        """
