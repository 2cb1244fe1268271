"""Whole runs whose neighbours the emulated device draws: the bits of the CPU's run, wherever they were drawn."""

import json

import pytest
import torch
from emulated import accelerator
from test_encoders_on_device import LINKS, NODES, amounts_to, same, train_on_the_cpu
from weighted_dataset import with_weights

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

from marius_lite.config.load import load
from marius_lite.device import neighbours, verified
from marius_lite.device.neighbours import DeviceNeighbours
from marius_lite.encode import neighbourhoods
from marius_lite.errors import RunError
from marius_lite.rows.on_device import DeviceRows
from marius_lite.train import build, start
from marius_lite.train.run import resume_run, train_run

KINDS = {"nodes": [*NODES, "model.inputs=both"], "links": [*LINKS, "model.inputs=both"]}


@pytest.fixture
def emulated(host_library, monkeypatch):
    """`device: cuda` is the emulation."""
    for module in (build, start):
        monkeypatch.setattr(module, "check_device", lambda name: torch.device("cpu"))
    monkeypatch.setattr(build, "open_accelerator", lambda device: accelerator(host_library, seed=5)[0])
    return ["device=cuda", "storage.device_path=zero_copy", "checkpoint.every_minutes=null"]


@pytest.fixture(scope="module")
def on_the_cpu(communities, featured, tmp_path_factory):
    known = {}

    def of(kind):
        if kind not in known:
            dataset, place = featured if kind == "links" else communities, tmp_path_factory.mktemp("cpu") / "run"
            train_on_the_cpu(dataset, place, load(sets=[*KINDS[kind], "device=cpu", "training.scoring=torch"]))
            known[kind] = dataset, KINDS[kind], amounts_to(place)
        return known[kind]

    return of


def counted(place):
    """(batches that the device sampled, batches) of all epochs."""
    lines = [json.loads(line) for line in (place / "metrics.jsonl").read_text().splitlines()]
    on_device = sum(line["machine"]["drawn_on_device"] for line in lines if line["kind"] == "epoch")
    return on_device, sum(line["kind"] == "batch" for line in lines)


@pytest.mark.parametrize(("kind", "room"), [("nodes", 0), ("nodes", 1 << 30), ("links", 5000)])
def test_a_run_has_the_bits_of_the_cpu(on_the_cpu, emulated, tmp_path, monkeypatch, kind, room):
    """``room``: of the device, where lists are copied to; others are pinned."""
    monkeypatch.setattr(DeviceRows, "device_room", room)
    dataset, settings, expected = on_the_cpu(kind)
    train_run(dataset, tmp_path / "run", load(sets=[*settings, *emulated, "sampling.device=cuda"]))
    same(amounts_to(tmp_path / "run"), expected)
    on_device, batches = counted(tmp_path / "run")
    assert on_device == batches > 0


