"""`sampling.scope: exact`: with few rows in memory a run has the bits of one with all; it is planned, told and refused."""

import json
import re
import shutil

import community_graph
import pytest
from node_runs import bits, forget, lines, options, train
from weighted_dataset import with_weights

from marius_lite.checkpoint.run_folder import RunFolder, config_of, read_record
from marius_lite.graph import Dataset
from marius_lite.rows.packer import Packer

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

FEW = ("storage.capacity=2", "sampling.scope=exact", "checkpoint.keep=20")
ALL = ("storage.capacity=8", "checkpoint.keep=20")


@pytest.fixture(scope="module", params=["float32", "bfloat16", "int8"])
def stored(request, cli, tmp_path_factory):
    """`communities` whose features are stored in another type."""
    folder = tmp_path_factory.mktemp(request.param)
    arguments = [*community_graph.write(folder), "--partitions", "8", "--feature-dtype", request.param]
    assert cli("preprocess", *arguments, "--output", folder / "dataset") == 0
    return folder / "dataset"


def moved(run, counted):
    """The bytes of all epochs: some of an epoch's are moved while the one before is trained."""
    return sum(line["machine"][counted] for line in lines(run, "epoch"))


def test_the_bits_are_those_of_a_run_in_memory(cli, communities, tmp_path):
    expected = train(cli, communities, tmp_path / "all", *ALL)
    assert train(cli, communities, tmp_path / "few", *FEW) == expected
    machine = lines(tmp_path / "few", "epoch")[-1]["machine"]
    assert machine["neighbours_not_resident"] == 0 < machine["neighbours"]
    assert moved(tmp_path / "few", "bytes_read") > moved(tmp_path / "few", "bytes_written") > 0
    assert config_of(RunFolder(tmp_path / "few"), read_record(RunFolder(tmp_path / "few"))).sampling.scope == "exact"
    assert train(cli, communities, tmp_path / "resident", *FEW, "sampling.scope=resident") != expected
    assert not [path for path in (tmp_path / "few").iterdir() if path.name.startswith(".")]


def test_features_of_every_type(cli, stored, tmp_path):
    epochs = "training.epochs=2"
    assert train(cli, stored, tmp_path / "few", *FEW, epochs) == train(cli, stored, tmp_path / "all", *ALL, epochs)


@pytest.mark.parametrize(
    "settings",
    [
        ["sampling.weighted=true"],
        ["model.weight_unit=1.5"],
        ["model.weight_unit=1.5", "model.encoder=gcn"],
        ["sampling.fanouts=[-1,-1]"],
        ["model.encoder=gcn", "model.normalize_features=true", "model.codes={1: [0, 1]}", "model.dropout=0.3"],
        ["training.threads=2", "training.batch_size=7"],
        ["storage.direct_io=false", "storage.memory=2GB"],
    ],
    ids=" ".join,
)
def test_other_samples_and_encoders(cli, communities, tmp_path, settings):
    dataset = communities
    if settings[0] in ("sampling.weighted=true", "model.weight_unit=1.5"):
        dataset = with_weights(communities, tmp_path / "dataset", lambda src, dst, rel: (src + 3 * dst) % 5).path
    epochs = "training.epochs=2"
    few = train(cli, dataset, tmp_path / "few", *FEW, epochs, *settings)
    assert few == train(cli, dataset, tmp_path / "all", *ALL, epochs, *settings)


def test_a_batch_may_need_more_rows_than_were_planned(cli, communities, tmp_path, monkeypatch):
    """A fanout of -1 counts as so many neighbours as the first fanout has that nobody chose."""
    monkeypatch.setattr("marius_lite.config.encoder_memory.FANOUTS", (2,))
    sizes, read = [], Packer.read
    monkeypatch.setattr(Packer, "read", lambda packer, *arguments: (read(packer, *arguments), sizes.append(len(packer.memory))))
    settings = ("sampling.fanouts=[-1]", "model.layers=[]", "training.batch_size=4", "training.epochs=1")
    few = train(cli, communities, tmp_path / "few", *FEW, *settings)
    assert max(sizes) > min(sizes)
    assert few == train(cli, communities, tmp_path / "all", *ALL, *settings)


def test_many_windows_and_a_stop_in_the_middle_of_one(cli, communities, tmp_path, monkeypatch):
    monkeypatch.setattr("marius_lite.config.packing.DISK_SHARE", 8)
    settings = ("training.batch_size=10", "training.epochs=2")
    expected = train(cli, communities, tmp_path / "all", *ALL, *settings)
    windows, pack = [], Packer.pack
    monkeypatch.setattr(
        Packer, "pack", lambda packer, window, stop: (windows.append(len(window.batches)), pack(packer, window, stop))[1]
    )
    assert train(cli, communities, tmp_path / "few", *FEW, *settings) == expected
    assert len(windows) > 2 * 2
    assert max(windows) > 1
    # Each checkpoint of a run that saves all the time is one from which it can go on.
    often = ("checkpoint.every_minutes=1e-9", "checkpoint.keep=1000")
    train(cli, communities, tmp_path / "often", *FEW, *settings, *often)
    for name in ("0.0.1", "1.0.7"):
        shutil.copytree(tmp_path / "often", tmp_path / name, symlinks=True)
        assert cli("resume", tmp_path / name, "--checkpoint", name, "--set", "checkpoint.every_minutes=null") == 0
        weights, losses, figures = bits(tmp_path / name)
        assert (weights["2.0.0"], losses, figures) == (expected[0]["2.0.0"], *expected[1:])


