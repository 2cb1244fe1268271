"""Every call of the CUDA library, over numpy arrays, with the host's build of it: the kernels' bodies, not the GPU."""

import gc
import subprocess
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch
from host_library import neighbour_job
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite import _native

POISON = 0xA5
HERE = {"device": 0, "stream": 0}
TYPES = {
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.uint16),
    "bfloat16": np.dtype(np.uint16),
    "bytes": np.dtype(np.uint8),
}
HALVES = {"float16": torch.float16, "bfloat16": torch.bfloat16}
RATES = {"sgd": {}, "row_adagrad": {"eps": 1e-10}, "adagrad": {"eps": 1e-10}, "adam": {"beta1": 0.9, "beta2": 0.999, "eps": 1e-8}}
STATE = {"sgd": lambda dim: 0, "row_adagrad": lambda dim: 1, "adagrad": lambda dim: dim, "adam": lambda dim: 2 * dim + 1}


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def bits(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view(np.uint8)


def from_floats(floats: np.ndarray, name: str) -> np.ndarray:
    """Floats as another type's bits, converted by torch."""
    if name == "float32":
        return floats
    return torch.from_numpy(floats).to(HALVES[name]).view(torch.int16).numpy().view(np.uint16)


def to_floats(values: np.ndarray, name: str) -> np.ndarray:
    return values if name == "float32" else torch.from_numpy(values.view(np.int16)).view(HALVES[name]).float().numpy()


class Table:
    """Rows of a type, `stride` bytes apart, that begin `offset` bytes into poisoned memory."""

    def __init__(self, rows: int, columns: int, dtype: np.dtype, padding: int, offset: int):
        self.columns, self.dtype, self.stride = columns, dtype, columns * dtype.itemsize + padding
        self.memory = np.full(64 + offset + rows * self.stride + 64, POISON, np.uint8)
        self.rows = np.ndarray((rows, columns), dtype, self.memory, 64 + offset, (self.stride, dtype.itemsize))

    @property
    def address(self) -> int:
        return address(self.rows)


def random_values(rng: np.random.Generator, shape: tuple[int, int], name: str) -> np.ndarray:
    """Of small and large size: rounded, subnormal and infinite as halves."""
    if name == "bytes":
        return rng.integers(0, 256, shape, np.uint8)
    return from_floats((rng.standard_normal(shape) * 10.0 ** rng.integers(-9, 6, shape)).astype(np.float32), name)


conversions = st.sampled_from([(a, b) for a in TYPES for b in TYPES if (a == "bytes") == (b == "bytes")])


@settings(deadline=None, max_examples=150)
@given(
    types=conversions,
    columns=st.integers(1, 300),
    count=st.integers(0, 40),
    wide=st.booleans(),
    sides=st.sampled_from(["source", "target", "both", "none"]),
    padding=st.integers(0, 20),
    offset=st.integers(0, 20),
    sms=st.integers(0, 3),
    seed=st.integers(0, 99),
)
def test_copy_rows_is_indexing(host_library, types, columns, count, wide, sides, padding, offset, sms, seed):
    rng = np.random.default_rng(seed)
    index = np.int64 if wide else np.int32
    source_type, target_type = (TYPES[name] for name in types)
    unit = 1 if types[0] == types[1] else 4  # floats to convert lie at multiples of their size
    source = Table(50, columns, source_type, unit * padding, unit * offset)
    target = Table(50, columns, target_type, unit * (padding // 2), unit * (offset // 3))
    source.rows[:] = random_values(rng, source.rows.shape, types[0])
    expected = target.memory.copy()
    source_rows, target_rows = rng.integers(0, 50, count).astype(index), rng.permutation(50)[:count].astype(index)
    from_rows = source_rows if sides in ("source", "both") else np.arange(count)
    to_rows = target_rows if sides in ("target", "both") else np.arange(count)
    seen = np.zeros(1024, np.uint32)
    host_library.copy_rows(
        **HERE,
        source=source.address,
        target=target.address,
        count=count,
        source_stride=source.stride,
        target_stride=target.stride,
        columns=columns,
        source_type=types[0],
        target_type=types[1],
        source_rows=address(source_rows) if sides in ("source", "both") else 0,
        target_rows=address(target_rows) if sides in ("target", "both") else 0,
        index_bytes=8 if wide else 4,
        max_sms=sms,
        sm_flags=address(seen),
    )
    wanted = source.rows[from_rows]
    if unit > 1:
        wanted = from_floats(to_floats(wanted.copy(), types[0]), types[1])
    expected_rows = np.ndarray(
        target.rows.shape, target_type, expected, 64 + unit * (offset // 3), (target.stride, target_type.itemsize)
    )
    expected_rows[to_rows] = wanted
    np.testing.assert_array_equal(target.memory, expected)
    assert (seen.sum() > 0) == (count > 0)
    assert seen.sum() <= (sms or host_library.device_facts(0)["multiprocessors"])


def test_every_half_becomes_its_float_and_back(host_library):
    for name in ("float16", "bfloat16"):
        halves = np.arange(1 << 16, dtype=np.uint16).reshape(-1, 256)
        floats, back = np.empty(halves.shape, np.float32), np.empty_like(halves)
        rows = {"count": len(halves), "columns": 256}
        host_library.copy_rows(
            **HERE,
            **rows,
            source=address(halves),
            target=address(floats),
            source_stride=512,
            target_stride=1024,
            source_type=name,
        )
        host_library.copy_rows(
            **HERE, **rows, source=address(floats), target=address(back), source_stride=1024, target_stride=512, target_type=name
        )
        wanted = to_floats(halves, name)
        number = ~np.isnan(wanted)
        np.testing.assert_array_equal(bits(floats[number]), bits(wanted[number]))
        np.testing.assert_array_equal(back[number], halves[number])
        assert np.isnan(floats[~number]).all()
        assert (back[~number] == 0x7FFF).all()


@settings(deadline=None, max_examples=60)
@given(
    counts=st.lists(st.integers(0, 60), min_size=1, max_size=8),
    dim=st.integers(1, 70),
    nodes=st.integers(1, 40),
    seed=st.integers(0, 99),
)
def test_segment_sum_has_the_cpus_bits(host_library, counts, dim, nodes, seed):
    rng = np.random.default_rng(seed)
    parts = [rng.standard_normal((n, dim), np.float32) for n in counts]
    rows = rng.integers(0, nodes, sum(counts))
    unique, order, starts = _native.sort_rows(rows)
    wanted = np.empty((len(unique), dim), np.float32)
    _native.segment_sum(parts, order, starts, wanted)
    out = np.full_like(wanted, np.nan)
    host_library.segment_sum(
        **HERE,
        parts=[(address(p), len(p)) for p in parts],
        order=address(order),
        starts=address(starts),
        segments=len(unique),
        out=address(out),
        dim=dim,
    )
    np.testing.assert_array_equal(bits(out), bits(wanted))


def test_a_segment_of_nothing_is_zero_and_of_one_keeps_its_sign(host_library):
    grads, out = np.full((1, 3), -0.0, np.float32), np.full((2, 3), np.nan, np.float32)
    order, starts = np.array([0], np.int32), np.array([0, 0, 1], np.int32)
    host_library.segment_sum(
        **HERE, parts=[(address(grads), 1)], order=address(order), starts=address(starts), segments=2, out=address(out), dim=3
    )
    np.testing.assert_array_equal(np.signbit(out), [[False] * 3, [True] * 3])
    assert (out == 0).all()


@pytest.mark.parametrize("kind", RATES)
@settings(deadline=None, max_examples=40)
@given(
    dim=st.integers(1, 70),
    extra=st.integers(0, 5),
    count=st.integers(0, 30),
    steps=st.integers(1, 3),
    done=st.sampled_from([0, 1, 1000, 1 << 24]),
    seed=st.integers(0, 99),
)
def test_row_step_has_the_cpus_bits(host_library, kind, dim, extra, count, steps, done, seed):
    rng = np.random.default_rng(seed)
    width = dim + STATE[kind](dim) + extra
    block = np.abs(rng.standard_normal((count, width), np.float32))
    if kind == "adam":
        block[:, 3 * dim] = done
    wanted, grads = block.copy(), rng.standard_normal((count, dim), np.float32)
    for _ in range(steps):
        _native.row_step(kind, wanted, np.arange(count), grads, lr=0.1, **RATES[kind])
        host_library.row_step(
            **HERE,
            kind=kind,
            block=address(block),
            count=count,
            stride=4 * width,
            dim=dim,
            grads=address(grads),
            lr=0.1,
            **RATES[kind],
        )
    np.testing.assert_array_equal(bits(block), bits(wanted))


@settings(deadline=None, max_examples=40)
@given(size=st.integers(0, 700), padding=st.integers(0, 9), count=st.integers(0, 900), threads=st.integers(0, 3))
def test_host_rows_go_out_and_back(host_library, size, padding, count, threads):
    rng = np.random.default_rng(size)
    table = rng.integers(0, 256, (1000, size + padding), np.uint8)
    block = np.full((count, size + 2 * padding), POISON, np.uint8)
    rows, other = rng.permutation(1000)[:count], np.full_like(table, POISON)
    common = {
        "rows": address(rows),
        "count": count,
        "block": address(block),
        "block_stride": block.shape[1],
        "table_stride": table.shape[1],
        "bytes": size,
        "threads": threads,
        **HERE,
    }
    host_library.host_gather(table=address(table), **common)
    np.testing.assert_array_equal(block[:, :size], table[rows, :size])
    assert (block[:, size:] == POISON).all()
    host_library.host_scatter(table=address(other), **common)
    np.testing.assert_array_equal(other[rows, :size], table[rows, :size])
    other[rows, :size] = POISON
    assert (other == POISON).all()


def test_copy_copies(host_library):
    source, target = np.arange(100, dtype=np.uint8), np.zeros(100, np.uint8)
    host_library.copy(**HERE, target=address(target), source=address(source), bytes=60)
    np.testing.assert_array_equal(target, np.where(source < 60, source, 0))


def test_facts(host_library):
    assert host_library.device_count() == 2
    facts = host_library.device_facts(1)
    assert facts["name"] == "host"
    assert facts["can_map_host_memory"] is True
    assert facts["runtime_version"] == (13, 0)


def test_pinned_memory_keeps_its_contents_and_its_array(host_library):
    array = np.arange(3 << 20, dtype=np.uint8).reshape(3, -1)
    kept, wanted = weakref.ref(array), array.copy()
    pinned = host_library.pin(array, boundary=1 << 20, device=0, threads=2)
    assert (pinned.address, pinned.bytes, pinned.chunks) == (address(array), 3 << 20, 1)
    np.testing.assert_array_equal(array, wanted)
    del array
    gc.collect()
    assert kept() is not None
    pinned.close()
    pinned.close()
    gc.collect()
    assert kept() is None
    with pytest.raises(RuntimeError, match="closed"):
        _ = pinned.address


def test_only_whole_writable_bytes_are_pinned(host_library):
    for wrong in (np.zeros(100, np.float32), np.zeros((10, 10), np.uint8)[:, ::2]):
        with pytest.raises(TypeError):
            host_library.pin(wrong, 10, 0)
    frozen = np.zeros(100, np.uint8)
    frozen.flags.writeable = False
    with pytest.raises(TypeError):
        host_library.pin(frozen, 100, 0)
    with pytest.raises(RuntimeError, match="pin: 0 bytes"):
        host_library.pin(np.zeros(0, np.uint8), 1, 0)
    with pytest.raises(RuntimeError, match=r"cudaHostRegister of 4096 bytes at 0x.* device 7: invalid device ordinal \(101\)"):
        host_library.pin(np.zeros(4096, np.uint8), 4096, 7)


COPY = {**HERE, "source": 64, "target": 64, "count": 2, "source_stride": 16, "target_stride": 16, "columns": 4}
SUM = {**HERE, "parts": [], "order": 0, "starts": 0, "segments": 0, "out": 0, "dim": 4}
STEP = {**HERE, "kind": "adam", "block": 64, "count": 1, "stride": 52, "dim": 4, "grads": 64, "lr": 0.1}


@pytest.mark.parametrize(
    ("call", "arguments", "error", "text"),
    [
        ("copy_rows", COPY | {"count": -1}, RuntimeError, "copy_rows: -1 rows"),
        ("copy_rows", COPY | {"target_stride": 12}, RuntimeError, "target rows are 12 bytes apart, 16 wide"),
        ("copy_rows", COPY | {"source": 0}, RuntimeError, "source or target is null"),
        ("copy_rows", COPY | {"index_bytes": 2}, RuntimeError, "indices of 2 bytes"),
        ("copy_rows", COPY | {"target_type": "bytes"}, RuntimeError, "bytes do not convert"),
        ("copy_rows", COPY | {"target_type": "float16", "source": 66}, RuntimeError, "not aligned"),
        ("copy_rows", COPY | {"source_type": "double"}, ValueError, "type 'double' is none of float32"),
        ("copy_rows", COPY | {"device": 5}, RuntimeError, r"on device 5: invalid device ordinal \(101\)"),
        ("segment_sum", SUM | {"parts": [(64, 1)] * 9}, RuntimeError, "9 parts, at most 8"),
        ("segment_sum", SUM | {"segments": -2}, RuntimeError, "-2 segments"),
        ("row_step", STEP | {"stride": 48}, RuntimeError, "records are 48 bytes apart; .* at least 52"),
        ("row_step", STEP | {"kind": "lion"}, ValueError, "row step 'lion' is none of sgd"),
        ("copy", {**HERE, "device": 9, "target": 64, "source": 64, "bytes": 8}, RuntimeError, "8 bytes on device 9"),
    ],
)
def test_misfits_are_named(host_library, call, arguments, error, text):
    with pytest.raises(error, match=text):
        getattr(host_library, call)(**arguments)


def compiled(folder: Path, code: str) -> str:
    (folder / "other.c").write_text(code)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "other.so", folder / "other.c"], check=True)
    return str(folder / "other.so")


def test_other_files_are_not_the_library(tmp_path):
    with pytest.raises(OSError, match=r"cannot load the CUDA library: .*none\.so"):
        _native.CudaLibrary(str(tmp_path / "none.so"))
    with pytest.raises(RuntimeError, match="is not the CUDA library"):
        _native.CudaLibrary(compiled(tmp_path, "int nothing;"))


def test_another_version_is_refused(tmp_path):
    path = compiled(tmp_path, "static int version = 999; void *marius_cuda(void) { return &version; }")
    with pytest.raises(RuntimeError, match="version 999 of the interface, version 4 is needed"):
        _native.CudaLibrary(path)


@pytest.mark.parametrize(
    ("message", "stage", "fields"),
    [
        ("stage 'sort' is none of find_excluded, expand", "sort", {}),
        ("there is no field knwon", "insert", {"knwon": 1}),
        ("partitions of 0 rows", "insert", {"count": 1}),
        ("less than 2.31 are allowed", "insert", {"count": 2**31 - 5, "known": 9, "rows_per_partition": 1}),
        ("a power of 2", "insert", {"count": 1, "mask": 2, "rows_per_partition": 1}),
    ],
)
def test_neighbours_refuse_what_does_not_fit(host_library, message, stage, fields):
    with pytest.raises((ValueError, RuntimeError), match=message):
        host_library.neighbours(0, 0, stage, neighbour_job(**fields))
