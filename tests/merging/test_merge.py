"""What every merge keeps to, whoever talks to whom and in how many bits."""

import threading

import pytest
import torch

from marius_lite.merging.coding import coding_of
from marius_lite.merging.merge import AllMerge, RingMerge

SIZE, WIDTH = 4 * 50 + 6, 50
LEVELS = {32: 1e6, 8: 127, 4: 7}
KINDS = [(merge, bits) for merge in ("all", "ring") for bits in (32, 8, 4)]


class Workers:
    """Workers in threads, each with a merge of its own."""

    def __init__(self, kind, bits, count, common):
        self._barrier, self._given, self.sent = threading.Barrier(count, timeout=30), [None] * count, 0
        self._count, self._turn = count, 0
        coding = coding_of(bits, SIZE, WIDTH, (0, 6))

        def to_all(rank):
            return lambda mine: self._passed(rank, mine, range(count))

        def around(rank):
            return lambda mine: self._passed(rank, mine, dict.fromkeys([(rank - 1) % count, (rank + 1) % count]))

        made = {"all": lambda rank: AllMerge(coding, to_all(rank)), "ring": lambda rank: RingMerge(coding, around(rank))}
        self.merges = [made[kind](rank) for rank in range(count)]
        for merge in self.merges:
            merge.hold(common)

    def _passed(self, rank, mine, others):
        self._given[rank] = mine
        self._barrier.wait()
        found = [self._given[other].clone() for other in others]
        if rank == 0:
            self.sent += mine.nbytes
        self._barrier.wait()
        return found

    def merged(self, vectors, weights=None):
        found, self._turn = [None] * self._count, self._turn + 1

        def work(rank):
            weight = 1 if weights is None else weights[rank]
            found[rank] = self.merges[rank].merged(vectors[rank], weight, 1000 * self._turn + rank)

        threads = [threading.Thread(target=work, args=(rank,)) for rank in range(self._count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found


def vectors(count, seed=0):
    generator = torch.Generator().manual_seed(seed)
    common = torch.randn(SIZE, generator=generator)
    return common, [common + 0.1 * torch.randn(SIZE, generator=generator) for _ in range(count)]


def level(common, given, bits):
    """The most that rounding changes one message."""
    return max((each - common).abs().max().item() for each in given) / LEVELS[bits] + 1e-6


every_merge = pytest.mark.parametrize(("kind", "bits"), KINDS)
every_count = pytest.mark.parametrize("count", [2, 3, 5])


@every_merge
@every_count
def test_the_mean_of_all_stays(kind, bits, count):
    common, given = vectors(count)
    merged = Workers(kind, bits, count, common).merged(given)
    error = (sum(merged) / count - sum(given) / count).abs().max()
    assert error <= (2 if kind == "ring" else 1) * level(common, given, bits)


@every_merge
@every_count
def test_vectors_come_close_to_the_mean(kind, bits, count):
    common, given = vectors(count)
    workers, mean, now = Workers(kind, bits, count, common), sum(given) / count, given
    for _ in range(8):
        now = workers.merged(now)
    distance, before = (max((each - mean).abs().max().item() for each in all_of_them) for all_of_them in (now, given))
    assert distance <= max(0.3 * before if kind == "ring" else 0, 3 * level(common, given, bits))


@every_merge
def test_a_vector_counts_by_its_weight(kind, bits):
    common, given = vectors(3)
    merged = Workers(kind, bits, 3, common).merged(given, [1, 3, 0])
    expected = 0.25 * given[0] + 0.75 * given[1]
    for each in merged[: 3 if kind == "all" else 2]:
        assert (each - expected).abs().max() <= 2 * level(common, given, bits)


@every_merge
@every_count
def test_nothing_that_was_trained_changes_nothing(kind, bits, count):
    common, given = vectors(count)
    workers = Workers(kind, bits, count, common)
    assert all(torch.equal(each, common) for each in workers.merged([common] * count))
    assert all(
        torch.equal(each, common if kind == "all" else mine) for each, mine in zip(workers.merged(given, [0] * count), given)
    )


@every_merge
def test_rounding_has_no_bias(kind, bits):
    common, given = vectors(3)
    times, mean = 200, torch.zeros(SIZE, dtype=torch.float64)
    workers = Workers(kind, bits, 3, common)
    for _ in range(times):
        for merge in workers.merges:
            merge.hold(common)
        mean += workers.merged(given)[1] / times
    assert (mean - sum(given) / 3).abs().max() < 5 * level(common, given, bits) / times**0.5


@pytest.mark.parametrize("bits", [32, 8, 4])
def test_all_have_the_same_bits(bits):
    common, given = vectors(4)
    workers = Workers("all", bits, 4, common)
    for turn in range(3):
        merged = workers.merged([each * (1 + turn) for each in given], [1, 2, 3, 4])
        assert all(torch.equal(each, merged[0]) for each in merged)


@every_merge
def test_bytes_of_a_message(kind, bits):
    common, given = vectors(3)
    workers = Workers(kind, bits, 3, common)
    workers.merged(given)
    rows = 4 * {32: 4 * 50, 8: 4 * (1 + 13), 4: 4 * (1 + 7)}[bits]
    assert workers.sent == 4 * (1 + 6) + rows, "its weight, what is exact, and the rows"


@every_merge
def test_what_is_held_is_a_copy(kind, bits):
    common, given = vectors(2)
    workers = Workers(kind, bits, 2, common)
    expected = Workers(kind, bits, 2, common.clone()).merged(given)
    common += 1
    assert all(torch.equal(a, b) for a, b in zip(workers.merged(given), expected))
