"""Open the resident rows of a run: buffers over features and learned rows, trained on the host or on a GPU."""

from __future__ import annotations

from pathlib import Path

from marius_lite.config.encoder_memory import sampled_at_once
from marius_lite.config.packing import Packing
from marius_lite.config.pooling import SLOTS, Pooling
from marius_lite.config.resolve import batch_needs
from marius_lite.config.schema import Config
from marius_lite.device.accelerator import Accelerator
from marius_lite.device.chooser import Load
from marius_lite.device.host_table import HostTable
from marius_lite.device.open import open_batches
from marius_lite.device.rows import RowStepSettings
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.facts import facts_of
from marius_lite.graph.inputs import features_read
from marius_lite.optim.rows import ROW_OPTIMIZERS
from marius_lite.rows.host import HostRows, HostRowUpdater, ring_of
from marius_lite.rows.on_device import DeviceRows
from marius_lite.rows.packed import PackedRows
from marius_lite.rows.pool import RowPool
from marius_lite.rows.pooled import PooledRows
from marius_lite.rows.resident import RowBuffers
from marius_lite.storage.bfloat16 import BITS
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.table import RowTable


def open_buffers(dataset: Dataset, config: Config, slots: int, table: RowTable | None) -> RowBuffers:
    """Open buffers of ``slots`` partitions over the features that are read and the learned rows in ``table``, if any."""
    storage = config.storage

    def buffer(of: RowTable) -> PartitionBuffer:
        return PartitionBuffer(of, slots, threads=storage.io_threads, direct=storage.direct_io)

    stored = features_read(dataset, config)
    features = buffer(stored.table) if stored is not None else None
    return RowBuffers(stored, features, buffer(table) if table else None, config.model.dim)


def host_rows(buffers: RowBuffers, dataset: Dataset, config: Config) -> HostRows:
    """Return the rows of the buffers, trained on the host."""
    training = config.training
    return HostRows(
        buffers, dataset.partitioning, _updater(config), ring_of(training.staleness), int(training.threads), training.seed
    )


def pooled_rows(dataset: Dataset, config: Config, pooling: Pooling, table: RowTable, folder: Path) -> PooledRows:
    """Return the learned rows in ``table``, and the features beside them, which come through a pool, trained on the host.

    ``folder``: where temporary files are.
    """
    pool = RowPool(open_buffers(dataset, config, SLOTS, table), dataset.partitioning, pooling)
    training = config.training
    return PooledRows(pool, folder, _updater(config), ring_of(training.staleness), int(training.threads), training.seed)


def _updater(config: Config) -> HostRowUpdater:
    settings = config.optimizer.rows
    return HostRowUpdater(ROW_OPTIMIZERS[settings.name](), config.model.dim, settings.lr, settings.clip)


def packed_rows(dataset: Dataset, config: Config, packing: Packing, folder: Path) -> PackedRows:
    """Return the rows of the features, which come in packs. ``folder``: where their temporary files are."""
    stored, training = features_read(dataset, config), config.training
    assert stored is not None
    return PackedRows(stored, dataset.partitioning, packing, folder, ring_of(training.staleness), int(training.threads))


def device_rows(accelerator: Accelerator, buffers: RowBuffers, dataset: Dataset, config: Config, loads: list[Load]) -> DeviceRows:
    """Return the rows of the buffers, trained on a GPU. The way they travel is logged. If it fails, the buffers are closed.

    ``loads``: how many rows the steps of the first epoch touch.
    """
    needs = batch_needs(config, facts_of(dataset, config, cuda=True), int(config.storage.capacity), cached=0)
    try:
        batches = open_batches(accelerator, config, host_tables(buffers, config), needs, loads)
    except BaseException:
        buffers.close()
        raise
    return DeviceRows(buffers, dataset.partitioning, batches, sampled_at_once(config))


def host_tables(buffers: RowBuffers, config: Config) -> list[HostTable]:
    """Return a table for each of the buffers: features are only read, learned rows have a step."""
    settings, tables = config.optimizer.rows, []
    if buffers.features and buffers.stored:
        stored, features = buffers.stored, buffers.features
        tables.append(HostTable(features.rows, features.slot_rows, stored.width, None, stored.type, stored.scales))
    if buffers.learned:
        if buffers.learned.table.dtype == BITS:
            raise UserError("rows of bfloat16 are trained on the CPU so far: use `device: cpu`")
        step = RowStepSettings.of(settings.name, ROW_OPTIMIZERS[settings.name](), settings.lr, settings.clip)
        tables.append(HostTable(buffers.learned.rows, buffers.learned.slot_rows, buffers.dim, step))
    return tables
