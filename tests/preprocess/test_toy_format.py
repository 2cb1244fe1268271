"""A format of edge files is one description, and a line in one table: a toy one, defined here, is read as the others are."""

import pyarrow as pa
import pytest
from preprocess_tools import decoded, make

from marius_lite.errors import UserError
from marius_lite.graph.report import read_report
from marius_lite.preprocess.formats import FORMATS
from marius_lite.preprocess.readers.format import Format
from marius_lite.preprocess.readers.raw import RawEdges

# --8<-- [start:shown]
TITLE = b"toy graph\n"


class ToyReader:
    """A title, then a line ``source > destination`` for each edge."""

    kind, columns, nodes, titles = "str", 2, None, ()
    description = "a toy graph"

    def __init__(self, stream):
        self._stream = stream
        self._lines = stream.read(1 << 20).removeprefix(TITLE).decode().splitlines()

    @property
    def checksum(self):
        return self._stream.checksum

    def close(self):
        self._stream.close()

    def rows_expected(self):
        return len(self._lines)

    def read(self, kind):
        for at in range(0, len(self._lines), 100):
            src, dst = zip(*(line.split(" > ") for line in self._lines[at : at + 100]))
            yield RawEdges(pa.array(src), None, pa.array(dst))


FORMAT = Format(lambda opening: opening.of_stream(ToyReader), begins=lambda head: head.startswith(TITLE), own_columns=True)


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A file of 250 edges, in a format that is registered by a line."""
    monkeypatch.setitem(FORMATS, "toy", f"{__name__}:FORMAT")
    # --8<-- [end:shown]
    path = tmp_path / "edges.any"
    path.write_bytes(TITLE + b"".join(b"n%d > n%d\n" % (n, n + 1) for n in range(250)))
    return path


@pytest.mark.parametrize("format", ["auto", "toy"])
def test_a_file_of_it_is_preprocessed(toy, format):
    dataset = make(toy.parent / "d", toy, format=format)
    assert decoded(dataset) == {(f"n{n}", "", f"n{n + 1}"): 1 for n in range(250)}
    assert read_report(dataset.path)["read_as"] == {"a toy graph, ids str": 1}


def test_what_it_allows(toy):
    with pytest.raises(UserError, match=r"not a gr file \(it looks like toy\)"):
        make(toy.parent / "d", toy, format="gr")
    with pytest.raises(UserError, match=r"a toy file says itself what its columns are: leave out --columns$"):
        make(toy.parent / "d", toy, columns="src,dst")
    with pytest.raises(UserError, match="weights and times are not read from a toy file"):
        make(toy.parent / "d", toy, edge_weight="w")


def test_it_is_named_among_the_others(toy):
    with pytest.raises(UserError, match=r"--format other: unknown: use one of auto, text, .*, torch, toy$"):
        make(toy.parent / "d", toy, format="other")


def test_without_its_line_it_is_unknown(toy, monkeypatch):
    monkeypatch.delitem(FORMATS, "toy")
    with pytest.raises(UserError, match="--format toy: unknown"):
        make(toy.parent / "d", toy, format="toy")
