"""Options that say how text is read are refused where nothing is text, and hold where any file is."""

import numpy as np
import pytest
from preprocess_tools import make

from marius_lite.errors import UserError

GIVEN = [{"delimiter": ";"}, {"header": "no"}, {"comment": "%"}]


@pytest.fixture
def folder(tmp_path):
    np.save(tmp_path / "e.npy", np.stack([np.arange(5), np.arange(1, 6)], axis=1))
    np.save(tmp_path / "y.npy", np.arange(6) % 2)
    (tmp_path / "e.csv").write_text("".join(f"{n};{n + 1}\n" for n in range(5)))
    (tmp_path / "types.csv").write_text("".join(f"{n};t{n % 2}\n" for n in range(6)))
    (tmp_path / "e.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 3\n")
    return tmp_path


@pytest.mark.parametrize("given", GIVEN, ids=str)
@pytest.mark.parametrize("edges", ["e.npy", "e.mtx"])
def test_they_are_refused_without_text(folder, edges, given):
    labels = {"labels": folder / "y.npy"} if edges == "e.npy" else {}
    said = f"--{next(iter(given))}: says how delimited text is read, but the edges are {edges.partition('.')[2]}: leave out"
    with pytest.raises(UserError, match=said):
        make(folder / "d", folder / edges, **labels, **given)


@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_they_hold_where_any_file_is_text(folder, given):
    assert make(folder / "one", [folder / "e.npy", folder / "e.csv"], **given).manifest.edges["train"] == 10
    assert make(folder / "two", folder / "e.npy", node_types=folder / "types.csv", **given).manifest.nodes == 6
