"""Temporary files and folders: those of the living and of others stay, those of killed processes go."""

import os
import subprocess
import sys

import pytest

from marius_lite import files
from marius_lite.temporary import folder_beside, remove_left, whole

HOLDER = """
import sys
from pathlib import Path
from marius_lite.temporary import folder_beside, whole
with {"file": whole, "folder": folder_beside}[sys.argv[1]](Path(sys.argv[2])):
    print("made", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_process_writes_stays_until_it_is_killed(tmp_path, kind):
    final = tmp_path / "out [1]"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, kind, final], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "made\n"
        made = os.listdir(tmp_path)
        remove_left(final)
        assert os.listdir(tmp_path) == made
        remove_left(tmp_path / "out")
        holder.kill()
    assert os.listdir(tmp_path) == made
    with whole(final) as file:
        file.write(b"new")
    assert os.listdir(tmp_path) == [final.name]


def test_what_others_named_stays(tmp_path):
    final = tmp_path / "out"
    for name in (".out.tmp", ".out.marius-1.tmp", ".out.marius-0000000g.tmp", "out.12345678.tmp", ".put.marius-12345678.tmp"):
        (tmp_path / name).mkdir()
    os.mkfifo(tmp_path / ".out.marius-00000000.tmp")
    (tmp_path / ".out.marius-11111111.tmp").symlink_to(tmp_path)
    before = set(os.listdir(tmp_path))
    with folder_beside(final) as place:
        (place / "file").touch()
        files.publish(place, final)
    assert set(os.listdir(tmp_path)) == before | {"out"}
    assert os.listdir(final) == ["file"]


def test_where_locks_say_nothing_everything_stays(tmp_path, monkeypatch):
    (tmp_path / ".out.marius-11111111.tmp").touch()

    def unlocked(descriptor, kind):
        raise OSError(95, "Operation not supported")

    with monkeypatch.context() as patched:
        patched.setattr(files.fcntl, "flock", unlocked)
        remove_left(tmp_path / "out")
    assert len(os.listdir(tmp_path)) == 1
    remove_left(tmp_path / "out")
    assert os.listdir(tmp_path) == []


def test_others_may_read_what_is_made_as_their_umask_says(tmp_path):
    before = os.umask(0o027)
    try:
        with whole(tmp_path / "file"), folder_beside(tmp_path / "folder") as place:
            files.publish(place, tmp_path / "folder")
    finally:
        os.umask(before)
    assert [oct((tmp_path / name).stat().st_mode & 0o777) for name in ("file", "folder")] == ["0o640", "0o750"]
