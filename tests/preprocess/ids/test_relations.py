"""Relations are those of the edges that are read, in order of their names; keys come in order of first sight."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from preprocess_tools import make

from marius_lite.errors import UserError
from marius_lite.preprocess.ids.relations import RelationKeys


def test_keys_go_on_from_block_to_block():
    keys = RelationKeys(seed=0, memory=1 << 30)
    first = keys.add(pa.array(["b", "a", "b", "é"]).dictionary_encode())
    second = keys.add(pa.array(["c", "a"]).dictionary_encode())
    names = keys.names()
    assert [names[key] for key in (*first, *second)] == ["b", "a", "b", "é", "c", "a"]
    assert keys.add(pa.array([], pa.string()).dictionary_encode()).tolist() == []


def test_names_that_no_edge_has_are_no_relations(tmp_path):
    """As a dictionary of categories holds them."""
    names = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2], pa.int32()), pa.array(["likes", "never", "knows"]))
    pq.write_table(pa.table({"src": [1, 2, 3], "rel": names, "dst": [2, 3, 1]}), tmp_path / "e.parquet")
    assert make(tmp_path / "d", tmp_path / "e.parquet").relation_names() == ["knows", "likes"]


@pytest.mark.parametrize(
    ("names", "ordered"),
    [(["10", "9", "-1"], ["-1", "9", "10"]), (["10", "9", "x"], ["10", "9", "x"]), (["10", "9", "07"], ["07", "10", "9"])],
)
def test_integers_are_in_order_of_their_size(tmp_path, names, ordered):
    (tmp_path / "e.tsv").write_text("".join(f"{k}\t{name}\t{k + 1}\n" for k, name in enumerate(names)))
    assert [str(name) for name in make(tmp_path / "d", tmp_path / "e.tsv").relation_names()] == ordered


def test_too_many_for_the_memory():
    keys = RelationKeys(seed=0, memory=1)
    with pytest.raises(UserError, match=r"distinct relations and more, .*--columns"):
        keys.add(pa.array([f"{k:040}" for k in range(60_000)]).dictionary_encode())
    assert np.array_equal(RelationKeys(seed=0, memory=1).add(pa.array(["x"] * 3).dictionary_encode()), [0, 0, 0])
