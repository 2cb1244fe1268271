import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.graph import Partitioning


@given(st.integers(1, 5000), st.integers(1, 300))
def test_ranges_cover_every_id_once_and_none_is_empty(nodes, wished):
    p = Partitioning(nodes, wished)
    assert p.rows == -(-nodes // wished)
    assert p.partitions == -(-nodes // p.rows) <= wished
    assert [node for k in range(p.partitions) for node in p.range(k)] == list(range(nodes))
    assert all(p.size(k) for k in range(p.partitions))
    assert p.partition_of(np.arange(nodes)).tolist() == [k for k in range(p.partitions) for _ in p.range(k)]
    assert Partitioning(nodes, p.partitions).rows == p.rows


@pytest.mark.parametrize(("nodes", "partitions"), [(0, 1), (1, 0)])
def test_nothing_cannot_be_partitioned(nodes, partitions):
    with pytest.raises(ValueError, match="at least 1"):
        Partitioning(nodes, partitions)


def test_a_partition_that_is_not_there():
    for k in (-1, 3):
        with pytest.raises(ValueError, match="there are 3"):
            Partitioning(10, 3).range(k)
