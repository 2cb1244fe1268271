"""The only source of randomness: a seed for each purpose and place in the run. No generator is kept between them."""

from __future__ import annotations

import hashlib
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random.bit_generator import ISeedSequence

from marius_lite._native import draw_below, shuffled

FEW = 1 << 32
"""A bound below which a native function draws as numpy does. A batch of 1,000 edges takes a third of the time."""


def seed_for(run_seed: int, purpose: str, epoch: int = 0, step: int = 0, batch: int = 0, worker: int = 0) -> int:
    """Return a 63-bit seed. Different arguments give independent seeds."""
    text = f"{run_seed}/{purpose}/{epoch}/{step}/{batch}/{worker}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1


def generator_for(
    run_seed: int, purpose: str, epoch: int = 0, step: int = 0, batch: int = 0, worker: int = 0
) -> np.random.Generator:
    """Return a numpy generator (Philox) with the seed that `seed_for` gives for the same arguments."""
    key = _Key(seed_for(run_seed, purpose, epoch, step, batch, worker))
    return np.random.Generator(np.random.Philox(key))  # type: ignore[arg-type]  # numpy takes it, but its stubs do not say so


def integers_for(
    run_seed: int, purpose: str, epoch: int, step: int, batch: int, below: int, shape: tuple[int, ...]
) -> npt.NDArray[np.int64]:
    """Return the first integers below a bound that the generator of `generator_for` gives, of this shape."""
    if below >= FEW:
        return generator_for(run_seed, purpose, epoch, step, batch).integers(below, size=shape)
    drawn = np.empty(prod(shape), np.int64)
    draw_below(seed_for(run_seed, purpose, epoch, step, batch), below, drawn)
    return drawn.reshape(shape)


def order_for(run_seed: int, purpose: str, epoch: int, step: int, batch: int, count: int) -> npt.NDArray[np.uint32]:
    """Return 0 to ``count`` - 1, which is below 2^32, in the order into which the generator of `generator_for` shuffles them.

    A native function does it as numpy does, in half of the time. Other threads of Python go on meanwhile.
    """
    return np.asarray(shuffled(seed_for(run_seed, purpose, epoch, step, batch), count), np.uint32)


class _Key(ISeedSequence):
    """Gives Philox its key. ``Philox(key=...)`` makes the same generator, but asks the system for randomness that it then drops.

    That takes longer than all else.
    """

    def __init__(self, key: int):
        self._key = key

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> npt.NDArray[Any]:
        assert (n_words, dtype) == (2, np.uint64), "what Philox asks for"
        return np.array([self._key, 0], np.uint64)
