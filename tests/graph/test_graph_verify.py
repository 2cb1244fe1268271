"""Verification finds each kind of damage, with checksums that fit what is wrong, and says which file and where."""

import json
import shutil
import sys

import numpy as np
import pytest
from graph_damage import CASES, LISTS, NODES, PARTITIONS, TRAIN, mended, put
from weighted_dataset import with_weights

from marius_lite.errors import UserError
from marius_lite.graph import Dataset, verify, verify_counts, verify_nodes
from marius_lite.graph.ids import hash_raw_ids, order_key
from marius_lite.log import on_standard_error
from marius_lite.preprocess import make_dataset
from marius_lite.progress_bar import progress_bar
from marius_lite.storage.checksum import file_checksum


@pytest.fixture(scope="session")
def sound(tmp_path_factory):
    """Datasets by name, not to be changed: with relations and splits; with features, labels and a split of nodes; with types."""
    folder, rng = tmp_path_factory.mktemp("sound"), np.random.default_rng(3)
    rows = rng.integers(0, NODES, (2000, 3)) % [NODES, 4, NODES]
    np.savetxt(folder / "e.tsv", rows, "n%d\tr%d\tn%d")
    np.save(folder / "e.npy", rows[:, [0, 2]])
    np.save(folder / "x.npy", rng.normal(size=(NODES, 5)).astype(np.float32))
    np.save(folder / "y.npy", np.arange(NODES) % 6)
    make_dataset(folder / "e.tsv", folder / "edges", partitions=PARTITIONS, split="0.8,0.1,0.1", adjacency="in")
    data = {"features": folder / "x.npy", "labels": folder / "y.npy", "node_split": "0.4,0.3,0.3"}
    for type in ("float32", "bfloat16", "int8"):
        make_dataset(folder / "e.npy", folder / type, partitions=PARTITIONS, feature_dtype=type, **data)
    np.save(folder / "several.npy", np.arange(NODES)[:, None] >> np.arange(5) & 1)
    make_dataset(
        folder / "e.npy", folder / "several", partitions=PARTITIONS, labels=folder / "several.npy", node_split="0.4,0.3,0.3"
    )
    np.save(folder / "t.npy", np.array(["a", "b", "c"])[np.arange(NODES) % 3])
    make_dataset(folder / "e.npy", folder / "types", partitions=PARTITIONS, node_types=folder / "t.npy")
    make_dataset(folder / "e.npy", folder / "locality", partitions=PARTITIONS, partitioner="locality")
    return folder


def in_small_pieces(monkeypatch):
    for module, name, size in (
        (verify, "EDGES_AT_ONCE", 7),
        (verify, "LISTS_AT_ONCE", 4),
        (verify_counts, "NODES_AT_ONCE", 20),
        (verify_nodes, "NODES_AT_ONCE", 16),
        (verify_nodes, "HASHES_AT_ONCE", 20),
        (verify_nodes, "BYTES_AT_ONCE", 64),
    ):
        monkeypatch.setattr(module, name, size)


@pytest.fixture
def copied(sound, tmp_path):
    return lambda name: shutil.copytree(sound / name, tmp_path / "d")


@pytest.mark.parametrize("case", CASES)
def test_damage_that_checksums_do_not_show(copied, case, monkeypatch):
    name, damage, message = CASES[case]
    folder = copied(name)
    damage(folder)
    dataset = mended(folder)
    with pytest.raises(UserError, match=message) as found:
        dataset.verify()
    assert str(found.value).startswith(str(folder))
    assert "\n" not in str(found.value)
    assert "make the dataset again" in str(found.value)
    in_small_pieces(monkeypatch)
    with pytest.raises(UserError) as again:
        dataset.verify()
    assert str(again.value) == str(found.value)


