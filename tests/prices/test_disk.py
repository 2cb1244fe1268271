"""The rates of a disk are measured in bounded work, however small a dataset's rows and partitions are."""

import numpy as np
import pytest

from marius_lite.prices import disk
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.packs import Packs
from marius_lite.storage.table import RowTable


@pytest.mark.parametrize(("nodes", "width"), [(6, 4), (400, 64)])
def test_few_and_narrow_rows_are_not_put_into_packs_for_ever(tmp_path, monkeypatch, nodes, width):
    table = RowTable.create(tmp_path / "features", nodes, width, nodes // 2)
    with PartitionBuffer(table, 2) as buffer:
        for k in range(2):
            buffer.adopt(k)[:] = np.arange(width, dtype=np.float32)
    append, parts = Packs.append, []

    def counted(packs, pack, rows):
        parts.append(rows.nbytes)
        append(packs, pack, rows)

    monkeypatch.setattr(Packs, "append", counted)
    rates = disk.disk_rates(table, tmp_path)
    assert len(parts) == disk.MOST_PARTS
    assert sum(parts) <= disk.PACKED
    assert min(rates.read, rates.pack, rates.unpack) > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["features"]
