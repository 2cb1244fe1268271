"""Workers of any speed come to make as many updates as each other, and an epoch ends with a merge."""

import pytest

from marius_lite.merging.paces import Paces


@pytest.mark.parametrize("seconds", [[1, 3], [1, 1], [5, 1, 1], [1, 2, 3, 4], [1, 100]])
def test_workers_come_to_the_same_number_of_updates(seconds):
    """A simulated clock: a node takes a worker so many seconds."""
    paces = Paces(400, len(seconds), 20)
    sizes = [paces.first] * len(seconds)
    for _ in range(30):
        free, updates, left = [0.0] * len(seconds), [0] * len(seconds), 400 * 20
        while left > 0:
            worker = min(range(len(seconds)), key=lambda each: free[each])
            nodes = min(sizes[worker], left)
            free[worker], updates[worker], left = free[worker] + nodes * seconds[worker], updates[worker] + 1, left - nodes
        used, sizes = sizes, paces.following(sizes, updates)
    within = [worker for worker, size in enumerate(used) if -(-paces.first // 8) < size < 400]
    assert max(updates[each] for each in within) <= 1.35 * min(updates[each] for each in within) if within else True
    assert all(-(-paces.first // 8) <= size <= 400 for size in sizes)
    if seconds == [1, 3]:
        assert sizes == [pytest.approx(300, abs=30), pytest.approx(100, abs=30)]
    if seconds == [1, 1]:
        assert sizes == [pytest.approx(200, abs=10)] * 2


def test_a_worker_without_updates_gets_smaller_batches_and_none_becomes_empty():
    paces, sizes = Paces(8, 4, 20), [2, 2, 2, 2]
    for _ in range(20):
        sizes = paces.following(sizes, [0, 30, 30, 20])
    assert sizes[0] == 1
    assert max(sizes) <= 8


@pytest.mark.parametrize("sizes", [[100, 100], [180, 20], [7, 1, 1, 3]])
def test_merged_weights_move_as_far_as_those_of_equal_workers(sizes):
    rates = Paces(200, len(sizes), 20).rates(sizes)
    assert [rate / rates[0] for rate in rates] == pytest.approx([size / sizes[0] for size in sizes])
    assert sum(rate * size for rate, size in zip(rates, sizes)) / sum(sizes) == pytest.approx(1)
    assert rates == pytest.approx([1, 1]) or sizes != [100, 100]


@pytest.mark.parametrize(("nodes", "parts"), [(1, [1]), (399, [399]), (4000, [2000, 2000]), (4600, [2300, 2300])])
def test_an_epoch_ends_with_a_merge(nodes, parts):
    paces, found = Paces(100, 2, 20), []
    while nodes:
        found.append(paces.until_merge(nodes))
        nodes -= found[-1]
    assert found == parts
