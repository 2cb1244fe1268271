"""preprocess, killed and then asked for something else, or with other files: what it goes on from, and where it starts over."""

import json
import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
from preprocess_faults import CHANGES, finished
from preprocess_passes import PASSES, pass_of_each
from preprocess_tools import data_files


def kill_half_way(server, command, calls, output):
    """Leave what a run leaves that is killed when half of its passes are done."""
    number = pass_of_each(calls).index("tables") + 5
    assert server.run([*command, "--output", output], KILL=f"{CHANGES}:{output.parent}:{number}")[0] == -signal.SIGKILL
    assert list(finished(output)) == PASSES[: PASSES.index("tables")]


@pytest.fixture(scope="module")
def killed(server, command, undisturbed, tmp_path_factory):
    """(the output of such a run, a copy of all that it left)."""
    folder = tmp_path_factory.mktemp("killed")
    kill_half_way(server, command, undisturbed[1], folder / "run/d")
    return folder / "run/d", shutil.copytree(folder / "run", folder / "kept")


@pytest.fixture
def cut_short(killed):
    """That output, with what was left there: at its own place, whose name is remembered."""
    output, kept = killed
    shutil.rmtree(output.parent, ignore_errors=True)
    shutil.copytree(kept, output.parent)
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


def test_the_same_command_goes_on(server, command, cut_short, undisturbed):
    """None of the tests above has left the files as if there were nothing to go on from."""
    assert goes_on(server, command, cut_short)
    assert data_files(cut_short) == undisturbed[0]


@pytest.mark.parametrize("changed", ["0.tsv", "features.npy", "labels.npy", "names.txt", "types.txt"])
def test_a_changed_input_starts_over(server, command, undisturbed, tmp_path, changed):
    """The last here, since other runs that were killed do not go on from then on."""
    output = tmp_path / "run/d"
    kill_half_way(server, command, undisturbed[1], output)
    file = next(Path(each) for each in command if str(each).endswith(changed))
    facts = file.stat()
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns + 1))
    assert not goes_on(server, command, output)
    assert data_files(output) == undisturbed[0]
