"""A ranking has the memory that nothing else needs, within what is allowed, and never less than was planned."""

from dataclasses import replace

import pytest

from marius_lite.config.load import load
from marius_lite.config.memory import EVALUATION_BYTES, MOST_RANKING_BYTES, MemoryPlan, ranking_bytes

MB = 1 << 20
PLAN = MemoryPlan(2, 0, 50 * MB, 1000, buffer=100 * MB, edges=20 * MB, workspace=30 * MB, evaluation=EVALUATION_BYTES)


def bytes_of(memory, trains, device="cpu", plan=PLAN):
    return ranking_bytes(load(sets=[f"storage.memory={memory}", f"device={device}"]), plan, trains)


@pytest.mark.parametrize(
    ("left", "trains", "expected"),
    [(0, True, 96), (0, False, 146), (40, True, 136), (40, False, 186), (4000, True, 512), (4000, False, 512), (-10, True, 96)],
)
def test_it_has_what_is_left(left, trains, expected):
    assert bytes_of(PLAN.total + left * MB, trains) == expected * MB <= MOST_RANKING_BYTES


def test_beside_training_on_a_gpu_it_has_what_is_planned():
    assert bytes_of(PLAN.total + 4000 * MB, True, "cuda") == EVALUATION_BYTES
    assert bytes_of(PLAN.total + 4000 * MB, False, "cuda") == MOST_RANKING_BYTES


def test_a_run_that_never_evaluates_has_planned_none():
    """Then `eval` has what is left of the memory, and no more."""
    never = replace(PLAN, evaluation=0)
    assert bytes_of(never.buffer + 200 * MB, False, plan=never) == 200 * MB


def test_what_an_evaluation_needs_beside_its_blocks_is_not_left():
    """The plan of an encoder has degrees there."""
    more = replace(PLAN, evaluation=PLAN.evaluation + 40 * MB)
    assert bytes_of(more.total, False, plan=more) == bytes_of(PLAN.total, False)
