"""The memory planned for native scoring covers the rooms that csrc/score/shared_loss.cpp makes."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from marius_lite.config.load import load
from marius_lite.config.memory import _native_bytes, workspace_bytes


def up_to(count, size):
    return -(-count // size) * size


def rooms(queries, count, dim, chunks, rounds, threads):
    """Bytes of the rooms of every kernel, by what the C++ says of them."""
    slices = 1 if chunks >= threads else max(1, min(-(-4 * threads // chunks), max(1, -(-count // 96))))
    at_once = min(threads, chunks) if slices == 1 else 1
    most = 0
    for width in (4, 8, 16):
        wide_block = 2 * width
        fitting = (8 << 20) // (at_once * max(1, count) * wide_block)
        blocks = max(1, min(fitting, max(1, min(-(-queries // wide_block), 8))))
        each = -(-count // slices)
        scores = blocks * up_to(each, 2) * wide_block
        numbers = scores + blocks * dim * wide_block + blocks * wide_block * up_to(dim, width) + 3 * blocks * wide_block
        if rounds:
            numbers += scores / 2 + each * -(-dim // 2) + -(-each // 2) * up_to(dim, width)
        most = max(most, at_once * (slices * 4 * numbers + 4 * blocks * dim * wide_block))
    return most


def rooms_of_tiles(queries, count, dim, chunks, threads):
    """Bytes of the rooms of the kernel whose products are tiles, by what the C++ says of them."""
    shared = 1 if chunks >= threads else max(1, min(-(-4 * threads // chunks), max(1, -(-count // 96))))
    at_once = min(threads, chunks) if shared == 1 else 1
    longest = max((4 << 20) // (4 * dim + 4 * 6 * 32) // 32, 4) * 32
    slices = max(shared, -(-count // longest))
    blocks = max(1, min(2 * (8 << 20) // (at_once * max(1, count) * 32), max(1, min(-(-queries // 32), 16))))
    rows = min(count, -(-up_to(count, 32) // 32 // slices) * 32)
    all_rows = up_to(rows, 32)

    def apart(words):
        return (-(-words // 16) | 1) * 16

    scores = blocks * all_rows * 16 + 4 * all_rows * 32
    gradients = blocks * up_to(dim, 16) * 32 + blocks * 16 * apart(dim) + 3 * blocks * 32
    numbers = scores + 4 * all_rows * 16 + gradients + all_rows * apart(-(-dim // 2)) + up_to(dim, 16) * apart(-(-rows // 2))
    return at_once * (slices * 4 * numbers + 4 * blocks * up_to(-(-dim // 2), 16) * 32)


@example(97, 4370, 1, 15, False, 15)  # three blocks of 32 queries are allowed, or seven of 16
@settings(max_examples=500)
@given(
    st.integers(1, 20_000), st.integers(1, 5_000), st.integers(1, 1_100), st.integers(1, 40), st.booleans(), st.integers(1, 64)
)
def test_rooms_fit_the_plan(queries, count, dim, chunks, rounds, threads):
    planned = _native_bytes((queries, count, dim), chunks, rounds, threads)
    assert rooms(queries, count, dim, chunks, rounds, threads) <= planned
    assert not rounds or rooms_of_tiles(queries, count, dim, chunks, threads) <= planned


@pytest.mark.parametrize("precision", ["float32", "mixed"])
def test_relations_are_planned_as_candidates(precision):
    few = [
        f"training.precision={precision}",
        "training.scoring=auto",
        "model.decoder=complex",
        "model.dim=512",
        "negatives.count=100",
    ]
    plain, ranking = load(sets=few), load(sets=[*few, "loss.relation_weight=0.1"])
    relations = 30_000
    more = workspace_bytes(ranking, relations, 10_000, 16) - workspace_bytes(plain, relations, 10_000, 16)
    assert more > 4 * relations * 8 * 32  # the scores of a group of queries
