"""Memory that a virtual machine gives only as it is touched is found, and no more is touched than helps."""

import mmap

import pytest

from marius_lite.config import machine

GIB = 1 << 30


class Balloon:
    """A machine that has ``real`` bytes and says at first that ``told`` are available."""

    def __init__(self, told, real):
        self.told, self.real, self.touched, self.most = told, real, 0, 0

    def available(self):
        grown = min(self.real, max(self.told, self.touched + self.told))
        return grown - self.touched

    def mmap(self, fileno, size, flags):
        assert self.available() >= 2 * size  # or the kernel might end the process
        self.touched += size
        self.most = max(self.most, self.touched)
        return Piece(self)


class Piece:
    def __init__(self, owner):
        self.owner = owner

    def __setitem__(self, at, value):
        assert at < machine.PIECE

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.owner.touched -= machine.PIECE


@pytest.fixture
def make_balloon(monkeypatch):
    def make(told, real):
        balloon = Balloon(told, real)
        monkeypatch.setattr(machine, "available_memory", balloon.available)
        monkeypatch.setattr(machine, "memory_limit", lambda: 2 * real)
        monkeypatch.setattr(machine.mmap, "mmap", balloon.mmap)
        return balloon

    return make


@pytest.mark.parametrize("wanted", [GIB, 3 * GIB, 100 * GIB])
def test_memory_that_grows_as_it_is_touched(make_balloon, wanted):
    balloon = make_balloon(2 * GIB, 16 * GIB)
    found = machine.reachable_memory(wanted)
    assert min(wanted, 16 * GIB) - machine.PIECE <= found <= 16 * GIB
    assert balloon.most <= max(0, wanted - GIB)
    assert balloon.touched == 0


def test_memory_that_does_not_grow_costs_one_piece(make_balloon):
    balloon = make_balloon(4 * GIB, 4 * GIB)
    assert machine.reachable_memory(100 * GIB) == 4 * GIB
    assert balloon.most == machine.PIECE


def test_a_limit_of_the_process_ends_the_search(make_balloon, monkeypatch):
    make_balloon(2 * GIB, 16 * GIB)

    def refused(*arguments, **options):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(machine.mmap, "mmap", refused)
    assert machine.reachable_memory(10 * GIB) == 2 * GIB


def test_a_machine_that_is_full_is_left_alone(make_balloon):
    balloon = make_balloon(machine.PIECE, machine.PIECE)
    assert machine.reachable_memory(100 * GIB) == machine.PIECE
    assert balloon.most == 0


def test_this_machine():
    assert 0 < machine.reachable_memory(0) <= machine.total_memory()
    assert mmap.PAGESIZE <= machine.PIECE
    assert machine.reachable_memory(1 << 60) <= machine.total_memory()
