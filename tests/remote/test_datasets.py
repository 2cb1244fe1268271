"""Datasets in object storage: fetched in parts, compared when they arrive, kept within a bound."""

import json
import os
import shutil
from pathlib import Path

import pytest
from bucket_server import proxy

from marius_lite.errors import RunError, UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.manifest import KEY, Manifest
from marius_lite.graph.upload import upload_dataset
from marius_lite.remote import store
from marius_lite.remote.address import address_of, cache_folder
from marius_lite.remote.store import ObjectStore


def kept():
    return {path.name: {file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()} for path in places()}


def places():
    folder = cache_folder() / "datasets"
    return list(folder.iterdir()) if folder.exists() else []


def test_what_is_needed_is_fetched(bucket, featured, cli, capsys):
    upload_dataset(featured, f"{bucket}/set")
    opened = Dataset.open(f"{bucket}/set")
    assert opened.fingerprint == Dataset.open(featured).fingerprint
    assert opened.address == f"{bucket}/set"
    (files,) = kept().values()
    assert not any("/c/" in name for name in files)
    opened.edges("valid").read(0, 0)
    opened.features.read(1)
    (files,) = kept().values()
    assert {name.split("/c/")[0] for name in files if "/c/" in name} == {
        *(f"edges/valid/{name}" for name in ("bucket_offsets", "bucket_checksums", "src", "dst", "rel")),
        "tables/features",
    }
    capsys.readouterr()
    assert cli("info", f"{bucket}/set", "--verify", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["path"], told["verified"]) == (f"{bucket}/set", True)
    (files,) = kept().values()
    assert {*opened.manifest.files} <= files


def test_a_dataset_is_sent_whole_and_once(bucket, tiny_dataset, tmp_path):
    assert upload_dataset(tiny_dataset, f"{bucket}/set")["sent"] == 1
    assert upload_dataset(tiny_dataset, f"{bucket}/set")["sent"] == 0
    there = ObjectStore(address_of(f"{bucket}/set"))
    other = tmp_path / "other"
    shutil.copytree(tiny_dataset, other)
    name = next(iter(Dataset.open(other).manifest.files))
    data = (other / name).read_bytes()
    (other / name).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises((RunError, UserError), match="checksum"):
        upload_dataset(other, f"{bucket}/other")
    assert ObjectStore(address_of(f"{bucket}/other")).get("zarr.json", 1 << 20) is None
    there.put("zarr.json", b"{}")
    with pytest.raises(UserError, match="another dataset is there already"):
        upload_dataset(tiny_dataset, f"{bucket}/set")


def test_versions_are_found_by_number_and_fingerprint(bucket, tiny_edges, tmp_path, cli, capsys):
    folder, more = tmp_path / "set", tmp_path / "more.tsv"
    assert cli("preprocess", tiny_edges, "-o", folder, "--partitions", "2", "--adjacency", "none") == 0
    upload_dataset(folder, f"{bucket}/set")
    more.write_text("node1\trel0\tnew\n")
    assert cli("update", folder, more) == 0
    assert upload_dataset(folder, f"{bucket}/set") == {"dataset": f"{bucket}/set", "versions": 2, "sent": 1}
    first, second = (Dataset.open(f"{folder}@{number}").fingerprint for number in (1, 2))
    assert Dataset.open(f"{bucket}/set").fingerprint == second
    assert Dataset.open(f"{bucket}/set@1").fingerprint == first
    assert Dataset.open(f"{bucket}/set", first).fingerprint == first
    with pytest.raises(UserError, match="no version 3"):
        Dataset.open(f"{bucket}/set@3")
    assert cli("update", f"{bucket}/set", more) == 2
    assert "update the dataset on this machine" in capsys.readouterr().err


@pytest.mark.parametrize("fault", ["truncates", "cuts", "falsifies"])
def test_wrong_bodies_are_fetched_again(fault, bucket, object_server, tiny_dataset, monkeypatch):
    upload_dataset(tiny_dataset, f"{bucket}/set")
    with proxy(object_server, lambda number, *_: fault if number % 4 == 1 else None) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
        Dataset.open(f"{bucket}/set").verify()
    shutil.rmtree(cache_folder())
    monkeypatch.setattr(store, "TRIES", 3)
    with proxy(object_server, lambda number, method, path: fault if "/src/c/" in path else None) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
        with pytest.raises(RunError, match="edges/train/src/c/0: "):
            Dataset.open(f"{bucket}/set").edges("train").read(0, 0)


def test_a_manifest_may_not_leave_its_folder(bucket, tiny_dataset):
    upload_dataset(tiny_dataset, f"{bucket}/set")
    manifest = Dataset.open(tiny_dataset).manifest
    for name, size in (
        ("../evil", 1),
        ("/etc/evil", 1),
        ("a/./b", 1),
        (".origin.json", 1),
        ("huge", 1 << 62),
        ("less", -1),
        ("a\nb", 1),
    ):
        changed = Manifest.model_validate(
            {**manifest.model_dump(), "files": {**manifest.files, name: (size, 0)}, "fingerprint": ""}
        )
        ObjectStore(address_of(f"{bucket}/set")).put("zarr.json", changed.sealed().root_json())
        with pytest.raises(UserError, match="refused, no dataset has such a file"):
            Dataset.open(f"{bucket}/set")
    ObjectStore(address_of(f"{bucket}/set")).put("zarr.json", json.dumps({"attributes": {KEY: {"kind": "dataset"}}}).encode())
    with pytest.raises((UserError, RunError), match=r"zarr\.json"):
        Dataset.open(f"{bucket}/set")


def test_what_is_kept_keeps_to_its_bound(bucket, tiny_dataset, surrounded, cli, capsys):
    for name, folder in (("one", tiny_dataset), ("two", surrounded)):
        upload_dataset(folder, f"{bucket}/{name}")
    train = [
        "--set",
        "training.epochs=1",
        "--set",
        "model.dim=8",
        "--set",
        "training.scoring=torch",
        "--set",
        "training.threads=1",
        "-q",
    ]
    assert cli("train", f"{bucket}/one", "--run", f"{bucket}/run", *train, "--set", "storage.cache=1KB") == 2
    assert f"storage.cache is 1.00 KB, the files of {bucket}/one take" in capsys.readouterr().err
    assert cli("train", f"{bucket}/one", "--run", f"{bucket}/run", *train) == 0
    assert len(places()) == 1
    size = sum(size for size, _ in Dataset.open(surrounded).manifest.files.values())
    assert cli("train", f"{bucket}/two", "--run", f"{bucket}/run2", *train, "--set", f"storage.cache={size + 10000}") == 0
    assert len(places()) == 1
    assert json.loads((places()[0] / ".origin.json").read_text()) == {"address": f"{bucket}/two"}
    assert cli("eval", f"{bucket}/run") == 0  # it is fetched again
    assert len(places()) == 2


def test_a_dataset_is_made_in_a_bucket(bucket, tiny_edges, cli, capsys):
    command = ["preprocess", tiny_edges, "-o", f"{bucket}/set", "--partitions", "2"]
    assert cli(*command) == 0
    assert Dataset.open(f"{bucket}/set").manifest.nodes == 300
    capsys.readouterr()
    assert cli(*command) == 2
    assert "exists already" in capsys.readouterr().err
    assert cli("repartition", f"{bucket}/set", "-o", Path(os.environ["MARIUS_LITE_CACHE"]) / "three", "--partitions", "3") == 0
