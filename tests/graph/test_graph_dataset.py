import shutil

import pytest

from marius_lite.errors import UserError
from marius_lite.graph import Dataset
from marius_lite.storage import checksum as module


def test_every_file_is_recorded_and_checked(dataset):
    there = {path.relative_to(dataset.path).as_posix() for path in dataset.path.rglob("*") if path.is_file()}
    assert there == {*dataset.manifest.files, "zarr.json", "report.json"}
    dataset.verify()


def test_a_dataset_may_be_moved(dataset, tmp_path):
    shutil.move(dataset.path, tmp_path / "elsewhere")
    Dataset.open(tmp_path / "elsewhere").verify()


def test_missing_and_cut_files_are_noticed_at_open(dataset):
    chunk = dataset.path / "edges/train/src/c/0"
    data = chunk.read_bytes()
    chunk.write_bytes(data[:-1])
    with pytest.raises(UserError, match=rf"src/c/0: {len(data) - 1} bytes, {len(data)} were written"):
        Dataset.open(dataset.path)
    chunk.unlink()
    with pytest.raises(UserError, match="src/c/0: missing"):
        Dataset.open(dataset.path)


def test_verify_notices_any_changed_byte(dataset):
    for name in dataset.manifest.files:
        path = dataset.path / name
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 0x80]))
        with pytest.raises(UserError, match="checksum"):
            Dataset.open(dataset.path).verify()
        path.write_bytes(data)
    dataset.verify()


def test_checksums_span_blocks(dataset, monkeypatch):
    monkeypatch.setattr(module, "CHECK_BLOCK", 1000)
    dataset.verify()


def test_an_unknown_split(dataset):
    with pytest.raises(UserError, match="no split 'dev': it has train, valid, test"):
        dataset.edges("dev")


def test_required_labels(dataset, communities):
    with pytest.raises(UserError, match="nodes have no labels: preprocess stores them with --labels FILE"):
        dataset.required_labels()
    labelled = Dataset.open(communities)
    assert labelled.required_labels() is labelled.labels
