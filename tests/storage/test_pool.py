import numpy as np

from marius_lite.storage.pool import SnapshotPool


def test_a_partition_keeps_the_rows_it_had_when_it_left():
    pool = SnapshotPool([10, 10, 3], 4, 2, run_seed=0)
    for k, size in enumerate([10, 10, 3]):
        table = np.arange(size * 2, dtype=np.float32).reshape(size, 2) + 100 * k
        pool.take(k, (0, k), lambda offsets, table=table: table[offsets])
        offsets = pool.offsets(k, (0, k))
        assert len(set(offsets)) == min(4, size)
        assert (pool.rows[pool.indices([k])] == table[offsets]).all()
    assert pool.indices([0, 2]).tolist() == [0, 1, 2, 3, 8, 9, 10, 11]


def test_each_leaving_draws_other_rows_from_its_seed():
    pool = SnapshotPool([1000], 8, 1, run_seed=0)
    assert (pool.offsets(0, (1, 2)) == pool.offsets(0, (1, 2))).all()
    assert (pool.offsets(0, (1, 2)) != pool.offsets(0, (1, 3))).any()
    assert (pool.offsets(0, (-1, 0)) != pool.offsets(0, (0, 0))).any()