@pytest.mark.parametrize("disk", ["600kB", "10MB"])
def test_samples_may_serve_several_epochs(cli, communities, tmp_path, monkeypatch, disk):
    """They do so whatever is in memory. On disk it needs fewer bytes, the more packs may stay there."""
    settings = ("training.batch_size=10", "training.epochs=5", "sampling.refresh_epochs=3", "model.dropout=0.3")
    expected = train(cli, communities, tmp_path / "all", *ALL, *settings)
    assert train(cli, communities, tmp_path / "few", *FEW, *settings, f"storage.packs_disk={disk}") == expected
    neighbours = [line["machine"]["neighbours"] for line in lines(tmp_path / "few", "epoch")]
    assert neighbours[0] == neighbours[1] == neighbours[2] != neighbours[3] == neighbours[4]
    written = [line["machine"]["bytes_written"] for line in lines(tmp_path / "few", "epoch")]
    assert written[0] == pytest.approx(written[3], rel=0.5)
    assert written[1] == written[2] == written[4] == 0 if disk == "10MB" else written[1] < written[0]
    # A run goes on in the middle of epochs that have the same samples.
    train(cli, communities, tmp_path / "part", *FEW, *settings, f"storage.packs_disk={disk}", "training.epochs=2")
    assert cli("resume", tmp_path / "part", "--set", "training.epochs=5", "--set", "evaluation.every_epochs=4") == 0
    weights, losses, _ = bits(tmp_path / "part")
    assert (weights["5.0.0"], losses) == (expected[0]["5.0.0"], expected[1])


def test_edges_are_left_out_where_samples_serve_several_epochs(cli, communities, tmp_path, capfd):
    """By default there alone, others each time; a run from before goes on without."""
    kept, run = ("training.epochs=2", "sampling.refresh_epochs=2", "sampling.scope=exact", "storage.capacity=8"), tmp_path / "run"
    whole = train(cli, communities, tmp_path / "whole", *kept, "sampling.edge_dropout=0")
    assert train(cli, communities, run, *kept)[1] != whole[1]
    assert train(cli, communities, tmp_path / "said", *kept, "sampling.edge_dropout=0.3") == bits(run)
    train(cli, communities, tmp_path / "old", *kept, "sampling.edge_dropout=0", "training.epochs=1")
    forget(tmp_path / "old", "edge_dropout")
    assert cli("resume", tmp_path / "old", "--set", "training.epochs=2") == 0
    assert bits(tmp_path / "old")[1] == whole[1]
    for more, said in (
        (("sampling.edge_dropout=0.1", "training.method=layerwise"), "nothing is sampled, remove it"),
        (("sampling.edge_dropout=1.0",), "less than 1"),
    ):
        capfd.readouterr()
        assert cli("train", communities, "--run", tmp_path / "refused", *options(*more)) == 2
        assert said in capfd.readouterr().err


def test_staleness_changes_nothing_that_is_only_read(cli, communities, tmp_path):
    few = train(cli, communities, tmp_path / "few", *FEW, "training.epochs=2", "training.staleness=3")
    assert few == train(cli, communities, tmp_path / "all", *ALL, "training.epochs=2")


def test_auto_is_exact_where_it_can_be(cli, communities, tmp_path, capfd):
    opened = []
    for name, *settings in (
        ("few", "sampling.scope=auto", "storage.capacity=2"),
        ("all", "sampling.scope=auto", "storage.capacity=8"),
        ("learned", "sampling.scope=auto", "storage.capacity=2", "model.inputs=both", "model.dim=4"),
        ("asked", "storage.capacity=2", "sampling.scope=resident"),
    ):
        train(cli, communities, tmp_path / name, *settings, "training.epochs=1")
        folder = RunFolder(tmp_path / name)
        opened.append(config_of(folder, read_record(folder)).sampling.scope)
    assert opened == ["exact", "resident", "exact", "resident"]
    capfd.readouterr()
    assert cli("resume", tmp_path / "few", "--set", "training.epochs=2") == 0
    assert "2 of 8 partitions resident by their rows, all by their edges" in capfd.readouterr().err


