"""Which process this is follows from the environment alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.errors import UserError
from marius_lite.machine_process import MachineProcess, speaks, this_process

PLACE = {"RANK": "1", "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "4000"}


def test_alone_without_or_with_one():
    assert this_process({}) is None
    assert this_process({"WORLD_SIZE": "1"}) is None
    assert speaks({})


def test_one_of_several_as_torchrun_says():
    assert this_process(PLACE) == MachineProcess(1, 3, "127.0.0.1", 4000)
    launched = this_process({**PLACE, "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RESTART_COUNT": "2"})
    assert launched == MachineProcess(1, 3, "127.0.0.1", 4000, True, 2)
    assert not speaks(PLACE)
    assert speaks({**PLACE, "RANK": "0"})


@pytest.mark.parametrize("missing", ["RANK", "MASTER_ADDR", "MASTER_PORT"])
def test_half_an_environment_is_refused(missing):
    with pytest.raises(UserError, match="unset WORLD_SIZE"):
        this_process({name: value for name, value in PLACE.items() if name != missing})


@pytest.mark.parametrize(
    "wrong", [("RANK", "3"), ("RANK", "-1"), ("WORLD_SIZE", "-3"), ("WORLD_SIZE", "many"), ("MASTER_PORT", "65536")]
)
def test_a_process_or_port_that_cannot_be_is_refused(wrong):
    with pytest.raises(UserError, match="unset WORLD_SIZE"):
        this_process({**PLACE, wrong[0]: wrong[1]})


@given(st.integers(1, 40), st.integers(1, 40))
def test_each_lane_is_trained_by_one_process_and_each_process_has_about_as_many(lanes, count):
    parts = [MachineProcess.lanes_of(lanes, rank, count) for rank in range(count)]
    assert [lane for part in parts for lane in part] == list(range(lanes))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
