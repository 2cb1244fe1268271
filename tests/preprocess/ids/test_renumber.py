"""The last ids of nodes: what is on disk is read once; names are put in order in any memory."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from marius_lite import files
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.ids import renumber
from marius_lite.preprocess.ids.id_runs import IdRunWriter
from marius_lite.preprocess.ids.numbering import ids_from
from marius_lite.preprocess.ids.renumber import Renumbering, TrainingFirst, write_nodes

NODES = 1000


@pytest.fixture
def renumbering(tmp_path):
    """Training nodes first, then places on disk; and what it does to each id."""
    rng = np.random.default_rng(0)
    codes, places = rng.integers(0, 4, NODES).astype(np.uint8), rng.permutation(NODES).astype(np.uint32)
    places.tofile(tmp_path / "places")
    first = np.argsort(np.argsort(codes != 1, kind="stable"))
    return Renumbering(TrainingFirst(codes), tmp_path / "places"), places[first]


def test_blocks_read_the_places_once(renumbering, monkeypatch):
    found, expected = renumbering
    monkeypatch.setattr(renumber, "SLICE", 64)
    reads, read = [], files.read_numbers
    monkeypatch.setattr(files, "read_numbers", lambda *a: reads.append(a) or read(*a))
    blocks = list(found.blocks(NODES))
    assert [first for first, _ in blocks] == list(range(0, NODES, 64))
    assert np.concatenate([ids for _, ids in blocks]).tolist() == expected.tolist()
    apply = found.open()
    assert len(reads) == 2
    some = np.array([7, 3, 999, 7] * 50, np.uint32)
    assert apply(some).tolist() == expected[some].tolist()
    assert len(reads) == 2
    assert found.apply(some).tolist() == expected[some].tolist()


def test_ids_that_stay(tmp_path):
    ids = np.arange(5, dtype=np.uint32)
    assert Renumbering().open()(ids) is ids


def run_of(kind, folder):
    """1000 raw ids in the order of the first numbering."""
    writer = IdRunWriter(folder, kind)
    if kind == "int":
        writer.append_ints(np.arange(NODES) * 7 + 1)
        return writer.close(), [7 * number + 1 for number in range(NODES)]
    names = [f"name {'x' * (number % 13)} {number}" for number in range(NODES)]
    writer.append_strings(np.cumsum([0, *map(len, names)]), np.frombuffer("".join(names).encode(), np.uint8))
    return writer.close(), names


@pytest.mark.parametrize("kind", ["int", "str"])
@pytest.mark.parametrize("memory", [1, 800, 5000, 40_000, 1 << 30])
def test_names_by_their_last_id(renumbering, tmp_path, monkeypatch, kind, memory):
    found, expected = renumbering
    monkeypatch.setattr(renumber, "TAKEN_AT_ONCE", 17)
    raw_ids, names = run_of(kind, tmp_path / "run")
    opened, new_stream = [], pa.ipc.new_stream

    class Writer:
        """Knows how many are open."""

        now = most = 0

        def __init__(self, *arguments):
            opened.append(arguments)
            self._inner = new_stream(*arguments)
            self.write_batch = self._inner.write_batch
            Writer.now += 1
            Writer.most = max(Writer.most, Writer.now)

        def close(self):
            self._inner.close()
            Writer.now -= 1

    monkeypatch.setattr(pa.ipc, "new_stream", Writer)
    monkeypatch.setattr(renumber, "MOST_STRETCHES", 20)
    write_nodes(tmp_path / "nodes.parquet", raw_ids, found, Partitioning(NODES, 7), tmp_path / "names", memory)
    table = pq.read_table(tmp_path / "nodes.parquet")
    assert table["node_id"].to_pylist() == list(range(NODES))
    assert [table["raw_id"][place].as_py() for place in expected.tolist()] == names
    assert not (tmp_path / "names").exists()
    assert Writer.most <= renumber.MOST_STRETCHES
    assert Writer.now == 0
    assert (len(opened) == 0) == (memory == 1 << 30)


def test_the_last_id_of_32_bits():
    assert ids_from(2**32 - 2, 2, np.uint32).tolist() == [2**32 - 2, 2**32 - 1]
