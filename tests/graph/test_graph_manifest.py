import json

import pytest

from marius_lite.errors import UserError
from marius_lite.graph import Dataset
from marius_lite.graph.manifest import FeatureShape, read_manifest


def change(dataset, **fields):
    path = dataset.path / "zarr.json"
    root = json.loads(path.read_text())
    root["attributes"]["marius_lite"].update(fields)
    path.write_text(json.dumps(root))


def test_it_reads_back_and_its_fingerprint_holds(dataset):
    assert read_manifest(dataset.path) == dataset.manifest
    assert dataset.manifest.sealed().fingerprint == dataset.fingerprint
    assert len(dataset.fingerprint) == 64


def test_fingerprint_covers_every_field(dataset):
    for name, value in {"nodes": 7, "seed": 9, "files": {}, "edges": {}, "program_version": "9"}.items():
        other = dataset.manifest.model_copy(update={name: value})
        assert other.sealed().fingerprint != dataset.fingerprint


def test_a_dataset_from_before_there_were_features_opens(dataset):
    assert "features" not in json.loads((dataset.path / "zarr.json").read_text())["attributes"]["marius_lite"]
    other = dataset.manifest.model_copy(update={"features": FeatureShape(width=3, dtype="float32")}).sealed()
    assert other.fingerprint != dataset.fingerprint
    assert json.loads(other.root_json())["attributes"]["marius_lite"]["features"] == {"width": 3, "dtype": "float32"}


def test_edge_columns_are_stored_where_there_are_any(dataset):
    assert "edge_columns" not in json.loads((dataset.path / "zarr.json").read_text())["attributes"]["marius_lite"]
    other = dataset.manifest.model_copy(update={"edge_columns": ("weight", "time")}).sealed()
    assert other.fingerprint != dataset.fingerprint
    assert json.loads(other.root_json())["attributes"]["marius_lite"]["edge_columns"] == ["weight", "time"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"format_version": 99, "program_version": "7.1"}, "format version 99, written by marius_lite 7.1"),
        ({"nodes": "many"}, "damaged at nodes"),
        ({"unheard": 1}, "damaged at unheard"),
        ({"nodes": 12}, "does not match its fingerprint"),
        ({"kind": "run"}, "not a dataset"),
    ],
)
def test_what_cannot_be_trusted_is_refused(dataset, fields, message):
    change(dataset, **fields)
    with pytest.raises(UserError, match=message) as raised:
        Dataset.open(dataset.path)
    assert "\n" not in str(raised.value)


def test_folders_that_are_no_dataset(tmp_path):
    with pytest.raises(UserError, match="no such folder"):
        read_manifest(tmp_path / "none")
    for text in ("", "{}", '{"attributes": []}', '{"attributes": {"marius_lite": 3}}'):
        (tmp_path / "zarr.json").write_text(text)
        with pytest.raises(UserError, match="not a dataset"):
            read_manifest(tmp_path)
