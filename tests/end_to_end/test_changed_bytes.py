"""No result comes of bytes that somebody or something has changed: every command says which file, in one line."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from open_parts import LINKS

from marius_lite.sealed import checksum_of

ENCODER = ["model.encoder=sage", "model.decoder=distmult", "sampling.fanouts=[4]"]


def options(*more):
    return ["--config", "preset:plain", *(part for item in (*LINKS, *more) for part in ("--set", item))]


@pytest.fixture(scope="module")
def trained(cli, tiny_dataset, tmp_path_factory):
    run = tmp_path_factory.mktemp("trained") / "run"
    assert cli("train", tiny_dataset, "--run", run, *options()) == 0
    return run


@pytest.fixture(scope="module")
def encoded(cli, featured, tmp_path_factory):
    """Through an encoder, over features and learned rows."""
    pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    run = tmp_path_factory.mktemp("encoded") / "run"
    assert cli("train", featured, "--run", run, *options(*ENCODER, "model.inputs=both")) == 0
    return run


@pytest.fixture
def copied(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "run", symlinks=True)


@pytest.fixture
def refused(cli, capfd):
    """Runs a command that must end with this code and one line, which says all of ``said``."""

    def run(code, said, *arguments):
        capfd.readouterr()
        assert cli(*arguments) == code
        told = capfd.readouterr()
        line = told.err.splitlines()[-1]
        assert line.startswith("marius-lite: ")
        assert "Traceback" not in told.err
        for part in said:
            assert part in line
        assert told.out == ""

    return run


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 16
    path.write_bytes(data)


def readers(run: Path, tmp_path: Path) -> list[list]:
    """The commands that read a checkpoint for a result."""
    (tmp_path / "q").write_text("node7\trel1\t?\n")
    return [["eval", run], ["predict", run, "--queries", tmp_path / "q"], ["export", run, "--output", tmp_path / "out"]]


@pytest.mark.parametrize("at", [2, -3])
def test_learned_rows_behind_an_encoder(refused, encoded, tmp_path, at):
    run = shutil.copytree(encoded, tmp_path / "run", symlinks=True)
    chunk = run / "checkpoints" / "latest" / "nodes" / "c" / "2" / "0"
    flip(chunk, at)
    for command in readers(run, tmp_path):
        refused(1, ["nodes/c/2/0: does not match its checksum"], *command)
    assert not (tmp_path / "out").exists()
    assert not list(run.glob(".vectors*"))


def test_features_that_are_evaluated(refused, cli, featured, encoded, tmp_path):
    dataset = shutil.copytree(featured, tmp_path / "dataset")
    flip(dataset / "tables" / "features" / "c" / "1" / "0", 40)
    for command in readers(encoded, tmp_path):
        refused(2, ["tables/features/c/1/0: does not match its checksum"], *command, "--dataset", dataset)


def test_vectors_on_their_way_from_one_layer_to_the_next(refused, encoded, monkeypatch):
    """Scratch files are compared as well: what was written is what is read."""
    from marius_lite.evaluate import layer_pass

    class Spoilt(layer_pass.RowsOnDisk):
        def table(self):
            if self._table.checksums is None:
                flip(self._table.chunk_path(1), 100)
            return super().table()

    monkeypatch.setattr(layer_pass, "IN_MEMORY_SHARE", 0)
    monkeypatch.setattr(layer_pass, "RowsOnDisk", Spoilt)
    refused(1, ["input/c/1/0", "checksum"], "eval", encoded)


def test_places_of_buckets_that_a_power_cut_zeroed(refused, trained, tiny_dataset, tmp_path):
    dataset = shutil.copytree(tiny_dataset, tmp_path / "dataset")
    for split in ("train", "valid"):
        offsets = dataset / "edges" / split / "bucket_offsets" / "c" / "0"
        good = offsets.read_bytes()
        offsets.write_bytes(bytes(len(good)))
        refused(2, [f"edges/{split}/bucket_offsets/c/0: does not match its checksum"], "eval", trained, "--dataset", dataset)
        if split == "train":
            refused(2, ["bucket_offsets"], "train", dataset, "--run", tmp_path / "run", *options())
        offsets.write_bytes(good)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["nodes.parquet", "relations.parquet"])
def test_ids_that_are_exported(refused, trained, tiny_dataset, tmp_path, name):
    dataset = shutil.copytree(tiny_dataset, tmp_path / "dataset")
    flip(dataset / name, 60)
    for command in readers(trained, tmp_path)[1:]:
        refused(2, [f"{name}: does not match its checksum"], *command, "--dataset", dataset)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("change", [{"epoch": 1}, {"step": 5}, {"batch": 99999}])
def test_a_cursor_that_was_edited(refused, copied, change):
    file = copied / "checkpoints" / "2.0.0" / "state.json"
    tree = json.loads(file.read_text())
    tree["cursor"].update(change)
    file.write_text(json.dumps(tree))
    commands = (["resume", copied, "--set", "training.epochs=3"], ["eval", copied], ["info", copied, "--verify"])
    for command in commands:
        refused(2, ["2.0.0/state.json: damaged, its checksum is wrong"], *command)
    del tree["checksum"]
    file.write_text(json.dumps(tree | {"checksum": checksum_of(tree)}))
    for command in commands:
        refused(2, ["2.0.0/state.json: it is the state of checkpoint", "not of this folder"], *command)


def test_a_state_that_is_missing_is_not_passed_over(refused, cli, copied):
    (copied / "checkpoints" / "2.0.0" / "state.json").unlink()
    for command in (["eval", copied], ["resume", copied], ["info", copied]):
        refused(2, ["2.0.0: no whole checkpoint, it has no state.json", "there are 1.0.0"], *command)
    assert cli("eval", copied, "--checkpoint", "1.0.0") == 0
    assert cli("resume", copied, "--checkpoint", "1.0.0") == 0
    assert cli("info", copied, "--verify") == 0


@pytest.mark.parametrize("name", ["zarr.json", "nodes/zarr.json"])
def test_a_table_described_otherwise(refused, copied, tmp_path, name):
    checkpoint = copied / "checkpoints" / "2.0.0"
    tree = json.loads((checkpoint / name).read_text())
    tree["attributes"]["more"] = 1
    if "shape" in tree:
        tree["shape"][0] -= 1
    (checkpoint / name).write_text(json.dumps(tree))
    for command in [*readers(copied, tmp_path), ["resume", copied, "--set", "training.epochs=3"], ["info", copied, "--verify"]]:
        refused(2, ["2.0.0: zarr.json or nodes/zarr.json is missing, damaged or was changed"], *command)


def test_a_record_that_somebody_shortened(cli, refused, copied):
    """With the checksum `none` it is taken as it is: settings that it lacks have their defaults."""
    record = yaml.safe_load((copied / "config.yaml").read_text())
    del record["config"]["training"]
    record["checksum"] = "none"
    (copied / "config.yaml").write_text(yaml.safe_dump(record))
    assert cli("info", copied, "--verify") == 0
    record["config"]["model"]["reciprocal"] ^= True
    (copied / "config.yaml").write_text(yaml.safe_dump(record))
    refused(2, ["2.0.0: its weights are not those of the model in config.yaml"], "eval", copied)


def test_verified_is_what_was_compared(cli, copied, capfd):
    assert cli("info", copied, "--verify", "--json") == 0
    assert json.loads(capfd.readouterr().out)["verified"] is True
    shutil.rmtree(copied / "checkpoints")
    assert cli("info", copied, "--verify", "--json") == 0
    assert json.loads(capfd.readouterr().out)["verified"] is False
