"""The documents of groups and arrays are those that zarr writes, byte for byte, and it reads them."""

import subprocess
import sys

import numpy as np
import pytest
import zarr

from marius_lite.storage.metadata import create_group, describe_array, describe_column, read_description
from marius_lite.storage.small_arrays import write_array

ATTRIBUTES = {"values": [0, 8], "decoder": "dot", "place": 'a "ü"', "none": None, "half": 0.5}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32"])
def test_an_array_is_described_as_zarr_does(tmp_path, dtype):
    describe_array(tmp_path / "ours", dtype, (10, 4), (3, 4), ATTRIBUTES)
    zarr.create_array(
        tmp_path / "theirs",
        shape=(10, 4),
        chunks=(3, 4),
        dtype=dtype,
        compressors=None,
        filters=None,
        fill_value=0,
        attributes=ATTRIBUTES,
    )
    ours, theirs = ((tmp_path / name / "zarr.json").read_bytes() for name in ("ours", "theirs"))
    assert ours == theirs
    found = read_description(tmp_path / "theirs")
    assert (found.shape, found.chunks, found.dtype, found.raw) == ((10, 4), (3, 4), np.dtype(dtype), True)
    assert found.attributes == ATTRIBUTES


def test_groups_and_columns_are_zarrs(tmp_path):
    create_group(tmp_path / "ours")
    zarr.create_group(tmp_path / "theirs", zarr_format=3)
    assert (tmp_path / "ours/zarr.json").read_bytes() == (tmp_path / "theirs/zarr.json").read_bytes()
    describe_column(tmp_path / "ours/empty", np.uint32, 0, 1)
    assert zarr.open_group(tmp_path / "ours", mode="r")["empty"].shape == (0,)


@pytest.mark.parametrize("values", [np.arange(6), np.arange(6, dtype=np.uint32).reshape(3, 2), np.empty(0, np.int64)])
def test_zarr_reads_small_arrays(tmp_path, values):
    write_array(tmp_path / "a", values)
    found = zarr.open_array(tmp_path / "a", mode="r")
    assert found.dtype == values.dtype
    assert np.array_equal(found[...], values)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "no description"),
        ("{}", "no description"),
        ('{"zarr_format": 3, "node_type": "group"}', "describes no array"),
        ('{"zarr_format": 3, "node_type": "array", "codecs": [], "shape": [1.5]}', "no description|lengths should be"),
        ("{", "Expecting"),
    ],
)
def test_other_documents_are_refused(tmp_path, text, says):
    (tmp_path / "zarr.json").write_text(text)
    with pytest.raises(ValueError, match=says):
        read_description(tmp_path)


def test_datasets_are_made_and_read_without_loading_zarr(tmp_path):
    (tmp_path / "edges.tsv").write_text("a\tb\nb\tc\n")
    code = (
        "import sys, marius_lite as ml; ml.make_dataset('edges.tsv', 'd'); ml.update_dataset('d', 'edges.tsv'); "
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'zarr', 'torch'}))"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
