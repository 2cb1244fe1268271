"""The fault library itself: each setting does what its comment says, and nothing else."""

import errno
import time

from faults import KILLED


def program(path, body):
    return f"import os, errno\npath = {str(path)!r}\n{body}"


def test_trace_names_every_change_in_order(faults, tmp_path):
    root = tmp_path / "here"
    calls = faults.trace(
        program(
            root,
            """
os.mkdir(path)
fd = os.open(path + '/a', os.O_RDWR | os.O_CREAT)
os.write(fd, b'123'); os.pwrite(fd, b'45', 7); os.ftruncate(fd, 5)
os.fsync(fd); os.fdatasync(fd); os.close(fd)
os.link(path + '/a', path + '/b'); os.rename(path + '/b', path + '/c'); os.symlink('c', path + '/s')
os.unlink(path + '/s')
""",
        ),
        "*:/here",
    )
    assert [(c.op, c.path.removeprefix(str(root)), c.offset, c.length) for c in calls] == [
        ("mkdir", "", -1, -1),
        ("create", "/a", -1, -1),
        ("write", "/a", 0, 3),
        ("pwrite", "/a", 7, 2),
        ("ftruncate", "/a", -1, 5),
        ("fsync", "/a", -1, -1),
        ("fdatasync", "/a", -1, -1),
        ("link", "/a", -1, -1),
        ("rename", "/b", -1, -1),
        ("symlink", "c", -1, -1),
        ("unlink", "/s", -1, -1),
    ]
    assert [c.other for c in calls if c.op == "rename"] == [str(root / "c")]
    assert [c.result for c in calls if c.op in ("write", "pwrite")] == [3, 2]


def test_the_nth_matching_call_fails(faults, tmp_path):
    done = faults.run(
        program(
            tmp_path / "file",
            """
for i in range(4):
    try: os.write(os.open(path, os.O_WRONLY | os.O_CREAT), b'x'); print('done')
    except OSError as error: print(errno.errorcode[error.errno])
""",
        ),
        FAIL=f"write:{tmp_path}/file:2:ENOSPC",
    )
    assert done.stdout.split() == ["done", "ENOSPC", "done", "done"], done.stderr
    assert errno.ENOSPC == 28


def test_the_nth_and_later_fail(faults, tmp_path):
    done = faults.run(
        program(
            tmp_path / "file",
            """
for i in range(3):
    try: os.mkdir(path + str(i)); print('done')
    except OSError as error: print(errno.errorcode[error.errno])
""",
        ),
        FAIL="mkdir:file:2+:EIO",
    )
    assert done.stdout.split() == ["done", "EIO", "EIO"], done.stderr


def test_killed_before_the_call(faults, tmp_path):
    (tmp_path / "a").touch()
    body = "print('before', flush=True); os.rename(path, path + '2'); print('after')"
    done = faults.run(program(tmp_path / "a", body), KILL=f"rename:{tmp_path}:1")
    assert (done.returncode, done.stdout) == (KILLED, "before\n")
    assert (tmp_path / "a").exists()


def test_short_transfer(faults, tmp_path):
    body = "fd = os.open(path, os.O_RDWR | os.O_CREAT); print([os.pwrite(fd, bytes(20000), 0) for i in '12'])"
    done = faults.run(program(tmp_path / "file", body), SHORT=f"pwrite:{tmp_path}:1")
    assert done.stdout == "[8192, 20000]\n", done.stderr


def test_delay(faults, tmp_path):
    (tmp_path / "file").write_bytes(b"123")
    start = time.monotonic()
    body = "os.pread(os.open(path, 0), 3, 0)"
    assert faults.run(program(tmp_path / "file", body), DELAY=f"pread:{tmp_path}/file:400").returncode == 0
    assert time.monotonic() - start > 0.4


def test_direct_io_refused(faults, tmp_path):
    (tmp_path / "file").write_bytes(b"123")
    done = faults.run(program(tmp_path / "file", "os.open(path, os.O_DIRECT)"), BUFFERED="file")
    assert "Errno 22" in done.stderr
    done = faults.run(program(tmp_path / "file", "os.open(path, os.O_RDONLY)"), BUFFERED="file")
    assert done.returncode == 0
