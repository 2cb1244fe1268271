"""Whole runs of encoders on the emulated device: rows, weights and losses of the CPU's run, bit for bit, over every path."""

import json
import re

import community_graph
import numpy as np
import pytest
import zarr
from community_graph import arguments
from emulated import accelerator
from weighted_dataset import with_weights

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

from marius_lite.config.load import load
from marius_lite.device import cache, path, verified
from marius_lite.device.accelerator import open_accelerator
from marius_lite.errors import RunError, UserError
from marius_lite.train import build
from marius_lite.train.run import resume_run, train_run

COMMON = [
    "model.encoder=sage",
    "model.dropout=0.2",
    "training.threads=1",
    "training.epochs=3",
    "checkpoint.keep=9",
    "checkpoint.every_minutes=0.0005",
    "storage.capacity=2",
    "sampling.scope=resident",
    "evaluation.every_epochs=1",
]
NODES = [
    *COMMON,
    "task=node_classification",
    "model.layers=[16]",
    "sampling.fanouts=[4,3]",
    "training.batch_size=20",
    "optimizer.dense.name=adam",
    "optimizer.dense.lr=0.02",
    "model.dim=6",
]
LINKS = [
    *COMMON,
    "model.decoder=distmult",
    "model.dim=12",
    "sampling.fanouts=[4]",
    "training.batch_size=300",
    "negatives.count=30",
    "negatives.chunks=2",
    "negatives.balance=false",  # a GPU has it only where it is asked for
    "evaluation.max_edges=50",
]
KINDS = {
    "features": [*NODES, "model.inputs=features"],
    "embeddings": [*NODES, "model.inputs=embeddings"],
    "both": [*NODES, "model.inputs=both", "model.normalize_features=columns", "model.codes={1: [0, 1, 2]}"],
    "links": LINKS,
    "links, features": [*LINKS, "model.inputs=features"],
    "links, both": [*LINKS, "model.inputs=both"],
}
PATHS = {
    "zero_copy": ["storage.device_path=zero_copy"],
    "staged": ["storage.device_path=staged"],
    "bulk": ["storage.device_path=bulk"],
    "zero_copy, cached": ["storage.device_path=zero_copy", "storage.device_cache=4kB"],
    "staged, cached": ["storage.device_path=staged", "storage.device_cache=4kB", "training.staleness=2"],
}


def amounts_to(run):
    """Rows, dense weights and losses at the end of a run."""
    place = (run / "checkpoints" / "latest").resolve()
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    told = [
        (line["kind"], line["epoch"], line["step"], line["batch"], line.get("loss"), line.get("mrr"), line.get("accuracy"))
        for line in lines
    ]
    rows = zarr.open(place / "nodes", mode="r")[:] if (place / "nodes").exists() else None
    return rows, (place / "dense.safetensors").read_bytes(), told


def same(left, right):
    np.testing.assert_array_equal(left[0], right[0])
    assert left[1:] == right[1:]


def train_on_the_cpu(*arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "open_accelerator", open_accelerator)
        train_run(*arguments)


@pytest.fixture
def emulated(host_library, monkeypatch):
    monkeypatch.setattr(build, "open_accelerator", lambda device: accelerator(host_library, seed=5)[0])


@pytest.fixture(scope="module")
def on_the_cpu(communities, surrounded, featured, tmp_path_factory):
    """(dataset, settings, what the CPU's run amounts to) of a kind of run; each is trained once."""
    known, datasets = {}, {"links": surrounded, "links, features": featured, "links, both": featured}

    def of(kind, *more):
        if (kind, more) not in known:
            dataset, run = datasets.get(kind, communities), tmp_path_factory.mktemp("cpu") / "run"
            train_on_the_cpu(dataset, run, load(sets=[*KINDS[kind], *more]))
            known[kind, more] = dataset, [*KINDS[kind], *more], amounts_to(run)
        return known[kind, more]

    return of


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_has_the_bits_of_the_cpu(on_the_cpu, emulated, tmp_path, kind, path):
    dataset, settings, expected = on_the_cpu(kind)
    train_run(dataset, tmp_path / "run", load(sets=[*settings, *PATHS[path]]))
    same(amounts_to(tmp_path / "run"), expected)


def test_where_a_gpu_is_verified_the_path_is_measured(on_the_cpu, emulated, tmp_path, monkeypatch, caplog):
    dataset, settings, expected = on_the_cpu("both")
    monkeypatch.setattr(verified, "GPUS", ("host",))
    caplog.set_level("INFO", "marius_lite")
    train_run(dataset, tmp_path / "run", load(sets=settings))
    assert re.search("rows reach cpu by (zero_copy|staged|bulk): an epoch's rows would travel in", caplog.text)
    same(amounts_to(tmp_path / "run"), expected)


@pytest.mark.parametrize(("kind", "encoder"), [("both", "gcn"), ("features", "gat"), ("links", "rgcn"), ("links", "gcn")])
def test_every_encoder_has(on_the_cpu, emulated, tmp_path, kind, encoder):
    dataset, settings, expected = on_the_cpu(kind, f"model.encoder={encoder}", "training.epochs=1")
    train_run(dataset, tmp_path / "run", load(sets=[*settings, *PATHS["zero_copy, cached"]]))
    same(amounts_to(tmp_path / "run"), expected)


