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
from preprocess_faults import CHANGES, SMALL, Disk, Faults, Folder, finished
from preprocess_tools import data_files

PASSES = ["read", "number", "nodes", "types", "partition", "names", "tables", "sort", "write", "adjacency", "edge types"]
PARTS = 10  # of tests that try every call
OPTIONS = [
    "--memory",
    "1MiB",
    "--undirected",
    "--split",
    "0.8,0.1,0.1",
    "--partitions",
    "3",
    "--partitioner",
    "locality",
    "--adjacency",
    "in",
    "--node-split",
    "0.5,0.3,0.2",
    "--delimiter",
    "tab",
]


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    """Everything there is to make of 400 nodes: the arguments but the output."""
    folder, rng = tmp_path_factory.mktemp("raw"), np.random.default_rng(7)
    names = [f"the node of number {number}" for number in rng.permutation(400)]
    for file in range(4):  # in each some nodes that were not seen before
        ends = rng.integers(100 * (file + 1), size=(700, 2))
        (folder / f"{file}.tsv").write_text("".join(f"{names[s]}\tr{k % 5}\t{names[d]}\n" for k, (s, d) in enumerate(ends)))
    (folder / "names.txt").write_text("\n".join(names) + "\n")
    np.save(folder / "features.npy", rng.normal(size=(400, 6)).astype(np.float32))
    np.save(folder / "labels.npy", rng.integers(-1, 5, 400))
    (folder / "types.txt").write_text("".join(f"{name}\ttype {k % 3}\n" for k, name in enumerate(names)))
    return [
        *sorted(folder.glob("*.tsv")),
        "--features",
        folder / "features.npy",
        "--labels",
        folder / "labels.npy",
        "--node-ids",
        folder / "names.txt",
        "--node-types",
        folder / "types.txt",
        *OPTIONS,
    ]


@pytest.fixture(scope="module")
def undisturbed(server, command, tmp_path_factory):
    """(the files of a run that nothing happens to, its calls)."""
    folder = tmp_path_factory.mktemp("undisturbed")
    code, told = server.run([*command, "--output", folder / "run/d"], TRACE=f"{CHANGES}:{folder}/run:{folder}/trace")
    assert code == 0, told
    report = json.loads((folder / "run/d/report.json").read_bytes())
    assert [name for name in report["seconds"] if name != "total"] == PASSES
    assert report["sorted_runs"] > 1
    return data_files(folder / "run/d"), Faults.read_trace(folder / "trace")


def pass_of_each(calls):
    """The pass under way at each call; after the last, `publish`."""
    names, found = iter([*PASSES, "dataset", "publish"]), []
    name = next(names)
    for call in calls:
        found.append(name)
        if call.op == "rename" and call.other.endswith("/progress.json"):
            name = next(names)
    assert name == "publish"
    return found


