"""Few bits a number: rounded without bias, never further than one level, with zeros and exact numbers as they were."""

import pytest
import torch

from marius_lite.merging.coding import USUAL, coding_of

SIZE, WIDTH, EXACT = 3 + 40 * 100 + 5, 100, (3, 5)


def vector(seed=0):
    generator = torch.Generator().manual_seed(seed)
    made = torch.randn(SIZE, generator=generator)
    made[EXACT[0] : -EXACT[1]].view(-1, WIDTH)[7:20] = 0
    return made


def test_32_bits_are_the_vector_itself():
    coding = coding_of(32, SIZE, WIDTH, EXACT)
    assert coding.width == WIDTH
    assert torch.equal(coding.plain(coding.coded(vector(), 1)), vector())


@pytest.mark.parametrize(("bits", "levels"), [(8, 127), (4, 7)])
def test_a_number_is_one_of_the_two_levels_beside_it(bits, levels):
    coding, given = coding_of(bits, SIZE, WIDTH, EXACT), vector()
    read = coding.plain(coding.coded(given, 1))
    assert torch.equal(read[: EXACT[0]], given[: EXACT[0]])
    assert torch.equal(read[-EXACT[1] :], given[-EXACT[1] :])
    rows, found = (each[EXACT[0] : -EXACT[1]].view(-1, WIDTH) for each in (given, read))
    level = rows.abs().amax(1, keepdim=True) / levels
    assert ((found - rows).abs() <= level * (1 + 1e-5)).all()
    assert not torch.equal(found, rows)
    assert not found[7:20].any()
    assert torch.equal(found.abs().amax(1), rows.abs().amax(1)), "the largest number of a row is exact"


@pytest.mark.parametrize("bits", [8, 4])
def test_the_mean_of_many_messages_is_the_vector(bits):
    coding, given = coding_of(bits, SIZE, WIDTH, EXACT), vector()
    times = 400
    mean = sum(coding.plain(coding.coded(given, seed)).double() for seed in range(times)) / times
    level = given.abs().max() / (2 ** (bits - 1) - 1)
    assert (mean - given).abs().max() < 5 * 0.5 * level / times**0.5
    signs = (mean - given).mean()
    assert abs(signs) < 5 * 0.5 * level / (times * SIZE) ** 0.5


@pytest.mark.parametrize(("bits", "times"), [(8, 3.5), (4, 6.5)])
def test_it_is_fewer_bytes(bits, times):
    written = coding_of(bits, SIZE, WIDTH, EXACT).coded(vector(), 0)
    assert SIZE / len(written) > times


def test_the_chance_is_the_seed():
    coding = coding_of(8, SIZE, WIDTH, EXACT)
    first, again, other = (coding.coded(vector(), seed) for seed in (1, 1, 2))
    assert torch.equal(first.view(torch.int32), again.view(torch.int32))
    assert not torch.equal(first.view(torch.int32), other.view(torch.int32))


def test_rows_of_zeros_are_zero_bits():
    coding = coding_of(4, SIZE, WIDTH, EXACT)
    written = coding.coded(vector(), 1)[sum(EXACT) :].view(torch.int32).view(-1, coding.width)
    assert written.any(1).tolist() == [not 7 <= row < 20 for row in range(40)]
    assert not coding.coded(torch.zeros(SIZE), 1).view(torch.int32).any()


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize(("size", "width"), [(1, 1), (7, 3), (1000, 33), (1000, 100000), (0, 1)])
def test_any_size(bits, size, width):
    coding, given = coding_of(bits, size, width), torch.arange(size, dtype=torch.float32)
    read = coding.plain(coding.coded(given, 0))
    assert len(read) == size
    assert ((read - given).abs() <= size / (2 ** (bits - 1) - 1)).all()
    assert len(coding.coded(given, 0)) % coding.width == 0
    assert coding.width <= USUAL + 1


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_what_is_not_finite_stays_so(wrong):
    given = vector()
    given[500] = wrong
    coding = coding_of(8, SIZE, WIDTH, EXACT)
    assert not coding.plain(coding.coded(given, 0)).isfinite().all()
