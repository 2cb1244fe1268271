"""Other programs read what a run and a dataset hold."""

import duckdb
import numpy as np
import polars
import pyarrow.parquet
import pytest
import zarr

from marius_lite.storage.record import record_of


@pytest.fixture(scope="module")
def finished(tiny_dataset, tmp_path_factory, cli):
    run = tmp_path_factory.mktemp("formats") / "run"
    assert (
        cli(
            "train",
            tiny_dataset,
            "--run",
            run,
            "--set",
            "storage.capacity=2",
            "--set",
            "model.dim=6",
            "--set",
            "training.epochs=1",
            "--set",
            "training.batch_size=100",
            "--set",
            "negatives.count=10",
        )
        == 0
    )
    return run


def test_zarr_opens_live_rows_and_checkpoints(finished, tiny_dataset):
    record = record_of("adagrad", 6)
    nodes = pyarrow.parquet.read_metadata(tiny_dataset / "nodes.parquet").num_rows
    tables = [zarr.open_group(folder, mode="r")["nodes"] for folder in (finished / "live", finished / "checkpoints" / "latest")]
    for table in tables:
        assert table.shape == (nodes, record.width)
        assert table.dtype == np.float32
        assert (table[:, record.state] > 0).any()
        assert table.attrs["values"] == [0, 6]
    assert (tables[0][:] == tables[1][:]).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_zarr_opens_features(tmp_path, cli, dtype):
    rng = np.random.default_rng(0)
    names = [f"node{k}" for k in range(200)]
    source = rng.standard_normal((200, 7)).astype(dtype)
    np.save(tmp_path / "x.npy", source)
    (tmp_path / "ids.txt").write_text("".join(f"{name}\n" for name in names))
    (tmp_path / "edges.tsv").write_text("".join(f"node{s}\tnode{d}\n" for s, d in rng.integers(0, 150, (400, 2))))
    assert (
        cli(
            "preprocess",
            tmp_path / "edges.tsv",
            "--output",
            tmp_path / "d",
            "--partitions",
            "3",
            "--features",
            tmp_path / "x.npy",
            "--node-ids",
            tmp_path / "ids.txt",
        )
        == 0
    )
    nodes = pyarrow.parquet.read_table(tmp_path / "d/nodes.parquet")
    assert nodes["node_id"].to_pylist() == list(range(200))
    features = zarr.open(tmp_path / "d", mode="r")["tables/features"]
    first, end = features.attrs["values"]
    assert features.dtype == dtype
    assert (features[:, first:end] == source[[names.index(name) for name in nodes["raw_id"].to_pylist()]]).all()
    chunks = [path.stat().st_size for path in (tmp_path / "d/tables/features").glob("c/*/0")]
    assert chunks == 3 * [67 * features.shape[1] * source.itemsize]


def test_zarr_opens_edges(tiny_dataset):
    group = zarr.open(tiny_dataset, mode="r")
    train = group["edges/train"]
    assert train["src"].shape == train["dst"].shape == train["rel"].shape == (int(train["bucket_offsets"][-1]),)
    assert group.attrs["marius_lite"]["edges"]["train"] == train["src"].shape[0]


def test_three_readers_agree_on_the_dictionaries(tiny_dataset):
    for name in ("nodes.parquet", "relations.parquet"):
        path = str(tiny_dataset / name)
        by_arrow = pyarrow.parquet.read_table(path).to_pydict()
        assert duckdb.sql(f"select * from '{path}'").to_arrow_table().to_pydict() == by_arrow
        assert polars.read_parquet(path).to_dict(as_series=False) == by_arrow
    assert by_arrow["relation_id"] == list(range(len(by_arrow["relation_id"])))


def test_zarr_opens_labels_and_splits(tmp_path, cli):
    np.save(tmp_path / "e.npy", np.random.default_rng(0).integers(0, 50, (200, 2)))
    np.save(tmp_path / "y.npy", np.arange(50))
    assert (
        cli(
            "preprocess",
            tmp_path / "e.npy",
            "--output",
            tmp_path / "d",
            "--partitions",
            "3",
            "--labels",
            tmp_path / "y.npy",
            "--node-split",
            "0.5,0.2,0.3",
        )
        == 0
    )
    raw = pyarrow.parquet.read_table(tmp_path / "d/nodes.parquet")["raw_id"].to_pylist()
    tables = zarr.open(tmp_path / "d", mode="r")["tables"]
    assert tables["labels"].dtype == np.int64
    assert tables["labels"][:].tolist() == raw
    assert tables["split"].dtype == np.uint8
    assert set(tables["split"][:].tolist()) == {1, 2, 3}
