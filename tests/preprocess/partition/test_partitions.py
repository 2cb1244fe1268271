import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.preprocess.partition.partitions import choose_partitions


@given(st.integers(1, 10**10), st.integers(1, 10**12))
def test_a_power_of_two_within_its_bounds(nodes, edges):
    p = choose_partitions(nodes, edges)
    assert p in (1, 2, 4, 8, 16, 32, 64)
    assert p == 1 or (edges / p**2 >= 20_000 and nodes / p >= 1000)
    assert p == 64 or edges / (2 * p) ** 2 < 20_000 or nodes / (2 * p) < 1000


@pytest.mark.parametrize(
    ("nodes", "edges", "p"), [(14_541, 310_116, 2), (1_000_000, 20_000_000, 16), (10_000_000, 100_000_000, 64), (900, 10**9, 1)]
)
def test_known_graphs(nodes, edges, p):
    assert choose_partitions(nodes, edges) == p
