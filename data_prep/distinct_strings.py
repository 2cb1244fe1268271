"""Edges whose every end is another node, with long names: the most an id dictionary can be asked for.

    python data_prep/distinct_strings.py OUT.tsv --edges 52000000

A line is two names of 57 bytes that stand nowhere else: https://example.org/resource/entity/<20 digits>/p, the digits an odd
multiple of the name's number modulo 2^64. 52 million edges are 6 GB of names.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

PIECE = 1_000_000
ODD = 0x9E3779B97F4A7C15


def names(first: int, count: int) -> pa.Array:
    """Names number ``first``, ``first`` + 2, ... as strings."""
    digits = (np.uint64(first) + 2 * np.arange(count, dtype=np.uint64)) * np.uint64(ODD)
    padded = pc.utf8_lpad(pa.array(digits).cast(pa.string()), 20, "0")
    return pc.binary_join_element_wise("https://example.org/resource/entity/", padded, "/p", "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--edges", type=int, default=52_000_000)
    a = parser.parse_args()
    options = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    with open(a.out, "wb") as file:
        for at in range(0, a.edges, PIECE):
            count = min(PIECE, a.edges - at)
            csv.write_csv(pa.table([names(2 * at, count), names(2 * at + 1, count)], names=["src", "dst"]), file, options)
    print(f"{a.out}: {a.edges:,} edges, {2 * a.edges:,} names, {a.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
