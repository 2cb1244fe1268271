"""No result comes of changed bytes: whatever is read of a dataset is compared with a checksum first."""

import random
import shutil

import numpy as np
import pytest

from marius_lite.errors import UserError
from marius_lite.graph import Dataset
from marius_lite.preprocess import Options, preprocess
from marius_lite.preprocess.updating.counted import CountedEdges

FLIPS = 40


@pytest.fixture(scope="module")
def sound(edge_file, tmp_path_factory):
    """A dataset of everything that there may be: lists, features, labels, splits, types."""
    folder = tmp_path_factory.mktemp("sound")
    rng, ids = np.random.default_rng(3), [f"n{n}" for n in range(200)]
    np.save(folder / "x.npy", rng.integers(-9, 9, (200, 5)).astype(np.int8).astype(np.float32))
    np.save(folder / "y.npy", rng.integers(0, 4, 200))
    (folder / "ids.txt").write_text("".join(f"{each}\n" for each in ids))
    (folder / "types.tsv").write_text("".join(f"{each}\ttype{n % 3}\n" for n, each in enumerate(ids)))
    preprocess(
        Options.parse(
            edges=[str(edge_file)],
            output=folder / "d",
            partitions=3,
            split="0.8,0.1,0.1",
            adjacency="in",
            labels=folder / "y.npy",
            features=folder / "x.npy",
            node_ids=folder / "ids.txt",
            node_split="0.6,0.2,0.2",
            node_types=folder / "types.tsv",
            feature_dtype="int8",
        )
    )
    return folder / "d"


def everything(path):
    """All that commands read of a dataset."""
    dataset = Dataset.open(path)
    found = [
        dataset.relation_names(),
        dataset.raw_ids(0, 200).to_pylist(),
        dataset.node_types(0, 200).to_pylist(),
        dataset.lookup_nodes(["n3", "n7"]).tolist(),
        dataset.lookup_relations(["r1"]).tolist(),
    ]
    for split in dataset.manifest.edges:
        edges = dataset.edges(split)
        found.append([column.tolist() for _, columns in edges.pieces(100) for column in columns])
        found.append(edges.counts.tolist())
        found.append([column.tolist() for i in range(3) for j in range(3) for column in edges.read(i, j)])
    for k in range(3):
        lists = dataset.adjacency.read(k)
        found.append([values.tolist() for values in (lists.indptr, lists.sources, lists.rel)])
        found.append(dataset.features.values(k).tolist())
        found.append(dataset.features.table.read_rows(k, [0, 5]).tolist())
        found.append(dataset.labels.read(k).tolist())
    found.append([dataset.node_split(name).tolist() for name in dataset.node_counts])
    counted = CountedEdges.zeros(200, dataset.manifest.relations, np.uint32)
    assert counted.read(dataset)
    found.append([each.tolist() for each in (counted.out, counted.into, counted.splits, counted.relations)])
    return found


@pytest.fixture(scope="module")
def expected(sound):
    return everything(sound)


def test_no_flipped_bit_of_any_file_goes_unnoticed(sound, expected, tmp_path):
    copied, chance = shutil.copytree(sound, tmp_path / "d"), random.Random(0)
    names = Dataset.open(sound).manifest.files
    assert {name.split("/")[0] for name in names} == {
        "edges",
        "adjacency",
        "counts",
        "tables",
        "nodes.parquet",
        "relations.parquet",
    }
    unnoticed = set()
    for name in [*names, "zarr.json"]:
        good = (copied / name).read_bytes()
        for _ in range(max(1, FLIPS * len(good) // sum(size for size, _ in names.values()))):
            data, at = bytearray(good), chance.randrange(len(good))
            data[at] ^= 1 << chance.randrange(8)
            (copied / name).write_bytes(data)
            try:
                found = everything(copied)
            except UserError:
                continue
            assert found == expected, f"{name}, byte {at}"
            unnoticed.add(name)
        (copied / name).write_bytes(good)
    assert everything(copied) == expected
    assert all(name == "zarr.json" or "/c/" in name for name in unnoticed)  # white space; what fills chunks up


@pytest.mark.parametrize(
    "name",
    [
        "edges/train/bucket_offsets/c/0",
        "edges/valid/bucket_offsets/c/0",
        "edges/train/bucket_checksums/c/0/0",
        "adjacency/in/starts/c/0",
        "adjacency/in/checksums/c/0/0",
        "relations.parquet",
        "nodes.parquet",
    ],
)
def test_files_of_zeros_are_named(sound, tmp_path, name):
    """As a power cut may leave them."""
    copied = shutil.copytree(sound, tmp_path / "d")
    (copied / name).write_bytes(bytes((copied / name).stat().st_size))
    with pytest.raises(UserError, match=f"{name}: does not match its checksum, the dataset was changed"):
        everything(copied)


def test_a_file_is_compared_once(sound, monkeypatch):
    from marius_lite.graph import checked

    dataset, real, seen = Dataset.open(sound), checked.file_checksum, []

    def counted(path, size):
        seen.append(path.name)
        return real(path, size)

    monkeypatch.setattr(checked, "file_checksum", counted)
    for node in range(0, 200, 50):
        dataset.raw_ids(node, node + 50)
    assert seen == ["nodes.parquet"]


def test_more_edges_than_the_manifest_says_are_refused(sound):
    dataset = Dataset.open(sound)
    dataset.manifest.edges["valid"] += 1
    with pytest.raises(UserError, match=r"edges/valid: 262 edges, the manifest says 263"):
        dataset.edges("valid")


def test_a_file_that_the_manifest_does_not_know_is_refused(sound):
    with pytest.raises(UserError, match="does not stand in the manifest"):
        Dataset.open(sound).checked.check(sound / "report.json")
