"""Feature files that are none: one line that says what, where and what to do."""

import io
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from preprocess_tools import make

from marius_lite.errors import UserError
from marius_lite.preprocess.readers.array_file import ArrayFile
from marius_lite.preprocess.readers.features import FeatureFile


def saved(array, **options):
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def with_value(value, dtype):
    array = np.zeros((3, 4), dtype)
    array[1, 2] = value
    return saved(array)


GOOD = saved(np.zeros((3, 4), np.float32))
CASES = {
    "one-dimensional": (saved(np.zeros(3, np.float32)), r"an array of float32, shape \(3,\): save a two-dim"),
    "three-dimensional": (saved(np.zeros((3, 2, 2))), r"shape \(3, 2, 2\)"),
    "no rows": (saved(np.zeros((0, 4))), r"shape \(0, 4\)"),
    "no columns": (saved(np.zeros((3, 0))), r"shape \(3, 0\)"),
    "texts": (saved(np.full((3, 4), "a")), "an array of <U1"),
    "complex": (saved(np.zeros((3, 4), np.complex64)), "an array of complex64"),
    "objects": (saved(np.full((3, 4), None), allow_pickle=True), "pickled Python objects"),
    "records": (saved(np.zeros((3, 4), [("a", "f4")])), "an array of"),
    "by column": (saved(np.zeros((4, 3)).T), r"Fortran order.*ascontiguousarray"),
    "cut short": (GOOD[:-1], "175 bytes where .* makes 176: cut short"),
    "cut in the header": (GOOD[:40], "not a readable .npy array"),
    "two arrays": (GOOD + GOOD, "something follows the array"),
    "no array": (b"1,2\n3,x\n5,6\n", "invalid value 'x'"),
    "archive": (b"PK\x03\x04" + bytes(30), "damaged or cut short"),
    "empty": (b"", "empty text"),
    "not a number": (with_value(np.nan, np.float32), "a finite float32: replace the value, for example by the column's mean"),
    "half not a number": (with_value(np.nan, np.float16), "row 1, column 2: nan: every feature must be a finite float16"),
    "infinite": (with_value(-np.inf, np.float64), "row 1, column 2: -inf"),
    "too large": (with_value(1e300, np.float64), r"row 1, column 2: 1e\+300: every feature must be a finite float32"),
}


@pytest.mark.parametrize(("content", "message"), CASES.values(), ids=list(CASES))
def test_bad_feature_file(tmp_path, content, message):
    (tmp_path / "x.npy").write_bytes(content)
    (tmp_path / "e.tsv").write_text("0\t1\n1\t2\n")
    with pytest.raises(UserError, match=rf"x\.npy: .*{message}") as raised:
        make(tmp_path / "d", tmp_path / "e.tsv", features=tmp_path / "x.npy")
    assert "\n" not in str(raised.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e.tsv", "x.npy"]


@settings(max_examples=200, deadline=None)
@given(st.integers(8, 127), st.binary(min_size=1, max_size=8))
def test_a_damaged_header_is_refused_or_read_as_it_says(tmp_path_factory, at, junk):
    path = tmp_path_factory.getbasetemp() / "damaged.npy"
    path.write_bytes(GOOD[:at] + junk + GOOD[at + len(junk) :])
    with suppress(UserError):
        assert ArrayFile(path, "").size == path.stat().st_size


@pytest.mark.parametrize("block", [1, 2, 5, 100])
@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_blocks_are_the_array_in_order(tmp_path, block, version):
    array = np.arange(21, dtype=">f8").reshape(7, 3)
    with open(tmp_path / "x.npy", "wb") as file:
        np.lib.format.write_array(file, array, version)
    found = list(FeatureFile(tmp_path / "x.npy").blocks(block))
    assert [first for first, _ in found] == list(range(0, 7, block))
    assert np.array_equal(np.concatenate([rows for _, rows in found]), array.astype(np.float32))


def test_the_place_of_a_bad_number_counts_from_the_files_start(tmp_path):
    array = np.zeros((1000, 5), np.float32)
    array[777, 3] = np.inf
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(UserError, match="row 777, column 3: inf"):
        list(FeatureFile(tmp_path / "x.npy").blocks(10))


def lines_of(tmp_path, column, type, source=np.float64):
    beside = np.random.default_rng(0).normal(size=len(column))
    np.save(tmp_path / "x.npy", np.stack([beside, column], 1).astype(source))
    file = FeatureFile(tmp_path / "x.npy", type)
    file.attributes(1000)
    assert file.warnings == []
    for _ in file.blocks(1000):
        pass
    return file.warnings


@pytest.mark.parametrize(
    ("column", "type", "off"),
    [
        (1.7e9 + np.arange(3600), "auto", "64 as float32"),  # seconds of an hour
        (np.arange(3000) % 30 + 1990, "int8", "7.9 as int8"),  # years
        (np.arange(3000) % 30 + 1990, "bfloat16", "4 as bfloat16"),
        (np.arange(3000) / 3000 + 1000, "float16", "0.25 as float16"),
    ],
)
def test_numbers_that_are_hardly_told_apart_as_stored_are_said(tmp_path, column, type, off):
    (line,) = lines_of(tmp_path, column, type)
    assert line.startswith(f"{tmp_path / 'x.npy'}: column 1 of the features: numbers up to")
    assert f"are off by {off}: subtract the column's mean from it" in line
    assert ("--feature-dtype float32" in line) == (type != "auto")


@pytest.mark.parametrize("type", ["auto", "float16", "bfloat16", "int8"])
@pytest.mark.parametrize(
    "column",
    [
        np.full(500, 0.1),
        np.random.default_rng(1).normal(size=500),
        np.random.default_rng(1).exponential(100, 500),
        np.arange(500) % 2,
    ],
    ids=["constant", "normal", "long tail", "flags"],
)
def test_numbers_that_are_told_apart_are_not(tmp_path, type, column):
    assert lines_of(tmp_path, column, type) == []
    assert lines_of(tmp_path, column, type, np.float32) == []


def test_what_is_said_of_features_is_printed(tmp_path, cli, capfd):
    np.save(tmp_path / "x.npy", np.stack([1.7e9 + np.arange(2), np.arange(2)], 1))
    (tmp_path / "e.tsv").write_text("0\t1\n1\t0\n")
    assert cli("preprocess", tmp_path / "e.tsv", "--features", tmp_path / "x.npy", "--output", tmp_path / "d") == 0
    assert "x.npy: column 0 of the features: numbers up to 1.7e+09 that differ by 1 are off by" in capfd.readouterr().err
