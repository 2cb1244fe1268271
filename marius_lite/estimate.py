"""What a run will take, before it runs: memory, disk, swaps, and bytes moved in each epoch. Counted from the real plans."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from marius_lite.config import machine
from marius_lite.config.load import load
from marius_lite.config.memory import device_bytes
from marius_lite.config.resolve import resolve
from marius_lite.config.schedule import checkpoint_due, checkpoints_kept, evaluation_due, is_last
from marius_lite.config.schema import Config
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.facts import facts_of
from marius_lite.ordering.plan import make_plan
from marius_lite.storage.record import record_of

EDGE_BYTES = 12  # of a training edge on disk
EPOCHS_COUNTED = 10


@dataclass(frozen=True)
class Traffic:
    """Bytes of one epoch between disk and memory, evaluation apart."""

    rows_read: int
    rows_written: int
    edges_read: int
    swaps: int


def traffic(config: Config, edges: int, partitions: int, partition_bytes: int, slots: int) -> Iterator[Traffic]:
    """The epochs of a run, one after the other: the same plans, transitions and flushes as the trainer's.

    ``config`` must be resolved. Rows made at the start are not counted; an evaluation leaves one partition resident.
    """
    storage, seed = config.storage, config.training.seed
    held = set(range(partitions)) if slots >= partitions else set(range(partitions - slots + 1, partitions))
    dirty: set[int] = set()
    for epoch in range(config.training.epochs):
        plan = make_plan(storage.ordering, partitions, int(storage.capacity), seed, epoch)
        pauses = is_last(config, epoch) or evaluation_due(config, epoch)
        last = set(() if pauses else make_plan(storage.ordering, partitions, int(storage.capacity), seed,
                                               epoch + 1).steps[0].resident)
        read = written = 0
        for step, after in zip(plan.steps, [*(set(s.resident) for s in plan.steps[1:]), last]):
            wanted = set(step.resident)
            if storage.prefetch:  # as many as fit, those in memory first: the buffer's own rule
                ahead = sorted(after - wanted, key=lambda k: (k not in held, k))
                wanted |= set(ahead[:slots - len(wanted)])
            read += len(wanted - held)
            written += len((held - wanted) & dirty)
            held, dirty = wanted, (dirty & wanted) | set(step.resident)
        if checkpoint_due(config, epoch) or evaluation_due(config, epoch):
            written += len(dirty)
            dirty = set()
        if evaluation_due(config, epoch) and slots < partitions:
            held = {0}
        yield Traffic(read * partition_bytes, written * partition_bytes, edges * EDGE_BYTES, plan.swaps)


def plan_run(dataset: Path | str, config: Config | None = None) -> dict[str, Any]:
    """Memory, disk and bytes moved by a run of ``config`` on ``dataset``; nothing is trained or written.

    Sizes are bytes. Raises UserError where dataset, memory and capacity disagree.
    """
    data = Dataset.open(Path(dataset))
    resolved, memory = resolve(config or load(), facts := facts_of(data, config or load(), machine.has_nvidia()))
    record = record_of(resolved.optimizer.rows.name, resolved.model.dim)
    partition_bytes = facts.rows_per_partition * record.stride
    table = facts.partitions * partition_bytes
    edges = data.manifest.edges["train"]
    counted = []
    for epoch, moved in enumerate(traffic(resolved, edges, facts.partitions, partition_bytes, memory.slots)):
        counted.append(moved)
        if epoch + 1 == EPOCHS_COUNTED:
            break
    later = counted[1:] or counted
    held = memory.buffer if resolved.storage.device_path == "bulk" else resolved.storage.device_cache
    on_device = device_bytes(resolved, record.stride, held) if resolved.device != "cpu" else {}
    return {
        "dataset": str(data.path), "nodes": facts.nodes, "edges": edges, "relations": facts.relations,
        "partitions": facts.partitions, "capacity": resolved.storage.capacity, "ordering": resolved.storage.ordering,
        "steps": len(make_plan(resolved.storage.ordering, facts.partitions, int(resolved.storage.capacity),
                               resolved.training.seed, 0).steps),
        "swaps": counted[0].swaps, "device": resolved.device,
        "memory": memory.as_dict(), "device_memory": on_device,
        "disk": {"dataset": sum(size for size, _ in data.manifest.files.values()), "rows": table,
                 "checkpoints": table * checkpoints_kept(resolved), "total": table * (1 + checkpoints_kept(resolved))},
        "start": {"rows_written": table},
        "first_epoch": asdict(counted[0]),
        "later_epoch": {name: round(sum(getattr(t, name) for t in later) / len(later)) for name in asdict(later[0])},
        "config": resolved.model_dump(mode="json"),
    }
