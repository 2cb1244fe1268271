"""The only source of randomness: a seed for each purpose and place in the run. No generator is kept between them."""

from __future__ import annotations

import hashlib

import numpy as np


def seed_for(run_seed: int, purpose: str, epoch: int = 0, step: int = 0, batch: int = 0, worker: int = 0) -> int:
    """Return a 63-bit seed. Different arguments give independent seeds."""
    text = f"{run_seed}/{purpose}/{epoch}/{step}/{batch}/{worker}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1


def generator_for(
    run_seed: int, purpose: str, epoch: int = 0, step: int = 0, batch: int = 0, worker: int = 0
) -> np.random.Generator:
    """Return a numpy generator (Philox) with the seed that `seed_for` gives for the same arguments."""
    return np.random.Generator(np.random.Philox(key=seed_for(run_seed, purpose, epoch, step, batch, worker)))
