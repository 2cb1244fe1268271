"""Blocks of edges on disk, and keys of their own."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.preprocess.disk.spool import Spool, SpooledEdges, SpoolShape, read_spool

ENDS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=20)


def edges(ends):
    """Edges of split 1 and dictionary 2, each with a word beside it."""
    src, dst = np.array(ends, np.uint32).reshape(-1, 2).T
    return SpooledEdges(1, 2, src, src * 0, dst, np.arange(len(src), dtype=np.uint64)[:, None])


@given(ENDS)
def test_keys_of_their_own_stand_for_the_same_nodes(ends):
    before = edges(ends)
    found, ids = before.with_own_keys(before.src, before.dst)
    np.testing.assert_array_equal(ids[found.src], before.src)
    np.testing.assert_array_equal(ids[found.dst], before.dst)
    np.testing.assert_array_equal(found.src == found.dst, before.src == before.dst)
    assert (found.split, found.dictionary) == (1, 2)
    assert found.carried is before.carried


def test_blocks_are_read_as_they_were_written(tmp_path):
    shape = SpoolShape(relations=False, carried=("weight",))
    spool = Spool(tmp_path / "spool", 3, shape)
    for ends in ([(0, 1)], [(2, 3), (4, 5)], [(1, 1)]):
        spool.append(edges(ends))
    spool.close()
    first, second = read_spool(tmp_path / "spool", spool.blocks, shape)
    assert [first.src.tolist(), first.dst.tolist(), second.src.tolist()] == [[0, 2, 4], [1, 3, 5], [1]]
    assert first.carried.tolist() == [[0], [0], [1]]
    assert not first.rel.any()
