import multiprocessing
import os
import struct
from pathlib import Path

import numpy as np
import pytest
from faults import fault_library, faults  # noqa: F401
from hypothesis import given
from hypothesis import strategies as st

from marius_lite import files
from marius_lite.errors import RunError, UserError


def test_write_atomic_replaces_whole_and_leaves_nothing_beside(tmp_path):
    path = tmp_path / "a"
    files.write_atomic(path, b"one")
    files.write_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["a"]


def test_json_of_brackets_without_end_is_none():
    with pytest.raises(ValueError, match="brackets"):
        files.parse_json("[" * 100_000)
    assert files.parse_json(b'{"a": [1]}') == {"a": [1]}


def test_point_moves_a_relative_link(tmp_path):
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        files.point(tmp_path / "latest", name)
        assert os.readlink(tmp_path / "latest") == name


def hold(path, held, done):
    with files.lock(path):
        held.set()
        done.wait(20)


def test_lock_refuses_a_second_process_until_the_first_ends(tmp_path):
    context = multiprocessing.get_context("spawn")
    held, done = context.Event(), context.Event()
    process = context.Process(target=hold, args=(tmp_path / "lock", held, done))
    process.start()
    assert held.wait(20)
    with pytest.raises(UserError, match="another process"), files.lock(tmp_path / "lock"):
        pass
    process.kill()
    process.join()
    with files.lock(tmp_path / "lock"):
        pass


def test_a_full_disk_is_named():
    full = files.disk_error(OSError(28, "No space left on device"), "x")
    assert str(full) == "x: the disk is full: make room, then do the same again"
    assert str(full.to_go_on("go on")) == "x: the disk is full: make room, then go on"
    assert isinstance(files.disk_error(OSError(5, "I/O error"), "x"), RunError)


@pytest.mark.parametrize(
    "work", [lambda file: file.mkdir(), lambda file: (file / "x").mkdir(), lambda file: file.parent.write_text("")]
)
def test_a_place_that_is_taken_comes_with_advice(tmp_path, work):
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match=r"(move away|choose another)"), files.disk_errors(tmp_path / "file"):
        work(tmp_path / "file")


def test_a_file_without_a_folder_and_one_that_is_a_folder_are_told_by_their_own_names(tmp_path):
    with pytest.raises(RunError, match=r"absent/page\.html: there is no folder .*absent: make it"):
        files.write_atomic(tmp_path / "absent/page.html", b"")
    with pytest.raises(RunError, match=f"^{tmp_path}: a folder is where a file should be"):
        files.write_atomic(tmp_path, b"")
    with pytest.raises(RunError, match=r"^/proc/page\.html: "):  # where nobody can make a file
        files.write_atomic(Path("/proc/page.html"), b"")
    assert not list(tmp_path.iterdir())


def test_require_space_names_both_sizes(tmp_path):
    with pytest.raises(UserError, match=r"1\d*\.00 \w+|needs"):
        files.require_space(tmp_path / "not" / "yet", 10**18, "a test")
    files.require_space(tmp_path, 1, "a test")


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (ValueError("bad\nmagic"), UserError, "f: damaged or cut short (bad magic): get it again"),
        (struct.error("unpack"), UserError, "f: damaged or cut short (error: unpack): get it again"),
        (KeyError("x"), UserError, "f: damaged or cut short (KeyError: 'x'): get it again"),
        (EOFError(), UserError, "f: damaged or cut short (EOFError): get it again"),
        (
            OSError("Couldn't deserialize thrift"),
            UserError,
            "f: damaged or cut short (Couldn't deserialize thrift): get it again",
        ),
        (FileNotFoundError(2, "No such file"), UserError, "f: No such file: name a file that can be read"),
        (OSError(22, "Invalid argument"), UserError, "f: damaged or cut short ([Errno 22] Invalid argument): get it again"),
        (OSError(5, "Input/output error"), RunError, "f: Input/output error"),
        (UserError("its own"), UserError, "its own"),
        (MemoryError("much"), MemoryError, "much"),
        (MemoryError("malloc of size 1000000 failed"), MemoryError, "malloc of size 1000000 failed"),
        (
            MemoryError("size 9000000000000000000"),
            UserError,
            "f: damaged (a number in it asks for more memory than such a file can fill: size 9000000000000000000): get it again",
        ),
    ],
)
def test_reading_says_what_a_library_stumbled_over_in_one_line(error, kind, said):
    with pytest.raises(kind) as raised, files.reading("f"):
        raise error
    assert str(raised.value) == said


def test_a_disk_that_fails_behind_another_error_is_told():
    error = ValueError("not a zip file")
    error.__context__ = OSError(5, "Input/output error")
    with pytest.raises(RunError, match="f: Input/output error"), files.reading("f"):
        raise error


def test_a_small_file_that_asks_for_much_memory_is_damaged(tmp_path):
    (tmp_path / "f").write_bytes(b"PAR1")
    with pytest.raises(UserError, match="more memory than such a file"), files.reading(tmp_path / "f"):
        raise MemoryError("malloc of size 17179869376 failed")
    with pytest.raises(MemoryError), files.reading(tmp_path / "f"):
        raise MemoryError("malloc of size 17179869 failed")
    os.truncate(tmp_path / "f", 1 << 40)  # a large one may need more than the machine has
    with pytest.raises(MemoryError), files.reading(tmp_path / "f"):
        raise MemoryError("malloc of size 1717986918400 failed")


@given(
    st.binary(max_size=60), st.integers(0, 70), st.none() | st.integers(0, 9), st.sampled_from([np.uint8, np.int32, np.float64])
)
def test_read_numbers_reads_what_numpy_does(tmp_path_factory, data, offset, most, dtype):
    path = tmp_path_factory.mktemp("numbers") / "f"
    path.write_bytes(data)
    read = files.read_numbers(path, dtype, most, offset)
    whole = data[offset:][: len(data[offset:]) // np.dtype(dtype).itemsize * np.dtype(dtype).itemsize]
    assert read.tobytes() == np.frombuffer(whole, dtype)[:most].tobytes()
    assert read.dtype == dtype


@pytest.mark.parametrize("call", ["files.read_numbers(path, 'u4')", "files.read(path)", "files.sync(path)"])
def test_a_disk_that_fails_is_told_with_the_file(faults, tmp_path, call):  # noqa: F811
    """numpy.fromfile would call it the end of the file."""
    path = tmp_path / "numbers"
    path.write_bytes(bytes(40))
    done = faults.run(
        f"""
from pathlib import Path
from marius_lite import files
path = Path({str(path)!r})
try: print(len({call}))
except (files.RunError, OSError) as error: print(error)
""",
        FAIL=f"read,fsync:{path}:1:EIO",
    )
    assert str(path) in done.stdout, done.stderr
    assert "Input/output error" in done.stdout
