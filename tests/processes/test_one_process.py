"""One process has all lanes, and is the first of all."""

import pytest
import torch

from marius_lite.processes.one_process import OneProcess


def test_one_process_has_all_lanes_and_hears_itself():
    processes = OneProcess()
    assert processes.is_first
    assert list(processes.lanes(3)) == [0, 1, 2]
    vectors = [torch.ones(2), torch.zeros(2)]
    assert all(a is b for a, b in zip(processes.vectors(vectors, 2, 1), vectors))
    assert processes.gathered("said") == ["said"]
    assert processes.first(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        processes.first(lambda: 1 // 0)
    assert processes.beside(torch.ones(2)) == []
    assert [processes.claimed(what, amount) for what, amount in (("a", 2), ("b", 5), ("a", 3))] == [2, 5, 5]
    processes.close()
