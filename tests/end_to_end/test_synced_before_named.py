"""After a power cut at any moment, with all forgotten that was not synced, every checkpoint that has a name is whole."""

import json
import signal

import pytest
from disk_model import Disk, File, Folder
from faults import Faults
from whole_runs import EACH_BATCH

FILES = ["state.json", "dense.safetensors", "zarr.json", "nodes/zarr.json", *(f"nodes/c/{k}/0" for k in range(6))]


def sure_file(folder: Folder, path: str) -> File | None:
    """The file at ``path`` below ``folder`` if it is surely there, its data synced."""
    *parents, name = path.split("/")
    node = folder
    for part in parents:
        node = node.sure(part) if node else None
    file = node.sure(name) if node else None
    return file if file and file.synced else None


def broken(disk: Disk, lengths: dict[str, int]) -> list[str]:
    """What a power cut now might leave that must not be."""
    work = disk.tree.now.get("work")
    run = work and work.now.get("run")
    if not run or "checkpoints" not in run.now:
        return []
    wrong = []
    checkpoints = run.now["checkpoints"]
    for name in sorted(checkpoints.names()):
        nodes = checkpoints.possible(name)
        if isinstance(nodes[0], Folder) and not name.startswith("."):
            for node in nodes:
                wrong += [f"{name}: {file} may be missing or old" for file in FILES if sure_file(node, file) is None]
        if name in ("latest", "best"):
            wrong += [f"{name} -> {node.text}: it may not exist" for node in nodes if checkpoints.sure(node.text) is None]
            metrics = run.sure("metrics.jsonl")
            recorded = max(lengths.get(node.text, 0) for node in nodes) if name == "latest" else 0
            if metrics is None or len(metrics.kept) < recorded:
                wrong.append(f"metrics.jsonl may be shorter than {recorded}")
            parents = disk.tree.sure("work"), work.sure("run"), run.sure("checkpoints"), run.sure("config.yaml")
            wrong += [] if all(parents) else ["the run's folders may not exist"]
    return wrong


@pytest.mark.parametrize("keep", [1, 100], ids=["pruned", "all kept"])
def test_what_a_power_cut_leaves_is_whole(program, tmp_path, keep):
    """The trace spans a run that is killed, and its resume."""
    root = tmp_path / "disk"
    root.mkdir()
    run, trace = root / "work" / "run", f"*:{root}:{tmp_path}/trace"
    code, told = program.train(
        run, *EACH_BATCH, "--set", f"checkpoint.keep={keep}", TRACE=trace, KILL="rename:/checkpoints/.latest.tmp:6"
    )
    assert code == -signal.SIGKILL, told
    assert program.resume(run, TRACE=trace)[0] == 0
    lengths = {
        path.parent.name: json.loads(path.read_text())["metrics_length"] for path in run.glob("checkpoints/[0-9]*/state.json")
    }
    disk, published = Disk(str(root)), set()
    for call in disk.replay(Faults.read_trace(tmp_path / "trace")):
        wrong = broken(disk, lengths)
        assert not wrong, f"after {call}: {wrong[:5]}"
        if call.op == "rename" and "/checkpoints/." in call.path:
            published.add(call.other)
    assert len(published) > 10
    assert (len(lengths) <= 2) == (keep == 1)
