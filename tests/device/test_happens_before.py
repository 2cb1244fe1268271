"""Slots, packets and the host's rows: every two accesses to the same bytes are ordered by events, whatever the timing."""

import dataclasses

import pytest
from emulated import accelerator
from happens_before import Allocations, Trace, TracedLibrary
from test_device_rows import BATCH, COUNT, device_rows, make_batches, make_table, through_streams

from marius_lite.config.memory import packet_bytes
from marius_lite.device.batches import DeviceBatches
from marius_lite.device.packet import ALIGNMENT, ARRAYS, Packet


@pytest.fixture
def traced(host_library, monkeypatch):
    """Runs batches over a path; the pairs of accesses in no sure order, and the trace."""

    def run(path, cached=0, count=10, room=0):
        device, schedule = accelerator(host_library, 3)
        trace = Trace(schedule)
        device = dataclasses.replace(device, library=TracedLibrary(device.library, trace))
        put = Packet.put

        def traced_put(packet, arrays):
            sent = put(packet, arrays)
            trace.on_the_host("put", writes=[(each.host, each.host + each.bytes) for each in sent])
            return sent

        ignored = set()
        fetch = DeviceBatches._fetch

        def traced_fetch(batches, packet, sent):
            fetch(batches, packet, sent)
            parts = [part for batch in sent for part in batch.parts]
            again = {int(part.rows.rows[place]) for part in parts for _, _, here in part.rows.again for place in here}
            stride = table.shape[1] * 4
            for row in again:  # taken from an earlier block afterwards: what was read here is thrown away
                start = table.ctypes.data + row * stride
                ignored.add((trace.current, (start, start + stride)))

        monkeypatch.setattr(Packet, "put", traced_put)
        monkeypatch.setattr(DeviceBatches, "_fetch", traced_fetch)
        table = make_table("adagrad", 0)
        with Allocations(trace, monkeypatch):
            rows = device_rows(device, table, path, "adagrad", cached, room)
            through_streams(rows, make_batches(count, 0))
            if rows.tables[0].cache:
                rows.tables[0].cache.leave(())
        return trace.unordered(ignored), trace

    return run


@pytest.mark.parametrize(("path", "cached"), [("zero_copy", 0), ("staged", 0), ("bulk", 0), ("zero_copy", 7), ("staged", 7)])
@pytest.mark.parametrize("room", [0, 40])
def test_every_access_is_ordered(traced, path, cached, room):
    """Memory that is there from the start (``room``) is torch's too, and may be used late by what torch still does."""
    unordered, trace = traced(path, cached, room=room)
    assert unordered == []
    assert len(trace.nodes) > 40
    assert any(node.writes for node in trace.nodes if node.name.startswith("scattering")) == (path != "bulk")


@pytest.mark.parametrize("name", ["computed", "ended"])
def test_a_forgotten_event_is_found(traced, monkeypatch, name):
    slot = DeviceBatches._slot

    def forgetful(self, ago):
        found = slot(self, ago)
        if ago < 0:
            setattr(found, name, None)
        return found

    monkeypatch.setattr(DeviceBatches, "_slot", forgetful)
    assert traced("zero_copy")[0]


def test_under_zero_copy_nothing_is_staged_and_the_host_waits_only_for_batches_to_end(traced):
    _, trace = traced("zero_copy")
    assert {name for name, _ in trace.calls} == {"copy", "copy_rows", "segment_sum", "row_step"}
    ids = max(size for name, size in trace.calls if name == "copy")
    assert ids <= packet_bytes(BATCH, 2 * BATCH + 2 * COUNT) + ARRAYS * ALIGNMENT
    assert trace.waits == ["scattering"] * 10


def test_the_tracer_sees_staged_bytes(traced):
    _, trace = traced("staged")
    assert {"host_gather", "host_scatter"} <= {name for name, _ in trace.calls}
