"""Arrays of any types, side by side: what arrives is what was put, and addresses are where they say."""

import ctypes

import numpy as np
import pytest
from emulated import accelerator
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from marius_lite.device.packet import ALIGNMENT, Packet

ARRAY = st.sampled_from([np.int32, np.int64]).flatmap(lambda kind: arrays.arrays(kind, st.integers(0, 50)))


@settings(deadline=None)
@given(st.lists(ARRAY, max_size=8))
def test_what_arrives_is_what_was_put(host_library, given):
    device, _ = accelerator(host_library)
    packet = Packet(device, sum(array.nbytes for array in given))
    for _ in range(2):
        packet.clear()
        sent = [*packet.put(given[:3]), *packet.put(given[3:])]
        packet.send(0)
        for array, here in zip(given, sent, strict=True):
            np.testing.assert_array_equal(here.tensor.numpy(), array)
            [behind] = packet.put([array[:0]])
            assert (here.device - behind.device) % ALIGNMENT == 0
            assert bytes((ctypes.c_char * array.nbytes).from_address(here.host)) == array.tobytes()
            assert bytes((ctypes.c_char * array.nbytes).from_address(here.device)) == array.tobytes()


def test_too_much_is_refused(host_library):
    packet = Packet(accelerator(host_library)[0], 16)
    with pytest.raises(ValueError, match="cannot take 4000 more"):
        packet.put([np.zeros(2, np.int32), np.zeros(500, np.int64)])


def test_room_is_made_where_it_is_needed(host_library):
    packet = Packet(accelerator(host_library)[0], 16)
    assert packet.clear(8000)
    [sent] = packet.put([np.arange(1000)])
    packet.send(0)
    np.testing.assert_array_equal(sent.tensor.numpy(), np.arange(1000))
    assert not packet.clear(8000)
    assert not packet.clear(16)
