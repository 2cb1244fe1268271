"""A trace of what ran on which stream, and a checker that every two accesses to the same bytes are ordered.

Order comes from each stream's own sequence, from events, and from the host: what it puts on a stream comes after all it has
done before, and after all that it has waited for. Nothing else counts, however the work happened to be timed.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

import numpy as np
from torch.utils._python_dispatch import TorchDispatchMode

from marius_lite.device.accelerator import Accelerator

TRACED = ("copy", "copy_rows", "host_gather", "host_scatter", "row_step", "segment_sum")


@dataclass
class Node:
    name: str
    before: int  # bit set of the nodes that surely come before
    reads: list[tuple[int, int]] = field(default_factory=list)
    writes: list[tuple[int, int]] = field(default_factory=list)


class Trace:
    """Wraps an emulated accelerator's streams and library, and a packet's `put`."""

    def __init__(self, schedule):
        self.nodes, self.current = [], None
        self.calls, self.waits = [], []  # (library call, bytes copied at once); streams that the host waited for
        self.tensors = []
        self.last = dict.fromkeys(schedule.streams, 0)
        self.host = 0  # what the host knows to have come before
        for name, stream in schedule.streams.items():
            self._wrap(name, stream)

    def node(self, name, before):
        self.nodes.append(Node(name, before))
        return len(self.nodes) - 1

    def _wrap(self, name, stream):
        run, record, after = stream.run, stream.record, stream.after

        def traced_run(work):
            index = self.node(f"{name} {len(self.nodes)}", self.last[name] | self.host)
            self.last[name] |= self.host | 1 << index

            def traced():
                self.current, outer = index, self.current
                try:
                    work()
                finally:
                    self.current = outer

            run(traced)

        def traced_record():
            event = record()
            known, wait = self.last[name], event.wait

            def traced_wait():
                wait()
                self.waits.append(name)
                self.host |= known

            event.known, event.wait = known, traced_wait
            return event

        def traced_after(event):
            if event is not None:
                self.last[name] |= event.known
            after(event)

        stream.run, stream.record, stream.after = traced_run, traced_record, traced_after

    def allocated(self, tensor):
        """Note that torch gave out memory: work on its own stream, the computing one, may have used the memory until now.

        (torch may even fill it there: ``torch.utils.deterministic.fill_uninitialized_memory``.) So it counts as a write.
        """
        start = tensor.data_ptr()
        if self.current is None:
            index = self.node(f"allocation {len(self.nodes)}", self.last["computing"] | self.host)
            self.nodes[index].writes.append((start, start + tensor.nbytes))
            self.last["computing"] |= self.host | 1 << index

    def touch(self, reads=(), writes=()):
        node = self.nodes[self.current]
        node.reads += [span for span in reads if span[0] < span[1]]
        node.writes += [span for span in writes if span[0] < span[1]]

    def on_the_host(self, name, reads=(), writes=()):
        index = self.node(name, self.host)
        self.host |= 1 << index
        self.current, outer = index, self.current
        self.touch(reads, writes)
        self.current = outer

    def unordered(self, ignored=frozenset()):
        """Pairs of nodes that touch the same bytes, one of them writing, in no sure order.

        ``ignored``: (node, span) reads whose result is thrown away.
        """
        found = []
        for b, later in enumerate(self.nodes):
            for a, earlier in enumerate(self.nodes[:b]):
                if later.before >> a & 1 or earlier.before >> b & 1:
                    continue
                pairs = [
                    (earlier.writes, later.writes, None, None),
                    (earlier.reads, later.writes, a, None),
                    (earlier.writes, later.reads, None, b),
                ]
                found += [
                    (earlier.name, later.name, left, right)
                    for lefts, rights, reader_a, reader_b in pairs
                    for left in lefts
                    for right in rights
                    if left[0] < right[1]
                    and right[0] < left[1]
                    and (reader_a, left) not in ignored
                    and (reader_b, right) not in ignored
                ]
        return found


class Allocations(TorchDispatchMode):
    """Tells a trace of the memory that torch gives out while this is open, but for memory of the host."""

    def __init__(self, trace, monkeypatch):
        super().__init__()
        self.trace, self.on_host = trace, False
        host_bytes = Accelerator.host_bytes

        def without_note(accelerator, size):
            self.on_host = True
            try:
                return host_bytes(accelerator, size)
            finally:
                self.on_host = False

        monkeypatch.setattr(Accelerator, "host_bytes", without_note)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        self.trace.tensors.append(result)  # its memory stays its own, so that an address means one thing in the whole trace
        if function.name().startswith("aten::empty") and result.nbytes and not self.on_host:
            self.trace.allocated(result)
        return result


class TracedLibrary:
    """A CudaLibrary whose calls tell the trace which bytes they touch."""

    def __init__(self, library, trace):
        self.library, self.trace = library, trace

    def __getattr__(self, name):
        call = getattr(self.library, name)

        def traced(**arguments):
            self.trace.calls.append((name, arguments.get("bytes", 0)))
            getattr(self, f"_{name}", lambda **_: None)(**arguments)
            return call(**arguments)

        return traced if name in TRACED else call

    def _copy(self, *, target, source, bytes, **_):
        self.trace.touch([(source, source + bytes)], [(target, target + bytes)])

    def _copy_rows(
        self, *, source, target, count, columns, source_stride, target_stride, source_rows=0, target_rows=0, index_bytes=8, **_
    ):
        index = [(rows, rows + count * index_bytes) for rows in (source_rows, target_rows) if rows]
        self.trace.touch(
            [*index, *spans(source, source_stride, source_rows, index_bytes, count, columns * 4)],
            spans(target, target_stride, target_rows, index_bytes, count, columns * 4),
        )

    def _host_gather(self, *, table, table_stride, rows, count, block, block_stride, bytes, **_):
        self.trace.touch(
            [(rows, rows + count * 8), *spans(table, table_stride, rows, 8, count, bytes)],
            [(block, block + count * block_stride)],
        )

    def _host_scatter(self, *, table, table_stride, rows, count, block, block_stride, bytes, **_):
        self.trace.touch(
            [(rows, rows + count * 8), (block, block + count * block_stride)], spans(table, table_stride, rows, 8, count, bytes)
        )

    def _segment_sum(self, *, parts, order, starts, segments, out, dim, **_):
        places = sum(count for _, count in parts)
        grads = [(address, address + count * dim * 4) for address, count in parts]
        indices = [(order, order + places * 4), (starts, starts + (segments + 1) * 4)]
        self.trace.touch([*grads, *indices], [(out, out + segments * dim * 4)])

    def _row_step(self, *, block, count, stride, **_):
        self.trace.touch([(block, block + count * stride)], [(block, block + count * stride)])


def spans(base, stride, rows, index_bytes, count, size):
    """(start, end) of each row's bytes; ``rows``: the address of their indices, or 0 for 0, 1, ..."""
    if not rows:
        return [(base + i * stride, base + i * stride + size) for i in range(count)]
    kind = {8: ctypes.c_int64, 4: ctypes.c_int32}[index_bytes]
    indices = np.ctypeslib.as_array((kind * count).from_address(rows)).tolist() if count else []
    return [(base + i * stride, base + i * stride + size) for i in indices]
