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
    assert cli("train", tiny_dataset, "--run", run, "--set", "storage.capacity=2", "--set", "model.dim=6",
               "--set", "training.epochs=1", "--set", "training.batch_size=100", "--set", "negatives.count=10") == 0
    return run


def test_zarr_opens_live_rows_and_checkpoints(finished, tiny_dataset):
    record = record_of("row_adagrad", 6)
    nodes = pyarrow.parquet.read_metadata(tiny_dataset / "nodes.parquet").num_rows
    tables = [zarr.open_group(folder, mode="r")["nodes"] for folder in (finished / "live", finished / "checkpoints" / "latest")]
    for table in tables:
        assert table.shape == (nodes, record.width)
        assert table.dtype == np.float32
        assert (table[:, record.state] > 0).any()
        assert table.attrs["values"] == [0, 6]
    assert (tables[0][:] == tables[1][:]).all()


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
