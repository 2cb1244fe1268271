"""The formats of exports: what one is, and where each is described. A new one is a module with a description, and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marius_lite.tasks.task import Blocks

HERE = "marius_lite.export"
FORMATS = {
    "parquet": f"{HERE}.parquet:FORMAT",
    "npy": f"{HERE}.npy:FORMAT",
    "zarr": f"{HERE}.zarr_group:FORMAT",
    "safetensors": f"{HERE}.safetensors_file:FORMAT",
    "word2vec": f"{HERE}.word2vec:FORMAT",
    "sqlite": f"{HERE}.sqlite:FORMAT",
    "duckdb": f"{HERE}.duckdb_file:FORMAT",
    "datasets": f"{HERE}.datasets:FORMAT",
}
Names = Mapping[str, Sequence[str]]
"""For each column whose numbers stand for names: the names in the order of the numbers."""


def _nothing(folder: Path, summary: Mapping[str, Any]) -> None:
    pass


@dataclass(frozen=True)
class ExportFormat:
    """``write``: puts a table of so many rows into a folder, given its name and blocks of rows with their raw ids.

    ``finish``: adds what is about all tables, given the summary. ``number_bytes``: bytes of a number on disk, about.
    """

    write: Callable[[Path, str, Blocks, int, Names], None]
    finish: Callable[[Path, Mapping[str, Any]], None] = _nothing
    number_bytes: int = 4
