"""A power-law graph of any size, streamed: memory does not depend on its size.

    python data_prep/power_law.py OUT --nodes 10000000 --edges 100000000
        [--format npy|int|str] [--alpha 0.8] [--seed 0]

The popularity of a node is (rank + 10)^-alpha, its rank a bijection of its id; source and destination are
drawn independently (Chung-Lu), self-loops turned into an edge to the next rank. Shard k depends on the
arguments and k only. Writes OUT/edges-00000.npy, ... (int32 or int64, (n, 2)) or .tsv with integer ids or
user_<number>.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

SHARD = 5_000_000
PIECE = 500_000
Ids = npt.NDArray[np.int64]


class PowerLaw:
    """Draws node ids with probability proportional to (rank + 10)^-alpha, without a table as long as the
    nodes.

    The continuous distribution of the same density is inverted in closed form.
    """

    def __init__(self, nodes: int, alpha: float):
        self.nodes = nodes
        self.power = 1 - alpha
        self.low, self.high = self._mass(10.0), self._mass(nodes + 10.0)
        # An odd multiplier coprime to `nodes` deals ranks to ids; near the golden section it spreads
        # neighbours.
        self.multiplier = next(m for m in range(int(nodes * 0.618) | 1, 2 * nodes + 2) if math.gcd(m, nodes) == 1)

    def _mass(self, x: float) -> float:
        return math.log(x) if self.power == 0 else x**self.power / self.power

    def ranks(self, rng: np.random.Generator, count: int) -> Ids:
        mass = self.low + rng.random(count) * (self.high - self.low)
        x = np.exp(mass) if self.power == 0 else (mass * self.power) ** (1 / self.power)
        return np.clip(x - 10.0, 0, self.nodes - 1).astype(np.int64)

    def edges(self, rng: np.random.Generator, count: int) -> Ids:
        """(count, 2) node ids."""
        src, dst = self.ranks(rng, count), self.ranks(rng, count)
        dst = np.where(src == dst, (dst + 1) % self.nodes, dst)
        return np.stack([src, dst], 1) * self.multiplier % self.nodes


def write_shard(path: Path, law: PowerLaw, rng: np.random.Generator, count: int, format: str) -> None:
    if format == "npy":
        dtype = np.int32 if law.nodes < 2**31 else np.int64
        shard = np.lib.format.open_memmap(path, "w+", dtype, (count, 2))
        for at in range(0, count, PIECE):
            shard[at : at + PIECE] = law.edges(rng, min(PIECE, count - at))
        shard.flush()
        return
    prefix = "" if format == "int" else "user_"
    options = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    with open(path, "wb") as file:
        for at in range(0, count, PIECE):
            ends = law.edges(rng, min(PIECE, count - at)).T
            columns = [pc.binary_join_element_wise(prefix, pa.array(ids).cast(pa.string()), "") for ids in ends]
            csv.write_csv(pa.table(columns, names=["src", "dst"]), file, options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=20_000_000)
    parser.add_argument("--format", choices=["npy", "int", "str"], default="npy")
    parser.add_argument("--alpha", type=float, default=0.8, help="0 is uniform; degrees fall off with exponent 1 + 1/alpha")
    parser.add_argument("--seed", type=int, default=0)
    a = parser.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    law = PowerLaw(a.nodes, a.alpha)
    suffix = "npy" if a.format == "npy" else "tsv"
    started = time.perf_counter()
    for shard, at in enumerate(range(0, a.edges, SHARD)):
        rng = np.random.default_rng([a.seed, shard])
        write_shard(a.out / f"edges-{shard:05d}.{suffix}", law, rng, min(SHARD, a.edges - at), a.format)
    print(f"{a.edges:,} edges among {a.nodes:,} nodes in {time.perf_counter() - started:.1f} s: {a.out}/edges-*.{suffix}")


if __name__ == "__main__":
    main()
