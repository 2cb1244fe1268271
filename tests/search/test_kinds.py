"""The kind of an index fits the memory, and is the best that does."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.errors import UserError
from marius_lite.search.kinds import FEW, KINDS, LEAST_QUANTIZED, SUBSPACES, WORKING, plan_index


@settings(deadline=None)
@given(st.integers(1, 10**9), st.integers(1, 1000), st.integers(WORKING, 10**11))
def test_a_plan_keeps_to_its_memory(nodes, dim, memory):
    try:
        plan = plan_index("auto", nodes, dim, memory)
    except UserError:
        assert plan_bytes(nodes, dim) > memory
        return
    assert plan.memory <= memory
    assert plan.width >= dim
    assert not plan.subspace or plan.width % plan.subspace == 0
    assert (plan.kind == "flat") == (nodes <= FEW)
    assert 4 * plan.width * plan.learned_from(nodes, memory) <= max(memory // 8, 4 * plan.width)


def plan_bytes(nodes, dim):
    """What the smallest plan takes."""
    code = 4 * dim if nodes <= FEW else -(-dim // SUBSPACES[-1])
    return nodes * (code + 18) + WORKING


def test_more_memory_gives_finer_codes():
    kinds = [plan_index("auto", 10**7, 100, memory) for memory in (5 * 10**8, 6 * 10**8, 10**9, 10**10)]
    assert [(plan.kind, plan.subspace) for plan in kinds] == [("ivf-pq", 8), ("ivf-pq", 4), ("ivf-pq", 2), ("ivf-flat", 0)]
    assert {plan.lists for plan in kinds} == {4096}


@pytest.mark.parametrize(
    ("kind", "nodes", "words"),
    [
        ("hnsw", 1000, f"--kind hnsw: unknown: use auto, {', '.join(KINDS)}"),
        ("ivf-pq", LEAST_QUANTIZED - 1, "needs 256 nodes or more, the dataset has 255"),
        ("flat", 10**7, r"an index of 10,000,000 nodes \(flat\) needs 4.35 GB: give more with --memory, or use --kind auto"),
        ("auto", 10**9, r"\(ivf-pq\) needs 31.17 GB: give more with --memory$"),
    ],
)
def test_what_cannot_be_is_said(kind, nodes, words):
    with pytest.raises(UserError, match=words):
        plan_index(kind, nodes, 100, 10**9)
