"""Features of a dataset, paged by partition."""

import numpy as np
import pytest

from marius_lite.errors import UserError
from marius_lite.graph import Dataset
from marius_lite.preprocess import make_dataset


@pytest.fixture(params=[np.float16, np.float32])
def featured(request, tmp_path):
    """100 nodes in 3 partitions, 5 numbers each: 10 times the raw id, and the column."""
    rng = np.random.default_rng(0)
    np.save(tmp_path / "e.npy", rng.integers(0, 100, (300, 2)))
    np.save(tmp_path / "x.npy", (10 * np.arange(100)[:, None] + np.arange(5)).astype(request.param))
    return make_dataset(tmp_path / "e.npy", tmp_path / "d", features=tmp_path / "x.npy", partitions=3)


def test_rows_of_each_partition(featured):
    assert featured.manifest.features.model_dump() == {"width": 5, "dtype": featured.features.dtype.name}
    for k in range(3):
        ids = featured.raw_ids(featured.partitioning.range(k).start, featured.partitioning.range(k).stop).to_numpy()
        found = featured.features.read(k)
        assert found.dtype == featured.features.dtype
        assert np.array_equal(found, 10 * ids[:, None] + np.arange(5))
        assert found.strides[0] % 16 == 0
    for k in (-1, 3):
        with pytest.raises(ValueError, match=f"partition {k}: there are 3"):
            featured.features.read(k)


def test_every_changed_byte_is_noticed(featured):
    path = featured.features.table.chunk_path(2)
    data = path.read_bytes()
    for place in (0, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        featured.features.read(1)
        with pytest.raises(UserError, match=r"c/2/0: does not match its checksum"):
            featured.features.read(2)
        with pytest.raises(UserError, match="checksum"):
            featured.verify()
    path.write_bytes(data[:-1])
    with pytest.raises(UserError, match=r"tables/features/c/2/0: \d+ bytes"):
        Dataset.open(featured.path)


def test_every_file_is_recorded(featured):
    there = {path.relative_to(featured.path).as_posix() for path in featured.path.rglob("*") if path.is_file()}
    assert there == {*featured.manifest.files, "zarr.json", "report.json"}
    featured.verify()


def test_a_dataset_without_features(dataset):
    assert dataset.features is None
