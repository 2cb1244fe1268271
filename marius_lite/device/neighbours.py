"""Sample neighbours on a device, from the in-edge lists of the resident partitions: copies on the device, or pinned host memory.

The sample has the bits of `NeighbourLists.sample`. In each hop kernels work on nodes, then on edges (csrc/cuda/neighbours.h), and
torch adds up counts between them. The host waits twice a hop for sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from marius_lite._native import NeighbourJob
from marius_lite.device.accelerator import Accelerator
from marius_lite.device.packet import Packet
from marius_lite.graph.adjacency import PartitionLists, source_dtype
from marius_lite.graph.partitioning import Partitioning
from marius_lite.sampling.neighbours import NeighbourSample

Ids = npt.NDArray[np.int64]
MOST_POSITIONS = 2**31 - 2
"""Seeds and sampled edges of a batch, at most."""
SCANNED = 32
"""Draws of a node that are compared with each other; more are kept in a set (kScanned in csrc/graph/draws.h)."""
LEAST_TABLE = 1024
"""Places of the hash table, at least."""
COUNTS = 4
"""Numbers that the host waits for at a time, at most."""
TYPES: dict[str, type[np.generic]] = {"indices": np.int32, "rel": np.uint32}
"""Of a sample's arrays; all others are int64."""