@pytest.mark.parametrize("encoder", ["sage", "gcn", "rgcn"])
@pytest.mark.parametrize("shown", [["model.degree_unit=6", "model.degrees_apart=true"], ["model.known_classes=true"]])
def test_numbers_of_neighbours_at_either_end_and_their_classes_have(on_the_cpu, emulated, tmp_path, encoder, shown):
    more = ["model.directions=both", *shown, f"model.encoder={encoder}", "training.epochs=1"]
    dataset, settings, expected = on_the_cpu("features", *more)
    train_run(dataset, tmp_path / "run", load(sets=[*settings, *PATHS["zero_copy, cached"]]))
    same(amounts_to(tmp_path / "run"), expected)


def test_labels_of_several_classes_have(cli, emulated, tmp_path):
    assert cli("preprocess", *community_graph.write_several(tmp_path), "--output", tmp_path / "d", "--partitions", "8") == 0
    settings = [*KINDS["both"], "training.epochs=1"]
    train_on_the_cpu(tmp_path / "d", tmp_path / "cpu", load(sets=settings))
    train_run(tmp_path / "d", tmp_path / "run", load(sets=[*settings, *PATHS["zero_copy"]]))
    same(amounts_to(tmp_path / "run"), amounts_to(tmp_path / "cpu"))


@pytest.mark.parametrize(("kind", "fanouts"), [("both", [4, 3]), ("links", [{"default": 2, "rel0": 1}])])
def test_neighbours_by_relation_and_by_weight_have(communities, surrounded, emulated, tmp_path, kind, fanouts):
    plain = surrounded if kind == "links" else communities
    weighted = with_weights(plain, tmp_path / "dataset", lambda src, dst, rel: src % 5).path
    results = {}
    for run, train, more in (
        ("cpu", train_on_the_cpu, ["sampling.weighted=true"]),
        ("device", train_run, ["sampling.weighted=true", *PATHS["zero_copy, cached"]]),
        ("uniform", train_run, PATHS["zero_copy, cached"]),
    ):
        config = load(sets=[*KINDS[kind], "training.epochs=1", f"sampling.fanouts={json.dumps(fanouts)}", *more])
        train(weighted, tmp_path / run, config)
        results[run] = amounts_to(tmp_path / run)
    same(results["device"], results["cpu"])
    assert results["uniform"][1] != results["cpu"][1]


@pytest.mark.parametrize("kind", ["features", "both", "links", "links, features", "links, both"])
def test_resumed_over_another_path_it_has_the_same_bits(on_the_cpu, emulated, tmp_path, kind):
    dataset, settings, expected = on_the_cpu(kind)
    run = tmp_path / "run"
    train_run(dataset, run, load(sets=[*settings, *PATHS["bulk"], "checkpoint.every_minutes=1e-9"]))
    middle = [path.name for path in (run / "checkpoints").iterdir() if not path.name.endswith(".0") and path.name[0].isdigit()]
    assert middle, "no checkpoint was made inside a step"
    resume_run(run, min(middle), ["storage.device_path=zero_copy", "storage.device_cache=2kB"])
    same(amounts_to(run), expected)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("path", ["zero_copy", "staged, cached"])
def test_features_of_any_type_are_decoded_on_the_device(cli, communities, emulated, tmp_path, dtype, path):
    made = (*arguments(communities.parent), "--output", tmp_path / "dataset", "--partitions", "8", "--feature-dtype", dtype)
    assert cli("preprocess", *made) == 0
    settings = [*KINDS["features"], "training.epochs=1"]
    train_on_the_cpu(tmp_path / "dataset", tmp_path / "cpu", load(sets=settings))
    train_run(tmp_path / "dataset", tmp_path / "run", load(sets=[*settings, *PATHS[path]]))
    same(amounts_to(tmp_path / "run"), amounts_to(tmp_path / "cpu"))


def test_the_rows_that_most_edges_lead_from_are_cached(communities, emulated, tmp_path, monkeypatch):
    chosen, choose = [], cache.HotRowCache.choose

    def noted(self, touched):
        choose(self, touched)
        chosen.append((self.hot, touched))

    monkeypatch.setattr(cache.HotRowCache, "choose", noted)
    train_run(
        communities,
        tmp_path / "run",
        load(
            sets=[
                *KINDS["features"],
                "training.epochs=4",
                "storage.device_cache=1kB",
                "storage.capacity=8",
                "storage.device_path=zero_copy",
            ]
        ),
    )
    assert len(chosen) == 1, "nothing changes them, and the same partitions stay"
    hot, touched = chosen[0]
    counts = np.bincount(touched)
    assert len(hot) == 1000 // 32  # a row of 12 float16 takes 32 bytes
    assert counts[hot].min() >= np.sort(counts)[-len(hot)]


def test_too_little_device_memory_is_refused(communities, surrounded, emulated, tmp_path):
    for dataset, settings in ((communities, NODES), (surrounded, LINKS)):
        with pytest.raises(UserError, match=r"`storage.device_memory` is 10.00 KB, but the device needs .*batches .* tensors"):
            train_run(dataset, tmp_path / dataset.name, load(sets=[*settings, "storage.device_memory=10kB"]))


def test_a_buffer_that_cannot_be_pinned_gives_the_others_up(communities, emulated, tmp_path, monkeypatch):
    opened = []

    class Fails(path.ZeroCopy):
        def __init__(self, *arguments):
            if opened:
                raise RuntimeError("no more pages can be locked")
            super().__init__(*arguments)
            opened.append(self)

        def close(self):
            super().close()
            opened.append("closed")

    monkeypatch.setattr(path, "ZeroCopy", Fails)
    with pytest.raises(RunError, match="the buffer cannot be pinned: no more pages"):
        train_run(communities, tmp_path / "run", load(sets=[*KINDS["both"], "storage.device_path=zero_copy"]))
    assert opened[1:] == ["closed"]
