"""After a power cut at any instant a run goes on from the old or the new checkpoint to the same bits, and preprocess makes the
same dataset: whatever of what was not synced the disk had kept, each piece independently of the others.
"""

import random
import shutil
import signal

import pytest
from disk_model import Disk, File, Folder, Link, leave
from faults import Faults
from whole_runs import EACH_BATCH, IN_LITTLE, differences

STATES = 300
FEW = 4
"""States that are tried, of a run and of preprocess each: all of them, and in the ordinary suite."""
PARTS = 15
GROUPS = [
    *[(FEW * part // 2, FEW * (part + 1) // 2) for part in range(2)],
    *(
        pytest.param((FEW + (STATES - FEW) * part // PARTS, FEW + (STATES - FEW) * (part + 1) // PARTS), marks=pytest.mark.slow)
        for part in range(PARTS)
    ),
]


def recording(folder, root):
    return {"TRACE": f"*:{root}:{folder}/trace", "DATA": f"{folder}/data"}


def recorded(folder):
    return [call for call in Faults.read_trace(folder / "trace", folder / "data") if call.result >= 0]


@pytest.fixture(scope="module")
def calls(program, expected_by_batch, tmp_path_factory):
    """What a run that is killed, and its resume, do to the disk: (their folder, the calls)."""
    folder = tmp_path_factory.mktemp("recorded")
    root = folder / "disk"
    root.mkdir()
    run = root / "work" / "run"
    code, told = program.train(run, *EACH_BATCH, **recording(folder, root), KILL="rename:/checkpoints/.latest.tmp:6")
    assert code == -signal.SIGKILL, told
    code, told = program.resume(run, **recording(folder, root))
    assert code == 0, told
    return root, recorded(folder)


@pytest.fixture(scope="module")
def calls_of_preprocess(program, tiny_edges, tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    root = folder / "disk"
    root.mkdir()
    code, told = program.start(*making(tiny_edges, root / "dataset"), **recording(folder, root)).wait()
    assert code == 0, told
    return root, recorded(folder)


def making(edges, output):
    return ["preprocess", edges, "--output", output, *IN_LITTLE]


def same(folder, path):
    """That the model of a folder holds what the real one does."""
    assert set(folder.now) == {each.name for each in path.iterdir()}, path
    for name, node in folder.now.items():
        if isinstance(node, Folder):
            same(node, path / name)
        elif isinstance(node, Link):
            assert node.text == str((path / name).readlink())
        else:
            assert isinstance(node, File)
            assert bytes(node.data) == (path / name).read_bytes(), path / name


@pytest.mark.parametrize("what", ["calls", "calls_of_preprocess"])
def test_the_recorder_sees_everything(request, what):
    """What nothing is lost of is what is there."""
    root, calls = request.getfixturevalue(what)
    disk = Disk(str(root))
    assert len(list(disk.replay(calls))) == len(calls)
    same(disk.tree, root)


def states(root, calls, group, folder):
    """(a folder as a cut may leave it, what to say of it) at instants of this group."""
    first, last = group
    chance = random.Random(first)
    instants = [chance.randrange(len(calls)) for _ in range(first, last)]
    disk = Disk(str(root))
    for number, call in enumerate(disk.replay(calls)):
        for again in range(instants.count(number)):
            left = folder / f"{number}-{again}"
            shares = leave(disk, left, chance)
            yield left, f"after call {number}, {call.op} {call.path} {call.other}, kept {shares}"
            shutil.rmtree(left)


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_a_run_after_a_power_cut_ends_the_same(program, expected_by_batch, calls, tmp_path, group):
    wrong = []
    for left, said in states(*calls, group, tmp_path):
        run = left / "work" / "run"
        found = differences(program.finish(run, *EACH_BATCH), expected_by_batch)
        wrong += [(said, each) for each in found]
    assert wrong == []


def data_files(folder):
    """But for the report, which holds timings."""
    return {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "report.json"
    }


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_a_dataset_after_a_power_cut_is_the_same(program, tiny_edges, calls_of_preprocess, tmp_path, group):
    expected = data_files(calls_of_preprocess[0] / "dataset")
    for left, said in states(*calls_of_preprocess, group, tmp_path):
        code, told = program.start(*making(tiny_edges, left / "dataset")).wait()
        if code == 2:
            assert "exists already" in told, (said, told)
        else:
            assert code == 0, (said, told)
        code, told = program.start("info", left / "dataset", "--verify").wait()
        assert code == 0, (said, told)
        assert data_files(left / "dataset") == expected, said