def test_a_run_from_before_there_was_a_choice_goes_on_as_it_was(cli, communities, tmp_path):
    settings = ("storage.capacity=2", "sampling.scope=resident")
    expected = train(cli, communities, tmp_path / "whole", *settings, "training.epochs=2")
    train(cli, communities, tmp_path / "old", *settings, "training.epochs=1")
    forget(tmp_path / "old", "scope")
    assert cli("resume", tmp_path / "old", "--set", "training.epochs=2") == 0
    assert bits(tmp_path / "old")[1] == expected[1]


def test_the_plan_counts_memory_and_disk(communities, cli, tmp_path, capfd):
    assert cli("plan", communities, "--json", *options(*FEW)) == 0
    plan = json.loads(capfd.readouterr().out)
    packing = plan["memory"]["packing"]
    assert packing["hot"] == 150
    rows, samples = packing["row_bytes"], packing["sample_bytes"]
    batch = packing["cold"] * rows + samples
    window = max(packing["window_rows"] * rows, batch)
    assert plan["disk"]["packs"] == 2 * window + window * samples // batch > 0
    assert plan["neighbours_not_resident"] == 0
    train(cli, communities, tmp_path / "run", *FEW)
    for name, counted in (("rows_read", "bytes_read"), ("rows_written", "bytes_written")):
        planned = plan["first_epoch"][name] + (len(lines(tmp_path / "run", "epoch")) - 1) * plan["later_epoch"][name]
        assert planned >= moved(tmp_path / "run", counted) > 0
    assert cli("plan", communities, *options(*FEW)) == 0
    assert "of rows in the order of batches" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["storage.memory=1MB"], "this needs .* `storage.memory` is 1.00 MB: raise it"),
        (["sampling.scope=resident", "sampling.refresh_epochs=2"], "drawn among resident"),
        (
            ["sampling.scope=exact", "storage.packs_disk=1KB", "model.inputs=both", "model.dim=4"],
            "the samples of two batches take",
        ),
    ],
    ids=["memory", "refreshed", "samples"],
)
def test_what_cannot_be_exact_is_refused(cli, communities, tmp_path, capfd, settings, said):
    assert cli("train", communities, "--run", tmp_path / "run", *options(*FEW, *settings)) == 2
    assert re.search(said, capfd.readouterr().err)
    assert not (tmp_path / "run").exists()


def test_a_checkpoint_by_the_clock_costs_no_window(cli, communities, tmp_path, monkeypatch):
    windows, pack = [], Packer.pack
    monkeypatch.setattr(Packer, "pack", lambda *arguments: (windows.append(1), pack(*arguments))[1])
    settings = ("training.batch_size=5", "training.epochs=2")
    train(cli, communities, tmp_path / "seldom", *FEW, *settings)
    seldom = len(windows)
    train(cli, communities, tmp_path / "often", *FEW, *settings, "checkpoint.every_minutes=1e-9", "checkpoint.keep=100")
    assert len(windows) == 2 * seldom
    assert len(list((tmp_path / "often" / "checkpoints").glob("[0-9]*"))) > 40


def test_one_partition(cli, tmp_path, capfd):
    arguments = [*community_graph.write(tmp_path), "--partitions", "1", "--output", tmp_path / "dataset"]
    assert cli("preprocess", *arguments) == 0
    for scope in ("auto", "exact", "resident"):
        capfd.readouterr()
        more = options(f"sampling.scope={scope}", "storage.memory=1MB")
        assert cli("train", tmp_path / "dataset", "--run", tmp_path / scope, *more) == 2
        assert "`storage.memory` is 1.00 MB" in capfd.readouterr().err


def test_what_is_given_is_kept_to(cli, communities, tmp_path, capfd):
    for settings, said in (
        (("storage.capacity=8", "sampling.scope=exact", "storage.memory=1MB"), "`storage.capacity` 8 needs"),
        ((*FEW, "storage.packs_disk=1KB"), "`storage.packs_disk` is 1.00 KB, but two batches and what is kept take"),
    ):
        assert cli("train", communities, "--run", tmp_path / "run", *options(*settings)) == 2
        assert said in capfd.readouterr().err


def test_a_full_disk_is_told_beforehand(cli, communities, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr("marius_lite.files.free_bytes", lambda path: 10)
    assert cli("train", communities, "--run", tmp_path / "run", *options(*FEW)) == 2
    assert "rows are put in order on disk (`storage.packs_disk`" in capfd.readouterr().err


def test_an_error_while_packing_ends_the_run(cli, communities, tmp_path, capfd):
    dataset = tmp_path / "dataset"
    shutil.copytree(communities, dataset)
    chunk = Dataset.open(dataset).features.table.chunk_path(5)
    data = bytearray(chunk.read_bytes())
    data[100] ^= 1
    chunk.write_bytes(data)
    assert cli("train", dataset, "--run", tmp_path / "run", *options(*FEW, "training.epochs=1")) == 1
    assert "does not match its checksum" in capfd.readouterr().err
