"""Columns written piece by piece: the values, filled up with zeros, whatever the pieces."""

import tempfile
from pathlib import Path
from unittest.mock import patch

import numpy as np
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite._native import crc32c
from marius_lite.storage import columns
from marius_lite.storage.columns import ColumnWriter


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 6000), max_size=6),
    chunk=st.integers(300, 9000),
    memory=st.integers(0, 80_000),
    dtype=st.sampled_from([np.uint8, np.uint32, np.float64]),
)
def test_columns_are_the_values(lengths, chunk, memory, dtype):
    values = [np.random.default_rng(n).integers(0, 200, length).astype(dtype) for n, length in enumerate(lengths)]
    with tempfile.TemporaryDirectory() as folder, patch.object(columns, "LEAST_BUFFER", 4096):
        writer = ColumnWriter(Path(folder) / "column", chunk, dtype, memory)
        for part in values:
            writer.append(part)
        writer.close()
        expected = np.concatenate([np.empty(0, dtype), *values])
        found = zarr.open_array(writer.path, mode="r")
        assert found.chunks == (chunk,)
        assert np.array_equal(found[:], expected)
        files = sorted((writer.path / "c").iterdir(), key=lambda path: int(path.name))
        written = np.concatenate([np.empty(0, dtype), *(np.fromfile(path, dtype) for path in files)])
        assert written.tobytes() == expected.tobytes() + bytes(len(expected[:1]) * (-len(expected) % chunk * expected.itemsize))
        assert writer.files == {path: (path.stat().st_size, crc32c(np.fromfile(path, np.uint8))) for path in files}
