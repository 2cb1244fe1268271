"""Vectors arrive with all their bits, and few touched rows are few bytes."""

import pytest
import torch

from marius_lite.processes.touched_rows import LOOKS, TouchedRows

LEAD, ROWS, WIDTH, LANES = 5, 200, 8, 3


def vectors(touched, seed):
    """A vector of each lane, of which so many rows are not zero."""
    made = []
    for lane, count in enumerate(touched):
        generator = torch.Generator().manual_seed(10 * seed + lane)
        vector = torch.zeros(LEAD + ROWS * WIDTH)
        vector[:LEAD] = torch.randn(LEAD, generator=generator)
        places = torch.randperm(ROWS, generator=generator)[:count]
        vector[LEAD:].view(ROWS, WIDTH)[places] = torch.randn(count, WIDTH, generator=generator)
        made.append(vector)
    return made


class Wire:
    """Two processes' vectors in step: the first has one lane, the second the others."""

    def __init__(self):
        self.rows = [TouchedRows(LEAD + ROWS * WIDTH, WIDTH) for _ in range(2)]
        self.sent, self.messages = 0, 0

    def turn(self, given):
        """What both processes return. Whatever one asks for, the other must ask for too."""
        import threading

        barrier, slots, found = threading.Barrier(2, timeout=20), {}, {}

        def of(process):
            mine = given[:1] if process == 0 else given[1:]

            def exchange(parts):
                slots[process] = parts
                barrier.wait()
                everything = [*slots[0], *slots[1]]
                assert len({len(each) for each in everything}) == 1
                barrier.wait()
                if process == 0:
                    self.sent, self.messages = self.sent + sum(each.nbytes for each in everything), self.messages + 1
                return [each.clone() for each in everything]

            found[process] = self.rows[process].exchanged(mine, exchange)

        threads = [threading.Thread(target=of, args=(process,)) for process in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found[0], found[1]


def bits(tensors):
    return [each.view(torch.int32).tolist() for each in tensors]


def test_all_bits_arrive_however_many_rows_are_touched():
    wire = Wire()
    negative_zero = vectors([2, 2, 2], 99)
    negative_zero[1][LEAD + 3 * WIDTH] = -0.0
    turns = [[4, 4, 4]] * LOOKS + [[0, 0, 0], [1, 9, 2], [60, 3, 80], [5, 5, 5], [200, 0, 3], [7, 7, 7], [2, 2, 2]]
    for seed, touched in enumerate(turns):
        given = negative_zero if seed == len(turns) - 1 else vectors(touched, seed)
        assert [bits(each) for each in wire.turn(given)] == [bits(given)] * 2, touched


@pytest.mark.parametrize(("touched", "share"), [(5, 0.1), (40, 0.35), (200, 1.0)])
def test_bytes_are_those_of_the_touched_rows(touched, share):
    wire = Wire()
    for seed in range(LOOKS):
        wire.turn(vectors([touched] * LANES, seed))
    before, messages = wire.sent, wire.messages
    for seed in range(5):
        wire.turn(vectors([touched] * LANES, 100 + seed))
    whole = 5 * LANES * 4 * (LEAD + ROWS * WIDTH)
    assert wire.sent - before <= share * whole
    assert wire.messages - messages == 5


def test_what_has_no_room_follows():
    wire = Wire()
    for seed in range(LOOKS):
        wire.turn(vectors([1] * LANES, seed))
    before = wire.messages
    given = vectors([1, 30, 1], 50)
    assert bits(wire.turn(given)[0]) == bits(given)
    assert wire.messages == before + 2
    wire.turn(given)
    assert wire.messages == before + 3, "there is room now"
