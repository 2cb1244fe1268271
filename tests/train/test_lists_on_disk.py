"""`sampling.lists: disk`: in-edge lists are read in passes, and a run has the bits of one with everything in memory."""

import json
import re
import shutil

import pytest
from node_runs import bits, lines, options, train
from weighted_dataset import with_weights

from marius_lite.checkpoint.run_folder import RunFolder, config_of, read_record

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

BUDGET = 2_000_000_000
DISK = ("storage.capacity=2", "sampling.scope=auto", "sampling.lists=disk", f"storage.memory={BUDGET}", "checkpoint.keep=20")
ALL = ("storage.capacity=8", "checkpoint.keep=20")


def recorded(run):
    return config_of(RunFolder(run), read_record(RunFolder(run))).sampling


def grow_together(monkeypatch, batches):
    """Let so many batches be sampled together."""
    monkeypatch.setattr("marius_lite.config.node_planning.growing_bytes", lambda reached: BUDGET // 4 // batches)


def moved(run):
    """How many edges of lists were read in all epochs: some of an epoch's are read while the one before is trained."""
    return sum(line["machine"]["edges_moved"] for line in lines(run, "epoch"))


@pytest.mark.parametrize("batches", [1, 5, 100])
def test_the_bits_are_those_of_a_run_in_memory(cli, printed, communities, tmp_path, monkeypatch, batches):
    settings = ("training.epochs=2", "training.batch_size=10")
    expected = train(cli, communities, tmp_path / "all", *ALL, *settings)
    grow_together(monkeypatch, batches)
    assert train(cli, communities, tmp_path / "disk", *DISK, *settings) == expected
    assert (recorded(tmp_path / "disk").scope, recorded(tmp_path / "disk").lists) == ("exact", "disk")
    plan = json.loads(printed("plan", communities, "--json", *options(*DISK, *settings)))
    planned = plan["first_epoch"]["edges_read"] + plan["later_epoch"]["edges_read"]
    assert 0 < moved(tmp_path / "disk") * 4 <= planned


@pytest.mark.parametrize(
    "settings",
    [
        ["sampling.weighted=true"],
        ["model.weight_unit=1.5"],
        ["model.weight_unit=1.5", "model.encoder=gcn"],
        ["sampling.fanouts=[-1,-1]"],
        ["model.encoder=gcn", "model.normalize_features=true", "model.dropout=0.3"],
        ["training.threads=2", "training.staleness=1"],
        ["sampling.refresh_epochs=2", "training.epochs=4"],
        ["model.directions=both", "model.encoder=gcn"],
        ["model.directions=out"],
    ],
    ids=" ".join,
)
def test_other_samples_and_encoders(cli, communities, tmp_path, monkeypatch, settings):
    dataset = communities
    if settings[0] in ("sampling.weighted=true", "model.weight_unit=1.5"):
        dataset = with_weights(communities, tmp_path / "dataset", lambda src, dst, rel: (src + 3 * dst) % 5).path
    settings = ("training.epochs=2", "training.batch_size=10", *settings)
    grow_together(monkeypatch, 5)
    disk = train(cli, dataset, tmp_path / "disk", *DISK, *settings)
    assert disk == train(cli, dataset, tmp_path / "all", *ALL, *settings)


def test_turned_edges_are_read_as_planned(cli, printed, communities, tmp_path, monkeypatch):
    """They are made once, from edges that take more bytes than lists."""
    settings = ("training.epochs=3", "training.batch_size=10", "model.directions=both")
    grow_together(monkeypatch, 5)
    train(cli, communities, tmp_path / "run", *DISK, *settings)
    plan = json.loads(printed("plan", communities, "--json", *options(*DISK, *settings)))
    first, later = (plan[epoch]["edges_read"] for epoch in ("first_epoch", "later_epoch"))
    read = 4 * moved(tmp_path / "run")
    assert read <= first + 2 * later < 2.5 * read  # neighbours, and where lists begin
    assert first > later
    untouched = json.loads(printed("plan", communities, "--json", *options(*DISK, *settings[:2])))
    assert plan["disk"]["packs"] > untouched["disk"]["packs"]


def test_a_run_goes_on_from_the_middle_of_batches_that_were_sampled_together(cli, communities, tmp_path, monkeypatch):
    settings = ("training.batch_size=10", "training.epochs=2")
    expected = train(cli, communities, tmp_path / "all", *ALL, *settings)
    grow_together(monkeypatch, 5)
    train(cli, communities, tmp_path / "often", *DISK, *settings, "checkpoint.every_minutes=1e-9", "checkpoint.keep=1000")
    for name in ("0.0.1", "1.0.7"):
        shutil.copytree(tmp_path / "often", tmp_path / name, symlinks=True)
        assert cli("resume", tmp_path / name, "--checkpoint", name, "--set", "checkpoint.every_minutes=null") == 0
        weights, losses, figures = bits(tmp_path / name)
        assert (weights["2.0.0"], losses, figures) == (expected[0]["2.0.0"], *expected[1:])


def test_a_run_from_before_there_was_a_choice_has_its_lists_in_memory(cli, communities, tmp_path):
    few = ("storage.capacity=2", "sampling.scope=exact", "training.epochs=1")
    train(cli, communities, tmp_path / "old", *few)
    record = tmp_path / "old" / "config.yaml"
    text = re.sub(r"\n    lists: memory", "", record.read_text())
    record.write_text(re.sub(r"checksum: .*", "checksum: none", text))
    assert "lists" not in record.read_text()
    assert recorded(tmp_path / "old").lists == "memory"
    assert cli("resume", tmp_path / "old", "--set", "training.epochs=2") == 0


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["sampling.scope=resident"], "`sampling.lists` is disk, but `sampling.scope` is resident"),
        (["storage.memory=1MB"], "`sampling.lists` is disk, but this needs .* `storage.memory` is 1.00 MB: raise it"),
        (["task=link_prediction", "loss.name=softmax"], "`sampling.lists` is disk, but `task` is link_prediction"),
    ],
    ids=["resident", "memory", "links"],
)
def test_what_has_no_lists_on_disk_is_refused(cli, communities, tmp_path, capfd, settings, said):
    assert cli("train", communities, "--run", tmp_path / "run", *options(*DISK, *settings)) == 2
    assert re.search(said, capfd.readouterr().err)
    assert not (tmp_path / "run").exists()


def test_changed_lists_end_the_run(cli, communities, tmp_path, capfd):
    shutil.copytree(communities, tmp_path / "dataset")
    (chunk,) = (tmp_path / "dataset/adjacency/in/sources/c").iterdir()
    data = bytearray(chunk.read_bytes())
    data[100] ^= 1
    chunk.write_bytes(data)
    assert cli("train", tmp_path / "dataset", "--run", tmp_path / "run", *options(*DISK, "training.epochs=1")) == 2
    assert "do not match their checksum" in capfd.readouterr().err