def spread(calls):
    """Numbers of calls, from 1: in each pass one in the middle, and the last, where its end is made known; and where files and
    folders that are no pass's own get their names or go."""
    found = pass_of_each(calls)
    starts = [0, *(place for place, (a, b) in enumerate(pairwise(found), 1) if a != b), len(found)]
    special = {
        number
        for number, call in enumerate(calls, 1)
        if (call.op == "rename" and Path(call.other).parent.name in (".d.tmp", "edges") and "progress" not in call.other)
        or (call.op in ("unlink", "rmdir") and Path(call.path).parent.name == ".d.tmp")
    }
    return sorted(special | {number for start, end in pairwise(starts) for number in ((start + end) // 2, end)})


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
    for number in numbers:
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
    for number in np.linspace(1, writes_of(calls) - 2, 12).astype(int).tolist():
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


@pytest.fixture
def cut_short(server, command, undisturbed, tmp_path):
    """The output of a run that was killed when half of its passes were done."""
    output = tmp_path / "run/d"
    number = pass_of_each(undisturbed[1]).index("tables") + 5
    assert server.run([*command, "--output", output], KILL=f"{CHANGES}:{output.parent}:{number}")[0] == -signal.SIGKILL
    assert list(finished(output)) == PASSES[: PASSES.index("tables")]
    return output


def goes_on(server, arguments, output):
    """Whether the command finds passes to go on from; it must end well."""
    code, told = server.run([*arguments, "--output", output])
    assert code == 0, told
    return "going on after pass 'names'" in told


def test_another_memory_goes_on(server, command, cut_short, undisturbed):
    assert goes_on(server, [*command, "--memory", "300MB"], cut_short)
    assert data_files(cut_short) == undisturbed[0]


@pytest.mark.parametrize("option", [["--seed", "1"], ["--partitions", "2"], ["--drop-duplicates"], ["--on-bad-row", "skip"]])
def test_another_option_starts_over(server, command, cut_short, tmp_path, option):
    assert not goes_on(server, [*command, *option], cut_short)
    assert not goes_on(server, [*command, *option], tmp_path / "again/d")
    assert data_files(cut_short) == data_files(tmp_path / "again/d")


def test_overwrite_starts_over(server, command, cut_short, undisturbed):
    assert not goes_on(server, [*command, "--overwrite"], cut_short)
    assert data_files(cut_short) == undisturbed[0]


@pytest.mark.parametrize("changed", ["0.tsv", "features.npy", "labels.npy", "names.txt", "types.txt"])
def test_a_changed_input_starts_over(server, command, cut_short, undisturbed, changed):
    file = next(Path(each) for each in command if str(each).endswith(changed))
    facts = file.stat()
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns + 1))
    assert not goes_on(server, command, cut_short)
    assert data_files(cut_short) == undisturbed[0]


def test_a_changed_archive_starts_over(server, command, undisturbed, tmp_path):
    """FILE.npz:KEY is no file's name."""

    def save(values):
        np.savez(tmp_path / "all.npz", features=values)

    place = command.index("--features") + 1
    values = np.load(command[place])
    arguments = [*command[:place], f"{tmp_path}/all.npz:features", *command[place + 1 :]]
    save(values)
    output = tmp_path / "run/d"
    number = pass_of_each(undisturbed[1]).index("write") + 5
    assert server.run([*arguments, "--output", output], KILL=f"{CHANGES}:{output.parent}:{number}")[0] == -signal.SIGKILL
    assert "tables" in finished(output)
    save(values + 1)
    assert server.run([*arguments, "--output", output])[0] == 0
    assert server.run([*arguments, "--output", tmp_path / "again/d"])[0] == 0
    assert data_files(output) == data_files(tmp_path / "again/d")


def test_a_moved_folder_starts_over(server, command, cut_short, undisturbed):
    """What is remembered has paths in it."""
    moved = cut_short.parent.with_name("moved")
    cut_short.parent.rename(moved)
    assert not goes_on(server, command, moved / "d")
    assert data_files(moved / "d") == undisturbed[0]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[:1000],
        lambda data: b"[1]",
        lambda data: b"{}",
        lambda data: b"7",
        lambda data: b"[" * 100_000,
        lambda data: b"\xff\xfe",
        lambda data: data.replace(b"400", b"401"),
        lambda data: data.replace(b'"passes"', b'"passed"'),
    ],
)
def test_damaged_progress_starts_over(server, command, cut_short, undisturbed, damage):
    progress = cut_short.parent / ".d.tmp/progress.json"
    progress.write_bytes(damage(progress.read_bytes()))
    assert not goes_on(server, command, cut_short)
    assert data_files(cut_short) == undisturbed[0]


@pytest.mark.parametrize("until", ["number", "write"])
def test_a_changed_byte_starts_over(server, command, undisturbed, tmp_path, until):
    """Of any file that a finished pass left, between a kill and the same command."""
    expected, calls = undisturbed
    output = tmp_path / "run/d"
    number = pass_of_each(calls).index(until) + 3
    assert server.run([*command, "--output", output], KILL=f"{CHANGES}:{output.parent}:{number}")[0] == -signal.SIGKILL
    kept = shutil.copytree(output.parent, tmp_path / "kept")
    passes = json.loads(json.loads((kept / ".d.tmp/progress.json").read_bytes())["passes"])
    names = sorted(
        name
        for entry in passes.values()
        for name, (size, _) in entry["files"].items()
        if size and (kept / ".d.tmp" / name).exists()
    )
    assert names
    for name in names[:: max(1, len(names) // 4)]:
        shutil.rmtree(output.parent)
        shutil.copytree(kept, output.parent)
        changed = output.parent / ".d.tmp" / name
        data = bytearray(changed.read_bytes())
        data[len(data) // 2] ^= 16
        changed.write_bytes(data)
        code, told = server.run([*command, "--output", output])
        assert code == 0, told
        assert f"{changed}: was changed since" in told.replace("\n", ""), told
        assert data_files(output) == expected


def test_a_kill_while_leftovers_are_removed(server, command, cut_short, undisturbed):
    """Another command begins to clear away what is there and dies; the first one must not trust what is left."""
    other = [*command, "--seed", "5", "--output", cut_short]
    assert server.run(other, KILL=f"unlink,rmdir:{cut_short.parent}:6")[0] == -signal.SIGKILL
    assert not goes_on(server, command, cut_short)
    assert data_files(cut_short) == undisturbed[0]
