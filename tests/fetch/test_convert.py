"""Conversions: the array of the recipe's columns, whole or not at all."""

import gzip

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.errors import UserError
from marius_lite.fetch import convert as module
from marius_lite.fetch.convert import convert
from marius_lite.fetch.recipe import ConversionSection


def made(tmp_path, sources, **given):
    conversion = ConversionSection(sources=[path.name for path in sources], to="out.npy", **given)
    convert(conversion, sources, tmp_path / "out.npy")
    return np.load(tmp_path / "out.npy")


@given(rows=st.integers(0, 40), at_once=st.integers(1, 17))
@settings(max_examples=30, deadline=None)
def test_arrays_stand_side_by_side(rows, at_once, tmp_path_factory):
    tmp, rng = tmp_path_factory.mktemp("columns"), np.random.default_rng(rows)
    pairs, ends = rng.integers(0, 99, (rows, 2)), rng.integers(0, 99, rows).astype(np.int32)
    np.save(tmp / "hr.npy", pairs)
    np.save(tmp / "t.npy", ends)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ROWS", at_once)
        found = made(tmp, [tmp / "hr.npy", tmp / "t.npy"], by="array_columns")
    if rows:
        assert (found == np.column_stack([pairs, ends])).all()
        assert found.dtype == np.int64
    assert len(found) == rows


def test_columns_of_a_dictionary_by_their_names(tmp_path):
    head, relation, tail = np.random.default_rng(0).integers(0, 99, (3, 1000))
    torch.save({"tail": tail, "head": head, "relation": relation, "head_neg": np.zeros((1000, 5), int)}, tmp_path / "f.pt")
    (tmp_path / f"{module.SCRATCH}killed").mkdir()
    found = made(tmp_path, [tmp_path / "f.pt"], by="pickled_columns", keys=["head", "relation", "tail"])
    assert (found == np.stack([head, relation, tail], 1)).all()
    (tmp_path / "out.npy").unlink()
    with pytest.raises(UserError, match="has no array edge: there are tail, head"):
        made(tmp_path, [tmp_path / "f.pt"], by="pickled_columns", keys=["edge"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f.pt"]


def test_numbers_of_a_text(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_BYTES", 1000)
    values = np.random.default_rng(0).normal(size=(300, 7)).astype(np.float32)
    values[:200, 2] = np.arange(200)  # which look like whole numbers
    with gzip.open(tmp_path / "x.csv.gz", "wt") as file:
        file.writelines(",".join(f"{value:.9g}" for value in row) + "\n" for row in values)
    found = made(tmp_path, [tmp_path / "x.csv.gz"], by="text_matrix")
    assert (found == values).all()
    assert found.dtype == np.float32


def test_a_damaged_text_leaves_no_array(tmp_path):
    with gzip.open(tmp_path / "x.csv.gz", "wt") as file:
        file.write("1,2\n3\n")
    with pytest.raises(UserError, match=r"x\.csv\.gz: damaged"):
        made(tmp_path, [tmp_path / "x.csv.gz"], by="text_matrix")
    assert not (tmp_path / "out.npy").exists()
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(b"1,2\n3,4\n" * 1000)[:40])
    with pytest.raises(UserError, match=r"x\.csv\.gz: damaged"):
        made(tmp_path, [tmp_path / "x.csv.gz"], by="text_matrix")


def test_ranges_are_all_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ROWS", 7)
    assert made(tmp_path, [], by="ranges", range=[60, 80]).tolist() == [*range(60, 80)]


def test_arrays_that_do_not_fit_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((3, 2), int))
    for other in (np.zeros(4, int), np.zeros(3), np.zeros((3, 1, 1), int)):
        np.save(tmp_path / "b.npy", other)
        with pytest.raises(UserError, match="equally many rows"):
            made(tmp_path, [tmp_path / "a.npy", tmp_path / "b.npy"], by="array_columns")