@pytest.mark.parametrize(("kind", "encoder"), [("nodes", "gcn"), ("links", "sage")])
def test_neighbours_that_count_by_weights_are_those_of_the_cpu(communities, featured, emulated, tmp_path, kind, encoder):
    plain = featured if kind == "links" else communities
    weighted = with_weights(plain, tmp_path / "dataset", lambda src, dst, rel: src % 5).path
    settings = [*KINDS[kind], f"model.encoder={encoder}", "training.epochs=1"]
    on_host = ["device=cpu", "training.scoring=torch", "model.weight_unit=2"]
    train_on_the_cpu(weighted, tmp_path / "cpu", load(sets=[*settings, *on_host]))
    for run, unit in (("device", 2), ("alike", 0)):
        train_run(
            weighted, tmp_path / run, load(sets=[*settings, *emulated, "sampling.device=cuda", f"model.weight_unit={unit}"])
        )
    same(amounts_to(tmp_path / "device"), amounts_to(tmp_path / "cpu"))
    assert amounts_to(tmp_path / "alike")[1] != amounts_to(tmp_path / "cpu")[1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("slow", ["the CPU", "cpu"])
def test_whichever_was_faster_goes_on(on_the_cpu, emulated, tmp_path, monkeypatch, caplog, kind, slow):
    """The CPU's sampler is called `the CPU`; the emulated device says that it is `cpu`."""
    clock, taken = [0.0], {True: 1.0, False: 2.0}
    sample = neighbourhoods.Neighbourhoods._sample

    def timed(self, on_device, *arguments):
        found = sample(self, on_device, *arguments)
        clock[0] += taken[(on_device is None) == (slow == "cpu")] * max(1, len(found.indices))
        return found

    monkeypatch.setattr(verified, "GPUS", ("host",))
    monkeypatch.setattr(neighbourhoods.Neighbourhoods, "_sample", timed)
    monkeypatch.setattr(neighbourhoods.time, "perf_counter", lambda: clock[0])
    dataset, settings, expected = on_the_cpu(kind)
    caplog.set_level("INFO", "marius_lite")
    train_run(dataset, tmp_path / "run", load(sets=[*settings, *emulated]))
    same(amounts_to(tmp_path / "run"), expected)
    faster = "cpu" if slow == "the CPU" else "the CPU"
    told = f"neighbours are sampled on {faster}: {'2e' if slow == 'the CPU' else '1e'}+09 ns an edge on the CPU, "
    assert told in caplog.text
    on_device, batches = counted(tmp_path / "run")
    compared = (neighbourhoods.WARM_UP + neighbourhoods.COMPARED) // 2
    assert on_device == (batches - compared if faster == "cpu" else compared)


def test_nothing_is_tried_before_it_has_run_on_a_gpu(on_the_cpu, emulated, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(verified, "GPUS", ())
    dataset, settings, expected = on_the_cpu("nodes")
    caplog.set_level("INFO", "marius_lite")
    train_run(dataset, tmp_path / "run", load(sets=[*settings, *emulated]))
    same(amounts_to(tmp_path / "run"), expected)
    assert "neighbours are sampled on the CPU: the GPU's sampler is not chosen before" in caplog.text
    assert counted(tmp_path / "run")[0] == 0


@pytest.mark.parametrize("asked", ["auto", "cuda"])
def test_lists_that_cannot_be_pinned(on_the_cpu, emulated, tmp_path, monkeypatch, caplog, asked):
    pins = DeviceNeighbours._pin

    def refused(self, k, array):
        if len(self._pinned) > 1:
            raise RuntimeError("no more pages can be locked")
        return pins(self, k, array)

    monkeypatch.setattr(verified, "GPUS", ("host",))
    monkeypatch.setattr(DeviceNeighbours, "_pin", refused)
    monkeypatch.setattr(DeviceRows, "device_room", 0)
    dataset, settings, expected = on_the_cpu("nodes")
    config = load(sets=[*settings, *emulated, f"sampling.device={asked}"])
    if asked == "cuda":
        with pytest.raises(RunError, match=r"in-edge lists cannot be pinned: no more pages .* use `sampling.device: cpu`"):
            train_run(dataset, tmp_path / "run", config)
        return
    caplog.set_level("INFO", "marius_lite")
    train_run(dataset, tmp_path / "run", config)
    same(amounts_to(tmp_path / "run"), expected)
    assert "sampled on the CPU: the in-edge lists cannot be pinned: no more pages" in caplog.text


def test_too_little_device_memory_is_told(on_the_cpu, emulated, tmp_path, monkeypatch):
    def full(*arguments, **more):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nmore")

    monkeypatch.setattr(neighbours._Batch, "draw", full)
    dataset, settings, _ = on_the_cpu("nodes")
    with pytest.raises(RunError, match=r"to sample a batch needs more memory than storage.device_memory leaves: use .*2.00 GiB"):
        train_run(dataset, tmp_path / "run", load(sets=[*settings, *emulated, "sampling.device=cuda"]))


def test_resumed_where_others_draw_it_has_the_same_bits(on_the_cpu, emulated, tmp_path):
    dataset, settings, expected = on_the_cpu("links")
    place = tmp_path / "run"
    often = "checkpoint.every_minutes=0.0005"
    train_run(dataset, place, load(sets=[*settings, *emulated, often, "sampling.device=cuda"]))
    middle = [path.name for path in (place / "checkpoints").iterdir() if not path.name.endswith(".0") and path.name[0].isdigit()]
    assert middle, "no checkpoint was made inside a step"
    resume_run(place, min(middle), ["sampling.device=cpu"])
    same(amounts_to(place), expected)
