"""The bytes of an epoch, counted from its plan, against the closed formulas."""

import pytest

from marius_lite.config.load import load
from marius_lite.estimate import MovedSizes, traffic
from marius_lite.ordering import beta_swaps, comet_shape, make_plan, spare_slots


def one_epoch(ordering, p, c, prefetch=False):
    """Traffic of an epoch that begins with an empty buffer, whose partitions hold 1,000 bytes."""
    config = load(sets=[f"storage.capacity={c}", f"storage.ordering={ordering}", f"storage.prefetch={str(prefetch).lower()}",
                        "training.epochs=2", "evaluation.every_epochs=1"])
    slots = c + (spare_slots(ordering, p, c) if prefetch else 0)
    sizes = MovedSizes(1000, 0, [0] * p, 120)
    return list(traffic(config, lambda epoch: make_plan(ordering, p, c, 0, epoch), sizes, p, slots))[1]


@pytest.mark.parametrize(("p", "c"), [(8, 2), (16, 4), (16, 5), (64, 8)])
def test_beta_bytes_meet_the_formula(p, c):
    moved = one_epoch("beta", p, c)
    assert moved.rows_written == (beta_swaps(p, c) + c) * 1000
    assert moved.rows_read in (moved.rows_written, moved.rows_written - 1000)  # the evaluation before left one resident


def test_comet_bytes_meet_the_formula():
    l, held = comet_shape(16, 4)
    moved = one_epoch("comet", 16, 4)
    assert moved.rows_written == (beta_swaps(l, held) + held) * 16 // l * 1000 == 58000
    assert moved.rows_read in (58000, 57000)


@pytest.mark.parametrize(("ordering", "p", "c"), [("comet", 16, 4), ("comet", 32, 8), ("beta", 16, 4)])
def test_prefetching_into_spare_slots_saves_reads(ordering, p, c):
    assert one_epoch(ordering, p, c, prefetch=True).rows_read < one_epoch(ordering, p, c).rows_read
