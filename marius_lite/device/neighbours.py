"""Sample neighbours on a device, from the in-edge lists of the resident partitions, which lie in pinned host memory.

The sample has the bits of `NeighbourLists.sample`. In each hop kernels work on nodes, then on edges (csrc/cuda/neighbours.h), and
torch adds up counts between them. The host waits twice a hop for sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

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


class DeviceNeighbours:
    """Samples neighbours of nodes of the resident partitions, uniformly. Not for several threads at once.

    The lists must lie in memory pages of their own, and have no weights. No fanout is by relation.
    """

    def __init__(self, accelerator: Accelerator, partitioning: Partitioning):
        self.accelerator, self.partitioning = accelerator, partitioning
        self._pinned: dict[int, list[Any]] = {}
        self._lists = np.zeros((partitioning.partitions, 4), np.int64)  # marius_cuda_lists of each
        self._packet: Packet | None = None
        self._counts = accelerator.host_bytes(4 * 8).view(torch.int64)
        self.with_rel = False
        self.keys = torch.empty(0, dtype=torch.int64, device=accelerator.device)  # the hash table, see csrc/cuda/api.h
        self.values = torch.empty(0, dtype=torch.int32, device=accelerator.device)

    def enter(self, resident: Mapping[int, tuple[int, PartitionLists]]) -> None:
        """Use exactly these partitions' lists: by partition, its first row and its lists, which must exist until `leave`.

        Raises RuntimeError where they cannot be pinned.
        """
        self.leave(resident)
        for k, (row, lists) in resident.items():
            if k not in self._pinned:
                self._pinned[k] = []
                self._lists[k, :3] = [self._pin(k, array) for array in (lists.indptr, lists.sources, lists.carried)]
                self.with_rel = lists.carried is not None
            self._lists[k, 3] = row

    def leave(self, staying: Collection[int]) -> None:
        """Unpin the lists of the partitions that do not stay."""
        for k in self._pinned.keys() - set(staying):
            for pinned in self._pinned.pop(k):
                pinned.close()
            self._lists[k] = 0

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

    def run(self, work: Callable[[torch.Tensor], None], numbers: int) -> list[int]:
        """Run ``work`` on the sampling stream and wait; the first ``numbers`` counts that it wrote to its argument, int64."""
        stream = self.accelerator.sampling
        stream.run(lambda: work(self._counts))
        stream.record().wait()
        return [int(number) for number in self._counts[:numbers]]

    def packet(self, size: int) -> Packet:
        """Room for ``size`` bytes of arrays. Call it on the sampling stream, to which the memory then belongs."""
        self._packet = self._packet or Packet(self.accelerator, size)
        self._packet.clear(size)
        return self._packet

    @property
    def lists(self) -> npt.NDArray[np.int64]:
        """The addresses of each partition's lists and its first row, as `marius_cuda_lists`: (partitions, 4)."""
        return self._lists

    @property
    def resident_ranges(self) -> Ids:
        """The ranges of resident node ids, int64 (r, 2), ascending; no range where every node is resident."""
        rows, nodes, ks = self.partitioning.rows, self.partitioning.nodes, np.array(sorted(self._pinned), np.int64)
        if len(ks) == self.partitioning.partitions:
            return np.empty((0, 2), np.int64)
        gaps = np.flatnonzero(np.diff(ks) > 1)
        return np.stack([ks[np.r_[0, gaps + 1]] * rows, np.minimum((ks[np.r_[gaps, len(ks) - 1]] + 1) * rows, nodes)], 1)

    @property
    def resident_nodes(self) -> int:
        """How many nodes are resident."""
        return sum(self.partitioning.size(k) for k in self._pinned)

    def _pin(self, k: int, array: npt.NDArray[Any] | None) -> int:
        if array is None or not len(array):
            return 0
        pinned = self.accelerator.library.pin(array.view(np.uint8), array.nbytes, self.accelerator.index)
        self._pinned[k].append(pinned)
        return int(pinned.address)

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
        absent = self._lists[seeds // self.partitioning.rows, 0] == 0
        if absent.any():
            seed = int(seeds[absent][0])
            raise ValueError(f"seed {seed}: the lists of partition {seed // self.partitioning.rows} are not here")


class _Batch:
    """One batch that passes through the stages. Each method launches work; sizes come from the host.

    Each method is given ``counts`` on the host, int64, and writes the numbers there that the host waits for.
    """

    def __init__(self, owner: DeviceNeighbours, seed: int):
        self._owner, self._device = owner, owner.accelerator.device
        self._all: dict[str, Any] = {
            "seed": seed,
            "rows_per_partition": owner.partitioning.rows,
            "wide": int(source_dtype(owner.partitioning.nodes) == np.uint64),
        }
        self._known = 0
        self._edges = 0
        self._nodes: list[torch.Tensor] = []
        self._rows: list[torch.Tensor] = []
        self._starts: list[torch.Tensor] = []
        self._labels: list[torch.Tensor] = []
        self._rel: list[torch.Tensor] = []
        self._inserted: dict[str, torch.Tensor] = {}
        self._expanded: dict[str, torch.Tensor] = {}

    def begin(self, seeds: Ids, excluded: Ids, counts: torch.Tensor) -> None:
        """Send the seeds and the excluded edges, and insert the seeds. Counts the different seeds."""
        owner, resident = self._owner, self._owner.resident_ranges
        packet = owner.packet(sum(array.nbytes for array in (seeds, excluded, resident, owner.lists)))
        ids, pairs, ranges, lists = packet.put([seeds, excluded, resident, owner.lists])
        packet.send(owner.accelerator.sampling.handle)
        self._all |= {"lists": lists.tensor, "resident": ranges.tensor, "resident_count": len(resident)}
        self._exclude(pairs.tensor.view(-1, 2))
        owner.keys.fill_(-1)
        owner.values.fill_(torch.iinfo(torch.int32).max)
        self._insert(ids.tensor, counts)

    def expand(self, hop: int, fanout: int, count: int, counts: torch.Tensor) -> None:
        """Label the ``count`` new nodes, and find what they may draw from.

        Counts the edges that they draw, their in-edges, and those of their in-edges whose source is not resident.
        """
        self._label(count)
        ranges = self._all["resident_count"]
        numbers = {name: self._ints(count) for name in ("counts", "first", "candidates")}
        self._expanded = {
            **numbers,
            "nodes": self._nodes[-1],
            "in_edges": self._ints(2 * count),
            "removals": self._ints(2 * count),
            "shifts": self._ints(2 * count * ranges),
        }
        self._all |= {"hop": hop, "fanout": fanout, "node_count": count}
        self._stage("expand", count, **self._expanded)
        starts = torch.zeros(count + 1, dtype=torch.int64, device=self._device)
        torch.cumsum(self._expanded.pop("counts"), 0, out=starts[1:])
        self._expanded["starts"] = starts
        counts[0:1].copy_(starts[-1:], non_blocking=True)
        counts[1:3].copy_(self._expanded.pop("in_edges").view(-1, 2).sum(0), non_blocking=True)

    def draw(self, fanout: int, edges: int, counts: torch.Tensor) -> None:
        """Draw ``edges`` edges, and insert their sources. Counts the new nodes among these."""
        drawn, ids = self._ints(edges), self._ints(edges)
        more = {"drawn_set": torch.full((2 * edges,), -1, dtype=torch.int64, device=self._device)} if fanout > SCANNED else {}
        rel = {"rel": self._ints(edges, torch.int32)} if self._owner.with_rel else {}
        self._stage("draw", len(self._expanded["nodes"]), drawn=drawn, **more, **self._expanded)
        self._stage("fetch", edges, drawn=drawn, ids=ids, **rel, **self._expanded)
        self._starts.append(self._expanded["starts"][1:] + self._edges)
        self._edges += edges
        self._rel += rel.values()
        self._insert(ids, counts)

    def finish(self, count: int, arrays: dict[str, npt.NDArray[Any]], counts: torch.Tensor) -> None:
        """Label the last ``count`` new nodes, and copy the sample's arrays to the host, into ``arrays``."""
        self._label(count)
        found = {
            "nodes": torch.cat(self._nodes),
            "rows": torch.cat(self._rows),
            "indptr": torch.cat([self._zeros(1), *self._starts]),
            "indices": torch.cat([self._ints(0, torch.int32), *self._labels[1:]]),
        }
        if self._owner.with_rel:
            found["rel"] = torch.cat([self._ints(0, torch.int32), *self._rel])
        room = self._owner.accelerator.host_bytes(sum(tensor.nbytes for tensor in found.values()))
        at = 0
        for name, tensor in found.items():
            part = room[at : at + tensor.nbytes].view(tensor.dtype)
            part.copy_(tensor, non_blocking=True)
            arrays[name] = part.numpy().view(np.uint32) if name == "rel" else part.numpy()
            at += tensor.nbytes

    def _exclude(self, pairs: torch.Tensor) -> None:
        """Find the excluded edges in their lists. ``pairs``: (m, 2), sources and destinations, in any order."""
        if not len(pairs):
            return
        by_source = pairs[torch.sort(pairs[:, 0], stable=True).indices]
        pairs = by_source[torch.sort(by_source[:, 1], stable=True).indices]
        self._all |= {
            "excluded_src": pairs[:, 0].contiguous(),
            "excluded_dst": pairs[:, 1].contiguous(),
            "excluded_count": len(pairs),
            "removed": self._ints(2 * len(pairs)),
        }
        self._stage("find_excluded", len(pairs))

    def _insert(self, ids: torch.Tensor, counts: torch.Tensor) -> None:
        """Insert ids into the hash table. Counts those that are new."""
        count = len(ids)
        self._reserve(min(self._known + count, self._owner.resident_nodes))
        self._inserted = {"ids": ids, "slots": self._ints(count, torch.int32), "is_new": self._ints(count, torch.int32)}
        self._stage("insert", count, known=self._known, **self._inserted)
        self._stage("mark_new", count, known=self._known, **self._inserted)
        self._inserted["rank"] = torch.cumsum(self._inserted["is_new"], 0, dtype=torch.int32)
        counts[0:1].copy_(self._inserted["rank"][-1:] if count else self._zeros(1), non_blocking=True)

    def _label(self, new: int) -> None:
        """Give local ids to the inserted ids, of which ``new`` are new."""
        inserted, count = self._inserted, len(self._inserted["ids"])
        nodes, rows, labels = self._ints(new), self._ints(new), self._ints(count, torch.int32)
        self._stage("label", count, known=self._known, new_nodes=nodes, new_rows=rows, labels=labels, **inserted)
        self._stage("keep_labels", count, known=self._known, labels=labels, **inserted)
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
            known = torch.cat(self._nodes)
            self._stage("insert", len(known), ids=known, slots=self._ints(len(known), torch.int32))

    def _stage(self, name: str, count: int, **fields: torch.Tensor | int) -> None:
        """Launch a stage over ``count`` nodes or edges. ``fields``: those of `marius_cuda_neighbours` that are its own."""
        owner = self._owner
        every = {**self._all, "keys": owner.keys, "values": owner.values, "mask": max(len(owner.keys) - 1, 0), **fields}
        owner.accelerator.library.neighbours(
            owner.accelerator.index,
            owner.accelerator.sampling.handle,
            name,
            count=count,
            **{field: value.data_ptr() if isinstance(value, torch.Tensor) else value for field, value in every.items()},
        )

    def _ints(self, count: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
        return torch.empty(count, dtype=dtype, device=self._device)

    def _zeros(self, count: int) -> torch.Tensor:
        return torch.zeros(count, dtype=torch.int64, device=self._device)
