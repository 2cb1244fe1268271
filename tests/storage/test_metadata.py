"""The documents that describe arrays and groups are, byte for byte, those that Zarr's library writes; it reads the arrays."""

import json
import subprocess
import sys

import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from marius_lite.storage.metadata import DOCUMENT, create_group, describe_array, read_description
from marius_lite.storage.small_arrays import write_array

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]
sizes = st.integers(1, 10**12)
texts = st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.lists(st.integers()))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(dtype=st.sampled_from(DTYPES), shape=st.lists(st.tuples(sizes, sizes), min_size=1, max_size=3), attributes=texts)
def test_an_array_is_described_as_by_zarr(tmp_path_factory, dtype, shape, attributes):
    folder = tmp_path_factory.mktemp("arrays")
    lengths, chunks = zip(*shape)
    zarr.create_array(
        folder / "theirs",
        shape=lengths,
        chunks=chunks,
        dtype=dtype,
        compressors=None,
        filters=None,
        fill_value=0,
        zarr_format=3,
        attributes=attributes,
    )
    describe_array(folder / "ours", dtype, lengths, chunks, attributes)
    assert (folder / "ours" / DOCUMENT).read_bytes() == (folder / "theirs" / DOCUMENT).read_bytes()
    found = read_description(folder / "theirs")
    assert (found.shape, found.chunks, found.dtype, found.raw) == (lengths, chunks, np.dtype(dtype), True)
    assert found.attributes == attributes


def test_a_group_is_described_as_by_zarr(tmp_path):
    zarr.create_group(tmp_path / "theirs", zarr_format=3)
    create_group(tmp_path / "ours" / "inner")
    written = (tmp_path / "ours" / "inner" / DOCUMENT).read_bytes()
    assert written == (tmp_path / "theirs" / DOCUMENT).read_bytes()
    assert [path.name for path in (tmp_path / "ours" / "inner").iterdir()] == [DOCUMENT]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3,), (4, 5), (1, 1)])
def test_zarr_reads_a_small_array(tmp_path, dtype, shape):
    values = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    write_array(tmp_path / "a", values.T.copy().T)  # columns beside each other in memory
    assert np.array_equal(zarr.open_array(tmp_path / "a", mode="r")[...], values)


@pytest.mark.parametrize(
    ("changes", "raw"),
    [
        ({"codecs": [{"name": "bytes", "configuration": {"endian": "big"}}]}, False),
        ({"codecs": [{"name": "bytes"}, {"name": "zstd"}]}, False),
        ({"chunk_grid": {"name": "rectangular", "configuration": {"chunk_shape": [2]}}}, False),
        ({"fill_value": 7}, True),
    ],
)
def test_only_bare_numbers_are_raw(tmp_path, changes, raw):
    describe_array(tmp_path / "a", "int32", [3], [2])
    file = tmp_path / "a" / DOCUMENT
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    assert read_description(tmp_path / "a").raw is raw


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"zarr_format": 2, "node_type": "array"}', '"zarr"', "7"])
def test_what_describes_no_array_is_an_error(tmp_path, text):
    (tmp_path / DOCUMENT).write_text(text)
    with pytest.raises((ValueError, KeyError, TypeError, IndexError)):
        read_description(tmp_path)


def test_datasets_and_tables_are_opened_without_zarr_which_takes_a_third_of_a_second():
    modules = "marius_lite.graph.dataset, marius_lite.preprocess.make, marius_lite.storage.table"
    subprocess.run([sys.executable, "-c", f"import sys, {modules}; assert 'zarr' not in sys.modules"], check=True)
