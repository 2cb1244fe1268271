"""The only source of randomness: a seed for each purpose and place in the run, never a live generator."""

from __future__ import annotations

import hashlib

import numpy as np


def seed_for(run_seed: int, purpose: str, epoch: int = 0, step: int = 0, batch: int = 0, worker: int = 0) -> int:
    """A 63-bit seed, independent for every distinct tuple of arguments."""
    text = f"{run_seed}/{purpose}/{epoch}/{step}/{batch}/{worker}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1


def generator_for(run_seed: int, purpose: str, epoch: int = 0, step: int = 0, batch: int = 0,
                  worker: int = 0) -> np.random.Generator:
    """A numpy generator (Philox) started from `seed_for` of the same arguments."""
    return np.random.Generator(np.random.Philox(key=seed_for(run_seed, purpose, epoch, step, batch, worker)))
