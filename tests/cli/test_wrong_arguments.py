"""Arguments that only a program can give wrong are refused in one line, which says what to give."""

import numpy as np
import pyarrow as pa
import pytest

import marius_lite as ml
from marius_lite.errors import UserError

EDGES = "a\tb\nb\tc\n"


@pytest.fixture
def dataset(tmp_path):
    (tmp_path / "e.tsv").write_text(EDGES)
    ml.make_dataset(tmp_path / "e.tsv", tmp_path / "d")
    return tmp_path / "d"


def test_a_dict_is_no_configuration(dataset, tmp_path):
    for given in ({}, {"training": {"epochs": 1}}, "gnn.yaml"):
        with pytest.raises(UserError, match=f"found {type(given).__name__}: make a configuration"):
            ml.train_run(dataset, tmp_path / "r", given)
        with pytest.raises(UserError, match="make a configuration"):
            ml.plan_run(dataset, given)
    assert not (tmp_path / "r").exists()


def test_an_unknown_option_is_told_with_the_nearest(dataset, tmp_path):
    with pytest.raises(UserError, match="option 'column': unknown: did you mean 'columns'"):
        ml.make_dataset(tmp_path / "e.tsv", tmp_path / "o", column="src,dst")
    with pytest.raises(UserError, match="option 'memry': unknown: did you mean 'memory'"):
        ml.update_dataset(dataset, tmp_path / "e.tsv", memry="1GB")


@pytest.mark.parametrize("frame", [pa.table({"a": ["a"], "b": ["c"]}), np.array([[1, 2]]), [("a", "b")], None])
def test_update_says_that_it_reads_files(dataset, frame):
    with pytest.raises(UserError, match=f"found {type(frame).__name__}: update reads files"):
        ml.update_dataset(dataset, frame)
