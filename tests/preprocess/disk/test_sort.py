"""The external sort is a sort, for every memory."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.preprocess.disk import sort


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 3000), st.integers(0, 2**64 - 1), st.integers(1, 400), st.integers(0, 99))
def test_any_memory_gives_the_sorted_records(tmp_path_factory, count, largest, capacity, seed):
    rng = np.random.default_rng(seed)
    records = rng.integers(0, largest, (count, 2), np.uint64, endpoint=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sort, "LEAST_RECORDS", 16)
        sorter = sort.ExternalSort(tmp_path_factory.mktemp("s") / "runs", capacity * 16, 2, max(1, count))
        at = 0
        while at < count:
            step = min(int(rng.integers(1, 1 + min(sorter.capacity, 100))), count - at)
            kept = max(0, step - int(rng.integers(0, 2)))
            sorter.room(step)[:kept] = records[at : at + kept]
            sorter.keep(kept)
            records = np.delete(records, range(at + kept, at + step), axis=0)
            count, at = len(records), at + kept
        runs = sorter.runs
        found = np.concatenate([piece.copy() for piece in sorter.sorted()])
    assert np.array_equal(found, records[np.lexsort((records[:, 1], records[:, 0]))])
    assert not runs or count > sorter.capacity - 100
    assert not list(sorter._folder.iterdir())


def test_equal_records_beyond_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(sort, "LEAST_RECORDS", 16)
    sorter = sort.ExternalSort(tmp_path / "runs", 256, 1, 1000)
    for _ in range(100):
        sorter.room(10)[:] = 7
        sorter.keep(10)
    pieces = [piece.copy() for piece in sorter.sorted()]
    assert sum(map(len, pieces)) == 1000
    assert all((piece == 7).all() for piece in pieces)
