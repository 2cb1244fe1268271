"""Reading ranges of one-dimensional arrays, and what the machine supports."""

from pathlib import Path

import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import marius_lite._native as _native
from marius_lite.errors import RunError, UserError
from marius_lite.storage.engine import BLOCK, RangeRoom, empty_for_range, probe, read_range
from marius_lite.storage.flat import read_array_range


def make_array(path, values, chunk):
    array = zarr.create_array(
        store=path,
        shape=values.shape,
        chunks=(chunk,),
        dtype=values.dtype,
        filters=None,
        compressors=None,
        overwrite=True,
        config={"write_empty_chunks": True},
    )
    array[:] = values
    return path


@pytest.fixture(scope="module")
def arrays(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arrays")
    values = {dtype: np.arange(10_000).astype(dtype) for dtype in ("uint32", "int64", "float32", "uint8")}
    return {dtype: (make_array(folder / dtype, v, 1777), v) for dtype, v in values.items()}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_range_across_chunks(arrays, data):
    path, values = arrays[data.draw(st.sampled_from(sorted(arrays)))]
    start, stop = sorted([data.draw(st.integers(0, len(values))), data.draw(st.integers(0, len(values)))])
    direct = data.draw(st.booleans())
    assert np.array_equal(read_array_range(path, start, stop, direct=direct), values[start:stop])
    out = np.zeros(stop - start, values.dtype)
    assert read_array_range(path, start, stop, out, direct) is out
    assert np.array_equal(out, values[start:stop])


@given(st.integers(0, 10**9), st.integers(0, 5000), st.sampled_from(["uint32", "int64"]))
def test_room_for_a_range_lies_in_memory_as_in_its_file(start, count, name):
    room = empty_for_range(np.dtype(name), start, start + count)
    assert room.shape == (count,)
    assert room.dtype == name
    assert room.flags.c_contiguous
    assert (room.ctypes.data - start * room.itemsize) % 4096 == 0 or count == 0


def test_a_room_lies_like_each_range_that_it_is_for():
    room = RangeRoom()
    for start, stop in [(3, 5000), (7, 9), (1023, 20000), (5, 5)]:
        there = room.empty_for_range(np.dtype(np.int32), start, stop)
        assert there.shape == (stop - start,)
        assert not len(there) or there.ctypes.data % BLOCK == 4 * start % BLOCK
    first = room.empty_for_range(np.dtype(np.int32), 0, 20000)
    assert np.shares_memory(first, room.empty_for_range(np.dtype(np.int64), 1, 9))


def test_rooms_with_pages_of_their_own_share_none():
    rooms = [
        empty_for_range(np.dtype(np.uint32), start, start + count, own_pages=True)
        for start, count in ((0, 1), (1023, 2), (5, 5000), (0, 0))
        for _ in range(3)
    ]
    spans = [(room.ctypes.data, room.ctypes.data + room.nbytes - 1) for room in rooms if len(room)]
    pages = [page for first, last in spans for page in range(first >> 12, (last >> 12) + 1)]
    assert len(pages) == len(set(pages)) >= 3 * (1 + 2 + 5)
    assert rooms[3].ctypes.data % 4096 == 1023 * 4
    for number, room in enumerate(rooms):
        room[:] = number
    assert [set(room.tolist()) for room in rooms] == [{number} if len(room) else set() for number, room in enumerate(rooms)]


def test_large_rooms_with_pages_of_their_own_ask_for_huge_pages():
    """Whether the system has huge pages to give is a matter of what else it holds, so what is asked for is looked at."""
    if not Path("/sys/kernel/mm/transparent_hugepage/enabled").exists():
        pytest.skip("this system has no huge pages")
    room = empty_for_range(np.dtype(np.uint8), 0, 64 << 20, own_pages=True)
    assert "hg" in asked_of_mapping(room.ctypes.data + room.nbytes // 2)


def asked_of_mapping(address):
    """The flags that /proc/self/smaps gives for the mapping of an address: "hg" where huge pages are asked for."""
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first, *rest = line.split()
        if not first.endswith(":"):
            start, end = (int(text, 16) for text in first.split("-"))
            inside = start <= address < end
        elif inside and first == "VmFlags:":
            return set(rest)
    raise AssertionError(f"no mapping of {address:#x}")


def test_ranges_outside_and_wrong_targets_are_refused(arrays):
    path, _ = arrays["uint32"]
    for start, stop in [(-1, 5), (5, 4), (0, 10_001)]:
        with pytest.raises(ValueError, match="not inside"):
            read_array_range(path, start, stop)
    with pytest.raises(ValueError, match="expected"):
        read_array_range(path, 0, 5, np.zeros(5, np.int64))
    with pytest.raises(TypeError):
        _native.read_file_range(str(path / "c" / "0"), 0, np.zeros(8, np.uint8)[::2])


def test_damage_is_named(tmp_path):
    path = make_array(tmp_path / "a", np.arange(1000, dtype=np.int64), 100)
    with open(path / "c" / "3", "r+b") as file:
        file.truncate(500)
    with pytest.raises(RunError, match=r"c/3: the file holds 500 bytes, expected at least 800"):
        read_array_range(path, 350, 400)
    (path / "c" / "4").unlink()
    with pytest.raises(RunError, match=r"c/4: open: No such file"):
        read_array_range(path, 400, 401)
    with pytest.raises(UserError, match=r"b/zarr\.json: not found"):
        read_array_range(tmp_path / "b", 0, 1)


def test_compressed_and_matrix_arrays_are_refused(tmp_path):
    zarr.create_array(store=tmp_path / "z", shape=(10,), chunks=(5,), dtype="int32")
    zarr.create_array(store=tmp_path / "m", shape=(10, 2), chunks=(5, 2), dtype="int32", compressors=None)
    for name in "zm":
        with pytest.raises(UserError, match="no compression"):
            read_array_range(tmp_path / name, 0, 1)


def test_an_array_made_anew_is_seen(tmp_path):
    for length in (10, 20):
        make_array(tmp_path / "a", np.arange(length), 4)
        assert read_array_range(tmp_path / "a", 0, length)[-1] == length - 1


@pytest.mark.parametrize("direct", [True, False])
def test_files_written_natively_read_back(tmp_path, direct):
    data = np.random.default_rng(0).integers(0, 256, 3_000_001, dtype=np.uint8)
    for part in (data, data[3:5000], data[:0]):
        checksum = _native.write_file(str(tmp_path / "file"), part, direct)
        assert checksum == _native.crc32c(part)
        assert (tmp_path / "file").read_bytes() == part.tobytes()
        out = np.zeros_like(part)
        read_range(tmp_path / "file", 0, out, direct)
        assert np.array_equal(out, part)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_checksum_continues_and_combines():
    data = np.random.default_rng(1).integers(0, 256, 100_000, dtype=np.uint8)
    first, second = data[:33_333], data[33_333:]
    whole = _native.crc32c(data)
    assert whole == _native.crc32c(second, _native.crc32c(first))
    assert whole == _native.crc32c_combine(_native.crc32c(first), _native.crc32c(second), len(second))


def test_probe_leaves_nothing_behind(tmp_path):
    found = probe(tmp_path)
    assert list(tmp_path.iterdir()) == []
    flags = ("direct_io", "hard_links", "huge_pages", "crc32c_instruction")
    assert {type(found[name]) for name in flags} == {bool}
    assert 0 < found["memory_available"] <= found["memory_total"]
    assert 0 < found["memory_limit"] <= found["memory_total"]
    with pytest.raises(FileNotFoundError):
        probe(tmp_path / "absent")


TRANSFER = """
import numpy as np, marius_lite._native as native
data = np.random.default_rng(0).integers(0, 256, 3_000_000, dtype=np.uint8)
native.write_file({path!r}, data, {direct})
out = np.zeros_like(data)
native.read_file_range({path!r}, 0, out, {direct})
assert np.array_equal(out, data)
"""


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize(
    "fault",
    [
        {"SHORT": "pread:file:2"},
        {"SHORT": "pwrite:file:1+"},
        {"SHORT": "pread:file:1+"},
        {"FAIL": "pread:file:2:EINTR"},
        {"FAIL": "pwrite:file:1:EAGAIN"},
        {"FAIL": "open,create:file:1:EINTR"},
        {"FAIL": "pread:file:1:EINVAL"},
        {"FAIL": "pwrite:file:2:EINVAL"},
        {"BUFFERED": "file"},
    ],
    ids=lambda fault: " ".join(f"{k}={v}" for k, v in fault.items()),
)
def test_interrupted_and_short_transfers_are_resumed(forked_faults, tmp_path, fault, direct):
    refused = not direct and "EINVAL" in fault.get("FAIL", "")  # only direct I/O has a way out of EINVAL
    done = forked_faults.run(TRANSFER.format(path=str(tmp_path / "file"), direct=direct), **fault)
    assert (done.returncode != 0) == refused, done.stderr


def test_an_error_names_file_offset_and_reason(forked_faults, tmp_path):
    done = forked_faults.run(TRANSFER.format(path=str(tmp_path / "file"), direct=True), FAIL="pwrite:file:1+:EIO")
    assert "OSError: [Errno 5] write of" in done.stderr
    assert "at offset" in done.stderr
    assert str(tmp_path / ".file.tmp") in done.stderr
    assert list(tmp_path.glob(".*")) == []