class DeviceNeighbours:
    """Samples neighbours of nodes of the resident partitions, uniformly. Not for several threads at once.

    ``room``: the bytes of device memory that lists may take. Where it is too little for an array, the array is pinned and read
    over the link. The lists must lie in memory pages of their own, and have no weights. No fanout is by relation.
    """

    def __init__(self, accelerator: Accelerator, partitioning: Partitioning, room: int = 0):
        self.accelerator, self.partitioning, self.room = accelerator, partitioning, room
        self._pinned: dict[int, list[Any]] = {}
        self._copies: dict[int, list[torch.Tensor]] = {}
        self.lists = np.zeros((partitioning.partitions, 4), np.int64)  # marius_cuda_lists of each
        self._packet: Packet | None = None
        self._counts = accelerator.host_bytes(COUNTS * 8).view(torch.int64)
        self._told = self._counts.numpy()
        self.with_rel, self.resident_nodes, self.resident_ranges = False, 0, np.empty((0, 2), np.int64)
        self.keys = torch.empty(0, dtype=torch.int64, device=accelerator.device)  # the hash table, see csrc/cuda/api.h
        self.values = torch.empty(0, dtype=torch.int32, device=accelerator.device)

    def enter(self, resident: Mapping[int, tuple[int, PartitionLists]]) -> None:
        """Use exactly these partitions' lists: by partition, its first row and its lists, which must exist until `leave`.

        Raises RuntimeError where they cannot be pinned.
        """
        self.leave(resident)
        for k, (row, lists) in resident.items():
            if k not in self._pinned:
                self._pinned[k], self._copies[k] = [], []
                self.lists[k, :3] = [self._put(k, array) for array in (lists.indptr, lists.sources, lists.carried)]
                self.with_rel = lists.carried is not None
            self.lists[k, 3] = row
        self.resident_nodes = sum(self.partitioning.size(k) for k in self._pinned)
        self.resident_ranges = self._ranges()

    def leave(self, staying: Collection[int]) -> None:
        """Give up the lists of the partitions that do not stay."""
        for k in self._pinned.keys() - set(staying):
            self.room += sum(copy.nbytes for copy in self._copies.pop(k))
            for pinned in self._pinned.pop(k):
                pinned.close()
            self.lists[k] = 0

    def close(self) -> None:
        self.leave(())

    def sample(
        self, seeds: Ids, fanouts: Sequence[int], seed: int, exclude: Ids | None = None, both: bool = False
    ) -> NeighbourSample:
        """Sample as `NeighbourLists.sample` does. Raises RunError where the device has too little memory."""
        self._check(seeds)
        batch = _Batch(self, seed)
        advice = "use `sampling.device: cpu`, or lower training.batch_size or sampling.fanouts"
        with self.accelerator.taking_memory("to sample a batch", advice):
            (found,) = self.run(partial(batch.begin, seeds, self._excluded(exclude, both)), 1)
            if found < len(seeds):
                ids, counts = np.unique(seeds, return_counts=True)
                raise ValueError(f"seed {ids[counts > 1][0]}: stands there twice")
            hop_nodes, neighbours, missing = [found], 0, 0
            hop_edges: list[int] = []
            for hop, fanout in enumerate(fanouts):
                edges, in_edges, absent = self.run(partial(batch.expand, hop, int(fanout), hop_nodes[-1]), 3)
                places = len(seeds) + sum(hop_edges) + edges
                if places > MOST_POSITIONS:
                    raise ValueError(f"{places} sampled edges: a batch holds less than 2^31: use fewer seeds or smaller fanouts")
                hop_edges.append(edges)
                neighbours, missing = neighbours + in_edges, missing + absent
                hop_nodes += self.run(partial(batch.draw, int(fanout), edges), 1)
            arrays: dict[str, npt.NDArray[Any]] = {}
            self.run(partial(batch.finish, hop_nodes[-1], arrays), 0)
        return NeighbourSample(
            hop_nodes=np.array(hop_nodes, np.int32),
            hop_edges=np.array(hop_edges, np.int32),
            neighbours=neighbours,
            missing=missing,
            rel=arrays.pop("rel", None),
            **arrays,
        )

    def run(self, work: Callable[[], None], numbers: int) -> list[int]:
        """Run ``work`` on the sampling stream and wait; the first ``numbers`` counts that it had copied to the host."""
        stream = self.accelerator.sampling
        stream.run(work)
        stream.record().wait()
        told: list[int] = self._told[:numbers].tolist()
        return told

    def tell(self, number: int, counts: torch.Tensor) -> None:
        """Copy counts to the host, int64: they are the ``number``th and those behind it of what `run` returns."""
        self.copy(self._counts.data_ptr() + 8 * number, counts.data_ptr(), counts.nbytes)

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes between the host and the device, or on it, in the order of the sampling stream."""
        at = {"device": self.accelerator.index, "stream": self.accelerator.sampling.handle}
        self.accelerator.library.copy(**at, target=target, source=source, bytes=size)

    def packet(self, size: int) -> Packet:
        """Room for ``size`` bytes of arrays. Call it on the sampling stream, to which the memory then belongs."""
        self._packet = self._packet or Packet(self.accelerator, size)
        self._packet.clear(size)
        return self._packet

    def _ranges(self) -> Ids:
        """The ranges of resident node ids, int64 (r, 2), ascending; no range where every node is resident."""
        rows, nodes, ks = self.partitioning.rows, self.partitioning.nodes, np.array(sorted(self._pinned), np.int64)
        if len(ks) == self.partitioning.partitions:
            return np.empty((0, 2), np.int64)
        gaps = np.flatnonzero(np.diff(ks) > 1)
        return np.stack([ks[np.r_[0, gaps + 1]] * rows, np.minimum((ks[np.r_[gaps, len(ks) - 1]] + 1) * rows, nodes)], 1)

    def _put(self, k: int, array: npt.NDArray[Any] | None) -> int:
        """The address where the device reads an array of partition k."""
        if array is None or not len(array):
            return 0
        if array.nbytes <= self.room:
            with suppress(torch.cuda.OutOfMemoryError):  # batches took more than was counted
                self.run(lambda: self._copies[k].append(self._copied(array)), 0)
                self.room -= array.nbytes
                return self._copies[k][-1].data_ptr()
            self.room = 0
        return self._pin(k, array)

    def _pin(self, k: int, array: npt.NDArray[Any]) -> int:
        pinned = self.accelerator.library.pin(array.view(np.uint8), array.nbytes, self.accelerator.index)
        self._pinned[k].append(pinned)
        return int(pinned.address)

    def _copied(self, array: npt.NDArray[Any]) -> torch.Tensor:
        """A copy of an array in device memory. Call it on the sampling stream, to which the memory then belongs."""
        copy = torch.empty(array.nbytes, dtype=torch.uint8, device=self.accelerator.device)
        self.copy(copy.data_ptr(), array.ctypes.data, array.nbytes)
        return copy

    def _excluded(self, exclude: Ids | None, both: bool) -> Ids:
        """The edges that are not sampled, (m, 2), as far as their nodes exist."""
        if exclude is None:
            return np.empty((0, 2), np.int64)
        known = exclude[((exclude >= 0) & (exclude < self.partitioning.nodes)).all(1)]
        return np.concatenate([known, known[:, ::-1]]) if both else known

    def _check(self, seeds: Ids) -> None:
        """Raise ValueError for a seed that is no node, or whose partition is not resident."""
        if not len(seeds):
            return
        if seeds.min() < 0 or seeds.max() >= self.partitioning.nodes:
            raise ValueError(f"seed {seeds.min() if seeds.min() < 0 else seeds.max()}: no node")
        absent = self.lists[seeds // self.partitioning.rows, 0] == 0
        if absent.any():
            seed = int(seeds[absent][0])
            raise ValueError(f"seed {seed}: the lists of partition {seed // self.partitioning.rows} are not here")


class _Batch:
    """One batch that passes through the stages. Each method launches work; sizes come from the host.

    On a fast GPU the host's time is what a batch takes. So arrays of a stage are parts of one tensor, and the fields of the
    native job stay from stage to stage. Each method says what it counts; the host waits for these numbers.
    """

    def __init__(self, owner: DeviceNeighbours, seed: int):
        self._owner, self._device, self._job = owner, owner.accelerator.device, NeighbourJob()
        wide = int(source_dtype(owner.partitioning.nodes) == np.uint64)
        self._job.set(seed=seed, rows_per_partition=owner.partitioning.rows, wide=wide)
        self._ranges = self._known = self._edges = self._inserted = 0
        self._nodes: list[torch.Tensor] = []
        self._rows: list[torch.Tensor] = []
        self._starts: list[torch.Tensor] = []
        self._labels: list[torch.Tensor] = []
        self._rel: list[torch.Tensor] = []
        self._read: dict[str, Any] = {}  # what stages to come read, by who made it

    def begin(self, seeds: Ids, excluded: Ids) -> None:
        """Send the seeds and the excluded edges, and insert the seeds. Counts the different seeds."""
        owner, resident = self._owner, self._owner.resident_ranges
        packet = owner.packet(sum(array.nbytes for array in (seeds, excluded, resident, owner.lists)))
        ids, pairs, ranges, lists = packet.put([seeds, excluded, resident, owner.lists])
        packet.send(owner.accelerator.sampling.handle)
        self._ranges = len(resident)
        self._job.set(lists=lists.device, resident=ranges.device, resident_count=self._ranges)
        self._exclude(pairs.tensor.view(-1, 2))
        owner.keys.fill_(-1)
        owner.values.fill_(torch.iinfo(torch.int32).max)
        self._insert(ids.device, len(seeds))

    def expand(self, hop: int, fanout: int, count: int) -> None:
        """Label the ``count`` new nodes, and find what they may draw from.

        Counts the edges that they draw, their in-edges, and those of their in-edges whose source is not resident.
        """
        self._label(count)
        widths = {"counts": 1, "in_edges": 2, "first": 1, "candidates": 1, "removals": 2, "shifts": 2 * self._ranges}
        room = self._ints(count * sum(widths.values()))
        begins = accumulate(widths.values(), initial=0)
        places = {name: room.data_ptr() + 8 * count * begin for name, begin in zip(widths, begins)}
        self._job.set(hop=hop, fanout=fanout, node_count=count, nodes=self._nodes[-1].data_ptr(), **places)
        self._stage("expand", count)
        starts = torch.zeros(count + 1, dtype=torch.int64, device=self._device)
        torch.cumsum(room[:count], 0, out=starts[1:])
        in_edges = room[count : 3 * count].view(-1, 2).sum(0)
        self._read["expand"] = room, starts
        self._job.set(starts=starts.data_ptr())
        self._owner.tell(0, starts[-1:])
        self._owner.tell(1, in_edges)

    def draw(self, fanout: int, edges: int) -> None:
        """Draw ``edges`` edges, and insert their sources. Counts the new nodes among these."""
        room, starts = self._ints(2 * edges), self._read["expand"][1]
        sources = room.data_ptr() + 8 * edges
        self._job.set(drawn=room.data_ptr())
        if fanout > SCANNED:
            self._read["drawn_set"] = drawn_set = torch.full((2 * edges,), -1, dtype=torch.int64, device=self._device)
            self._job.set(drawn_set=drawn_set.data_ptr())
        self._stage("draw", len(starts) - 1)
        if self._owner.with_rel:
            self._rel.append(self._ints(edges, torch.int32))
            self._job.set(rel=self._rel[-1].data_ptr())
        self._job.set(ids=sources)
        self._stage("fetch", edges)
        self._starts.append(starts[1:] + self._edges)
        self._edges += edges
        self._read["draw"] = room
        self._insert(sources, edges)

    def finish(self, count: int, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Label the last ``count`` new nodes, and copy the sample's arrays to the host, into ``arrays``."""
        self._label(count)
        found = {
            "nodes": torch.cat(self._nodes),
            "rows": torch.cat(self._rows),
            "indptr": torch.cat([self._zero(), *self._starts]),
            "indices": torch.cat([self._ints(0, torch.int32), *self._labels[1:]]),
        }
        if self._owner.with_rel:
            found["rel"] = torch.cat([self._ints(0, torch.int32), *self._rel])
        self._read["finish"] = found
        room = self._owner.accelerator.host_bytes(sum(tensor.nbytes for tensor in found.values())).numpy()
        at = 0
        for name, tensor in found.items():
            part = room[at : at + tensor.nbytes]
            self._owner.copy(part.ctypes.data, tensor.data_ptr(), tensor.nbytes)
            arrays[name] = part.view(TYPES.get(name, np.int64))
            at += tensor.nbytes

    def _exclude(self, pairs: torch.Tensor) -> None:
        """Find the excluded edges in their lists. ``pairs``: (m, 2), sources and destinations, in any order."""
        if not len(pairs):
            return
        by_source = pairs[torch.sort(pairs[:, 0], stable=True).indices]
        pairs = by_source[torch.sort(by_source[:, 1], stable=True).indices]
        src, dst, removed = pairs[:, 0].contiguous(), pairs[:, 1].contiguous(), self._ints(2 * len(pairs))
        self._read["exclude"] = src, dst, removed
        self._job.set(
            excluded_src=src.data_ptr(), excluded_dst=dst.data_ptr(), excluded_count=len(pairs), removed=removed.data_ptr()
        )
        self._stage("find_excluded", len(pairs))

    def _insert(self, ids: int, count: int) -> None:
        """Insert ``count`` ids, at the address ``ids``, into the hash table. Counts those that are new."""
        self._reserve(min(self._known + count, self._owner.resident_nodes))
        room = self._ints(2 * count, torch.int32)
        self._job.set(ids=ids, known=self._known, slots=room.data_ptr(), is_new=room.data_ptr() + 4 * count)
        self._use_table()
        self._stage("insert", count)
        self._stage("mark_new", count)
        rank = torch.cumsum(room[count:], 0)
        short = rank.to(torch.int32)
        self._read["insert"], self._inserted = (room, rank, short), count
        self._job.set(rank=short.data_ptr())
        self._owner.tell(0, rank[-1:] if count else self._zero())

    def _label(self, new: int) -> None:
        """Give local ids to the inserted ids, of which ``new`` are new."""
        count = self._inserted
        nodes, rows, labels = self._ints(new), self._ints(new), self._ints(count, torch.int32)
        self._job.set(known=self._known, new_nodes=nodes.data_ptr(), new_rows=rows.data_ptr(), labels=labels.data_ptr())
        self._stage("label", count)
        self._stage("keep_labels", count)
        self._nodes.append(nodes)
        self._rows.append(rows)
        self._labels.append(labels)
        self._known += new

    def _reserve(self, nodes: int) -> None:
        """Have a hash table of at least twice as many places as ``nodes``. Nodes that are labelled keep their local ids."""
        owner, size = self._owner, max(LEAST_TABLE, 1 << max(0, 2 * nodes - 1).bit_length())
        if size <= len(owner.keys):
            return
        owner.keys = torch.full((size,), -1, dtype=torch.int64, device=self._device)
        owner.values = torch.full((size,), torch.iinfo(torch.int32).max, dtype=torch.int32, device=self._device)
        if self._known:
            known, slots = torch.cat(self._nodes), self._ints(self._known, torch.int32)
            self._read["reserve"] = known, slots
            self._job.set(ids=known.data_ptr(), known=0, slots=slots.data_ptr())
            self._use_table()
            self._stage("insert", len(known))

    def _use_table(self) -> None:
        owner = self._owner
        self._job.set(keys=owner.keys.data_ptr(), values=owner.values.data_ptr(), mask=max(len(owner.keys) - 1, 0))

    def _stage(self, name: str, count: int) -> None:
        """Launch a stage over ``count`` nodes or edges."""
        device = self._owner.accelerator
        self._job.set(count=count)
        device.library.neighbours(device.index, device.sampling.handle, name, self._job)

    def _ints(self, count: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
        return torch.empty(count, dtype=dtype, device=self._device)

    def _zero(self) -> torch.Tensor:
        return torch.zeros(1, dtype=torch.int64, device=self._device)
