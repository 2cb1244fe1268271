"""Narrow types: within their bounds of the given values, read back decoded."""

import json
import tempfile
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from preprocess_tools import make

from marius_lite.errors import UserError
from marius_lite.graph import Dataset
from marius_lite.preprocess import plan

FLOATS = st.floats(-(2.0**99), 2.0**99, width=32)
MATRICES = arrays(np.float32, st.tuples(st.integers(1, 20), st.integers(1, 20)), elements=FLOATS)


def featured(folder, array, **options):
    np.save(folder / "e.npy", [[0, len(array) - 1]])
    np.save(folder / "x.npy", array)
    return make(folder / "d", folder / "e.npy", features=folder / "x.npy", **options)


def everything(dataset, read):
    return np.concatenate([read(k) for k in range(dataset.partitioning.partitions)])


@settings(max_examples=12, deadline=None)
@given(MATRICES, st.sampled_from(["float32", "float64"]), st.integers(1, 4), st.sampled_from([100, 10**6]))
def test_int8_is_within_half_a_scale(array, given_as, partitions, memory):
    with tempfile.TemporaryDirectory() as name, patch.object(plan, "pass_memory", lambda _: memory):
        dataset = featured(Path(name), array.astype(given_as), feature_dtype="int8", partitions=partitions)
        raw = dataset.raw_ids(0, len(array)).to_numpy()
        stored, values = (everything(dataset, read) for read in (dataset.features.read, dataset.features.values))
        assert (stored.dtype, values.dtype) == (np.int8, np.float32)
        scales = dataset.features.scales
        largest = np.abs(array).max(0)
        assert np.allclose(scales, np.where(largest / 127 > 0, largest / 127, 1), rtol=1e-6, atol=1e-44)
        assert np.array_equal(values, stored * scales)
        normal = largest > 1e-35  # below, a scale has fewer bits
        error = np.abs(values.astype(np.float64) - array[raw])[:, normal]
        assert (error <= largest[normal] / 254 * (1 + 1e-5)).all()


@settings(max_examples=12, deadline=None)
@given(MATRICES, st.integers(1, 4))
def test_bfloat16_is_rounded_as_torch_rounds(array, partitions):
    with tempfile.TemporaryDirectory() as name:
        dataset = featured(Path(name), array, feature_dtype="bfloat16", partitions=partitions)
        raw = dataset.raw_ids(0, len(array)).to_numpy()
        expected = torch.from_numpy(array[raw]).bfloat16()
        stored = everything(dataset, dataset.features.read)
        assert np.array_equal(stored, expected.view(torch.uint16).numpy())
        assert np.array_equal(everything(dataset, dataset.features.values), expected.float().numpy())


@pytest.mark.parametrize("type", ["auto", "float16", "float32"])
@pytest.mark.parametrize("given_as", [np.float16, np.float32, np.int32])
def test_floats(tmp_path, type, given_as):
    array = np.arange(60).reshape(20, 3).astype(given_as)
    dataset = featured(tmp_path, array, feature_dtype=type)
    kept = "float16" if given_as == np.float16 else "float32"
    assert dataset.features.dtype == dataset.features.type == (kept if type == "auto" else type)
    assert np.array_equal(dataset.features.values(0), array[dataset.raw_ids(0, 20).to_numpy()])
    assert dataset.features.values(0).dtype == np.float32


def test_what_is_said_of_narrow_types(tmp_path):
    array = np.array([[1, 127], [0.5, 0], [-1, 3]], np.float32)
    for type in ("int8", "bfloat16"):
        dataset = featured(tmp_path, array, feature_dtype=type, overwrite=True)
        assert dataset.manifest.features.model_dump() == {"width": 2, "dtype": type}
        assert dataset.manifest.options["feature_dtype"] == type
        assert dataset.features.table.attributes["type"] == type
        report = json.loads((tmp_path / "d/report.json").read_text())["features"]
        assert (report["dtype"], report["source_dtype"], report["converted"]) == (type, "float32", True)
        dataset.verify()
        rows = dataset.features.table.read_rows(0, [2, 0], slice(0, 2))
        assert np.array_equal(dataset.features.decode(rows), dataset.features.values(0)[[2, 0]])
    dataset = featured(tmp_path, array, overwrite=True)
    assert "type" not in dataset.features.table.attributes
    assert "feature_dtype" not in dataset.manifest.options


@pytest.mark.parametrize(("type", "value"), [("float16", 70000), ("bfloat16", 3.4e38), ("int8", np.inf), ("bfloat16", np.nan)])
def test_values_that_do_not_fit(tmp_path, type, value):
    array = np.zeros((5, 3), np.float32)
    array[3, 1] = value
    with pytest.raises(UserError, match=rf"x\.npy: row 3, column 1: .*: every feature must be a finite {type}"):
        featured(tmp_path, array, feature_dtype=type)


def test_wrong_types(tmp_path):
    with pytest.raises(UserError, match="--feature-dtype int4: unknown: use one of auto, float32, float16, bfloat16, int8"):
        featured(tmp_path, np.ones((3, 3)), feature_dtype="int4")
    with pytest.raises(UserError, match="--feature-dtype int8: there are no features"):
        make(tmp_path / "d", tmp_path / "e.npy", feature_dtype="int8")


def test_scales_are_under_a_checksum(tmp_path):
    featured(tmp_path, np.ones((3, 3), np.float32), feature_dtype="int8")
    path = tmp_path / "d/tables/features/zarr.json"
    path.write_text(path.read_text().replace("0.00787401", "0.00787402"))
    with pytest.raises(UserError, match="does not match its checksum"):
        Dataset.open(tmp_path / "d").verify()
