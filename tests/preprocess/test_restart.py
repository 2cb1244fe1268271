"""preprocess, killed at any call or on a full disk, and then the same command again: the same bytes, no pass twice."""

import json
import os
import shutil
import signal
import subprocess
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from preprocess_faults import CHANGES, SMALL, Disk, Folder, finished
from preprocess_passes import PASSES, pass_of_each
from preprocess_tools import data_files

PARTS = 10  # of tests that try every call
MANY = 50  # calls of a pass


def spread(calls):
    """Numbers of calls, from 1: in each pass the last, where its end is made known, and one in the middle of those that make many
    calls; and where files and folders that are no pass's own get their names or go."""
    found = pass_of_each(calls)
    starts = [0, *(place for place, (a, b) in enumerate(pairwise(found), 1) if a != b), len(found)]
    special = {
        number
        for number, call in enumerate(calls, 1)
        if (call.op == "rename" and Path(call.other).parent.name in (".d.tmp", "edges") and "progress" not in call.other)
        or (call.op in ("unlink", "rmdir") and Path(call.path).parent.name == ".d.tmp")
    }
    middles = {(start + end) // 2 for start, end in pairwise(starts) if end - start >= MANY}
    return sorted(special | middles | {*starts[1:]})


def check_same_bytes_after(server, command, output, expected):
    """The command once more: it does what was left, and leaves nothing but the dataset."""
    before = finished(output)
    code, told = server.run([*command, "--output", output])
    if output.exists() and code == 2:
        assert "exists already" in told  # what was killed was done
    else:
        assert code == 0, told
        seconds = json.loads((output / "report.json").read_bytes())["seconds"]
        assert {name: seconds.get(name, before[name]) for name in before} == before
    assert data_files(output) == expected
    assert sorted(path.name for path in output.parent.iterdir()) == [output.name]


def last_calls(calls):
    """Numbers of the calls that put the dataset in place, and of those before that which change names."""
    begin = pass_of_each(calls).index("publish") + 1
    renamed = next(number for number, call in enumerate(calls, 1) if call.op == "rename" and call.other.endswith("/d"))
    return [number for number in range(begin, len(calls) + 1) if calls[number - 1].op != "fsync" or number >= renamed - 3]


def killed(server, command, output, expected, number):
    code, told = server.run([*command, "--output", output], KILL=f"{CHANGES}:{output.parent}:{number}")
    assert code in (-signal.SIGKILL, 0), told  # threads make a few calls more or fewer
    passes = list(finished(output))
    check_same_bytes_after(server, command, output, expected)
    shutil.rmtree(output.parent)
    return passes


def check_told_full(code, told):
    assert code == 1, told
    last = told.splitlines()[-1]
    assert last.startswith("marius-lite: "), told
    assert "the disk is full: make room" in last, told
    assert told.count("marius-lite: ") == 1, told
    assert "Traceback" not in told, told


def full(server, command, output, expected, number, later):
    code, told = server.run([*command, "--output", output], FAIL=f"write,pwrite:{output.parent}:{number}{later}:ENOSPC")
    if code != 0:
        check_told_full(code, told)
        assert not output.exists()
        check_same_bytes_after(server, command, output, expected)
    shutil.rmtree(output.parent)
    return code


def test_killed_in_every_pass(server, command, undisturbed, tmp_path):
    expected, calls = undisturbed
    seen = {len(killed(server, command, tmp_path / f"{number}/d", expected, number)) for number in spread(calls)}
    assert seen == set(range(len(PASSES) + 2))


def test_killed_at_each_of_the_last_calls(server, command, undisturbed, tmp_path):
    """All is done, but for names: nothing is made again."""
    expected, calls = undisturbed
    numbers = last_calls(calls)
    assert len(numbers) > 10
    assert calls[numbers[-5] - 1].op == "rename"  # the dataset gets its name
    for number in [*numbers[:-8:4], *numbers[-6:]]:
        output = tmp_path / f"{number}/d"
        done = killed(server, command, output, expected, number)
        assert done in ([], [*PASSES, "dataset"])  # none: it is in its place


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_each_call(server, command, undisturbed, tmp_path, part):
    expected, calls = undisturbed
    for number in range(1 + part, len(calls) + 1, PARTS):
        killed(server, command, tmp_path / f"{number}/d", expected, number)


def writes_of(calls):
    return sum(call.op in ("write", "pwrite") for call in calls)


def test_a_disk_that_is_full_at_some_write(server, command, undisturbed, tmp_path):
    expected, calls = undisturbed
    for number in np.linspace(1, writes_of(calls) - 2, 6).astype(int).tolist():
        assert full(server, command, tmp_path / f"{number}/d", expected, number, "+") == 1


@pytest.mark.slow
@pytest.mark.parametrize("later", ["", "+"])
def test_a_disk_that_is_full_at_each_write(server, command, undisturbed, tmp_path, later):
    expected, calls = undisturbed
    for number in range(1, writes_of(calls) + 1):
        full(server, command, tmp_path / f"{number}/d", expected, number, later)


def test_a_full_disk_of_its_own(server, command, undisturbed, tmp_path):
    """A real one, ever larger: each time the run gets further, until it ends."""
    disk, codes = tmp_path / "disk", []
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no file system may be mounted here: {mounted.stderr.strip()}")
    try:
        for kib in range(64, 4096, 48):
            subprocess.run(["mount", "-o", f"remount,size={kib}k", disk], check=True)
            unplanned = {"build.require_space": 0, "build.require_rest": 0}
            code, told = server.run([*command, "--output", disk / "d"], SMALL | unplanned)
            codes.append(code)
            if code == 0:
                break
            check_told_full(code, told)
            assert not (disk / "d").exists()
        assert codes.count(1) >= 5
        assert data_files(disk / "d") == undisturbed[0]
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_pass_is_on_disk_before_it_is_remembered(undisturbed):
    """Names and contents, by a model of a disk that forgets what was not synced."""

    def unsure(folder, at=""):
        for name, node in folder.now.items():
            if name in ("lock", "progress.json.tmp", "progress.json", "row_ids"):
                continue
            if folder.sure(name) is None or not (isinstance(node, Folder) or node.synced):
                yield f"{at}/{name}"
            if isinstance(node, Folder):
                yield from unsure(node, f"{at}/{name}")

    _, calls = undisturbed
    top = os.path.commonpath([call.path for call in calls])
    disk, remembered = Disk(str(Path(top).parent)), 0
    for call in disk.replay(calls):
        if call.other.endswith("/progress.json.tmp") or (call.op == "create" and call.path.endswith("/progress.json.tmp")):
            remembered += 1
            work = disk.tree.now[Path(top).name].now[".d.tmp"]
            assert list(unsure(work)) == []
    assert remembered == len(PASSES) + 1