@pytest.mark.parametrize("name", ["edges", "float32", "bfloat16", "int8", "several", "types", "locality"])
def test_what_is_sound_passes(sound, copied, name, monkeypatch):
    Dataset.open(sound / name).verify()
    mended(copied(name)).verify()
    in_small_pieces(monkeypatch)
    Dataset.open(sound / name).verify()


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("edges", {"edges": {"train": 5, "valid": 1, "test": 1}}, r"edges/train: [\d,]+ edges, the manifest says 5"),
        ("edges", {"rows_per_partition": 29}, "zarr.json: 3 partitions of 29 nodes do not hold 90 nodes"),
        ("float32", {"training_partitions": 3}, "zarr.json: training_partitions is 3, 2 hold the training nodes"),
        ("edges", {"relations": 3}, "relations.parquet: 4 rows, the manifest says 3"),
        ("edges", {"ids": "int"}, "nodes.parquet: columns .* it should have"),
        ("edges", {"node_types": ("a",)}, "nodes.parquet: columns .* it should have"),
        ("types", {"node_types": None}, "nodes.parquet: columns .* it should have"),
        ("types", {"node_types": ("a", "b", "c", "d")}, "nodes.parquet: no node is of type 'd', which the manifest has"),
        ("types", {"node_types": ("a", "b", "c", "b")}, "zarr.json: a type stands twice in node_types"),
        ("types", {"node_types": ("a", "c", "b")}, "zarr.json: node_types are not in order"),
        ("edges", {"seed": 1}, r"nodes.parquet: node \d+, 'n\d+', is out of order"),
    ],
)
def test_a_manifest_that_says_something_else(copied, name, fields, message):
    with pytest.raises(UserError, match=message):
        mended(copied(name), **fields).verify()


@pytest.mark.parametrize(
    ("name", "place", "message"),
    [
        (f"{TRAIN}/bucket_checksums", 14, r"rel: bucket \(1, 1\) does not match its checksum"),
        (f"{LISTS}/checksums", 4, "sources: the lists of partition 1 do not match"),
    ],
)
def test_checksums_inside_the_dataset_are_compared(copied, name, place, message):
    folder = copied("edges")
    dataset, path = Dataset.open(folder), folder / name / "c/0/0"
    sums = np.fromfile(path, np.uint32)
    sums[place] ^= 1
    sums.tofile(path)
    files = {**dataset.manifest.files, f"{name}/c/0/0": (sums.nbytes, file_checksum(path, sums.nbytes))}
    (folder / "zarr.json").write_bytes(dataset.manifest.model_copy(update={"files": files}).sealed().root_json())
    with pytest.raises(UserError, match=message):
        Dataset.open(folder).verify()


def test_equal_hashes_are_not_equal_ids(sound, monkeypatch):
    def few(raw, key):
        return hash_raw_ids(raw, key) >> np.uint64(60)

    monkeypatch.setattr(verify_nodes, "hash_raw_ids", few)
    path = sound / "locality/nodes.parquet"
    verify_nodes._check_different([path], NODES, order_key(0))
    monkeypatch.setattr(verify_nodes, "HASHES_AT_ONCE", 9)
    verify_nodes._check_different([path], NODES, order_key(0))


def test_from_the_command_line(copied, cli, capfd, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    folder = copied("edges")
    assert cli("info", folder, "--verify", "--json") == 0
    assert json.loads(capfd.readouterr().out)["verified"] is True
    put(f"{TRAIN}/src/c/0", 5, 30)(folder)
    mended(folder)
    assert cli("info", folder, "--verify") == 2
    bar, said = capfd.readouterr().err.splitlines()[-2:]
    assert bar.strip("\r").startswith("verify: ")
    assert said.startswith(f"marius-lite: {folder}/edges/train/src: edge 5 of bucket (0, 0) has src 30")


@pytest.mark.parametrize("name", ["edges", "float32", "int8", "locality"])
def test_a_bar_shows_the_bytes_read(sound, monkeypatch, name, capfd):
    bars = []
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(verify, "progress_bar", lambda *given: bars.append(progress_bar(*given)) or bars[-1])
    with on_standard_error():
        Dataset.open(sound / name).verify()
    assert [(bar.n, bar.unit) for bar in bars] == [(bars[0].total, "B")]
    assert bars[0].total > sum(size for size, _ in Dataset.open(sound / name).manifest.files.values())
    said = capfd.readouterr()
    assert "verify: 100%" in said.err
    assert said.out == ""


def test_a_bar_of_weighted_edges(sound, tmp_path, monkeypatch):
    bars = []
    weighted = with_weights(sound / "edges", tmp_path / "weighted", lambda src, dst, rel: src % 7 / 2 + rel)
    monkeypatch.setattr(verify, "progress_bar", lambda *given: bars.append(progress_bar(*given)) or bars[-1])
    weighted.verify()
    assert bars[0].n == bars[0].total


def test_a_changed_report_is_damage_and_a_missing_one_is_not(sound, tmp_path):
    shutil.copytree(sound / "edges", tmp_path / "d")
    report = tmp_path / "d" / "report.json"
    report.write_text(report.read_text().replace("1", "2", 1))
    with pytest.raises(UserError, match=r"report.json: its bytes are not those that were written.*preprocess"):
        Dataset.open(tmp_path / "d").verify()
    report.unlink()
    Dataset.open(tmp_path / "d").verify()
